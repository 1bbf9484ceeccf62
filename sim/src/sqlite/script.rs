//! Splits SQL into statements and tells roughly what each is, without asking SQLite.
//!
//! A database that has run nothing but schema statements has no connection yet; this is what
//! recognises them. It also finds the few words that need care wherever they stand.

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
}

impl Statement<'_> {
    pub fn has(&self, word: u16) -> bool {
        self.words & word != 0
    }

    pub fn changes_schema(&self) -> bool {
        matches!(self.kind, Kind::Create | Kind::Schema)
    }
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
    split(sql).len() == 1
}

/// Whether a text begins with a pragma.
pub(crate) fn is_pragma(sql: &str) -> bool {
    split(sql).first().is_some_and(|statement| statement.kind == Kind::Pragma)
}

/// The first statement and how many bytes it takes, semicolon included.
fn next(sql: &str) -> (Option<Statement<'_>>, usize) {
    let bytes = sql.as_bytes();
    let mut first = None;
    let mut head: [&str; 3] = [""; 3];
    let (mut heads, mut found, mut at, mut last) = (0, 0, 0, ["", ""]);
    while at < bytes.len() {
        let end = token_end(bytes, at);
        let token = &sql[at..end];
        match bytes[at] {
            b';' if !is_trigger(head) || ends_trigger(last) => break,
            c if c.is_ascii_whitespace() || token.starts_with("--") || token.starts_with("/*") => {}
            _ => {
                first.get_or_insert(at);
                if heads < head.len() {
                    head[heads] = token;
                    heads += 1;
                }
                found |= word(token);
                last = [last[1], token];
            }
        }
        at = end;
    }
    let length = (at + 1).min(bytes.len());
    let statement = first.map(|first| {
        let sql = &sql[first..at];
        Statement { sql, kind: kind(head), words: found }
    });
    (statement, length)
}

fn token_end(bytes: &[u8], at: usize) -> usize {
    let find = |from: usize, what: &[u8]| {
        let place = bytes[from.min(bytes.len())..].windows(what.len()).position(|w| w == what);
        place.map_or(bytes.len(), |place| from + place + what.len())
    };
    let run = |holds: fn(u8) -> bool| {
        bytes[at..].iter().position(|&byte| !holds(byte)).map_or(bytes.len(), |place| at + place)
    };
    match (bytes[at], bytes.get(at + 1)) {
        (quote @ (b'\'' | b'"' | b'`'), _) => find(at + 1, &[quote]),
        (b'[', _) => find(at + 1, b"]"),
        (b'-', Some(b'-')) => find(at + 2, b"\n"),
        (b'/', Some(b'*')) => find(at + 2, b"*/"),
        (byte, _) if byte.is_ascii_whitespace() => run(|byte| byte.is_ascii_whitespace()),
        (byte, _) if in_word(byte) => run(in_word),
        _ => at + 1,
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn is_trigger(head: [&str; 3]) -> bool {
    head[0].eq_ignore_ascii_case("create")
        && head[1..].iter().any(|word| word.eq_ignore_ascii_case("trigger"))
}

/// A `CASE` may end with `END` as well, but not right behind a semicolon.
fn ends_trigger(last: [&str; 2]) -> bool {
    last[0] == ";" && last[1].eq_ignore_ascii_case("end")
}

fn word(token: &str) -> u16 {
    let table: [(&str, u16); 9] = [
        ("from", words::FROM),
        ("where", words::WHERE),
        ("rollback", words::ROLLBACK),
        ("fail", words::FAIL),
        ("replace", words::REPLACE | words::WRITE),
        ("insert", words::WRITE),
        ("update", words::WRITE),
        ("delete", words::WRITE),
        ("deferred", words::DEFERRED),
    ];
    let hit = |(word, _): &&(&str, u16)| token.eq_ignore_ascii_case(word);
    // Most tokens have another length or first letter, which is cheaper to see.
    match token.as_bytes()[0] | 0x20 {
        b'f' | b'w' | b'r' | b'd' | b'i' | b'u' => table.iter().find(hit).map_or(0, |(_, bit)| *bit),
        _ => 0,
    }
}

fn kind(head: [&str; 3]) -> Kind {
    let is = |i: usize, word: &str| head[i].eq_ignore_ascii_case(word);
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
        let trigger =
            "create trigger t after insert on a begin select case when 1 then 2 end; delete from b; end";
        assert_eq!(texts(&format!("{trigger}; select 1")), [trigger, "select 1"]);
        assert_eq!(texts(" ; -- nothing\n"), Vec::<&str>::new());
        assert_eq!(texts("select 'it''s;'; x"), ["select 'it''s;'", "x"]);
    }

    #[test]
    fn words_count_only_outside_quotes() {
        let statement = split("insert into a values ('rollback', \"fail\")")[0];
        assert_eq!((statement.kind, statement.words), (Kind::Insert, 0));
        assert!(split("insert or Rollback into a values (1)")[0].has(words::ROLLBACK));
        assert!(split("delete from a where b")[0].has(words::WHERE));
    }
}
