use super::super::super::text::Length;
use super::*;
use crate::protocol::trace::Trace;
use crate::services::queue::{self, Fate, MessageId};
use crate::services::sqlite::Database;
use crate::values::time::Time;

#[derive(Default)]
struct Told {
    trace: Trace,
}

impl Told {
    fn push(&mut self, kind: EventKind) {
        let actor = self.trace.actor_named("d1");
        self.trace.push(Event { at: Time::ZERO, actor, kind });
    }

    fn effect(&mut self, op: Op, outcome: Outcome) {
        let call = self.trace.add_op(op);
        let outcome = self.trace.keep(outcome);
        self.push(EventKind::Effect { call, outcome });
    }

    /// What is there after so many events: `bucket photos cat.jpg`, each with its fields.
    fn after(&self, events: usize) -> Vec<String> {
        let kept = DurableState::of(&Text::new(&self.trace, Length::Whole));
        let mut now: SortedMap<usize, Fields> = SortedMap::new();
        for change in kept.changes.into_iter().filter(|change| change.event < events) {
            match change.now {
                Some(fields) => drop(now.insert(change.thing, fields)),
                None => drop(now.remove(&change.thing).expect("it was there")),
            }
        }
        let told = |(thing, fields): (usize, Fields)| {
            let (place, name) = &kept.things[thing];
            let (kind, place) = &kept.places[*place];
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{kind} {place} {name}: {}", fields.join(" "))
        };
        now.into_iter().map(told).collect()
    }
}

#[test]
fn rows_are_as_the_last_change_left_them() {
    let mut db = Database::open(0);
    db.exec("create table cats(name text, age integer)", &[]).unwrap();
    let mut told = Told::default();
    for sql in [
        "insert into cats values ('Tom', null), ('Felix', 3)",
        "update cats set age = 4 where name = 'Felix'; update cats set name = 'Max' where name = 'Tom'",
        "delete from cats where name = 'Felix'",
    ] {
        db.exec(sql, &[]).unwrap();
        told.push(EventKind::Rows { changes: db.take_changes().into() });
    }
    assert!(told.after(0).is_empty());
    assert_eq!(
        told.after(1),
        ["table d1 cats 1: name='Tom'", "table d1 cats 2: name='Felix' age=3"]
    );
    assert_eq!(
        told.after(2),
        ["table d1 cats 1: name='Max'", "table d1 cats 2: name='Felix' age=4"]
    );
    assert_eq!(told.after(3), ["table d1 cats 1: name='Max'"]);
}

#[test]
fn keys_come_and_go_and_a_call_that_was_refused_changes_nothing() {
    let mut told = Told::default();
    let key = || ("pages".into(), "home".into());
    let put = |value: &str| {
        let (namespace, key) = key();
        Op::Kv(kv::Op::Put {
            namespace,
            key,
            value: value.into(),
            options: kv::PutOptions::default(),
        })
    };
    let done = || Ok(Reply::Kv(kv::Reply::Done));
    told.effect(put("one"), done());
    told.effect(put("two"), Err(crate::protocol::outcome::Error::NetworkLost));
    let (namespace, key) = key();
    told.effect(Op::Kv(kv::Op::Delete { namespace, key }), done());
    assert_eq!(told.after(1), ["KV pages home: value=\"one\""]);
    assert_eq!(told.after(2), told.after(1));
    assert!(told.after(3).is_empty());
}

#[test]
fn a_message_waits_until_it_is_settled_and_a_dead_letter_waits_elsewhere() {
    let mut told = Told::default();
    let id: MessageId = serde_json::from_str("\"0123456789abcdef0123456789abcdef\"").unwrap();
    let settle = |fate| EventKind::Settle { call: None, queue: "work".into(), message: id, fate };
    let message = queue::MessageSendRequest::from(queue::MessageBody::text("go"));
    let send = queue::Op::Send { queue: "work".into(), message };
    let metrics = queue::Metrics::default();
    told.effect(Op::Queue(send), Ok(Reply::Queue(queue::Reply::Sent { id, metrics })));
    told.push(settle(Fate::Retried { at: Time::from_ms(5_000) }));
    told.push(settle(Fate::Gone));
    told.push(settle(Fate::DeadLettered { queue: "dead".into() }));
    let name = id.short();
    assert_eq!(told.after(1), [format!("queue work {name}: body=\"go\" state=waits")]);
    assert_eq!(told.after(2), [format!("queue work {name}: body=\"go\" state=waits until 5.000s")]);
    assert_eq!(told.after(3), told.after(2));
    assert_eq!(told.after(4), [format!("queue dead {name}: body=\"go\" state=waits, from work")]);
}
