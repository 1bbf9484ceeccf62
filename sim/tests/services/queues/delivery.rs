//! Deliveries that go wrong: leases that end, copies, late results, retention, dead letters; and
//! the order and grouping of those that go right.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::time::Duration;

use thunderhead_sim::Time;
use thunderhead_sim::queue::{
    Batch, BatchOutcome, BatchResult, ConsumerConfig, Expiry, Fate, MessageBatch, MessageBody,
    MessageSendRequest, Op, QueueConfig, QueueId, Queues,
};

const OK: BatchOutcome = BatchOutcome::Ok;
const MINUTE: Duration = Duration::from_secs(60);

pub fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

pub fn no_wait() -> ConsumerConfig {
    ConsumerConfig { max_batch_timeout: Duration::ZERO, ..ConsumerConfig::default() }
}

/// Queues of these settings by name, in the order of their ids.
pub fn queues<const N: usize>(consumers: [(&str, ConsumerConfig); N]) -> (Queues, [QueueId; N]) {
    let mut queues = Queues::default();
    let ids = consumers.map(|(name, config)| {
        queues.create(name, QueueConfig::default()).unwrap();
        queues.set_consumer(name, config).unwrap();
        queues.queue_id(name).unwrap()
    });
    (queues, ids)
}

pub fn send(queues: &mut Queues, now: Time, queue: &str, words: &[&str]) {
    let requests = words.iter().map(|word| MessageBody::text(word).into()).collect();
    queues.apply(now, &Op::send_batch(queue, requests)).unwrap();
}

pub fn take(queues: &mut Queues, now: Time, queue: QueueId) -> Batch {
    queues.take(now, queue, &mut |_| 0).expect("a batch is ready")
}

pub fn ok() -> BatchResult {
    BatchResult::unmarked(OK)
}

fn fates(expired: &[Expiry]) -> Vec<String> {
    expired.iter().map(|expiry| expiry.fate.to_string()).collect()
}

#[test]
fn a_result_that_never_comes_is_a_failed_delivery_when_the_lease_ends() {
    let config = ConsumerConfig { retry_delay: Duration::from_secs(2), ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a"]);
    take(&mut queues, at(0), q);
    assert_eq!((queues.ready_at(q), queues.lease_ends(q)), (None, Some(at(900))));
    assert_eq!(queues.expire(at(899)), []);

    assert_eq!(fates(&queues.expire(at(900))), ["retried at 902.000s"]);
    assert_eq!((queues.ready_at(q), queues.lease_ends(q)), (Some(at(902)), None));
    assert_eq!(take(&mut queues, at(902), q).to_string(), "q [a#2]");
}

#[test]
fn leases_that_end_use_up_the_retries() {
    let config = ConsumerConfig { max_retries: 1, ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a"]);
    take(&mut queues, at(0), q);
    assert_eq!(fates(&queues.expire(at(900))), ["retried at 900.000s"]);
    take(&mut queues, at(900), q);
    assert_eq!(fates(&queues.expire(at(1_800))), ["dropped"]);
    assert_eq!(queues.ready_at(q), None);
}

#[test]
fn two_invocations_of_one_batch_settle_each_message_once() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    send(&mut queues, at(0), "q", &["a", "b"]);
    let batch = take(&mut queues, at(0), q);
    let (one, other) = (MessageBatch::new(batch.clone()), MessageBatch::new(batch.clone()));
    one.messages()[1].retry();
    other.messages()[0].retry();

    let retried = Fate::Retried { at: at(1) };
    assert_eq!(queues.finish(at(1), &batch, &one.result(OK)), [Fate::Acked, retried]);
    assert_eq!(queues.finish(at(2), &batch, &other.result(OK)), [Fate::Gone, Fate::Acked]);
    assert_eq!(queues.finish(at(3), &batch, &other.result(OK)), [Fate::Gone, Fate::Gone]);
    assert_eq!(queues.ready_at(q), None, "b was acked while it waited for its next delivery");
}

#[test]
fn a_second_failure_of_one_delivery_does_not_count_again() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(0), q);
    let failure = BatchResult::died();
    assert_eq!(queues.finish(at(1), &batch, &failure), [Fate::Retried { at: at(1) }]);
    assert_eq!(queues.finish(at(2), &batch, &failure), [Fate::Gone]);
    assert_eq!(queues.waiting(q).count(), 1, "it waits once");
    assert_eq!(take(&mut queues, at(2), q).to_string(), "q [a#2]");
}

#[test]
fn an_ack_after_the_lease_settles_the_message_even_while_it_is_delivered_again() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    send(&mut queues, at(0), "q", &["a"]);
    let first = take(&mut queues, at(0), q);
    queues.expire(at(900));
    let second = take(&mut queues, at(900), q);

    assert_eq!(queues.finish(at(901), &first, &ok()), [Fate::Acked]);
    assert_eq!(queues.in_flight(q), 1, "the second invocation is still at work");
    assert_eq!(queues.finish(at(902), &second, &BatchResult::died()), [Fate::Gone]);
    assert_eq!((queues.in_flight(q), queues.ready_at(q)), (0, None));
}

#[test]
fn a_failure_after_the_lease_does_not_disturb_the_next_delivery() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    send(&mut queues, at(0), "q", &["a"]);
    let first = take(&mut queues, at(0), q);
    queues.expire(at(900));
    let second = take(&mut queues, at(900), q);
    assert_eq!(queues.finish(at(901), &first, &BatchResult::died()), [Fate::Gone]);
    assert_eq!(queues.leased(q).count(), 1);
    assert_eq!(queues.finish(at(902), &second, &ok()), [Fate::Acked]);
}

#[test]
fn a_message_that_is_not_settled_in_time_vanishes_and_is_reported() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    let dead_letter_queue = Some("dlq".into());
    let config = ConsumerConfig { dead_letter_queue, ..no_wait() };
    queues.set_consumer("q", config).unwrap();
    queues.create("dlq", QueueConfig::default()).unwrap();
    send(&mut queues, at(0), "q", &["a"]);
    let four_days = at(4 * 86_400);
    assert_eq!(queues.retention_ends(q), Some(four_days));

    assert_eq!(queues.take(four_days, q, &mut |_| 0), None, "it is never delivered so late");
    let expired = queues.expire(four_days);
    assert_eq!((fates(&expired), expired[0].batch), (vec!["expired".to_owned()], None));
    let dlq = queues.queue_id("dlq").unwrap();
    assert_eq!(queues.waiting(dlq).count(), 0);
    assert_eq!(queues.expire(four_days), [], "it is reported once");
}

#[test]
fn retention_ends_to_the_millisecond_and_spares_younger_messages() {
    let mut queues = Queues::default();
    queues.create("q", QueueConfig { retention: MINUTE, ..QueueConfig::default() }).unwrap();
    let q = queues.queue_id("q").unwrap();
    send(&mut queues, at(0), "q", &["a"]);
    send(&mut queues, at(1), "q", &["b"]);
    assert_eq!(queues.expire(Time::from_ms(59_999)), []);
    assert_eq!(queues.expire(at(60)).len(), 1);
    assert_eq!((queues.waiting(q).count(), queues.retention_ends(q)), (1, Some(at(61))));
}

#[test]
fn a_message_in_delivery_outlives_its_retention_only_until_it_fails() {
    let mut queues = Queues::default();
    queues.create("q", QueueConfig { retention: MINUTE, ..QueueConfig::default() }).unwrap();
    queues.set_consumer("q", no_wait()).unwrap();
    let q = queues.queue_id("q").unwrap();
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(59), q);
    assert_eq!((queues.retention_ends(q), queues.expire(at(70))), (None, vec![]));
    queues.finish(at(71), &batch, &BatchResult::died());
    assert_eq!(queues.take(at(71), q, &mut |_| 0), None);
    assert_eq!(fates(&queues.expire(at(71))), ["expired"]);
}

#[test]
fn dead_letters_pass_from_queue_to_queue_and_stay_in_the_last() {
    let to = |name: &str, max_retries| ConsumerConfig {
        max_retries,
        dead_letter_queue: Some(name.into()),
        ..no_wait()
    };
    let (mut queues, [a, b]) = queues([("a", to("b", 1)), ("b", to("c", 0))]);
    send(&mut queues, at(0), "a", &["m"]);
    let mut story = Vec::new();
    for queue in [a, a, b] {
        let batch = take(&mut queues, at(0), queue);
        let fates = queues.finish(at(0), &batch, &BatchResult::died());
        story.push(format!("{batch} {}", fates[0]));
    }
    let expected =
        ["a [m#1] retried at 0.000s", "a [m#2] dead-lettered to b", "b [m#1] dead-lettered to c"];
    assert_eq!(story, expected);
    let c = queues.queue_id("c").expect("a dead letter queue is created when it is needed");
    assert_eq!((queues.waiting(c).count(), queues.ready_at(c)), (1, None));
    assert_eq!(queues.retention_ends(c), Some(at(4 * 86_400)));
}

#[test]
fn a_dead_letter_is_beyond_the_reach_of_the_delivery_that_failed() {
    let dead_letter_queue = Some("dlq".into());
    let config = ConsumerConfig { max_retries: 0, dead_letter_queue, ..no_wait() };
    let (mut queues, [q, dlq]) = queues([("q", config), ("dlq", no_wait())]);
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(0), q);
    queues.finish(at(0), &batch, &BatchResult::died());
    assert_eq!(queues.finish(at(1), &batch, &ok()), [Fate::Gone]);
    assert_eq!(take(&mut queues, at(1), dlq).to_string(), "dlq [a#1]");
}

#[test]
fn a_queue_may_be_its_own_dead_letter_queue() {
    let dead_letter_queue = Some("q".into());
    let config = ConsumerConfig { max_retries: 0, dead_letter_queue, ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a"]);
    for _ in 0..3 {
        let batch = take(&mut queues, at(0), q);
        assert_eq!(batch.to_string(), "q [a#1]");
        let fates = queues.finish(at(0), &batch, &BatchResult::died());
        assert_eq!(fates, [Fate::DeadLettered { queue: "q".into() }]);
    }
}

#[test]
fn as_many_batches_run_at_once_as_the_consumer_allows() {
    let config = ConsumerConfig { max_batch_size: 1, max_concurrency: 2, ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a", "b", "c"]);
    let first = take(&mut queues, at(0), q);
    take(&mut queues, at(0), q);
    assert_eq!((queues.ready_at(q), queues.take(at(9), q, &mut |_| 0)), (None, None));
    queues.finish(at(1), &first, &ok());
    assert_eq!(take(&mut queues, at(1), q).to_string(), "q [c#1]");
}

#[test]
fn a_batch_waits_until_it_is_full_or_its_oldest_message_has_waited_enough() {
    let config = ConsumerConfig { max_batch_size: 3, ..ConsumerConfig::default() };
    let (mut queues, [q]) = queues([("q", config)]);
    assert_eq!(queues.ready_at(q), None);
    send(&mut queues, at(0), "q", &["a"]);
    send(&mut queues, at(2), "q", &["b"]);
    assert_eq!(queues.ready_at(q), Some(at(5)));
    assert_eq!(queues.take(Time::from_ms(4_999), q, &mut |_| 0), None);

    send(&mut queues, at(3), "q", &["c", "d"]);
    assert_eq!(queues.ready_at(q), Some(at(3)));
    assert_eq!(take(&mut queues, at(3), q).to_string(), "q [a#1 b#1 c#1]");
    assert_eq!(queues.ready_at(q), Some(at(8)), "d has waited since 3 s");
}

#[test]
fn delayed_messages_count_from_the_end_of_their_delay() {
    let config = ConsumerConfig { max_batch_size: 2, ..ConsumerConfig::default() };
    let (mut queues, [q]) = queues([("q", config)]);
    let request = |word, delay| MessageSendRequest::from(MessageBody::text(word)).delayed(delay);
    let messages = vec![request("late", 60), request("soon", 10)];
    queues.apply(at(0), &Op::send_batch("q", messages)).unwrap();
    assert_eq!(queues.ready_at(q), Some(at(15)));
    assert_eq!(take(&mut queues, at(15), q).to_string(), "q [soon#1]");
    assert_eq!(queues.ready_at(q), Some(at(65)));
}

#[test]
fn the_delay_of_the_queue_holds_unless_the_producer_names_one() {
    let mut queues = Queues::default();
    let delivery_delay = Duration::from_secs(30);
    queues.create("q", QueueConfig { delivery_delay, ..QueueConfig::default() }).unwrap();
    queues.set_consumer("q", no_wait()).unwrap();
    let q = queues.queue_id("q").unwrap();
    send(&mut queues, at(0), "q", &["a"]);
    assert_eq!(queues.ready_at(q), Some(at(30)));
    let message = MessageSendRequest::from(MessageBody::text("b")).delayed(0);
    queues.apply(at(0), &Op::Send { queue: "q".into(), message }).unwrap();
    assert_eq!(queues.ready_at(q), Some(at(0)));
}

#[test]
fn any_order_of_delivery_can_be_picked() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    send(&mut queues, at(0), "q", &["a", "b", "c"]);
    let mut asked = Vec::new();
    let mut picks = [1, 9, 0].into_iter();
    let batch = queues.take(at(0), q, &mut |n| {
        asked.push(n);
        picks.next().unwrap()
    });
    assert_eq!(batch.unwrap().to_string(), "q [b#1 c#1 a#1]", "9 is clamped to the last");
    assert_eq!(asked, [3, 2, 1]);
}

#[test]
fn a_retried_message_meets_other_neighbours_at_the_tail() {
    let config = ConsumerConfig { max_batch_size: 2, ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    send(&mut queues, at(0), "q", &["a", "b"]);
    let batch = take(&mut queues, at(0), q);
    send(&mut queues, at(1), "q", &["c"]);
    queues.finish(at(1), &batch, &BatchResult::died());
    assert_eq!(take(&mut queues, at(1), q).to_string(), "q [c#1 a#2]");
    assert_eq!(take(&mut queues, at(1), q).to_string(), "q [b#2]");
}

#[test]
fn messages_that_become_due_together_come_in_the_order_of_sending() {
    let (mut queues, [q]) = queues([("q", no_wait())]);
    let request = |word, delay| MessageSendRequest::from(MessageBody::text(word)).delayed(delay);
    let messages = vec![request("a", 10), request("late", 20), request("b", 10)];
    queues.apply(at(0), &Op::send_batch("q", messages)).unwrap();
    assert_eq!(take(&mut queues, at(20), q).to_string(), "q [a#1 b#1 late#1]");
}

#[test]
fn a_dead_letter_queue_delays_what_it_receives_like_any_queue() {
    let dead_letter_queue = Some("dlq".into());
    let config = ConsumerConfig { max_retries: 0, dead_letter_queue, ..no_wait() };
    let (mut queues, [q]) = queues([("q", config)]);
    let delivery_delay = Duration::from_secs(30);
    queues.create("dlq", QueueConfig { delivery_delay, ..QueueConfig::default() }).unwrap();
    queues.set_consumer("dlq", no_wait()).unwrap();
    send(&mut queues, at(0), "q", &["a"]);
    let batch = take(&mut queues, at(0), q);
    queues.finish(at(1), &batch, &BatchResult::died());
    assert_eq!(queues.ready_at(queues.queue_id("dlq").unwrap()), Some(at(31)));
}
