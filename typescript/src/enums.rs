//! Enums, which are objects at run time.

use std::collections::BTreeSet;

use oxc_ast::ast::*;
use oxc_ast_visit::Visit;
use oxc_span::{GetSpan, Span};

use crate::stripper::Stripper;

/// The members of an enum that those after them may name.
#[derive(Clone, Debug)]
pub struct Members {
    pub of: String,
    pub names: BTreeSet<String>,
}

impl<'a> Stripper<'a> {
    pub fn enumeration(&mut self, it: &TSEnumDeclaration<'a>) {
        let name = it.id.name.as_str();
        let body = it.body.span;
        self.edits.replace(
            Span::new(it.span.start, body.start + 1),
            format!("var {name}; (({name}) => {{"),
        );
        let outer = self.members.take();
        let mut members = Members { of: name.into(), names: BTreeSet::new() };
        let mut before: Option<String> = None;
        for member in &it.body.members {
            let key = member.id.static_name().to_string();
            let quoted = quoted(&key);
            let place = format!("{name}[{quoted}]");
            match &member.initializer {
                Some(value) => {
                    let is_text = matches!(
                        value.without_parentheses(),
                        Expression::StringLiteral(_) | Expression::TemplateLiteral(_)
                    );
                    let (open, close) = match is_text {
                        true => (format!("{place} = ("), ")".to_string()),
                        false => (format!("{name}[{place} = ("), format!(")] = {quoted}")),
                    };
                    let value = value.span();
                    self.edits.replace(Span::new(member.span.start, value.start), open);
                    self.members = Some(members.clone());
                    if let Some(initializer) = &member.initializer {
                        self.visit_expression(initializer);
                    }
                    self.members = None;
                    self.edits.insert(value.end, close);
                }
                None => {
                    let value = before.map_or("0".into(), |before| format!("{before} + 1"));
                    let text = format!("{name}[{place} = {value}] = {quoted}");
                    self.edits.replace(member.span, text);
                }
            }
            let comma = self.edits.next(member.span.end);
            if self.edits.text(comma).starts_with(',') {
                self.edits.replace(Span::new(comma, comma + 1), ";");
            }
            members.names.insert(key);
            before = Some(place);
        }
        self.members = outer;
        self.edits
            .replace(Span::new(body.end - 1, body.end), format!("}})({name} || ({name} = {{}}));"));
    }
}

/// A name as a string of JavaScript.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.escape_default())
}
