//! A database with the few verbs that tests speak in.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use thunderhead_sim::Time;
use thunderhead_sim::d1::{Answer, Applied, D1, D1Result, Error, Op, Reply, Statement};
use thunderhead_sim::sqlite::{Row, Value};

pub struct Db {
    pub d1: D1,
    pub now: Time,
}

impl Db {
    /// An account with one database, `db`.
    pub fn new() -> Db {
        let mut d1 = D1::new();
        d1.create_database("db").unwrap();
        Db { d1, now: Time::ZERO }
    }

    pub fn outcome(&mut self, op: Op) -> Applied {
        self.d1.apply(self.now, &op)
    }

    pub fn reply(&mut self, op: Op) -> Result<Reply, Error> {
        self.outcome(op).reply
    }

    pub fn call(&mut self, op: Op) -> Result<Answer, Error> {
        self.reply(op).map(|reply| reply.answer)
    }

    pub fn run(&mut self, sql: &str, bindings: &[Value]) -> Result<D1Result, Error> {
        self.call(Op::run("db", stmt(sql).bind(bindings.iter().cloned()))).map(result)
    }

    pub fn first(&mut self, sql: &str, column: Option<&str>) -> Result<Answer, Error> {
        self.call(Op::first("db", stmt(sql), column))
    }

    pub fn exec(&mut self, sql: &str) -> Result<Answer, Error> {
        self.call(Op::exec("db", sql))
    }

    pub fn batch(&mut self, statements: &[&str]) -> Result<Vec<D1Result>, Error> {
        match self.call(Op::batch("db", statements.iter().map(|sql| stmt(sql))))? {
            Answer::Batch(results) => Ok(results),
            other => panic!("unexpected {other:?}"),
        }
    }

    /// The only value of a query.
    pub fn value(&mut self, sql: &str) -> Value {
        self.run(sql, &[]).unwrap().results[0][0].1.clone()
    }
}

pub fn stmt(sql: &str) -> Statement {
    Statement::new(sql)
}

pub fn result(answer: Answer) -> D1Result {
    match answer {
        Answer::Result(result) => result,
        other => panic!("unexpected {other:?}"),
    }
}

pub fn int(number: i64) -> Value {
    Value::Integer(number)
}

pub fn text(text: &str) -> Value {
    Value::from(text)
}

pub fn named<const N: usize>(row: [(&str, Value); N]) -> Row {
    row.into_iter().map(|(name, value)| (Arc::from(name), value)).collect()
}
