//! A D1 database as application code sees it.

use std::cell::RefCell;
use std::sync::Arc;

use crate::engine::env::Env;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::d1::{self, Answer, Constraint, D1Result, Session};
use crate::services::sqlite::{Row, Value};

/// A database, bound by its name.
#[derive(Clone, Debug)]
pub struct D1Database {
    env: Env,
    name: Arc<str>,
}

impl D1Database {
    pub(crate) fn new(env: Env, name: &str) -> D1Database {
        D1Database { env, name: name.into() }
    }

    /// Prepares a statement. Nothing is sent before it is run.
    pub fn prepare(&self, sql: &str) -> D1PreparedStatement<'_> {
        let statement = d1::Statement::new(sql);
        D1PreparedStatement { database: self, session: None, statement }
    }

    /// Runs several statements as one transaction.
    pub async fn batch(
        &self,
        statements: Vec<D1PreparedStatement<'_>>,
    ) -> Result<Vec<D1Result>, Error> {
        let statements = statements.into_iter().map(|prepared| prepared.statement);
        results(self.call(None, d1::Op::batch(&*self.name, statements)).await?)
    }

    /// Runs statements without parameters, one per line. The effects of those before a failure are kept.
    pub async fn exec(&self, sql: &str) -> Result<u64, Error> {
        match self.call(None, d1::Op::exec(&*self.name, sql)).await?.answer {
            Answer::Exec { count } => Ok(count),
            other => unreachable!("exec was answered with {other:?}"),
        }
    }

    /// Opens a session, in which reads may come from a replica and never go back in time.
    pub fn with_session(&self, constraint: Constraint) -> D1DatabaseSession {
        let session = RefCell::new(Session::new(constraint));
        D1DatabaseSession { database: self.clone(), session }
    }

    async fn call(
        &self,
        session: Option<&RefCell<Session>>,
        op: d1::Op,
    ) -> Result<d1::Reply, Error> {
        let op = match session {
            Some(session) => op.in_session(&session.borrow()),
            None => op,
        };
        let reply = match self.env.call(None, Op::D1(op)).await? {
            Reply::D1(reply) => reply,
            other => unreachable!("a database answered with {other}"),
        };
        if let (Some(session), Some(bookmark)) = (session, &reply.bookmark) {
            session.borrow_mut().saw(bookmark);
        }
        Ok(reply)
    }
}

/// A session on a database.
#[derive(Debug)]
pub struct D1DatabaseSession {
    database: D1Database,
    session: RefCell<Session>,
}

impl D1DatabaseSession {
    /// Prepares a statement that runs in this session.
    pub fn prepare(&self, sql: &str) -> D1PreparedStatement<'_> {
        let statement = d1::Statement::new(sql);
        D1PreparedStatement { database: &self.database, session: Some(&self.session), statement }
    }

    /// Runs several statements as one transaction in this session.
    pub async fn batch(
        &self,
        statements: Vec<D1PreparedStatement<'_>>,
    ) -> Result<Vec<D1Result>, Error> {
        let statements = statements.into_iter().map(|prepared| prepared.statement);
        let op = d1::Op::batch(&*self.database.name, statements);
        results(self.database.call(Some(&self.session), op).await?)
    }

    /// The bookmark of the latest state that this session has seen, from which another session can begin.
    pub fn get_bookmark(&self) -> Option<d1::Bookmark> {
        self.session.borrow().get_bookmark().cloned()
    }
}

/// A statement with its parameters.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before it is asked for its rows"]
pub struct D1PreparedStatement<'a> {
    database: &'a D1Database,
    session: Option<&'a RefCell<Session>>,
    statement: d1::Statement,
}

impl D1PreparedStatement<'_> {
    /// Binds the parameters, in order.
    pub fn bind(mut self, values: Vec<Value>) -> Self {
        self.statement = self.statement.bind(values);
        self
    }

    /// Runs the statement and returns all rows.
    pub async fn all(self) -> Result<D1Result, Error> {
        let op = d1::Op::all(&*self.database.name, self.statement);
        result(self.database.call(self.session, op).await?)
    }

    /// Runs the statement for its effect.
    pub async fn run(self) -> Result<D1Result, Error> {
        let op = d1::Op::run(&*self.database.name, self.statement);
        result(self.database.call(self.session, op).await?)
    }

    /// Runs the statement and returns the first row, if there is one.
    pub async fn first(self) -> Result<Option<Row>, Error> {
        let op = d1::Op::first(&*self.database.name, self.statement, None);
        match self.database.call(self.session, op).await?.answer {
            Answer::Row(row) => Ok(row),
            other => unreachable!("first was answered with {other:?}"),
        }
    }

    /// Runs the statement and returns one column of the first row: null too when there is no row. A column
    /// that a row does not have is an error.
    pub async fn first_column(self, column: &str) -> Result<Value, Error> {
        let op = d1::Op::first(&*self.database.name, self.statement, Some(column));
        match self.database.call(self.session, op).await?.answer {
            Answer::Column(value) => Ok(value),
            other => unreachable!("first(column) was answered with {other:?}"),
        }
    }

    /// Runs the statement and returns all rows as lists of values.
    pub async fn raw(self) -> Result<Vec<Vec<Value>>, Error> {
        let op = d1::Op::raw(&*self.database.name, self.statement, false);
        match self.database.call(self.session, op).await?.answer {
            Answer::Raw(rows) => Ok(rows),
            other => unreachable!("raw was answered with {other:?}"),
        }
    }
}

fn result(reply: d1::Reply) -> Result<D1Result, Error> {
    match reply.answer {
        Answer::Result(result) => Ok(result),
        other => unreachable!("a query was answered with {other:?}"),
    }
}

fn results(reply: d1::Reply) -> Result<Vec<D1Result>, Error> {
    match reply.answer {
        Answer::Batch(results) => Ok(results),
        other => unreachable!("a batch was answered with {other:?}"),
    }
}
