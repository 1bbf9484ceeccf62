//! Histories of commands, written by hand in SQL: rows change as a real database changes them.

use thunderhead_sim::d1::{self, Answer, D1Result, Meta};
use thunderhead_sim::sqlite::Database;
use thunderhead_sim::{Event, EventKind, Fault, Op, Reply, Request, Response, Time, Trace};

const SCHEMA: &str = "
    create table workflow_messages (workflow_id text, position integer, kind text, direction text,
        message_id text, message_type text, message_data text, message_metadata text,
        processed integer);
    create table workflow_states (workflow_id text primary key, version integer, state text);
    create table command_deliveries (workflow_id text, position integer, leased_by text,
        failures integer, parked_ms integer);
    create table guests (guest_id text primary key, status text, stay integer);
    create table checkouts (id integer primary key, message_id text, outcome text, guest_id text,
        stay integer);";

/// A history made by hand. The first thing told has index 0.
pub struct Story {
    trace: Trace,
    database: Database,
}

impl Default for Story {
    fn default() -> Story {
        let mut database = Database::open(0);
        database.exec(SCHEMA, &[]).expect("the tables are new");
        Story { trace: Trace::new(vec!["d1".into(), "web".into()]), database }
    }
}

impl Story {
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }

    fn push(&mut self, actor: &str, what: EventKind) -> &mut Story {
        let at = Time::from_ms(self.trace.events().len() as u64);
        let actor = self.trace.actor_named(actor);
        self.trace.push(Event { at, actor, kind: what });
        self
    }

    /// Rows change in one transaction.
    pub fn sql(&mut self, sql: &str) -> &mut Story {
        self.database.exec(sql, &[]).unwrap_or_else(|error| panic!("{error}: {sql}"));
        let changes = self.database.take_changes().into();
        self.push("d1", EventKind::Rows { changes })
    }

    /// Guests are in the house.
    pub fn guests(&mut self, names: &[&str]) -> &mut Story {
        let rows: Vec<String> = names.iter().map(|name| format!("('{name}', 'in', 1)")).collect();
        self.sql(&format!("insert into guests values {}", rows.join(", ")))
    }

    /// A command at that position of group `g`; its id is the position.
    pub fn command(&mut self, position: i64, guest: &str) -> &mut Story {
        self.sql(&format!(
            "insert into workflow_messages values ('g', {position}, 'Command', 'Output', '{position}', \
             'CheckOut', '{{\"guest\":\"{guest}\"}}', '{{}}', 0)"
        ))
    }

    /// An event at that position of group `g`.
    pub fn event(&mut self, position: i64, id: &str, kind: &str, data: &str) -> &mut Story {
        self.sql(&event(position, id, kind, data))
    }

    /// The command of that id takes effect.
    pub fn effect(&mut self, id: &str) -> &mut Story {
        self.sql(&format!("insert into checkouts (message_id, outcome) values ('{id}', 'out')"))
    }

    /// The command at that position is marked.
    pub fn marked(&mut self, position: i64) -> &mut Story {
        self.sql(&format!("update workflow_messages set processed = 1 where position = {position}"))
    }

    /// The command at that position is set aside.
    pub fn parked(&mut self, position: i64) -> &mut Story {
        self.sql(&format!("insert into command_deliveries values ('g', {position}, null, 8, 5)"))
    }

    /// The worker begins to work on a question.
    pub fn asked(&mut self, call: u32, path: &str) -> &mut Story {
        let op = Op::Fetch { to: "web".into(), request: Request::new("GET", path, "") };
        self.trace.set_op(call, op);
        self.push("web", EventKind::Begin { call })
    }

    /// The worker answers it.
    pub fn answered(&mut self, call: u32, status: u16, body: &str) -> &mut Story {
        let outcome = self.trace.keep(Ok(Reply::Fetch(Response::new(status, body))));
        self.push("web", EventKind::End { call, outcome })
    }

    /// A statement changed so many rows, and returned none.
    pub fn ran(&mut self, sql: &str, changes: u64) -> &mut Story {
        let call = 100 + self.trace.events().len() as u32;
        self.trace.set_op(call, Op::D1(d1::Op::run("db", d1::Statement::new(sql))));
        let meta = Meta { changes, ..Meta::default() };
        let answer = Answer::Result(D1Result { results: Vec::new(), meta });
        let outcome = self.trace.keep(Ok(Reply::D1(answer.into())));
        self.push("d1", EventKind::Effect { call, outcome })
    }

    /// A host dies.
    pub fn died(&mut self, host: &str) -> &mut Story {
        self.push(host, EventKind::Crash { fault: Fault::Crash, call: None })
    }
}

/// The statement that appends an event to group `g`.
pub fn event(position: i64, id: &str, kind: &str, data: &str) -> String {
    format!(
        "insert into workflow_messages values ('g', {position}, 'Event', 'Input', '{id}', '{kind}', \
         '{data}', '{{}}', null)"
    )
}
