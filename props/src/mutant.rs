//! Histories written by hand, for the tests of the promises.

use std::sync::Arc;
use std::time::Duration;

use thunderhead_sim::queue::{self, Fate, MessageBody, MessageId, Queues};
use thunderhead_sim::r2::{self, Object};
use thunderhead_sim::{Error, Event, EventKind, Op, Outcome, Reply, Time, Trace};

/// A history written by hand. Events happen to one actor unless a method takes another.
#[derive(Clone)]
pub struct History {
    trace: Trace,
    calls: u32,
    waited: Duration,
}

impl Default for History {
    fn default() -> History {
        // Tests number their own calls below this.
        History { trace: Trace::new(vec!["someone".into()]), calls: 100, waited: Duration::ZERO }
    }
}

impl History {
    pub fn push(&mut self, what: EventKind) -> &mut History {
        self.push_as("someone", what)
    }

    /// Appends an event that happens to the actor of that name.
    pub fn push_as(&mut self, name: &str, what: EventKind) -> &mut History {
        let at = Time::from_ms(self.trace.events().len() as u64) + self.waited;
        let actor = self.trace.actor_named(name);
        self.trace.push(Event { at, actor, kind: what });
        self
    }

    /// Lets time pass before the next event.
    pub fn waits(&mut self, duration: Duration) -> &mut History {
        self.waited += duration;
        self
    }

    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }

    /// A new call takes effect or is refused, as `outcome` says.
    pub fn effect_of(&mut self, op: Op, outcome: Outcome) -> &mut History {
        self.calls += 1;
        self.answered(self.calls, op, outcome)
    }

    /// Call `call` takes effect or is refused, as `outcome` says.
    pub fn answered(&mut self, call: u32, op: Op, outcome: Outcome) -> &mut History {
        self.trace.set_op(call, op);
        let outcome = self.trace.keep(outcome);
        self.push(EventKind::Effect { call, outcome })
    }

    /// `actor` makes a call. The request of a client is an `Op::Fetch`.
    pub fn calls(&mut self, actor: &str, call: u32, op: Op) -> &mut History {
        self.trace.set_op(call, op);
        self.push_as(actor, EventKind::Call { call })
    }

    /// A handler begins to work on a call.
    pub fn begins(&mut self, call: u32, op: Op) -> &mut History {
        self.begins_as("someone", call, op)
    }

    /// A handler of `actor` begins to work on a call.
    pub fn begins_as(&mut self, actor: &str, call: u32, op: Op) -> &mut History {
        self.trace.set_op(call, op);
        self.push_as(actor, EventKind::Begin { call })
    }

    /// A handler answers a call.
    pub fn ends(&mut self, call: u32, reply: Reply) -> &mut History {
        self.ends_as("someone", call, reply)
    }

    /// A handler of `actor` answers a call.
    pub fn ends_as(&mut self, actor: &str, call: u32, reply: Reply) -> &mut History {
        let outcome = self.trace.keep(Ok(reply));
        self.push_as(actor, EventKind::End { call, outcome })
    }

    /// A handler fails.
    pub fn fails(&mut self, call: u32, error: Error) -> &mut History {
        let outcome = self.trace.keep(Err(error));
        self.push(EventKind::End { call, outcome })
    }

    /// The answer of a call reaches its caller.
    pub fn returns(&mut self, actor: &str, call: u32, reply: Reply) -> &mut History {
        let outcome = self.trace.keep(Ok(reply));
        self.push_as(actor, EventKind::Return { call, outcome })
    }

    /// The error of a call reaches its caller.
    pub fn refused(&mut self, actor: &str, call: u32, error: Error) -> &mut History {
        let outcome = self.trace.keep(Err(error));
        self.push_as(actor, EventKind::Return { call, outcome })
    }

    /// A put takes effect, and R2 gives it this version.
    pub fn stored(&mut self, bucket: &str, key: &str, text: &str, version: &str) -> &mut History {
        let op = r2::Op::put(bucket, key, text);
        let object = Object { version: version.into(), ..object(&op) };
        let outcome = Ok(Reply::R2(r2::Reply::Stored(Arc::new(object))));
        self.effect_of(Op::R2(op), outcome)
    }

    /// Call `call` was made.
    pub fn called(&mut self, call: u32) -> &mut History {
        self.trace.set_op(call, Op::R2(r2::Op::head("photos", "cat")));
        self.push(EventKind::Call { call })
    }

    /// Call `call` took effect.
    pub fn effect(&mut self, call: u32) -> &mut History {
        self.trace.set_op(call, Op::R2(r2::Op::head("photos", "cat")));
        let outcome = self.trace.keep(Ok(Reply::R2(r2::Reply::NotFound)));
        self.push(EventKind::Effect { call, outcome })
    }

    /// A message reaches its consumer.
    pub fn reaches(&mut self, message: MessageId) -> &mut History {
        self.calls += 1;
        let mut op = deliver();
        if let Op::Deliver { batch, .. } = &mut op {
            batch.messages[0].id = message;
        }
        self.begins(self.calls, op)
    }

    /// The one message of the history sets out to its consumer.
    pub fn delivered(&mut self) -> &mut History {
        self.trace.set_op(0, deliver());
        self.push(EventKind::Call { call: 0 })
    }

    /// The one message of the history reaches its consumer.
    pub fn begun(&mut self) -> &mut History {
        self.trace.set_op(0, deliver());
        self.push(EventKind::Begin { call: 0 })
    }

    /// The queue decides about the one message of the history.
    pub fn settled(&mut self, fate: Fate) -> &mut History {
        let Op::Deliver { batch, .. } = deliver() else { unreachable!("it is a delivery") };
        let (call, message) = (Some(0), batch.messages[0].id);
        self.push(EventKind::Settle { call, queue: batch.queue, message, fate })
    }
}

/// What R2 makes of a put.
pub fn object(put: &r2::Op) -> Object {
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
