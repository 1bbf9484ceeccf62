//! Each probe that was put to the real local emulator, repeated on the simulated queue.
//!
//! The emulator's answer is the reference under `Options::miniflare()`; where production documents
//! another answer, that one is asserted too, under the defaults. `docs/platform-queues.md` lists
//! the parts that are about JavaScript alone. The probes about marks are in
//! `conformance_acks.rs`.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]
#![allow(non_snake_case, reason = "each test carries the name of the probe that it repeats")]

use std::time::Duration;

use serde_json::json as value;
use thunderhead_sim::Time;
use thunderhead_sim::queue::{
    Batch, ConsumerConfig, ContentType, MessageBatch, MessageBody, MessageSendRequest, Metrics, Op,
    QueueConfig, Queues, Reply,
};

use super::driver::{Driver, Throw, json, on_first_call, request, seconds, words};

fn with_dead_letters(max_retries: u32) -> ConsumerConfig {
    let dead_letter_queue = Some("dlq".into());
    ConsumerConfig { max_retries, dead_letter_queue, ..ConsumerConfig::miniflare() }
}

/// A queue whose consumer always throws, with a dead letter queue that is consumed.
fn always_throws(
    mut driver: Driver,
    config: ConsumerConfig,
    bodies: &[serde_json::Value],
) -> Driver {
    driver.consume("dlq", ConsumerConfig::miniflare(), |_, _| Ok(()));
    driver.consume("q", config, |_, _| Err(Throw));
    driver.send_all("q", bodies);
    driver.run();
    driver
}

#[test]
fn throw_retries_all_then_dlq() {
    for driver in [Driver::emulator(), Driver::production()] {
        let driver = always_throws(driver, with_dead_letters(2), &words(["a", "b"]));
        assert_eq!(driver.batches("q"), ["a#1 b#1", "a#2 b#2", "a#3 b#3"]);
        assert_eq!(driver.batches("dlq"), ["a#1 b#1"]);
        let identity = |queue| {
            let (_, Batch { messages, .. }) = driver.of(queue).next().unwrap();
            messages.iter().map(|m| (m.id, m.timestamp, m.body.clone())).collect::<Vec<_>>()
        };
        assert_eq!(identity("q"), identity("dlq"), "id, timestamp and body are kept");
    }
}

#[test]
fn delay_on_send() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_timeout: seconds(0), ..ConsumerConfig::miniflare() };
    driver.consume("q", config, |_, _| Ok(()));
    let message = request(&value!("d1")).delayed(1);
    driver.queues.apply(Time::ZERO, &Op::Send { queue: "q".into(), message }).unwrap();
    driver.queues.apply(Time::ZERO, &Op::send("q", json(&value!("now")))).unwrap();
    driver.run();
    assert_eq!(driver.batches("q"), ["now#1", "d1#1"]);
    assert_eq!(driver.times("q"), [0, 1_000]);
}

#[test]
fn delay_on_sendBatch() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_timeout: seconds(0), ..ConsumerConfig::miniflare() };
    driver.consume("q", config, |_, _| Ok(()));
    let messages = vec![
        request(&value!("per-msg-2")).delayed(2),
        request(&value!("batch-default")),
        request(&value!("per-msg-0")).delayed(0),
    ];
    let op = Op::SendBatch { queue: "q".into(), messages, delay_seconds: Some(1) };
    driver.queues.apply(Time::ZERO, &op).unwrap();
    driver.run();
    assert_eq!(driver.batches("q"), ["per-msg-0#1", "batch-default#1", "per-msg-2#1"]);
    assert_eq!(driver.times("q"), [0, 1_000, 2_000]);
}

/// When each batch comes if the first invocation does this and the consumer's delay is 2 s.
fn retry_times(handler: fn(&MessageBatch) -> Result<(), Throw>) -> Vec<u64> {
    let mut driver = Driver::emulator();
    let (max_batch_timeout, retry_delay) = (seconds(0), seconds(2));
    let config = ConsumerConfig { max_batch_timeout, retry_delay, ..ConsumerConfig::miniflare() };
    driver.consume("q", config, move |batch, call| match call {
        1 => handler(batch),
        _ => Ok(()),
    });
    driver.send_all("q", &words(["a", "b"]));
    driver.run();
    assert_eq!(driver.batches("q"), ["a#1 b#1", "a#2 b#2"]);
    driver.times("q")
}

#[test]
fn delay_on_retryAll() {
    let times = retry_times(|batch| {
        batch.retry_all_with(1);
        Ok(())
    });
    assert_eq!(times, [0, 1_000]);
}

#[test]
fn retryDelay_config_override_zero() {
    let times = retry_times(|batch| {
        batch.messages().iter().for_each(|message| message.retry_with(0));
        Ok(())
    });
    assert_eq!(times, [0, 0]);
}

#[test]
fn throw_uses_retryDelay_config() {
    assert_eq!(retry_times(|_| Err(Throw)), [0, 2_000]);
}

#[test]
fn batch_timeout_1s_single() {
    let mut driver = Driver::emulator();
    driver.consume("q", ConsumerConfig::miniflare(), |_, _| Ok(()));
    driver.send_all("q", &words(["a"]));
    driver.run();
    assert_eq!((driver.batches("q"), driver.times("q")), (vec!["a#1".to_owned()], vec![1_000]));
}

#[test]
fn batch_timeout_0() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_timeout: seconds(0), ..ConsumerConfig::miniflare() };
    driver.consume("q", config, |_, _| Ok(()));
    for body in words(["a", "b", "c"]) {
        driver.queues.apply(Time::ZERO, &Op::send("q", json(&body))).unwrap();
    }
    driver.run();
    assert_eq!(driver.of("q").map(|(_, batch)| batch.messages.len()).sum::<usize>(), 3);
    assert_eq!(driver.now, Time::ZERO, "nothing waits");
}

#[test]
fn batch_fills_before_timeout() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_size: 3, ..ConsumerConfig::miniflare() };
    driver.consume("q", config, |_, _| Ok(()));
    driver.send_all("q", &words(["a", "b", "c"]));
    driver.run();
    assert_eq!(driver.batches("q"), ["a#1 b#1 c#1"]);
    assert_eq!(driver.times("q"), [0], "a full batch does not wait");
}

#[test]
fn batch_size_1_order() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_size: 1, ..ConsumerConfig::miniflare() };
    driver.consume("q", config, |_, _| Ok(()));
    driver.send_all("q", &[0, 1, 2, 3, 4].map(|n| value!(n)));
    driver.run();
    assert_eq!(driver.batches("q"), ["0#1", "1#1", "2#1", "3#1", "4#1"]);
}

#[test]
fn order_after_partial_retry() {
    on_first_call(&[1, 2, 3, 4, 5].map(|n| value!(n)), |batch| {
        batch.messages()[1].retry();
        batch.messages()[3].retry();
        Ok(())
    })
    .both(&["1#1 2#1 3#1 4#1 5#1", "2#2 4#2"]);
}

#[test]
fn order_retry_goes_to_tail() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_size: 2, ..ConsumerConfig::miniflare() };
    driver.consume("q", config, |batch, call| {
        if call == 1 {
            batch.retry_all();
        }
        Ok(())
    });
    driver.send_all("q", &[1, 2, 3, 4, 5, 6].map(|n| value!(n)));
    driver.run();
    assert_eq!(driver.batches("q"), ["1#1 2#1", "3#1 4#1", "5#1 6#1", "1#2 2#2"]);
}

#[test]
fn dlq_max_retries_0() {
    let driver = always_throws(Driver::emulator(), with_dead_letters(0), &words(["a"]));
    assert_eq!(
        (driver.batches("q"), driver.batches("dlq")),
        (vec!["a#1".into()], vec!["a#1".into()])
    );
}

#[test]
fn default_max_retries() {
    let dead_letter_queue = Some("dlq".into());
    let config = ConsumerConfig { dead_letter_queue, ..ConsumerConfig::miniflare() };
    let driver = always_throws(Driver::emulator(), config.clone(), &words(["a"]));
    assert_eq!(driver.batches("q"), ["a#1", "a#2", "a#3"], "the emulator assumes two retries");
    assert_eq!(driver.batches("dlq"), ["a#1"]);

    let max_retries = ConsumerConfig::default().max_retries;
    let config = ConsumerConfig { max_retries, ..config };
    let driver = always_throws(Driver::production(), config, &words(["a"]));
    assert_eq!(driver.batches("q"), ["a#1", "a#2", "a#3", "a#4"], "production assumes three");
    assert_eq!(driver.batches("dlq"), ["a#1"]);
}

#[test]
fn dlq_without_consumer() {
    for (mut driver, kept) in [(Driver::emulator(), 0), (Driver::production(), 1)] {
        driver.consume("q", with_dead_letters(0), |_, _| Err(Throw));
        driver.send_all("q", &words(["a"]));
        driver.run();
        assert_eq!(driver.batches("q"), ["a#1"]);
        let dlq = driver.queues.queue_id("dlq").unwrap();
        assert_eq!(driver.queues.waiting(dlq).count(), kept);
    }
}

/// Without the parts about constructors, property names and frozen arrays.
#[test]
fn send_return_value() {
    let mut driver = Driver::emulator();
    driver.consume("shape", ConsumerConfig::miniflare(), |batch, _| {
        let message = &batch.messages()[0];
        assert_eq!((batch.queue(), batch.metrics()), ("shape", Metrics::default()));
        assert_eq!((message.id().to_string().len(), message.attempts()), (32, 1));
        assert_eq!(message.timestamp(), Time::ZERO);
        Ok(())
    });
    let one = driver.queues.apply(Time::ZERO, &Op::send("shape", json(&value!("x")))).unwrap();
    assert_eq!(one.metrics(), Metrics::default(), "the emulator has not counted it yet");
    let many = driver.send_all("shape", &words(["y"])).metrics();
    assert_eq!((many.backlog_count, many.backlog_bytes), (1, 3));
    assert_eq!(many.oldest_message_timestamp, Some(Time::ZERO));
    driver.run();
    assert_eq!(driver.batches("shape"), ["x#1 y#1"]);
}

/// What of it is about values that Rust has too; see the documentation for the rest.
#[test]
fn body_types() {
    let mut driver = Driver::emulator();
    driver.consume("types", ConsumerConfig::miniflare(), |_, _| Ok(()));
    let bodies = [
        json(&value!({"a": 1, "d": "1970-01-01T00:00:00.000Z"})),
        json(&value!("str")),
        json(&value!(null)),
        json(&value!(1.5)),
        json(&value!({})),
        MessageBody::text("héllo"),
        MessageBody::bytes(vec![1, 2]),
    ];
    for body in &bodies {
        driver.queues.apply(Time::ZERO, &Op::send("types", body.clone())).unwrap();
    }
    driver.run();
    let delivered = driver.of("types").flat_map(|(_, batch)| &batch.messages);
    assert!(delivered.map(|message| &message.body).eq(&bodies));
    assert_eq!(bodies[1].to_text().unwrap(), "str");
    assert_eq!(bodies[5].to_text().unwrap(), "héllo");

    let bogus = "bogus".parse::<ContentType>().unwrap_err();
    assert_eq!(bogus.name(), "TypeError");
    assert_eq!(bogus.to_string(), "Unsupported queue message content type: bogus");
}

/// The emulator's and production's answers to one operation: "ok" or the error.
fn answers(op: &Op) -> [String; 2] {
    [QueueConfig::miniflare(), QueueConfig::default()].map(|config| {
        let mut queues = Queues::default();
        queues.create("limits", config).unwrap();
        queues.set_consumer("limits", ConsumerConfig::default()).unwrap();
        match queues.apply(Time::ZERO, op) {
            Ok(_) => "ok".to_owned(),
            Err(error) => format!("{}: {error}", error.name()),
        }
    })
}

/// Without an item that has no body and an iterable that is not an array, which types rule out.
#[test]
fn size_limits() {
    let text = |bytes: usize| MessageSendRequest::from(MessageBody::text(&"x".repeat(bytes)));
    let send = |message| answers(&Op::Send { queue: "limits".into(), message });
    let batch = |messages| answers(&Op::send_batch("limits", messages));
    let one = request(&value!(1));
    let unknown = "Error: Unknown Internal Error (15000)";
    let (ok, too_big) = (["ok", "ok"], [unknown, "Error: Message size out of bounds (10204)"]);

    assert_eq!(send(text(127_998)), ok);
    assert_eq!(send(text(127_999)), ok);
    assert_eq!(send(text(128_000)), ok);
    assert_eq!(send(text(128_001)), too_big);
    assert_eq!(send(text(131_072)), too_big);
    assert_eq!(send(request(&value!("x".repeat(127_998)))), ok);
    assert_eq!(send(request(&value!("x".repeat(127_999)))), too_big);
    assert_eq!(batch(vec![one.clone(); 100]), ok);
    assert_eq!(batch(vec![one; 101]), [unknown, "Error: Batch count out of bounds (10206)"]);
    assert_eq!(batch(vec![]), ["TypeError: sendBatch() requires at least one message"; 2]);
    assert_eq!(batch(vec![text(64_000); 4]), ok);
    let mut too_much = vec![text(72_000); 4];
    assert_eq!(batch(too_much.clone()), ["ok", "Error: Batch size out of bounds (10205)"]);
    too_much.push(text(1));
    assert_eq!(batch(too_much), [unknown, "Error: Batch size out of bounds (10205)"]);
    assert_eq!(batch(vec![text(128_001)]), too_big);
}

/// The structured clone is opaque here, so its bytes stand for the date.
#[test]
fn sendBatch_mixed() {
    let mut driver = Driver::emulator();
    driver.consume("q", ConsumerConfig::miniflare(), |_, _| Ok(()));
    let bodies = [
        json(&value!({"a": 1})),
        MessageBody::text("t"),
        MessageBody::bytes(vec![9]),
        MessageBody::v8("1970-01-01T00:00:00.000Z"),
    ];
    let messages = bodies.iter().cloned().map(MessageSendRequest::from).collect();
    driver.queues.apply(Time::ZERO, &Op::send_batch("q", messages)).unwrap();
    driver.run();
    let (_, batch) = &driver.log[0];
    assert!(batch.messages.iter().map(|message| &message.body).eq(&bodies));
}

#[test]
fn consumer_concurrency_while_busy() {
    let mut driver = Driver::emulator();
    let config = ConsumerConfig { max_batch_size: 2, ..ConsumerConfig::miniflare() };
    driver.consume_slowly("q", config, Duration::from_secs(5), |_, _| Ok(()));
    driver.send_all("q", &[value!(1)]);
    let later = [2, 3, 4, 5].map(|n| MessageSendRequest::from(json(&value!(n))).delayed(2));
    driver.queues.apply(Time::ZERO, &Op::send_batch("q", later.to_vec())).unwrap();
    driver.run();
    assert_eq!(driver.batches("q"), ["1#1", "2#1 3#1", "4#1 5#1"]);
    // The first one began when its time was over, so the second, which is full, does not wait for it.
    assert_eq!((driver.most_in_flight, driver.times("q")), (2, vec![1_000, 2_000, 7_000]));
}

#[test]
fn consumer_concurrency_batch1() {
    for (mut driver, most) in [(Driver::emulator(), 1), (Driver::production(), 4)] {
        let config = ConsumerConfig { max_batch_size: 1, ..ConsumerConfig::miniflare() };
        let lasts = Duration::from_millis(200);
        driver.consume_slowly("q", config, lasts, |_, _| Ok(()));
        driver.send_all("q", &[1, 2, 3, 4].map(|n| value!(n)));
        driver.run();
        assert_eq!((driver.most_in_flight, driver.log.len()), (most, 4));
    }
}

#[test]
fn metrics() {
    let mut driver = Driver::emulator();
    driver.consume("q", ConsumerConfig::miniflare(), |_, _| Ok(()));
    assert_eq!(driver.metrics("q"), Metrics::default());
    driver.send_all("q", &words(["ab", "cd"]));
    let two = driver.metrics("q");
    assert_eq!((two.backlog_count, two.backlog_bytes), (2, 8));
    assert_eq!(two.oldest_message_timestamp, Some(Time::ZERO));
    driver.run();
    assert_eq!(driver.metrics("q"), Metrics::default());
}

#[test]
fn same_body_sent_twice_not_deduped() {
    let mut driver = Driver::emulator();
    driver.consume("q", ConsumerConfig::miniflare(), |_, _| Ok(()));
    let Reply::SentBatch { ids, .. } = driver.send_all("q", &words(["a", "a"])) else {
        panic!("sendBatch answers with its own reply");
    };
    driver.run();
    assert_eq!(driver.batches("q"), ["a#1 a#1"]);
    assert_ne!(ids[0], ids[1]);
}

/// The settings are the ones that explain the times: the probe recorded only its deliveries.
#[test]
fn virtual_time_broker() {
    let mut driver = Driver::emulator();
    let start = Time::from_ms(1_000_000);
    driver.now = start;
    let (max_batch_timeout, retry_delay) = (seconds(30), seconds(3_600));
    let config = ConsumerConfig { max_batch_timeout, retry_delay, ..with_dead_letters(2) };
    driver.consume("q", config, |_, _| Err(Throw));
    let (max_batch_timeout, retry_delay) = (seconds(0), seconds(1));
    let settings = ConsumerConfig { max_batch_timeout, retry_delay, ..ConsumerConfig::miniflare() };
    let config = ConsumerConfig { max_retries: 1, ..settings };
    driver.consume("dlq", config, |_, _| Err(Throw));
    driver.send_all("q", &words(["a", "b"]));
    driver.run();

    let delivered: Vec<(u64, String)> = (driver.log.iter())
        .map(|(at, batch)| ((*at - start).as_secs(), super::driver::line(batch)))
        .collect();
    let expected = [
        (30, "a#1 b#1"),
        (3_660, "a#2 b#2"),
        (7_290, "a#3 b#3"),
        (7_290, "a#1 b#1"),
        (7_291, "a#2 b#2"),
    ];
    assert_eq!(delivered, expected.map(|(at, batch)| (at, batch.to_owned())));
    let mut messages = driver.log.iter().flat_map(|(_, batch)| &batch.messages);
    assert!(messages.all(|message| message.timestamp == start));
}
