//! The platform's limits for SQL, documented for Durable Objects and D1 unless a comment says
//! otherwise.

use rusqlite::limits::Limit;

/// The most columns of a table, or of a result.
pub const MAX_COLUMNS: i32 = 100;
/// The most parameters of a statement.
pub const MAX_BOUND_PARAMETERS: i32 = 100;
/// The most bytes of a statement.
pub const MAX_STATEMENT_BYTES: i32 = 100_000;
/// The most bytes of a text, a blob or a row. The emulator is laxer: it stops at 2,200,000.
pub const MAX_VALUE_BYTES: i32 = 2_000_000;
/// The most bytes of a pattern of `LIKE` or `GLOB`.
pub const MAX_LIKE_PATTERN_BYTES: i32 = 50;
/// The deepest expression; set in the platform's open source.
pub const MAX_EXPRESSION_DEPTH: i32 = 100;
/// The most parts of a `UNION`; set in the platform's open source.
pub const MAX_COMPOUND_SELECT: i32 = 5;
/// The most arguments of a function; set in the platform's open source.
pub const MAX_FUNCTION_ARGUMENTS: i32 = 127;
/// The deepest nesting of triggers; set in the platform's open source.
pub const MAX_TRIGGER_DEPTH: i32 = 10;

/// What a connection is told.
pub(super) const CONNECTION: [(Limit, i32); 10] = [
    (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT_BYTES),
    (Limit::SQLITE_LIMIT_COLUMN, MAX_COLUMNS),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, MAX_BOUND_PARAMETERS),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, MAX_EXPRESSION_DEPTH),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, MAX_COMPOUND_SELECT),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, MAX_FUNCTION_ARGUMENTS),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_LIKE_PATTERN_BYTES),
    // One more than the application may nest, for the triggers that capture changes.
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, MAX_TRIGGER_DEPTH + 1),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
];
