//! A few lines of virtual time around the queue service, so that a test reads as what was sent,
//! what the handler did, and which batches came.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use serde_json::Value;
use thunderhead_sim::Time;
use thunderhead_sim::queue::{
    Batch, BatchOutcome, BatchResult, ConsumerConfig, MessageBatch, MessageBody,
    MessageSendRequest, Metrics, Op, QueueConfig, Queues, Reply,
};

/// What a handler that fails returns.
pub struct Throw;

type Handler = Box<dyn FnMut(&MessageBatch, u32) -> Result<(), Throw>>;

/// A queue service, its consumers, and a clock that jumps to whatever comes next.
pub struct Driver {
    pub queues: Queues,
    pub now: Time,
    pub log: Vec<(Time, Batch)>,
    /// The most batches that were in progress at once.
    pub most_in_flight: usize,
    config: QueueConfig,
    consumers: Vec<Consumer>,
    running: Vec<(Time, Batch, BatchResult)>,
}

struct Consumer {
    queue: String,
    calls: u32,
    handler: Handler,
    /// How long each invocation takes.
    lasts: Duration,
}

impl Driver {
    pub fn new(config: QueueConfig) -> Driver {
        Driver {
            queues: Queues::default(),
            now: Time::ZERO,
            log: Vec::new(),
            most_in_flight: 0,
            config,
            consumers: Vec::new(),
            running: Vec::new(),
        }
    }

    pub fn emulator() -> Driver {
        Driver::new(QueueConfig::miniflare())
    }

    pub fn production() -> Driver {
        Driver::new(QueueConfig::default())
    }

    pub fn consume(
        &mut self,
        queue: &str,
        config: ConsumerConfig,
        handler: impl FnMut(&MessageBatch, u32) -> Result<(), Throw> + 'static,
    ) {
        self.consume_slowly(queue, config, Duration::ZERO, handler);
    }

    pub fn consume_slowly(
        &mut self,
        queue: &str,
        config: ConsumerConfig,
        lasts: Duration,
        handler: impl FnMut(&MessageBatch, u32) -> Result<(), Throw> + 'static,
    ) {
        if self.queues.queue_id(queue).is_none() {
            self.queues.create(queue, self.config.clone()).unwrap();
        }
        self.queues.set_consumer(queue, config).unwrap();
        let handler = Box::new(handler);
        self.consumers.push(Consumer { queue: queue.to_owned(), calls: 0, handler, lasts });
    }

    /// Sends all the bodies with one `sendBatch()`, as JSON.
    pub fn send_all(&mut self, queue: &str, bodies: &[Value]) -> Reply {
        let requests = bodies.iter().map(request).collect();
        self.queues.apply(self.now, &Op::send_batch(queue, requests)).unwrap()
    }

    pub fn metrics(&mut self, queue: &str) -> Metrics {
        self.queues.apply(self.now, &Op::metrics(queue)).unwrap().metrics()
    }

    /// Delivers until nothing is left that could be delivered.
    pub fn run(&mut self) {
        for _ in 0..10_000 {
            let ended = self.running.iter().map(|(end, ..)| *end).min();
            let ready = self.consumers.iter().enumerate().filter_map(|(index, consumer)| {
                let queue = self.queues.queue_id(&consumer.queue).unwrap();
                Some((self.queues.ready_at(queue)?, index))
            });
            match (ended, ready.min()) {
                (Some(end), ready) if ready.is_none_or(|(at, _)| end <= at.max(self.now)) => {
                    self.now = end;
                    let first = self.running.iter().position(|(at, ..)| *at == end).unwrap();
                    let (_, batch, result) = self.running.remove(first);
                    self.queues.finish(self.now, &batch, &result);
                }
                (_, Some((at, index))) => {
                    self.now = self.now.max(at);
                    self.invoke(index);
                }
                _ => return,
            }
        }
        panic!("deliveries never end: {:?}", self.log.last());
    }

    fn invoke(&mut self, index: usize) {
        let consumer = &mut self.consumers[index];
        let queue = self.queues.queue_id(&consumer.queue).unwrap();
        let batch = self.queues.take(self.now, queue, &mut |_| 0).expect("a batch was ready");
        self.most_in_flight = self.most_in_flight.max(self.queues.in_flight(queue));
        consumer.calls += 1;
        let handle = MessageBatch::new(batch.clone());
        let outcome = match (consumer.handler)(&handle, consumer.calls) {
            Ok(()) => BatchOutcome::Ok,
            Err(Throw) => BatchOutcome::Exception,
        };
        self.log.push((self.now, batch.clone()));
        self.running.push((self.now + consumer.lasts, batch, handle.result(outcome)));
    }

    /// The batches that a queue delivered, as `["a#1 b#1", "a#2"]`.
    pub fn batches(&self, queue: &str) -> Vec<String> {
        self.of(queue).map(|(_, batch)| line(batch)).collect()
    }

    /// When each of them was delivered, in milliseconds.
    pub fn times(&self, queue: &str) -> Vec<u64> {
        self.of(queue).map(|(at, _)| at.as_ms()).collect()
    }

    pub fn of<'a>(&'a self, queue: &'a str) -> impl Iterator<Item = &'a (Time, Batch)> + 'a {
        self.log.iter().filter(move |(_, batch)| &*batch.queue == queue)
    }
}

/// The messages of a batch, as `a#1 b#1`.
pub fn line(batch: &Batch) -> String {
    let texts: Vec<String> = batch.messages.iter().map(ToString::to_string).collect();
    texts.join(" ")
}

pub fn json(value: &Value) -> MessageBody {
    MessageBody::json(value).unwrap()
}

pub fn request(value: &Value) -> MessageSendRequest {
    MessageSendRequest::from(json(value))
}

pub fn words<const N: usize>(words: [&str; N]) -> Vec<Value> {
    words.iter().map(|word| Value::from(*word)).collect()
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What the same story led to in the emulator and in production.
pub struct Both {
    emulator: Vec<String>,
    production: Vec<String>,
}

impl Both {
    pub fn emulator(self, batches: &[&str]) -> Both {
        assert_eq!(self.emulator, batches, "as the emulator");
        self
    }

    pub fn production(self, batches: &[&str]) -> Both {
        assert_eq!(self.production, batches, "as production");
        self
    }

    pub fn both(self, batches: &[&str]) {
        self.emulator(batches).production(batches);
    }
}

/// Sends the bodies together to a consumer whose first invocation runs `handler` and whose later
/// ones simply return.
pub fn on_first_call(
    bodies: &[Value],
    handler: impl Fn(&MessageBatch) -> Result<(), Throw> + Copy + 'static,
) -> Both {
    let story = |mut driver: Driver| {
        driver.consume("q", ConsumerConfig::miniflare(), move |batch, call| match call {
            1 => handler(batch),
            _ => Ok(()),
        });
        driver.send_all("q", bodies);
        driver.run();
        driver.batches("q")
    };
    Both { emulator: story(Driver::emulator()), production: story(Driver::production()) }
}
