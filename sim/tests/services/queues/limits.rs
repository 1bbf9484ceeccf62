//! Every documented limit at its edge, the errors beyond it, and the forms that traces show.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::time::Duration;

use thunderhead_sim::queue::{
    Batch, BatchOutcome, BatchResult, ConsumerConfig, Error, Expiry, Fate, MAX_BACKLOG_BYTES,
    MAX_BATCH_BYTES, MessageBatch, MessageBody, MessageSendRequest, Metrics, Op, Options,
    QueueConfig, Queues, Reply, transient_errors,
};
use thunderhead_sim::{Body, Time};

fn text(bytes: usize) -> MessageSendRequest {
    MessageSendRequest::from(MessageBody::text(&"x".repeat(bytes)))
}

fn queues() -> Queues {
    let mut queues = Queues::default();
    queues.create("q", QueueConfig::default()).unwrap();
    queues.set_consumer("q", ConsumerConfig::default()).unwrap();
    queues
}

fn code(op: &Op) -> Option<u32> {
    queues().apply(Time::ZERO, op).err().and_then(|error| error.code())
}

fn send(message: MessageSendRequest) -> Op {
    Op::Send { queue: "q".into(), message }
}

fn send_batch(messages: Vec<MessageSendRequest>, delay_seconds: Option<u32>) -> Op {
    Op::SendBatch { queue: "q".into(), messages, delay_seconds }
}

#[test]
fn a_message_has_at_most_128_000_bytes() {
    assert_eq!(code(&send(text(0))), None);
    assert_eq!(code(&send(text(128_000))), None);
    assert_eq!(code(&send(text(128_001))), Some(10204));
    let bytes = |count: usize| MessageBody::bytes(vec![0; count]);
    assert_eq!(code(&Op::send("q", bytes(128_000))), None);
    assert_eq!(code(&Op::send("q", bytes(128_001))), Some(10204));
    assert_eq!(code(&Op::send("q", MessageBody::v8(vec![0; 128_001]))), Some(10204));
}

#[test]
fn json_is_measured_as_it_is_written() {
    let quoted = |count: usize| MessageBody::json(&"x".repeat(count)).unwrap();
    assert_eq!(code(&Op::send("q", quoted(127_998))), None);
    assert_eq!(code(&Op::send("q", quoted(127_999))), Some(10204));
}

#[test]
fn a_batch_has_1_to_100_messages_and_at_most_256_000_bytes() {
    assert_eq!(code(&send_batch(vec![text(1); 100], None)), None);
    assert_eq!(code(&send_batch(vec![text(1); 101], None)), Some(10206));
    assert_eq!(code(&send_batch(vec![text(MAX_BATCH_BYTES / 4); 4], None)), None);
    let mut more = vec![text(MAX_BATCH_BYTES / 4); 4];
    more.push(text(1));
    assert_eq!(code(&send_batch(more, None)), Some(10205));
    assert_eq!(code(&send_batch(vec![text(1), text(128_001)], None)), Some(10204));

    let empty = queues().apply(Time::ZERO, &send_batch(vec![], None)).unwrap_err();
    assert_eq!((empty.name(), empty.code()), ("TypeError", None));
}

#[test]
fn a_delay_is_at_most_86_400_seconds() {
    assert_eq!(code(&send(text(1).delayed(86_400))), None);
    assert_eq!(code(&send(text(1).delayed(86_401))), Some(10203));
    assert_eq!(code(&send_batch(vec![text(1)], Some(86_400))), None);
    assert_eq!(code(&send_batch(vec![text(1)], Some(86_401))), Some(10202));
    assert_eq!(code(&send_batch(vec![text(1).delayed(86_401)], None)), Some(10203));
}

#[test]
fn a_v8_body_counts_the_bytes_that_were_given() {
    let clone = |count: usize| MessageBody::v8(vec![0; count]);
    assert_eq!(clone(3).len(), 3);
    assert_eq!(code(&Op::send("q", clone(128_000))), None);
    assert_eq!(code(&Op::send("q", clone(128_001))), Some(10204));
}

#[test]
fn a_batch_is_tested_for_its_count_its_delay_each_message_and_its_bytes_in_this_order() {
    let (large, held) = (text(128_001), text(1).delayed(86_401));
    let many = vec![large.clone(); 101];
    assert_eq!(code(&send_batch(many, Some(86_401))), Some(10206));
    let three = vec![held.clone(), large.clone(), large.clone()];
    assert_eq!(code(&send_batch(three.clone(), Some(86_401))), Some(10202));
    assert_eq!(code(&send_batch(three, None)), Some(10203), "the first message is held too long");
    assert_eq!(code(&send_batch(vec![large.clone(), held, large], None)), Some(10204));
    let full = text(128_000);
    assert_eq!(code(&send_batch(vec![full.clone(), full, text(1)], None)), Some(10205));
}

#[test]
fn a_batch_that_is_refused_leaves_nothing_behind() {
    let mut queues = queues();
    let refused = send_batch(vec![text(1), text(128_001)], None);
    assert!(queues.apply(Time::ZERO, &refused).is_err());
    let metrics = queues.apply(Time::ZERO, &Op::metrics("q")).unwrap().metrics();
    assert_eq!(metrics, Metrics::default());
}

#[test]
fn a_queue_holds_25_gb_and_takes_more_once_some_are_gone() {
    let mut queues = queues();
    let full = text(128_000);
    let batch = send_batch(vec![full.clone(), full.clone()], None);
    for _ in 0..MAX_BACKLOG_BYTES / 256_000 {
        queues.apply(Time::ZERO, &batch).unwrap();
    }
    let rest = usize::try_from(MAX_BACKLOG_BYTES % 256_000).unwrap();
    queues.apply(Time::ZERO, &send(text(rest))).unwrap();
    let error = queues.apply(Time::ZERO, &send(text(1))).unwrap_err();
    assert_eq!(error.to_string(), "Queue storage limit exceeded (10251)");

    let q = queues.queue_id("q").unwrap();
    let batch = queues.take(Time::ZERO, q, &mut |_| 0).unwrap();
    queues.finish(Time::ZERO, &batch, &BatchResult::unmarked(BatchOutcome::Ok));
    assert!(queues.apply(Time::ZERO, &send(text(1))).is_ok());
}

#[test]
fn a_queue_that_does_not_exist_is_an_error() {
    let error = Queues::default().apply(Time::ZERO, &Op::metrics("nowhere")).unwrap_err();
    assert_eq!(error.to_string(), "Queue does not exist (10104)");
}

#[test]
fn settings_are_held_to_the_platforms_ranges() {
    let production = ConsumerConfig::default;
    let seconds = Duration::from_secs;
    let check = |config: ConsumerConfig| {
        queues().set_consumer("q", config).err().map(|error| error.to_string())
    };
    for (low, high) in [
        (
            ConsumerConfig { max_batch_size: 1, ..production() },
            ConsumerConfig { max_batch_size: 100, ..production() },
        ),
        (
            ConsumerConfig { max_batch_timeout: seconds(0), ..production() },
            ConsumerConfig { max_batch_timeout: seconds(60), ..production() },
        ),
        (
            ConsumerConfig { max_retries: 0, ..production() },
            ConsumerConfig { max_retries: 100, ..production() },
        ),
        (
            ConsumerConfig { retry_delay: seconds(0), ..production() },
            ConsumerConfig { retry_delay: seconds(86_400), ..production() },
        ),
        (
            ConsumerConfig { max_concurrency: 1, ..production() },
            ConsumerConfig { max_concurrency: 250, ..production() },
        ),
    ] {
        assert_eq!((check(low), check(high)), (None, None));
    }
    for wrong in [
        ConsumerConfig { max_batch_size: 0, ..production() },
        ConsumerConfig { max_batch_size: 101, ..production() },
        ConsumerConfig { max_batch_timeout: seconds(61), ..production() },
        ConsumerConfig { retry_delay: seconds(86_401), ..production() },
        ConsumerConfig { max_concurrency: 0, ..production() },
        ConsumerConfig { max_concurrency: 251, ..production() },
        ConsumerConfig { lease: seconds(0), ..production() },
        ConsumerConfig { dead_letter_queue: Some("".into()), ..production() },
    ] {
        assert!(check(wrong.clone()).is_some(), "{wrong:?}");
    }
    let message = check(ConsumerConfig { max_retries: 101, ..production() });
    assert_eq!(message.unwrap(), "max_retries is 101, but must be from 0 to 100");
}

#[test]
fn settings_left_out_are_those_of_production_or_of_the_emulator() {
    let numbers = |config: &ConsumerConfig| {
        (config.max_batch_size, config.max_batch_timeout.as_secs(), config.max_retries)
    };
    assert_eq!(numbers(&ConsumerConfig::default()), (10, 5, 3));
    assert_eq!(numbers(&ConsumerConfig::miniflare()), (5, 1, 2));
}

#[test]
fn a_queue_is_created_once_with_a_name_and_sane_times() {
    let seconds = Duration::from_secs;
    let create = |name: &str, config: QueueConfig| {
        queues().create(name, config).err().map(|error| error.to_string())
    };
    let retention = |retention| QueueConfig { retention, ..QueueConfig::default() };
    let delay = |delivery_delay| QueueConfig { delivery_delay, ..QueueConfig::default() };
    assert_eq!(create("new", retention(seconds(60))), None);
    assert_eq!(create("new", retention(seconds(14 * 86_400))), None);
    assert_eq!(create("new", delay(seconds(86_400))), None);
    assert!(create("new", retention(seconds(59))).is_some());
    assert!(create("new", retention(seconds(14 * 86_400 + 1))).is_some());
    assert!(create("new", delay(seconds(86_401))).is_some());
    assert_eq!(create("", QueueConfig::default()).unwrap(), "a queue needs a name");
    assert_eq!(create("q", QueueConfig::default()).unwrap(), "queue \"q\" exists already");
    let missing = queues().set_consumer("nowhere", ConsumerConfig::default()).unwrap_err();
    assert_eq!(missing.to_string(), "there is no queue \"nowhere\"");
}

#[test]
fn errors_end_with_their_code_and_say_whether_to_try_again() {
    for code in [10202, 10203, 10204, 10205, 10206, 10250, 10251, 10252, 10253, 15000] {
        let error = Error::service(code);
        assert!(error.to_string().ends_with(&format!(" ({code})")), "{error}");
        assert_eq!((error.name(), error.code()), ("Error", Some(code)));
        assert_eq!(error.is_transient(), transient_errors().contains(&code));
    }
    assert!(Error::service(10250).is_transient() && Error::service(15000).is_transient());
    assert!(!Error::service(10204).is_transient() && !Error::service(10252).is_transient());
}

#[test]
fn overload_a_full_queue_and_an_unknown_failure_pass_by_themselves() {
    let codes = [10201, 10202, 10203, 10204, 10205, 10206, 10250, 10251, 10252, 10253, 15000];
    let transient = codes.into_iter().filter(|code| Error::service(*code).is_transient());
    assert_eq!(transient.collect::<Vec<u32>>(), [10250, 10251, 15000]);
    assert_eq!(transient_errors(), [10250, 10251, 15000]);
}

#[test]
fn production_counts_every_message_that_is_not_settled() {
    let mut queues = queues();
    let q = queues.queue_id("q").unwrap();
    let sent = queues.apply(Time::ZERO, &send(text(3).delayed(60))).unwrap().metrics();
    assert_eq!((sent.backlog_count, sent.backlog_bytes), (1, 3));
    queues.apply(Time::from_ms(1), &send(text(2))).unwrap();
    let batch = queues.take(Time::from_ms(5_001), q, &mut |_| 0).unwrap();
    assert_eq!((batch.metrics.backlog_count, batch.metrics.backlog_bytes), (2, 5));
    queues.finish(Time::from_ms(5_001), &batch, &BatchResult::unmarked(BatchOutcome::Ok));
    let left = queues.apply(Time::from_ms(5_001), &Op::metrics("q")).unwrap().metrics();
    let expected =
        Metrics { backlog_count: 1, backlog_bytes: 3, oldest_message_timestamp: Some(Time::ZERO) };
    assert_eq!(left, expected);
}

#[test]
fn the_emulator_counts_only_what_it_could_deliver_now() {
    let mut queues = Queues::default();
    queues.create("q", QueueConfig::miniflare()).unwrap();
    queues.set_consumer("q", ConsumerConfig::default()).unwrap();
    let backlog = |queues: &mut Queues, ms: u64| {
        let metrics = queues.apply(Time::from_ms(ms), &Op::metrics("q")).unwrap().metrics();
        (metrics.backlog_count, metrics.backlog_bytes)
    };
    queues.apply(Time::ZERO, &send(text(3).delayed(60))).unwrap();
    assert_eq!(backlog(&mut queues, 0), (0, 0), "it is delayed");
    let sent = queues.apply(Time::ZERO, &send(text(2))).unwrap().metrics();
    assert_eq!(sent, Metrics::default(), "it is being sent");
    assert_eq!(backlog(&mut queues, 0), (1, 2));
    let q = queues.queue_id("q").unwrap();
    queues.take(Time::from_ms(5_000), q, &mut |_| 0).unwrap();
    assert_eq!(backlog(&mut queues, 5_000), (0, 0), "it is in delivery");
    assert_eq!(backlog(&mut queues, 60_000), (1, 3));
}

#[test]
fn operations_and_batches_are_one_short_line_in_a_trace() {
    let a = MessageSendRequest::from(MessageBody::text("a"));
    let number = MessageSendRequest::from(MessageBody::json(&7).unwrap());
    assert_eq!(send(a.clone().delayed(5)).to_string(), r#"send q "a" after 5s"#);
    let batch = send_batch(vec![a, number.clone(), text(1_000)], Some(9));
    assert_eq!(batch.to_string(), r#"sendBatch q ["a", 7, 1000 bytes] after 9s"#);
    let many = send_batch(vec![number; 8], None);
    assert_eq!(many.to_string(), "sendBatch q [7, 7, 7, 7, 7 and 3 more]");
    assert_eq!(Op::metrics("q").to_string(), "metrics q");

    let mut queues = queues();
    let object = MessageBody::json(&serde_json::json!({"key": "cat.jpg"})).unwrap();
    queues.apply(Time::ZERO, &Op::send("q", MessageBody::json("cat.jpg").unwrap())).unwrap();
    let Ok(Reply::Sent { id, .. }) = queues.apply(Time::ZERO, &Op::send("q", object)) else {
        panic!("send answers with its own reply");
    };
    let q = queues.queue_id("q").unwrap();
    let batch = queues.take(Time::from_ms(5_000), q, &mut |_| 0).unwrap();
    assert_eq!(batch.to_string(), format!("q [cat.jpg#1 {}#1]", id.short()));
    let handle = MessageBatch::new(batch);
    handle.messages()[1].retry_with(3);
    let result = handle.result(BatchOutcome::Exception);
    assert_eq!(result.to_string(), format!("exception, retry {} after 3s", id.short()));
}

#[test]
fn everything_that_crosses_the_doorway_survives_json_and_can_cross_threads() {
    fn check<T>(value: &T) -> String
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug + Send,
    {
        let json = serde_json::to_string(value).unwrap();
        assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
        json
    }
    let mut queues = queues();
    let q = queues.queue_id("q").unwrap();
    let op = send_batch(vec![text(1).delayed(0), MessageBody::bytes(vec![0xff]).into()], Some(1));
    let message = r#"{"body":{"contentType":"text","data":"x"},"delaySeconds":0}"#;
    let bytes = r#"{"body":{"contentType":"bytes","data":{"hex":"ff"}},"delaySeconds":null}"#;
    let expected = format!(
        r#"{{"sendBatch":{{"queue":"q","messages":[{message},{bytes}],"delaySeconds":1}}}}"#
    );
    assert_eq!(check(&op), expected);
    check(&queues.apply(Time::ZERO, &op).unwrap());
    let batch: Batch = queues.take(Time::from_ms(9_000), q, &mut |_| 0).unwrap();
    assert!(check(&batch).contains(r#""queueId":0"#));
    check(&MessageBatch::new(batch.clone()).result(BatchOutcome::Ok));
    let fates = queues.finish(Time::from_ms(9_000), &batch, &BatchResult::died());
    assert_eq!(check(&fates[0]), r#"{"retried":{"at":9000}}"#);
    assert_eq!(check(&Fate::Acked), r#""acked""#);
    queues.take(Time::from_ms(9_000), q, &mut |_| 0);
    check::<Vec<Expiry>>(&queues.expire(Time::from_ms(10_000_000)));
    check(&Error::service(10250));
    check(&Options::miniflare());
    check(&Body::empty());
}
