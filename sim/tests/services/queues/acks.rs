//! What acks, retries and exceptions lead to: the whole decision table, and which delay applies.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use thunderhead_sim::Time;
use thunderhead_sim::queue::{
    Batch, BatchOutcome, BatchResult, ConsumerConfig, Fate, MessageBatch, MessageBody, Op,
    QueueConfig, QueueId, Queues,
};

use super::driver::{Driver, Throw, on_first_call, seconds, words};

/// A handler, spelt as the calls that it makes on the batch or on its first message.
fn perform(batch: &MessageBatch, calls: &str) -> Result<(), Throw> {
    for call in calls.split_whitespace() {
        match call {
            "ack" => batch.messages()[0].ack(),
            "retry" => batch.messages()[0].retry(),
            "ackAll" => batch.ack_all(),
            "retryAll" => batch.retry_all(),
            "throw" => return Err(Throw),
            other => panic!("no such call: {other}"),
        }
    }
    Ok(())
}

/// A batch of `a` and `b`, in which `a` is the message that the handler marks.
#[test]
fn the_decision_table_holds_in_production_and_in_the_emulator() {
    const BOTH: &[&str] = &["a#1 b#1", "a#2 b#2"];
    const NONE: &[&str] = &["a#1 b#1"];
    const MARKED: &[&str] = &["a#1 b#1", "a#2"];
    const OTHER: &[&str] = &["a#1 b#1", "b#2"];
    type Row = (&'static str, &'static [&'static str], &'static [&'static str]);
    let table: [Row; 12] = [
        ("", NONE, NONE),
        ("throw", BOTH, BOTH),
        ("ack throw", OTHER, BOTH),
        ("ackAll throw", NONE, BOTH),
        ("ack retryAll", OTHER, BOTH),
        ("retry ackAll", MARKED, MARKED),
        ("ack retry", NONE, NONE),
        ("retry ack", MARKED, MARKED),
        ("retryAll ack", BOTH, BOTH),
        ("ackAll retry", NONE, NONE),
        ("ackAll retryAll", NONE, NONE),
        ("retryAll ackAll", BOTH, BOTH),
    ];
    for (calls, production, emulator) in table {
        println!("the handler does: {calls}");
        let batches = on_first_call(&words(["a", "b"]), move |batch| perform(batch, calls));
        batches.production(production).emulator(emulator);
    }
}

/// A queue with one message `a`, its consumer's retry delay, and the batch that delivers it.
fn delivered(retry_delay: u64) -> (Queues, QueueId, Batch) {
    let mut queues = Queues::default();
    queues.create("q", QueueConfig::default()).unwrap();
    let (retry_delay, max_batch_timeout) = (seconds(retry_delay), seconds(0));
    let config = ConsumerConfig { retry_delay, max_batch_timeout, ..ConsumerConfig::default() };
    queues.set_consumer("q", config).unwrap();
    queues.apply(Time::ZERO, &Op::send("q", MessageBody::text("a"))).unwrap();
    let q = queues.queue_id("q").unwrap();
    let batch = queues.take(Time::ZERO, q, &mut |_| 0).unwrap();
    (queues, q, batch)
}

/// How many seconds the message waits when the consumer's own delay is 7 s.
fn delay(outcome: BatchOutcome, handler: fn(&MessageBatch)) -> u64 {
    let (mut queues, q, batch) = delivered(7);
    let handle = MessageBatch::new(batch.clone());
    handler(&handle);
    let fates = queues.finish(Time::ZERO, &batch, &handle.result(outcome));
    let [Fate::Retried { at }] = fates[..] else { panic!("{fates:?}") };
    assert_eq!(queues.ready_at(q), Some(at));
    at.as_ms() / 1_000
}

#[test]
fn the_most_particular_delay_applies() {
    assert_eq!(delay(BatchOutcome::Exception, |_| ()), 7);
    assert_eq!(delay(BatchOutcome::Ok, |b| b.retry_all()), 7);
    assert_eq!(delay(BatchOutcome::Ok, |b| b.messages()[0].retry()), 7);
    assert_eq!(delay(BatchOutcome::Ok, |b| b.retry_all_with(5)), 5);
    assert_eq!(delay(BatchOutcome::Exception, |b| b.retry_all_with(5)), 5);
    assert_eq!(delay(BatchOutcome::Ok, |b| b.messages()[0].retry_with(3)), 3);
    assert_eq!(delay(BatchOutcome::Exception, |b| b.messages()[0].retry_with(3)), 3);
}

#[test]
fn a_message_of_its_own_delay_keeps_it_whichever_call_came_first() {
    let message_first = |b: &MessageBatch| {
        b.messages()[0].retry_with(3);
        b.retry_all_with(5);
    };
    let batch_first = |b: &MessageBatch| {
        b.retry_all_with(5);
        b.messages()[0].retry_with(3);
    };
    let without_its_own = |b: &MessageBatch| {
        b.messages()[0].retry();
        b.retry_all_with(5);
    };
    assert_eq!(delay(BatchOutcome::Ok, message_first), 3);
    assert_eq!(delay(BatchOutcome::Ok, batch_first), 3);
    assert_eq!(delay(BatchOutcome::Ok, without_its_own), 5);
}

#[test]
fn an_explicit_zero_is_a_delay() {
    assert_eq!(delay(BatchOutcome::Ok, |b| b.retry_all_with(0)), 0);
    assert_eq!(delay(BatchOutcome::Ok, |b| b.messages()[0].retry_with(0)), 0);
}

#[test]
fn the_last_retry_of_a_message_sets_its_delay_and_the_last_delay_of_the_batch_stays() {
    let twice = |b: &MessageBatch| {
        b.messages()[0].retry_with(3);
        b.messages()[0].retry_with(4);
    };
    let forgotten = |b: &MessageBatch| {
        b.messages()[0].retry_with(3);
        b.messages()[0].retry();
    };
    let kept = |b: &MessageBatch| {
        b.retry_all_with(5);
        b.retry_all();
    };
    assert_eq!(delay(BatchOutcome::Ok, twice), 4);
    assert_eq!(delay(BatchOutcome::Ok, forgotten), 7);
    assert_eq!(delay(BatchOutcome::Ok, kept), 5);
}

#[test]
fn a_retry_delay_beyond_a_day_is_a_day() {
    assert_eq!(delay(BatchOutcome::Ok, |b| b.messages()[0].retry_with(86_400)), 86_400);
    assert_eq!(delay(BatchOutcome::Ok, |b| b.messages()[0].retry_with(86_401)), 86_400);
}

#[test]
fn marks_are_nothing_until_the_invocation_ends() {
    let (mut queues, q, batch) = delivered(0);
    let handle = MessageBatch::new(batch.clone());
    handle.messages()[0].ack();
    assert_eq!(queues.leased(q).count(), 1, "the queue has not heard of the ack");
    let fates = queues.finish(Time::ZERO, &batch, &BatchResult::died());
    assert_eq!(fates, [Fate::Retried { at: Time::ZERO }]);
}

#[test]
fn two_copies_of_a_batch_do_not_share_marks() {
    let (_, _, batch) = delivered(0);
    let (one, other) = (MessageBatch::new(batch.clone()), MessageBatch::new(batch));
    one.messages()[0].ack();
    assert_eq!(one.result(BatchOutcome::Ok).explicit_acks.len(), 1);
    assert_eq!(other.result(BatchOutcome::Ok), BatchResult::unmarked(BatchOutcome::Ok));
}

#[test]
fn every_kind_of_failure_counts_as_an_attempt() {
    let mut driver = Driver::production();
    driver.consume("q", ConsumerConfig::default(), |batch, call| {
        match call {
            1 => return Err(Throw),
            2 => batch.retry_all(),
            3 => batch.messages()[0].retry(),
            _ => {}
        }
        Ok(())
    });
    driver.send_all("q", &words(["a"]));
    driver.run();
    assert_eq!(driver.batches("q"), ["a#1", "a#2", "a#3", "a#4"]);
}
