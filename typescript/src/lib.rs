//! Makes JavaScript of TypeScript: types become spaces, so every line and column stays where it is, and no map is
//! needed to find the place of an error. Enums, namespaces and parameter properties become the JavaScript that they
//! stand for, on the lines where they are. So does `using`, which the engine does not read, in plain JavaScript too
//! ([`lower_using`]).
//!
//! ```
//! let typed = "const n: number = 1 as any;\nenum Size { S, L = 4 }\n";
//! let plain = thunderhead_typescript::strip(typed, false).unwrap();
//! assert!(plain.starts_with("const n         = 1       ;\nvar Size; "));
//! ```

mod edits;
mod enums;
mod imports;
mod members;
mod namespaces;
mod statements;
mod stripper;
mod using;

use std::fmt;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use edits::Edits;
use stripper::Stripper;

/// Why a text is no TypeScript, or none that can be made JavaScript of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripError {
    /// The line, counting from 1.
    pub line: usize,
    /// The column, counting from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for StripError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for StripError {}

impl StripError {
    fn at(source: &str, offset: usize, message: impl Into<String>) -> StripError {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        StripError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

/// The JavaScript of a module in TypeScript. In a `.tsx` file angle brackets are elements and no assertions.
pub fn strip(source: &str, tsx: bool) -> Result<String, StripError> {
    let allocator = Allocator::default();
    let kind = if tsx { SourceType::tsx() } else { SourceType::ts() };
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(wrong) = parsed.diagnostics.first() {
        let offset = wrong.labels.first().map_or(0, |label| label.offset());
        return Err(StripError::at(source, offset as usize, format!("SyntaxError: {wrong}")));
    }
    Stripper::strip(source, &parsed.program)
}

/// A module in JavaScript without its `using` and `await using`. `None` means that the text is to be left as it is: it
/// has no such declaration, or the parser cannot read it, and then the engine says what is wrong.
pub fn lower_using(source: &str) -> Result<Option<String>, StripError> {
    // Few files have the word, and the others need not be parsed.
    if !using::may_have(source) {
        return Ok(None);
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::mjs()).parse();
    if !parsed.diagnostics.is_empty() {
        return Ok(None);
    }
    let mut edits = Edits::new(source);
    match using::lower(&parsed.program, &mut edits) {
        Ok(found) => Ok(found.then(|| edits.apply())),
        Err((span, why)) => Err(StripError::at(source, span.start as usize, why)),
    }
}
