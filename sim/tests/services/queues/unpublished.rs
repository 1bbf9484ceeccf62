//! Leases, retention and dead letters where production publishes nothing; `docs/platform-queues.md`
//! says why each is as it is.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::time::Duration;

use thunderhead_sim::queue::{BatchResult, ConsumerConfig, Fate, QueueConfig, Queues};

use super::delivery::{at, no_wait, ok, queues, send, take};

/// When a message that arrives at the beginning has been kept for as long as it may.
const FOUR_DAYS: u64 = 4 * 86_400;

/// A consumer without retries, whose failures go to another queue.
fn failing_to(name: &str) -> ConsumerConfig {
    ConsumerConfig { max_retries: 0, dead_letter_queue: Some(name.into()), ..no_wait() }
}

fn dead_lettered(name: &str) -> Fate {
    Fate::DeadLettered { queue: name.into() }
}

#[test]
fn a_batch_timeout_goes_on_while_the_handler_is_busy() {
    let config = ConsumerConfig { max_concurrency: 1, ..ConsumerConfig::default() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a"]);
    let first = take(&mut queues, at(5), q);
    send(&mut queues, at(6), "q", &["b"]);
    assert_eq!(queues.ready_at(q), None);
    queues.finish(at(20), &first, &ok());
    assert_eq!(queues.ready_at(q), Some(at(11)), "b has waited since 6 s");
    assert_eq!(take(&mut queues, at(20), q).to_string(), "q [b#1]");
}

#[test]
fn a_lease_lasts_as_long_as_the_consumer_says() {
    let config = ConsumerConfig { lease: Duration::from_secs(20), ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a"]);
    take(&mut queues, at(1), q);
    assert_eq!(queues.lease_ends(q), Some(at(21)));
    assert_eq!(queues.expire(at(20)), []);
    assert_eq!(queues.expire(at(21))[0].fate, Fate::Retried { at: at(21) });
}

#[test]
fn an_ack_after_the_lease_settles_a_message_that_waits() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(0), q);
    queues.expire(at(900));
    assert_eq!(queues.waiting(q).count(), 1, "it is to be delivered again");
    assert_eq!(queues.finish(at(901), &batch, &ok()), [Fate::Acked]);
    assert_eq!((queues.waiting(q).count(), queues.ready_at(q)), (0, None));
}

#[test]
fn a_queue_without_a_consumer_keeps_a_message_that_the_emulator_drops() {
    for (config, kept) in [(QueueConfig::default(), 1), (QueueConfig::miniflare(), 0)] {
        let mut queues = Queues::default();
        queues.create("q", config).unwrap();
        let q = queues.queue_id("q").unwrap();
        send(&mut queues, at(0), "q", &["a"]);
        queues.expire(at(FOUR_DAYS - 1));
        assert_eq!(queues.waiting(q).count(), kept);
        assert_eq!(queues.expire(at(FOUR_DAYS)).len(), kept);
        assert_eq!(queues.waiting(q).count(), 0);
    }
}

#[test]
fn a_dead_letter_that_nobody_would_read_is_dropped_by_the_emulator_alone() {
    let production = (QueueConfig::default(), dead_lettered("dlq"));
    for (config, fate) in [production, (QueueConfig::miniflare(), Fate::Dropped)] {
        let mut queues = Queues::default();
        queues.create("q", config).unwrap();
        queues.set_consumer("q", failing_to("dlq")).unwrap();
        let q = queues.queue_id("q").unwrap();
        send(&mut queues, at(0), "q", &["a"]);
        let batch = take(&mut queues, at(0), q);
        assert_eq!(queues.finish(at(0), &batch, &BatchResult::died()), [fate]);
    }
}

#[test]
fn a_dead_letter_queue_is_created_with_default_settings_by_its_first_message() {
    let (mut queues, [q]) = queues([("q", failing_to("dlq"))]);
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(0), q);
    assert_eq!(queues.queue_id("dlq"), None);
    queues.finish(at(1), &batch, &BatchResult::died());
    let dlq = queues.queue_id("dlq").unwrap();
    assert_eq!(queues.consumer(dlq), None);
    assert_eq!(queues.retention_ends(dlq), Some(at(1 + FOUR_DAYS)));
    queues.set_consumer("dlq", no_wait()).unwrap();
    assert_eq!(queues.ready_at(dlq), Some(at(1)), "nothing is delayed");
}

#[test]
fn dead_letters_may_go_round_for_ever() {
    let (mut queues, [a, b]) = queues([("a", failing_to("b")), ("b", failing_to("a"))]);
    send(&mut queues, at(0), "a", &["m"]);
    for _ in 0..3 {
        for (queue, shown, next) in [(a, "a [m#1]", "b"), (b, "b [m#1]", "a")] {
            let batch = take(&mut queues, at(0), queue);
            assert_eq!(batch.to_string(), shown);
            let fates = queues.finish(at(0), &batch, &BatchResult::died());
            assert_eq!(fates, [dead_lettered(next)]);
        }
    }
}

#[test]
fn the_retention_of_a_dead_letter_starts_when_it_arrives() {
    let (mut queues, [q, dlq]) = queues([("q", failing_to("dlq")), ("dlq", no_wait())]);
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(100), q);
    queues.finish(at(200), &batch, &BatchResult::died());
    assert_eq!(queues.retention_ends(dlq), Some(at(200 + FOUR_DAYS)));
    assert_eq!(queues.expire(at(199 + FOUR_DAYS)), []);
    assert_eq!(queues.expire(at(200 + FOUR_DAYS))[0].fate, Fate::Expired);
}
