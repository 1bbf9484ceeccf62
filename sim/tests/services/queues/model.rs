//! Thousands of arbitrary histories, each compared with a model that only counts.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::collections::BTreeMap;
use std::time::Duration;

use thunderhead_sim::Time;
use thunderhead_sim::queue::{
    Batch, BatchOutcome, ConsumerConfig, Fate, MessageBatch, MessageBody, MessageId, Op,
    QueueConfig, QueueId, Queues, Reply,
};

/// A generator that is the same everywhere, so that a failing number can be run again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// What the model knows of one message: deliveries since it joined its queue, and how it ended.
#[derive(Default)]
struct Known {
    deliveries: u32,
    settled: bool,
    dead: bool,
}

struct History {
    queues: Queues,
    q: QueueId,
    dlq: QueueId,
    now: Time,
    dice: Dice,
    max_retries: u32,
    known: BTreeMap<MessageId, Known>,
    /// Every batch that was ever delivered, since any copy may end at any time.
    batches: Vec<Batch>,
    /// What the run met, to prove that it met anything.
    met: BTreeMap<&'static str, u32>,
}

impl History {
    fn new(seed: u64) -> History {
        let mut dice = Dice(seed);
        let max_retries = dice.below(4);
        let mut queues = Queues::default();
        let retention = Duration::from_secs(60);
        for name in ["q", "dlq"] {
            queues.create(name, QueueConfig { retention, ..QueueConfig::default() }).unwrap();
        }
        let config = ConsumerConfig {
            max_batch_size: 1 + dice.below(4),
            max_batch_timeout: Duration::from_secs(dice.below(3).into()),
            max_retries,
            max_concurrency: 1 + dice.below(3),
            lease: Duration::from_secs(20),
            dead_letter_queue: (dice.below(2) == 0).then(|| "dlq".into()),
            ..ConsumerConfig::default()
        };
        queues.set_consumer("q", config).unwrap();
        let (q, dlq) = (queues.queue_id("q").unwrap(), queues.queue_id("dlq").unwrap());
        let (known, batches, met) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        History { queues, q, dlq, now: Time::ZERO, dice, max_retries, known, batches, met }
    }

    fn step(&mut self) {
        match self.dice.below(10) {
            0..=2 => self.send(),
            3..=5 => self.deliver(),
            6..=7 => self.finish(),
            8 => self.now = self.now + Duration::from_secs(self.dice.below(30).into()),
            _ => self.expire(),
        }
        self.check();
    }

    fn send(&mut self) {
        let op = Op::send("q", MessageBody::text("m"));
        let Ok(Reply::Sent { id, .. }) = self.queues.apply(self.now, &op) else {
            panic!("the queue takes a message");
        };
        assert!(self.known.insert(id, Known::default()).is_none(), "ids do not repeat");
    }

    fn deliver(&mut self) {
        let ready = self.queues.ready_at(self.q).is_some_and(|at| at <= self.now);
        let dice = &mut self.dice;
        let Some(batch) = self.queues.take(self.now, self.q, &mut |n| dice.below(n)) else {
            return;
        };
        assert!(ready && !batch.messages.is_empty());
        for delivery in &batch.messages {
            let known = self.known.get_mut(&delivery.id).expect("only what was sent is delivered");
            known.deliveries += 1;
            assert!(!known.settled && !known.dead, "a settled message came back");
            assert_eq!(delivery.attempts, known.deliveries);
            assert!(known.deliveries <= self.max_retries + 1);
        }
        self.batches.push(batch);
    }

    /// Ends some invocation, which may have ended before or have lost its lease.
    fn finish(&mut self) {
        let Some(count) = u32::try_from(self.batches.len()).ok().filter(|count| *count > 0) else {
            return;
        };
        let index = usize::try_from(self.dice.below(count)).unwrap();
        let handle = MessageBatch::new(self.batches[index].clone());
        for message in handle.messages() {
            match self.dice.below(5) {
                0 => message.ack(),
                1 => message.retry(),
                2 => message.retry_with(self.dice.below(9)),
                _ => {}
            }
        }
        match self.dice.below(6) {
            0 => handle.ack_all(),
            1 => handle.retry_all(),
            _ => {}
        }
        let outcome =
            if self.dice.below(3) == 0 { BatchOutcome::Exception } else { BatchOutcome::Ok };
        let fates = self.queues.finish(self.now, &self.batches[index], &handle.result(outcome));
        let ids: Vec<MessageId> = handle.messages().iter().map(|message| message.id()).collect();
        assert_eq!(ids.len(), fates.len());
        for (id, fate) in ids.into_iter().zip(fates) {
            self.note(id, &fate);
        }
    }

    fn expire(&mut self) {
        for expiry in self.queues.expire(self.now) {
            assert_ne!(expiry.fate, Fate::Gone, "only real changes are reported");
            self.note(expiry.id, &expiry.fate);
        }
    }

    fn note(&mut self, id: MessageId, fate: &Fate) {
        let known = self.known.get_mut(&id).expect("only what was sent has a fate");
        let name = match fate {
            Fate::Acked => "acked",
            Fate::Retried { .. } => "retried",
            Fate::DeadLettered { .. } => "dead-lettered",
            Fate::Dropped => "dropped",
            Fate::Gone => "gone",
            Fate::Expired => "expired",
        };
        *self.met.entry(name).or_default() += 1;
        match fate {
            Fate::Gone => return,
            Fate::Retried { .. } => assert!(known.deliveries <= self.max_retries),
            Fate::DeadLettered { .. } => known.dead = true,
            Fate::Acked | Fate::Dropped | Fate::Expired => known.settled = true,
        }
        if matches!(fate, Fate::DeadLettered { .. } | Fate::Dropped) {
            assert_eq!(known.deliveries, self.max_retries + 1, "it had all its deliveries");
        }
    }

    /// Each message is in exactly one place: waiting, leased, in the dead letter queue, or settled.
    fn check(&mut self) {
        // An operation that met the end of a message's retention leaves the report for later.
        self.expire();
        let mut places: BTreeMap<MessageId, u32> = BTreeMap::new();
        let (q, dlq) = (self.q, self.dlq);
        let unsettled = self.queues.waiting(q).chain(self.queues.leased(q));
        for id in unsettled.chain(self.queues.waiting(dlq)) {
            *places.entry(id).or_default() += 1;
        }
        for (id, known) in &self.known {
            let expected = if known.settled { None } else { Some(&1) };
            assert_eq!(places.get(id), expected, "{id} after {} deliveries", known.deliveries);
        }
        assert!(places.keys().all(|id| self.known.contains_key(id)));
    }
}

#[test]
fn no_message_is_lost_repeated_beyond_its_retries_or_delivered_after_its_ack() {
    let mut met: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..5_000 {
        let mut history = History::new(seed);
        for _ in 0..80 {
            history.step();
        }
        for (name, count) in history.met {
            *met.entry(name).or_default() += count;
        }
    }
    let names: Vec<&str> = met.keys().copied().collect();
    assert_eq!(names, ["acked", "dead-lettered", "dropped", "expired", "gone", "retried"]);
}

#[test]
fn the_same_choices_lead_to_the_same_history() {
    let tell = |seed| {
        let mut history = History::new(seed);
        (0..200).for_each(|_| history.step());
        history.batches
    };
    for seed in 0..50 {
        assert_eq!(tell(seed), tell(seed));
    }
}
