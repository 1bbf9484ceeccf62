//! What a Worker can ask of D1.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bookmark, Constraint, Error, TRANSIENT, transient_errors};
use crate::services::sqlite::Value;
use crate::values::call::{Call, CallClass, calls};

/// A statement and its values: what `prepare()` and `bind()` make.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// The SQL.
    pub sql: Arc<str>,
    /// The values of its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Value>,
}

impl Statement {
    /// `prepare()`.
    pub fn new(sql: impl Into<Arc<str>>) -> Statement {
        Statement { sql: sql.into(), bindings: Vec::new() }
    }

    /// `bind()`, in place of earlier values.
    #[must_use]
    pub fn bind<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Statement {
        let bindings = values.into_iter().map(Into::into).collect();
        Statement { bindings, ..self }
    }
}

/// One operation on one database.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Op {
    /// The name of the database.
    pub database: Arc<str>,
    /// What to do.
    pub method: Method,
    /// The session it belongs to; without one it goes to the primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// Who answers, if the session leaves a choice.
    #[serde(default)]
    pub read_from: ReadFrom,
}

/// What to do with a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Method {
    /// `all()`: every row, and what it cost.
    All(Statement),
    /// `run()`: the same.
    Run(Statement),
    /// `first()`: the first row, or one column of it.
    First {
        /// The statement.
        statement: Statement,
        /// The column, or the whole row.
        column: Option<Arc<str>>,
    },
    /// `raw()`: rows without names.
    Raw {
        /// The statement.
        statement: Statement,
        /// Whether the first row is the names of the columns.
        column_names: bool,
    },
    /// `batch()`: all statements, in order, or none.
    Batch(Vec<Statement>),
    /// `exec()`: one statement or more a line, until one fails.
    Exec(Arc<str>),
    /// `dump()`: which D1 no longer has.
    Dump,
}

/// The places in the list of transient errors, which have no numbers.
const PLACES: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8];
const _: () = assert!(PLACES.len() == TRANSIENT.len());

calls! {
    Method:
    All => 2, "d1.all", PLACES;
    Batch => 3, "d1.batch", PLACES;
    Dump => 4, "d1.dump", &[];
    Exec => 5, "d1.exec", PLACES;
    First => 6, "d1.first", PLACES;
    Raw => 7, "d1.raw", PLACES;
    Run => 8, "d1.run", PLACES;
}

/// What a session tells with each operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// How the session began.
    pub constraint: Constraint,
    /// The newest bookmark it was given since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookmark: Option<Bookmark>,
}

impl Session {
    /// `withSession()`.
    pub fn new(constraint: Constraint) -> Session {
        Session { constraint, bookmark: None }
    }

    /// Keeps the bookmark of a reply, if it is newer.
    pub fn saw(&mut self, bookmark: &Bookmark) {
        if self.bookmark.as_ref().is_none_or(|ours| ours < bookmark) {
            self.bookmark = Some(bookmark.clone());
        }
    }

    /// `getBookmark()`.
    pub fn get_bookmark(&self) -> Option<&Bookmark> {
        match (&self.bookmark, &self.constraint) {
            (Some(bookmark), _) | (None, Constraint::Bookmark(bookmark)) => Some(bookmark),
            _ => None,
        }
    }
}

/// Which copy of the database answers a read of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadFrom {
    /// The primary, which has seen every write.
    #[default]
    Primary,
    /// A replica that is this many writes behind, or as few as the session's bookmark demands.
    Replica {
        /// How many writes.
        lag: u64,
    },
}

impl Op {
    fn new(database: impl Into<Arc<str>>, method: Method) -> Op {
        Op { database: database.into(), method, session: None, read_from: ReadFrom::Primary }
    }

    /// `prepare(…).all()`.
    pub fn all(database: impl Into<Arc<str>>, statement: Statement) -> Op {
        Op::new(database, Method::All(statement))
    }

    /// `prepare(…).run()`.
    pub fn run(database: impl Into<Arc<str>>, statement: Statement) -> Op {
        Op::new(database, Method::Run(statement))
    }

    /// `prepare(…).first()`.
    pub fn first(database: impl Into<Arc<str>>, statement: Statement, column: Option<&str>) -> Op {
        Op::new(database, Method::First { statement, column: column.map(Into::into) })
    }

    /// `prepare(…).raw()`.
    pub fn raw(database: impl Into<Arc<str>>, statement: Statement, column_names: bool) -> Op {
        Op::new(database, Method::Raw { statement, column_names })
    }

    /// `batch([…])`.
    pub fn batch(
        database: impl Into<Arc<str>>,
        statements: impl IntoIterator<Item = Statement>,
    ) -> Op {
        Op::new(database, Method::Batch(statements.into_iter().collect()))
    }

    /// `exec(…)`.
    pub fn exec(database: impl Into<Arc<str>>, sql: impl Into<Arc<str>>) -> Op {
        Op::new(database, Method::Exec(sql.into()))
    }

    /// `dump()`.
    pub fn dump(database: impl Into<Arc<str>>) -> Op {
        Op::new(database, Method::Dump)
    }

    /// Makes the operation part of a session.
    #[must_use]
    pub fn in_session(self, session: &Session) -> Op {
        Op { session: Some(session.clone()), ..self }
    }

    /// Lets this copy answer where the session leaves a choice.
    #[must_use]
    pub fn read_from(self, read_from: ReadFrom) -> Op {
        Op { read_from, ..self }
    }

    /// The kind of call that it is.
    pub fn call(&self) -> Call {
        self.method.call()
    }

    /// The boundary that it crosses.
    pub fn class(&self) -> CallClass {
        if self.may_lag() { CallClass::Read } else { CallClass::Service }
    }

    /// The errors that the platform may answer with instead of applying it.
    pub fn refusals(&self) -> Vec<Error> {
        transient_errors(self).iter().map(|error| Error::Transient(*error)).collect()
    }

    /// The error at that place in the list of [`Op::refusals`], counting from 1: they have no numbers.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        let at = usize::try_from(code).ok()?.checked_sub(1)?;
        self.refusals().into_iter().nth(at)
    }

    /// The database that it is about, as scripts name it.
    pub fn target(&self) -> String {
        self.database.to_string()
    }

    /// The method's name, as the platform spells it.
    pub fn name(&self) -> &'static str {
        self.call().method()
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Whether a replica may answer it: a session reads that need not see the primary first.
    pub fn may_lag(&self) -> bool {
        let lags = |session: &Session| {
            session.get_bookmark().is_some() || session.constraint != Constraint::FirstPrimary
        };
        self.session.as_ref().is_some_and(lags) && self.only_reads()
    }

    /// Whether it only reads, so that a replica may answer and the platform may try again.
    pub fn only_reads(&self) -> bool {
        let reads = |statement: &Statement| crate::services::sqlite::only_reads(&statement.sql);
        match &self.method {
            Method::All(statement)
            | Method::Run(statement)
            | Method::First { statement, .. }
            | Method::Raw { statement, .. } => reads(statement),
            Method::Batch(statements) => statements.iter().all(reads),
            Method::Exec(_) | Method::Dump => false,
        }
    }
}

/// One line for a trace.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.database)?;
        match &self.method {
            Method::All(statement)
            | Method::Run(statement)
            | Method::First { statement, .. }
            | Method::Raw { statement, .. } => {
                f.write_str(": ")?;
                statement.fmt(f)
            }
            Method::Batch(statements) => {
                let mut separator = ": ";
                for statement in statements {
                    f.write_str(separator)?;
                    statement.fmt(f)?;
                    separator = "; ";
                }
                Ok(())
            }
            Method::Exec(sql) => {
                f.write_str(": ")?;
                OneLine(sql).fmt(f)
            }
            Method::Dump => Ok(()),
        }?;
        match self.read_from {
            ReadFrom::Replica { lag } if self.session.is_some() => write!(f, " (replica -{lag})"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OneLine(&self.sql).fmt(f)?;
        for (i, value) in self.bindings.iter().enumerate() {
            f.write_str(if i == 0 { " [" } else { ", " })?;
            value.fmt(f)?;
        }
        f.write_str(if self.bindings.is_empty() { "" } else { "]" })
    }
}

/// SQL with each run of white space made one space; of a long text, as many words as begin within
/// [`SHOWN`] characters, or all of them with `{:#}`.
struct OneLine<'a>(&'a str);

const SHOWN: usize = 72;

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut length = 0;
        for word in self.0.split_whitespace() {
            if length > SHOWN && !f.alternate() {
                return f.write_str(" …");
            }
            write!(f, "{}{word}", if length == 0 { "" } else { " " })?;
            length += word.chars().count() + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_shown_by_its_beginning_and_its_values() {
        let short = Statement::new("select name\n  from cats").bind(["Tom"]);
        assert_eq!(short.to_string(), "select name from cats ['Tom']");
        let long = Statement::new(format!("select {}", "a_column, ".repeat(20))).bind(["Tom"]);
        let shown = long.to_string();
        assert!(shown.ends_with("a_column, … ['Tom']"), "{shown}");
        assert!(shown.len() < 100, "{shown}");
    }
}
