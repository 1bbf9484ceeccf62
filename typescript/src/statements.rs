//! Statements that are types only, and those that stand for JavaScript.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};

use crate::stripper::Stripper;

impl<'a> Stripper<'a> {
    /// Remembers the name that a statement at the top declares.
    pub fn declared(&mut self, it: &Statement<'a>) {
        let declaration = match it {
            Statement::ExportDeclaration(export) => Some(&export.declaration),
            other => other.as_declaration(),
        };
        let Some(declaration) = declaration else { return };
        match declaration {
            Declaration::TSTypeAliasDeclaration(alias) => {
                self.types.insert(alias.id.name.to_string());
            }
            Declaration::TSInterfaceDeclaration(interface) => {
                self.types.insert(interface.id.name.to_string());
            }
            Declaration::VariableDeclaration(variables) => {
                for name in names(variables) {
                    self.values.insert(name);
                }
            }
            other => self.values.extend(other.id().map(|id| id.name.to_string())),
        }
    }

    /// Takes a statement out that says something about types only. Whether the walk goes on into it.
    pub fn statement(&mut self, it: &Statement<'a>) -> bool {
        let of_types = match it {
            Statement::ExportDeclaration(export) => is_typing(&export.declaration),
            Statement::ExportDefaultDeclaration(export) => match &export.declaration {
                ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => true,
                ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                    function.body.is_none()
                }
                _ => false,
            },
            Statement::ImportDeclaration(import) => import.import_kind.is_type(),
            Statement::ExportNamedDeclaration(export) => export.export_kind.is_type(),
            Statement::ExportFromDeclaration(export) => export.export_kind.is_type(),
            Statement::ExportAllDeclaration(export) => export.export_kind.is_type(),
            Statement::TSNamespaceExportDeclaration(_) => true,
            Statement::TSExportAssignment(export) => {
                self.refuse(export.span, "`export =` is not understood: write `export default`");
                false
            }
            other => other.as_declaration().is_some_and(is_typing),
        };
        if of_types {
            self.edits.remove(it.span());
            return false;
        }
        let alias = match it {
            Statement::TSImportEqualsDeclaration(alias) => Some((alias, it.span().start)),
            Statement::ExportDeclaration(export) => match &export.declaration {
                Declaration::TSImportEqualsDeclaration(alias) => Some((alias, alias.span.start)),
                _ => None,
            },
            _ => None,
        };
        if let Some((alias, start)) = alias {
            self.alias(alias, start);
            return false;
        }
        true
    }

    /// `import A = B.C`, which is a variable.
    fn alias(&mut self, it: &TSImportEqualsDeclaration<'a>, start: u32) {
        if let TSModuleReference::ExternalModuleReference(_) = it.module_reference {
            self.refuse(it.span, "`import x = require()` is not understood: write `import x from`");
            return;
        }
        let text = it.module_reference.span().source_text(self.source);
        let root = text.split('.').next().unwrap_or(text).trim();
        self.used.insert(root.to_string());
        self.edits.replace(Span::new(start, it.id.span.start), "const ");
    }
}

/// Whether a declaration is of types only.
pub fn is_typing(declaration: &Declaration) -> bool {
    match declaration {
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::VariableDeclaration(variables) => variables.declare,
        Declaration::FunctionDeclaration(function) => function.declare || function.body.is_none(),
        Declaration::ClassDeclaration(class) => class.declare,
        Declaration::TSEnumDeclaration(it) => it.declare,
        Declaration::TSNamespaceDeclaration(it) => it.declare || !has_values(it),
        Declaration::TSImportEqualsDeclaration(alias) => alias.import_kind.is_type(),
    }
}

/// Whether anything in a namespace exists at run time.
fn has_values(it: &TSNamespaceDeclaration) -> bool {
    match &it.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => has_values(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            block.body.iter().any(|statement| match statement {
                Statement::ExportDeclaration(export) => !is_typing(&export.declaration),
                other => !other.as_declaration().is_some_and(is_typing),
            })
        }
    }
}

/// The names that variables bind.
pub fn names(variables: &VariableDeclaration) -> Vec<String> {
    let mut names = Vec::new();
    for variable in &variables.declarations {
        let bound = variable.id.get_binding_identifiers();
        names.extend(bound.iter().map(|id| id.name.to_string()));
    }
    names
}
