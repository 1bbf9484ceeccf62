//! The walk through a module that finds what is of TypeScript only.

use std::collections::BTreeSet;

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use crate::StripError;
use crate::edits::Edits;
use crate::enums::Members;
use crate::imports::Import;
use crate::using;

/// What has been found so far.
pub struct Stripper<'a> {
    pub source: &'a str,
    pub edits: Edits<'a>,
    /// The names that occur as values.
    pub used: BTreeSet<String>,
    /// The names of types that are declared at the top, and those of values.
    pub types: BTreeSet<String>,
    pub values: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// Names that are exported, to be taken out when they are types: with the places of their specifiers.
    pub exported: Vec<(String, Span)>,
    /// The enum in whose member the walk is.
    pub members: Option<Members>,
    wrong: Option<(Span, &'static str)>,
}

impl<'a> Stripper<'a> {
    pub fn strip(source: &'a str, program: &Program<'a>) -> Result<String, StripError> {
        let mut stripper = Stripper {
            source,
            edits: Edits::new(source),
            used: BTreeSet::new(),
            types: BTreeSet::new(),
            values: BTreeSet::new(),
            imports: Vec::new(),
            exported: Vec::new(),
            members: None,
            wrong: None,
        };
        program.body.iter().for_each(|statement| stripper.declared(statement));
        stripper.visit_program(program);
        stripper.exports_of_types();
        stripper.unused_imports();
        if let Err((span, why)) = using::lower(program, &mut stripper.edits) {
            stripper.refuse(span, why);
        }
        match stripper.wrong {
            Some((span, why)) => Err(StripError::at(source, span.start as usize, why)),
            None => Ok(stripper.edits.apply()),
        }
    }

    /// `as` or `satisfies` behind an expression. A type ends the statement before a bracket on the next line, and an
    /// expression alone would not.
    fn cast(&mut self, inner: Span, whole: Span) {
        self.edits.blank(Span::new(inner.end, whole.end));
        let next = self.edits.next(whole.end);
        let between = &self.source[whole.end as usize..next as usize];
        if between.contains('\n') && self.edits.text(next).starts_with(['(', '[', '`']) {
            self.edits.insert(whole.end, ";");
        }
    }

    /// Refuses what is at this place; the first one is told.
    pub fn refuse(&mut self, span: Span, why: &'static str) {
        self.wrong.get_or_insert((span, why));
    }
}

impl<'a> Visit<'a> for Stripper<'a> {
    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.edits.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.edits.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.edits.blank(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.cast(it.expression.span(), it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.cast(it.expression.span(), it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.edits.blank(Span::new(it.span.start, it.expression.span().start));
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.edits.blank(Span::new(it.expression.span().end, it.span.end));
        self.visit_expression(&it.expression);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.edits.blank_with_comma(it.span);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.used.insert(it.name.to_string());
        if let Some(members) = &self.members
            && members.names.contains(it.name.as_str())
        {
            self.edits.insert(it.span.start, format!("{}.", members.of));
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        // No line may end between the parameters and the arrow, so the bracket closes behind the type.
        if let Some(returned) = &it.return_type
            && returned.span.source_text(self.source).contains('\n')
        {
            let close = Span::new(it.params.span.end - 1, it.params.span.end);
            self.edits.blank(close);
            self.edits.insert(returned.span.end, ")");
        }
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        self.parameter(it);
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.edits.blank_sign(it.id.span().end, '!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.class(it);
        walk::walk_class(self, it);
    }

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        if self.member(it) {
            walk::walk_class_element(self, it);
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.parameter_properties(it);
        walk::walk_method_definition(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        walk::walk_function(self, it, flags);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if self.statement(it) {
            walk::walk_statement(self, it);
        }
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        self.import(it);
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        self.named_exports(&it.specifiers, true);
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        self.named_exports(&it.specifiers, false);
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.enumeration(it);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.namespace(it);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(
            it.span,
            "decorators are not understood: install esbuild, which turns them into JavaScript",
        );
    }

    fn visit_jsx_element(&mut self, it: &JSXElement<'a>) {
        self.refuse(
            it.span,
            "JSX is not understood: install esbuild, which turns it into JavaScript",
        );
    }

    fn visit_jsx_fragment(&mut self, it: &JSXFragment<'a>) {
        self.refuse(
            it.span,
            "JSX is not understood: install esbuild, which turns it into JavaScript",
        );
    }
}
