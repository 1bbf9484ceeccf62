//! Classes: modifiers, members without code, and parameters that are properties.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};

use crate::stripper::Stripper;

/// What stands before a member and says something about types only.
const MODIFIERS: [&str; 7] =
    ["public", "private", "protected", "readonly", "override", "abstract", "declare"];

impl<'a> Stripper<'a> {
    /// `abstract`, and what the class implements.
    pub fn class(&mut self, it: &Class<'a>) {
        let head = it.id.as_ref().map_or(it.body.span.start, |id| id.span.start);
        self.edits.blank_words(Span::new(it.span.start, head), &["abstract"]);
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let before = &self.source[..first.span.start as usize];
            if let Some(word) = before.rfind("implements") {
                let start = u32::try_from(word).unwrap_or(first.span.start);
                self.edits.blank(Span::new(start, last.span.end));
            }
        }
    }

    /// Takes a member out that has no code, and modifiers of one that has. Whether the walk goes on into it.
    pub fn member(&mut self, it: &ClassElement<'a>) -> bool {
        let (typing, key, optional, definite) = match it {
            ClassElement::StaticBlock(_) => return true,
            ClassElement::TSIndexSignature(_) => (true, it.span(), false, false),
            ClassElement::MethodDefinition(method) => {
                (method.value.body.is_none(), method.key.span(), method.optional, false)
            }
            ClassElement::PropertyDefinition(field) => {
                let of_type = field.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition;
                (field.declare || of_type, field.key.span(), field.optional, field.definite)
            }
            ClassElement::AccessorProperty(accessor) => {
                self.refuse(accessor.span, "`accessor` is not understood: write `get` and `set`");
                return false;
            }
        };
        if typing {
            self.edits.remove(it.span());
            return false;
        }
        self.end_of_the_last(it);
        self.edits.blank_words(Span::new(it.span().start, key.start), &MODIFIERS);
        if optional {
            self.edits.blank_sign(key.end, '?');
        }
        if definite {
            self.edits.blank_sign(key.end, '!');
        }
        true
    }

    /// Semicolons that types and modifiers have made unnecessary: `get: () => number` would go on with the next member
    /// without its type, and a member before `private [key]` with that.
    fn end_of_the_last(&mut self, it: &ClassElement<'a>) {
        let (computed, generator) = match it {
            ClassElement::PropertyDefinition(field) => {
                if let (None, Some(annotation)) = (&field.value, &field.type_annotation) {
                    self.edits.remove(annotation.span);
                }
                (field.computed, false)
            }
            ClassElement::MethodDefinition(method) => (method.computed, method.value.generator),
            _ => (false, false),
        };
        if computed || generator {
            self.edits.insert(it.span().start, ";");
        }
    }

    /// Modifiers of a parameter, and that it may be left out.
    pub fn parameter(&mut self, it: &FormalParameter<'a>) {
        let pattern = it.pattern.span();
        self.edits.blank_words(Span::new(it.span.start, pattern.start), &MODIFIERS);
        if it.optional {
            self.edits.blank_sign(pattern.end, '?');
        }
    }

    /// Parameters of a constructor that are properties: they are assigned when `this` is there.
    pub fn parameter_properties(&mut self, it: &MethodDefinition<'a>) {
        let Some(body) =
            it.value.body.as_ref().filter(|_| it.kind == MethodDefinitionKind::Constructor)
        else {
            return;
        };
        let properties = it
            .value
            .params
            .items
            .iter()
            .filter(|one| one.accessibility.is_some() || one.readonly || one.r#override);
        let names = properties.filter_map(|one| one.pattern.get_identifier_name());
        let assigned: Vec<String> = names.map(|name| format!(" this.{name} = {name};")).collect();
        if assigned.is_empty() {
            return;
        }
        let calls_super = body.statements.iter().find(|statement| match statement {
            Statement::ExpressionStatement(statement) => match &statement.expression {
                Expression::CallExpression(call) => matches!(call.callee, Expression::Super(_)),
                _ => false,
            },
            _ => false,
        });
        let text = assigned.concat();
        match calls_super {
            Some(statement) => self.edits.insert(statement.span().end, format!(";{text}")),
            None => self.edits.insert(body.span.start + 1, text),
        }
    }
}
