//! Imports and exports of names that turn out to be types.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};

use crate::stripper::Stripper;

/// An import, and the names that it binds.
pub struct Import {
    span: Span,
    names: Vec<Bound>,
}

struct Bound {
    name: String,
    span: Span,
    /// Whether the import says that it is a type.
    is_type: bool,
    /// Whether it is `* as name`.
    is_namespace: bool,
}

impl<'a> Stripper<'a> {
    /// Remembers an import until it is known which of its names are used.
    pub fn import(&mut self, it: &ImportDeclaration<'a>) {
        // An import without names is there for what it does.
        let Some(specifiers) = it.specifiers.as_ref().filter(|all| !all.is_empty()) else { return };
        let bound = |one: &ImportDeclarationSpecifier<'a>| Bound {
            name: one.local().name.to_string(),
            span: one.span(),
            is_type: matches!(one, ImportDeclarationSpecifier::ImportSpecifier(one) if one.import_kind.is_type()),
            is_namespace: matches!(one, ImportDeclarationSpecifier::ImportNamespaceSpecifier(_)),
        };
        self.imports.push(Import { span: it.span, names: specifiers.iter().map(bound).collect() });
    }

    /// Remembers the names of `export { … }`; those of this module may be types.
    pub fn named_exports(&mut self, specifiers: &[ExportSpecifier<'a>], own: bool) {
        for one in specifiers {
            let local = one.local.name().to_string();
            if one.export_kind.is_type() {
                self.edits.blank_with_comma(one.span);
            } else if own {
                self.exported.push((local, one.span));
            }
        }
    }

    /// Takes the exports of names out that are types here.
    pub fn exports_of_types(&mut self) {
        for (name, span) in std::mem::take(&mut self.exported) {
            if self.types.contains(&name) && !self.values.contains(&name) {
                self.edits.blank_with_comma(span);
            } else {
                self.used.insert(name);
            }
        }
    }

    /// Takes the imported names out that are used as types only or not at all, as the compiler does.
    pub fn unused_imports(&mut self) {
        for Import { span, names } in std::mem::take(&mut self.imports) {
            let unused = |bound: &Bound| bound.is_type || !self.used.contains(&bound.name);
            if names.iter().all(unused) {
                self.edits.remove(span);
                continue;
            }
            for (at, bound) in names.iter().enumerate().filter(|(_, bound)| unused(bound)) {
                match bound.is_namespace {
                    // What is before it is its comma.
                    true if at > 0 => {
                        self.edits.blank(Span::new(names[at - 1].span.end, bound.span.end))
                    }
                    _ => self.edits.blank_with_comma(bound.span),
                }
            }
        }
    }
}
