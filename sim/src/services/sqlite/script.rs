//! Splits SQL into statements and tells roughly what each is, without asking SQLite.
//!
//! A database that has run nothing but schema statements has no connection yet; this is what
//! recognises them. It also finds the few words that need care wherever they stand.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use crate::values::sorted_map::SortedMap;

/// One statement of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    /// From its first token up to, and without, its semicolon.
    pub sql: &'a str,
    /// What it does.
    pub kind: Kind,
    /// Which of the [`words`] it has.
    pub words: u16,
}

/// What a statement does, by its first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Select,
    Insert,
    Update,
    Delete,
    /// `CREATE` of something that can be part of a pooled schema.
    Create,
    /// Any other change of the schema.
    Schema,
    Pragma,
    Other,
}

/// Words that matter wherever they stand, except in quotes and comments.
pub(super) mod words {
    pub const FROM: u16 = 1;
    pub const WHERE: u16 = 2;
    pub const ROLLBACK: u16 = 4;
    pub const FAIL: u16 = 8;
    pub const REPLACE: u16 = 16;
    pub const DEFERRED: u16 = 32;
    pub const WRITE: u16 = 64;
    pub const VIRTUAL: u16 = 128;
}

impl Statement<'_> {
    pub fn has(&self, word: u16) -> bool {
        self.words & word != 0
    }

    pub fn changes_schema(&self) -> bool {
        matches!(self.kind, Kind::Create | Kind::Schema)
    }

    /// Whether it adds a column and does nothing else to a table. Our triggers are not in its way, and objects try it
    /// at the beginning of every life.
    pub fn adds_column(&self) -> bool {
        if self.kind != Kind::Schema {
            return false;
        }
        let sql = self.sql.to_ascii_lowercase();
        let words: Vec<&str> = sql.split_ascii_whitespace().collect();
        words.starts_with(&["alter", "table"]) && words.get(3) == Some(&"add")
    }

    /// Whether it drops a trigger, which no row notices. A migration that replaces a trigger begins with it.
    pub fn drops_trigger(&self) -> bool {
        let mut words = self.sql.split_ascii_whitespace();
        self.kind == Kind::Schema
            && ["drop", "trigger"]
                .iter()
                .all(|word| words.next().is_some_and(|next| next.eq_ignore_ascii_case(word)))
    }
}

/// More different texts than any application has; beyond it the memory begins anew.
const MAX_KNOWN: usize = 4_096;

thread_local! {
    /// Where the statements of a text are, for an application says the same things in every run.
    static KNOWN: RefCell<SortedMap<Box<str>, Rc<[Place]>>> = const { RefCell::new(SortedMap::new()) };
}

/// A statement without its text.
#[derive(Clone)]
pub(super) struct Place {
    at: Range<usize>,
    kind: Kind,
    words: u16,
}

impl Place {
    /// The statement, given the text that it is in.
    pub fn of<'a>(&self, sql: &'a str) -> Statement<'a> {
        Statement { sql: &sql[self.at.clone()], kind: self.kind, words: self.words }
    }
}

/// Where the statements of a script are; as [`split`], but each text is looked through only once.
pub(super) fn places(sql: &str) -> Rc<[Place]> {
    KNOWN.with_borrow_mut(|known| {
        if let Some(places) = known.get(sql) {
            return Rc::clone(places);
        }
        let place = |statement: Statement<'_>| {
            let start = statement.sql.as_ptr().addr() - sql.as_ptr().addr();
            let at = start..start + statement.sql.len();
            Place { at, kind: statement.kind, words: statement.words }
        };
        let places: Rc<[Place]> = split(sql).into_iter().map(place).collect();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(sql.into(), Rc::clone(&places));
        places
    })
}

/// The statements of a script; empty ones are left out.
pub(super) fn split(sql: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::with_capacity(1);
    let mut rest = sql;
    while !rest.is_empty() {
        let (statement, length) = next(rest);
        statements.extend(statement);
        rest = &rest[length..];
    }
    statements
}

/// Whether a text only reads, which lets a replica answer it.
pub(crate) fn only_reads(sql: &str) -> bool {
    split(sql).iter().all(|statement| match statement.kind {
        Kind::Select => true,
        Kind::Other => !statement.has(words::WRITE),
        _ => false,
    })
}

/// Whether a text is exactly one statement.
pub(crate) fn is_one_statement(sql: &str) -> bool {
    // Most texts show it at a glance.
    (first_word(sql).is_some() && !sql.contains(';')) || places(sql).len() == 1
}

/// Whether a text begins with a pragma.
pub(crate) fn is_pragma(sql: &str) -> bool {
    match first_word(sql) {
        Some(word) => word.eq_ignore_ascii_case("pragma"),
        None => split(sql).first().is_some_and(|statement| statement.kind == Kind::Pragma),
    }
}

/// The word that a text begins with, if it does not begin with a comment or something odd.
fn first_word(sql: &str) -> Option<&str> {
    let sql = sql.trim_ascii_start();
    let end = sql.bytes().position(|byte| !in_word(byte)).unwrap_or(sql.len());
    (end > 0).then(|| &sql[..end])
}

/// The first statement and how many bytes it takes, semicolon included.
fn next(sql: &str) -> (Option<Statement<'_>>, usize) {
    let bytes = sql.as_bytes();
    let (mut first, mut at) = (None, 0);
    // Its first three tokens, and its last two so far.
    let (mut head, mut heads, mut last): ([&[u8]; 3], _, [&[u8]; 2]) = ([b""; 3], 0, [b""; 2]);
    let mut found = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if byte == b';' && (!is_trigger(head) || ends_trigger(last)) {
            break;
        }
        let end = token_end(bytes, at);
        let token = &bytes[at..end];
        at = end;
        if token.starts_with(b"--") || token.starts_with(b"/*") {
            continue;
        }
        first.get_or_insert(at - token.len());
        if heads < head.len() {
            head[heads] = token;
            heads += 1;
        }
        found |= word(token);
        last = [last[1], token];
    }
    let statement = first.map(|first| {
        let sql = &sql[first..at];
        Statement { sql, kind: kind(head), words: found }
    });
    (statement, (at + 1).min(bytes.len()))
}

pub(super) fn token_end(bytes: &[u8], at: usize) -> usize {
    let find = |from: usize, what: &[u8]| {
        let place = bytes[from.min(bytes.len())..].windows(what.len()).position(|w| w == what);
        place.map_or(bytes.len(), |place| from + place + what.len())
    };
    match bytes[at] {
        byte if in_word(byte) => {
            let length = bytes[at..].iter().position(|&byte| !in_word(byte));
            length.map_or(bytes.len(), |length| at + length)
        }
        quote @ (b'\'' | b'"' | b'`') => find(at + 1, &[quote]),
        b'[' => find(at + 1, b"]"),
        b'-' if bytes.get(at + 1) == Some(&b'-') => find(at + 2, b"\n"),
        b'/' if bytes.get(at + 1) == Some(&b'*') => find(at + 2, b"*/"),
        _ => at + 1,
    }
}

/// Which bytes are part of a word, as a table, because every byte of every statement is looked up.
const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        table[byte] = letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'$' | 0x80..);
        byte += 1;
    }
    table
};

fn in_word(byte: u8) -> bool {
    IN_WORD[usize::from(byte)]
}

fn is_trigger(head: [&[u8]; 3]) -> bool {
    head[0].eq_ignore_ascii_case(b"create")
        && head[1..].iter().any(|word| word.eq_ignore_ascii_case(b"trigger"))
}

/// A `CASE` may end with `END` as well, but not right behind a semicolon.
fn ends_trigger(last: [&[u8]; 2]) -> bool {
    last[0] == b";" && last[1].eq_ignore_ascii_case(b"end")
}

fn word(token: &[u8]) -> u16 {
    let is = |word: &str| token.eq_ignore_ascii_case(word.as_bytes());
    match (token[0] | 0x20, token.len()) {
        (b'f', 4) if is("from") => words::FROM,
        (b'f', 4) if is("fail") => words::FAIL,
        (b'w', 5) if is("where") => words::WHERE,
        (b'r', 8) if is("rollback") => words::ROLLBACK,
        (b'r', 7) if is("replace") => words::REPLACE | words::WRITE,
        (b'd', 8) if is("deferred") => words::DEFERRED,
        (b'd', 6) if is("delete") => words::WRITE,
        (b'i', 6) if is("insert") => words::WRITE,
        (b'u', 6) if is("update") => words::WRITE,
        (b'v', 7) if is("virtual") => words::VIRTUAL,
        _ => 0,
    }
}

fn kind(head: [&[u8]; 3]) -> Kind {
    let is = |i: usize, word: &str| head[i].eq_ignore_ascii_case(word.as_bytes());
    let any = |i: usize, words: &[&str]| words.iter().any(|word| is(i, word));
    if any(0, &["select", "values"]) {
        Kind::Select
    } else if any(0, &["insert", "replace"]) {
        Kind::Insert
    } else if is(0, "update") {
        Kind::Update
    } else if is(0, "delete") {
        Kind::Delete
    } else if is(0, "create") && any(1, &["table", "index", "unique", "trigger", "view"]) {
        Kind::Create
    } else if any(0, &["create", "drop", "alter", "reindex"]) {
        Kind::Schema
    } else if is(0, "pragma") {
        Kind::Pragma
    } else {
        Kind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        split(sql).iter().map(|statement| statement.sql).collect()
    }

    #[test]
    fn semicolons_in_quotes_comments_and_triggers_do_not_split() {
        assert_eq!(texts("select ';' ; -- a;b\n select 2;;"), ["select ';' ", "select 2"]);
        assert_eq!(texts("select \"a;b\", [c;d] /* ; */"), ["select \"a;b\", [c;d] /* ; */"]);
        let trigger = "create trigger t after insert on a begin select case when 1 then 2 end; delete from b; end";
        assert_eq!(texts(&format!("{trigger}; select 1")), [trigger, "select 1"]);
        assert_eq!(texts(" ; -- nothing\n"), Vec::<&str>::new());
        assert_eq!(texts("select 'it''s;'; x"), ["select 'it''s;'", "x"]);
    }

    #[test]
    fn a_text_that_was_seen_before_has_the_same_statements() {
        let sql = "create table a(b); insert into a values (';') ; -- end";
        for _ in 0..2 {
            let statements: Vec<_> = places(sql).iter().map(|place| place.of(sql)).collect();
            assert_eq!(statements, split(sql));
        }
    }

    #[test]
    fn one_statement_and_a_pragma_are_recognised_at_a_glance_and_at_a_second_look() {
        for sql in ["select 1", " select 1;", "-- why\nselect ';'", "pragma a", "/* b */ PRAGMA a;"]
        {
            assert!(is_one_statement(sql), "{sql}");
            assert_eq!(is_pragma(sql), sql.to_ascii_lowercase().contains("pragma"), "{sql}");
        }
        for sql in ["", ";", "-- nothing", "select 1; select 2", "pragmatic; pragma a"] {
            assert!(!is_one_statement(sql) && !is_pragma(sql), "{sql}");
        }
    }

    #[test]
    fn words_count_only_outside_quotes() {
        let statement = split("insert into a values ('rollback', \"fail\")")[0];
        assert_eq!((statement.kind, statement.words), (Kind::Insert, words::WRITE));
        assert!(split("insert or Rollback into a values (1)")[0].has(words::ROLLBACK));
        assert!(split("delete from a where b")[0].has(words::WHERE));
    }
}
