//! `using` and `await using`, which the engine does not read.
//!
//! What is behind such a declaration in its block goes into a `try`, whose `finally` disposes of the value. Everything
//! that is inserted is on the line of the declaration or of the closing brace, so no line moves.
//!
//! In two ways this is not the specification. Where the block and the disposal both throw, the error of the disposal is
//! thrown and no `SuppressedError`. What is declared behind a `using` exists in the `try` only, so a function before it
//! cannot name it.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use crate::edits::Edits;

/// What is wrong, and where.
pub type Wrong = (Span, &'static str);

const AT_THE_TOP: &str =
    "`using` at the top level of a module is not simulated; write it in a block or in a function";
const IN_A_NAMESPACE: &str =
    "`using` in a namespace is not understood: write it in a block or in a function";
const IN_THE_HEAD: &str =
    "`using` in the head of a loop that counts is not understood: write it before the loop";

/// Whether a text may have such a declaration: the word, and a name behind it.
pub fn may_have(source: &str) -> bool {
    let in_a_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    source.match_indices("using").any(|(at, word)| {
        let behind = &source[at + word.len()..];
        let name = behind.trim_start();
        !source[..at].ends_with(in_a_name)
            && behind.len() > name.len()
            && name.starts_with(in_a_name)
    })
}

/// Lowers every declaration of a module, or says which one it cannot. Whether there are any.
pub fn lower<'a>(program: &Program<'a>, edits: &mut Edits<'a>) -> Result<bool, Wrong> {
    let mut lowering = Lowering { edits, found: false, wrong: None };
    lowering.visit_program(program);
    match lowering.wrong {
        Some(wrong) => Err(wrong),
        None => Ok(lowering.found),
    }
}

struct Lowering<'e, 'a> {
    edits: &'e mut Edits<'a>,
    found: bool,
    wrong: Option<Wrong>,
}

impl<'a> Lowering<'_, 'a> {
    /// The declarations in a block that ends at `end`. The walk has been through the block already: of two insertions
    /// at one place the inner one has to be the first.
    fn block(&mut self, statements: &[Statement<'a>], end: u32) {
        let mut closing = Vec::new();
        for declaration in statements.iter().filter_map(using) {
            self.keyword(declaration);
            let all = &declaration.declarations;
            for (at, one) in all.iter().enumerate() {
                let resource = Resource::of(declaration, one);
                let opening = format!("{} try {{", resource.check());
                if at + 1 < all.len() {
                    let comma = self.edits.next(one.span.end);
                    self.edits.replace(Span::new(comma, comma + 1), format!("; {opening} const"));
                } else {
                    let end = declaration.span.end;
                    let ended = self.edits.text(end - 1).starts_with(';');
                    let semicolon = if ended { "" } else { ";" };
                    self.edits.insert(end, format!("{semicolon} {opening}"));
                }
                closing.push(format!("}} finally {{ {} }} ", resource.dispose()));
            }
        }
        closing.reverse();
        if !closing.is_empty() {
            self.edits.insert(end - 1, closing.concat());
        }
    }

    /// `using` and `await using` become a `const` of the same width.
    fn keyword(&mut self, declaration: &VariableDeclaration<'a>) {
        self.found = true;
        let names =
            declaration.declarations.first().map_or(declaration.span.end, |one| one.span.start);
        let keyword = Span::new(declaration.span.start, names);
        self.edits.replace(keyword, format!("{:<1$}", "const", keyword.size() as usize));
    }

    /// Refuses the declarations in these statements.
    fn refuse(&mut self, statements: &[Statement<'a>], why: &'static str) {
        if let Some(declaration) = statements.iter().find_map(using) {
            self.wrong.get_or_insert((declaration.span, why));
        }
    }
}

impl<'a> Visit<'a> for Lowering<'_, 'a> {
    fn visit_program(&mut self, it: &Program<'a>) {
        self.refuse(&it.body, AT_THE_TOP);
        walk::walk_program(self, it);
    }

    fn visit_ts_module_block(&mut self, it: &TSModuleBlock<'a>) {
        self.refuse(&it.body, IN_A_NAMESPACE);
        walk::walk_ts_module_block(self, it);
    }

    fn visit_function_body(&mut self, it: &FunctionBody<'a>) {
        walk::walk_function_body(self, it);
        self.block(&it.statements, it.span.end);
    }

    fn visit_block_statement(&mut self, it: &BlockStatement<'a>) {
        walk::walk_block_statement(self, it);
        self.block(&it.body, it.span.end);
    }

    fn visit_static_block(&mut self, it: &StaticBlock<'a>) {
        walk::walk_static_block(self, it);
        self.block(&it.body, it.span.end);
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        if let Some(ForStatementInit::VariableDeclaration(declaration)) = &it.init
            && declaration.kind.is_using()
        {
            self.wrong.get_or_insert((declaration.span, IN_THE_HEAD));
        }
        walk::walk_for_statement(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        walk::walk_for_of_statement(self, it);
        if let ForStatementLeft::VariableDeclaration(declaration) = &it.left
            && declaration.kind.is_using()
            && let Some(one) = declaration.declarations.first()
        {
            self.keyword(declaration);
            let (body, resource) = (it.body.span(), Resource::of(declaration, one));
            self.edits.insert(body.start, format!("{{ {} try {{ ", resource.check()));
            self.edits.insert(body.end, format!(" }} finally {{ {} }} }}", resource.dispose()));
        }
    }
}

/// The declaration that a statement is, if it is such a one.
fn using<'s, 'a>(statement: &'s Statement<'a>) -> Option<&'s VariableDeclaration<'a>> {
    match statement {
        Statement::VariableDeclaration(declaration) if declaration.kind.is_using() => {
            Some(declaration)
        }
        _ => None,
    }
}

/// A variable whose value is disposed of.
struct Resource<'s> {
    name: &'s str,
    awaited: bool,
}

impl<'s> Resource<'s> {
    fn of(declaration: &VariableDeclaration, one: &'s VariableDeclarator) -> Resource<'s> {
        // The parser refuses patterns here.
        let name = one.id.get_binding_identifier().map_or("", |id| id.name.as_str());
        Resource { name, awaited: declaration.kind.is_await() }
    }

    /// Throws where the value is something and cannot be disposed of.
    fn check(&self) -> String {
        let Resource { name, awaited } = self;
        let (method, symbol) = match awaited {
            true => (
                format!("({name}[Symbol.asyncDispose] ?? {name}[Symbol.dispose])"),
                "Symbol.asyncDispose",
            ),
            false => (format!("{name}[Symbol.dispose]"), "Symbol.dispose"),
        };
        format!(
            "if ({name} != null && typeof {method} !== \"function\") \
             throw new TypeError(\"{name} has no method [{symbol}]\");"
        )
    }

    fn dispose(&self) -> String {
        let Resource { name, awaited } = self;
        match awaited {
            true => format!(
                "await ({name}?.[Symbol.asyncDispose] ?? {name}?.[Symbol.dispose])?.call({name});"
            ),
            false => format!("{name}?.[Symbol.dispose]();"),
        }
    }
}
