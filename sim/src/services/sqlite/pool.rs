//! Connections that outlive a run, so that the next one finds schema and statements prepared.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::values::sorted_map::SortedMap;

use super::connection::Connection;
use super::script::{Kind, Statement};
use super::{Error, ResultSet};

/// More different schemas than any search has; beyond it the pool begins anew.
const MAX_SCHEMAS: usize = 1_024;
/// More connections of one schema than one run has objects of a class.
const MAX_IDLE: usize = 64;

thread_local! {
    /// The empty schema, from which all others grow. Connections in here hold no state of a run:
    /// each was rolled back to its schema with empty tables, so whether one was used before cannot
    /// be told. Keeping them is what makes opening a database cheap.
    static EMPTY: RefCell<Rc<Schema>> = RefCell::new(Rc::default());
    static SCHEMAS: Cell<usize> = const { Cell::new(0) };
}

/// What a database is after a sequence of statements that create something, add a column or drop a trigger, and nothing
/// else.
#[derive(Default)]
pub(super) struct Schema {
    statements: Vec<Arc<str>>,
    /// What the last of them was answered.
    answer: ResultSet,
    next: RefCell<SortedMap<Arc<str>, Rc<Schema>>>,
    /// Answers to statements that changed nothing, such as `CREATE TABLE IF NOT EXISTS` once more.
    unchanged: RefCell<SortedMap<Arc<str>, ResultSet>>,
    idle: RefCell<Vec<Connection>>,
}

impl Schema {
    /// The schema without tables.
    pub fn empty() -> Rc<Schema> {
        EMPTY.with(|empty| {
            if SCHEMAS.get() > MAX_SCHEMAS {
                SCHEMAS.set(0);
                empty.replace(Rc::default());
            }
            Rc::clone(&empty.borrow())
        })
    }

    /// The schema after one more statement, and its answer; `None` when the statement does
    /// something that a pooled schema cannot hold.
    pub fn after(
        self: &Rc<Schema>,
        statement: &Statement<'_>,
    ) -> Result<Option<(Rc<Schema>, ResultSet)>, Error> {
        let grows = statement.kind == Kind::Create || statement.adds_column();
        if !grows && !statement.drops_trigger() {
            return Ok(None);
        }
        if let Some(next) = self.next.borrow().get(statement.sql) {
            return Ok(Some((Rc::clone(next), next.answer.clone())));
        }
        if let Some(answer) = self.unchanged.borrow().get(statement.sql) {
            return Ok(Some((Rc::clone(self), answer.clone())));
        }
        let mut connection = self.outside_of_a_run();
        let answer = match connection.run(statement, &[]) {
            Ok(answer) => answer,
            Err(error) => {
                // A refused statement has changed nothing.
                self.give_back(connection);
                return Err(error);
            }
        };
        // `CREATE TABLE … AS SELECT` has written rows, which row capture has not seen.
        if connection.total_changes() > 0 {
            return Ok(None);
        }
        let sql: Arc<str> = statement.sql.into();
        SCHEMAS.set(SCHEMAS.get() + 1);
        if !answer.schema_changed {
            self.give_back(connection);
            self.unchanged.borrow_mut().insert(sql, answer.clone());
            return Ok(Some((Rc::clone(self), answer)));
        }
        let mut statements = self.statements.clone();
        statements.push(Arc::clone(&sql));
        let next = Rc::new(Schema { statements, answer: answer.clone(), ..Schema::default() });
        next.give_back(connection);
        self.next.borrow_mut().insert(sql, Rc::clone(&next));
        Ok(Some((next, answer)))
    }

    /// A connection with this schema and empty tables, for exclusive use.
    pub fn connection(self: &Rc<Schema>) -> Connection {
        let mut connection = self.idle_or_new();
        connection.begin_run();
        connection
    }

    /// A connection with this schema and empty tables that counts from zero, outside of a run.
    pub fn outside_of_a_run(&self) -> Connection {
        let mut connection = self.idle_or_new();
        connection.reset_counters();
        connection
    }

    fn idle_or_new(&self) -> Connection {
        let idle = self.idle.borrow_mut().pop();
        idle.unwrap_or_else(|| {
            let mut connection = Connection::open();
            for sql in &self.statements {
                let statement = super::script::split(sql)[0];
                connection.run(&statement, &[]).expect("the statement succeeded before");
            }
            connection
        })
    }

    /// Takes a connection back that is as [`Schema::connection`] gave it.
    pub fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Database;
    use super::super::script::split;
    use super::*;

    #[test]
    fn a_table_that_is_there_already_costs_neither_a_schema_nor_a_connection() {
        let sql = "create table if not exists a(x)";
        let create = split(sql)[0];
        let (schema, _) = Schema::empty().after(&create).unwrap().expect("a table can be pooled");
        // A connection with a past, on which rows have changed.
        Database::open(0).exec(&format!("{sql}; insert into a values(1)"), &[]).unwrap();
        for _ in 0..2 {
            let (again, answer) = schema.after(&create).unwrap().expect("and asked for again");
            assert!(Rc::ptr_eq(&again, &schema) && !answer.schema_changed);
            assert_eq!(schema.idle.borrow().len(), 1);
        }
    }

    #[test]
    fn a_trigger_that_a_migration_replaces_is_still_part_of_a_pooled_schema() {
        let sql = "create table a(x); create trigger t after insert on a begin delete from a; end; \
                   DROP TRIGGER t; create trigger t after insert on a begin select 1; end";
        let mut schema = Schema::empty();
        for statement in split(sql) {
            (schema, _) = schema.after(&statement).unwrap().expect(statement.sql);
        }
        let mut database = Database::open(0);
        database.exec(&format!("{sql}; insert into a values(1)"), &[]).unwrap();
        let rows = database.exec("select x from a", &[]).unwrap().rows;
        assert_eq!(rows.len(), 1, "the first trigger would have deleted it");
    }
    #[test]
    fn a_connection_that_has_had_too_many_tables_is_not_used_again() {
        let create = "create table a(x)";
        let idle = |tables: usize| {
            let (schema, _) = Schema::empty().after(&split(create)[0]).unwrap().expect(create);
            schema.idle.borrow_mut().clear();
            let mut database = Database::open(0);
            database.exec(&format!("{create}; insert into a values(1)"), &[]).unwrap();
            for table in 0..tables {
                let sql = format!("create table t{table}(x); drop table t{table}");
                database.exec(&sql, &[]).unwrap();
            }
            drop(database);
            schema.idle.borrow().len()
        };
        assert_eq!(idle(10), 1);
        assert_eq!(idle(1_024), 0, "with the first there have been one too many");
    }
}
