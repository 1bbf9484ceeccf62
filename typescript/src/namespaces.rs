//! Namespaces, which are objects at run time.

use oxc_ast::ast::*;
use oxc_ast_visit::Visit;
use oxc_span::{GetSpan, Span};

use crate::statements::{is_typing, names};
use crate::stripper::Stripper;

impl<'a> Stripper<'a> {
    pub fn namespace(&mut self, it: &TSNamespaceDeclaration<'a>) {
        let TSNamespaceDeclarationBody::TSModuleBlock(block) = &it.body else {
            self.refuse(
                it.span,
                "a namespace with a dot in its name is not understood: write one in the other",
            );
            return;
        };
        let name = it.id.name.as_str();
        let body = block.span;
        self.edits.replace(
            Span::new(it.span.start, body.start + 1),
            format!("var {name}; (({name}) => {{"),
        );
        for statement in &block.body {
            match statement {
                Statement::ExportDeclaration(export) if !is_typing(&export.declaration) => {
                    self.exported_by(name, export);
                }
                other => self.visit_statement(other),
            }
        }
        self.edits
            .replace(Span::new(body.end - 1, body.end), format!("}})({name} || ({name} = {{}}));"));
    }

    /// What a namespace exports is declared as usual, and then assigned.
    fn exported_by(&mut self, name: &str, export: &ExportDeclaration<'a>) {
        let inner = export.declaration.span();
        let exported = match &export.declaration {
            Declaration::VariableDeclaration(variables) => {
                if variables.kind != VariableDeclarationKind::Const {
                    self.refuse(
                        inner,
                        "a namespace that exports a variable is not understood: export a `const`",
                    );
                }
                names(variables)
            }
            other => other.id().map(|id| id.name.to_string()).into_iter().collect(),
        };
        self.edits.blank(Span::new(export.span.start, inner.start));
        self.visit_declaration(&export.declaration);
        let assigned: String =
            exported.iter().map(|one| format!(" {name}.{one} = {one};")).collect();
        self.edits.insert(export.span.end, format!(";{assigned}"));
    }
}
