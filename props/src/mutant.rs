//! Doctored histories, for the tests of the invariants.

use std::sync::Arc;

use thunderhead_sim::queue::{self, Fate, MessageBody, Queues};
use thunderhead_sim::r2::{self, Object};
use thunderhead_sim::{Event, Op, Outcome, Reply, Time, Trace, What};

/// A history made by hand; everything happens to one actor, unless it says to whom.
#[derive(Clone)]
pub struct History {
    actors: Vec<Arc<str>>,
    events: Vec<Event>,
}

impl Default for History {
    fn default() -> History {
        History { actors: vec!["someone".into()], events: Vec::new() }
    }
}

impl History {
    pub fn push(&mut self, what: What) -> &mut History {
        self.push_as("someone", what)
    }

    /// The same, happening to a certain actor.
    pub fn push_as(&mut self, name: &str, what: What) -> &mut History {
        let known = self.actors.iter().position(|actor| &**actor == name);
        let actor = known.unwrap_or_else(|| {
            self.actors.push(name.into());
            self.actors.len() - 1
        });
        let at = Time::from_ms(self.events.len() as u64);
        self.events.push(Event { at, actor: actor as u16, what });
        self
    }

    pub fn trace(&self) -> Trace {
        Trace::new(self.actors.clone(), self.events.clone())
    }

    /// A call that a service answered so.
    pub fn answered(&mut self, call: u32, op: Op, outcome: Outcome) -> &mut History {
        self.push(What::Effect { call, op: Arc::new(op), outcome: Arc::new(outcome) })
    }

    /// A call that somebody made.
    pub fn calls(&mut self, actor: &str, call: u32, op: Op) -> &mut History {
        self.push_as(actor, What::Call { call, op: Arc::new(op) })
    }

    /// A call that a handler began to work on.
    pub fn begins(&mut self, call: u32, op: Op) -> &mut History {
        self.push(What::Begin { call, op: Arc::new(op) })
    }

    /// A call that a handler has answered.
    pub fn ends(&mut self, call: u32, reply: Reply) -> &mut History {
        self.push(What::End { call, outcome: Arc::new(Ok(reply)) })
    }

    /// A caller has its answer.
    pub fn returns(&mut self, actor: &str, call: u32, reply: Reply) -> &mut History {
        self.push_as(actor, What::Return { call, outcome: Arc::new(Ok(reply)) })
    }

    /// A put took effect and gave this version.
    pub fn stored(&mut self, bucket: &str, key: &str, text: &str, version: &str) -> &mut History {
        let op = r2::Op::put(bucket, key, text);
        let object = Object { version: version.into(), ..object(&op) };
        let outcome = Arc::new(Ok(Reply::R2(r2::Reply::Stored(Arc::new(object)))));
        self.push(What::Effect { call: 0, op: Arc::new(Op::R2(op)), outcome })
    }

    /// Call `call` was made.
    pub fn called(&mut self, call: u32) -> &mut History {
        self.push(What::Call { call, op: Arc::new(Op::R2(r2::Op::head("photos", "cat"))) })
    }

    /// Call `call` took effect.
    pub fn effect(&mut self, call: u32) -> &mut History {
        let op = Arc::new(Op::R2(r2::Op::head("photos", "cat")));
        let outcome = Arc::new(Ok(Reply::R2(r2::Reply::NotFound)));
        self.push(What::Effect { call, op, outcome })
    }

    /// The one message of the history sets out to its consumer.
    pub fn delivered(&mut self) -> &mut History {
        self.push(What::Call { call: 0, op: Arc::new(deliver()) })
    }

    /// The one message of the history reaches its consumer.
    pub fn begun(&mut self) -> &mut History {
        self.push(What::Begin { call: 0, op: Arc::new(deliver()) })
    }

    /// The queue decides about the one message of the history.
    pub fn settled(&mut self, fate: Fate) -> &mut History {
        let Op::Deliver { batch, .. } = deliver() else { unreachable!("it is a delivery") };
        let (call, message) = (Some(0), batch.messages[0].id);
        self.push(What::Settle { call, queue: batch.queue, message, fate })
    }
}

/// What R2 makes of a put.
fn object(put: &r2::Op) -> Object {
    let mut store = r2::R2::new();
    store.create_bucket(put.bucket(), r2::BucketConfig::default()).expect("a good name");
    let reply = store.apply(Time::ZERO, put).reply.expect("stored");
    reply.object().map(|object| (**object).clone()).expect("a put answers with its object")
}

/// The delivery of the first message that was ever sent.
fn deliver() -> Op {
    let mut queues = Queues::default();
    queues.create("events", queue::QueueConfig::default()).expect("a good name");
    let consumer = queue::ConsumerConfig { max_batch_size: 1, ..Default::default() };
    queues.set_consumer("events", consumer).expect("good settings");
    queues.apply(Time::ZERO, &queue::Op::send("events", MessageBody::text("a"))).expect("sent");
    let id = queues.queue_id("events").expect("it exists");
    let batch = queues.take(Time::ZERO, id, &mut |_| 0).expect("a full batch");
    Op::Deliver { to: "worker".into(), batch }
}
