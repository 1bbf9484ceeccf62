//! Event notifications: who hears of what, in which words, and which rules are refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use thunderhead_sim::Body;
use thunderhead_sim::r2::{
    ACCOUNT, BucketConfig, Conditional, ConfigError, Date, EventType, MultipartOptions,
    Notification, Op, Options, ParseError, PutOptions, R2, Reply, Rule,
};

use super::support::{BUCKET, Store};

const CREATE: EventType = EventType::ObjectCreate;
const DELETE: EventType = EventType::ObjectDelete;

fn store(rules: Vec<Rule>, options: Options) -> Store {
    Store::with(BucketConfig { rules, options })
}

fn everything() -> Store {
    store(vec![Rule::new("events", [CREATE, DELETE])], Options::default())
}

/// What was told so far, as `queue: event`.
fn heard(r2: &mut Store) -> Vec<String> {
    r2.notified.drain(..).map(|notify| format!("{}: {}", notify.queue, notify.event)).collect()
}

#[test]
fn the_message_of_a_put_is_the_documented_json() {
    let mut r2 = everything();
    r2.put("cat.jpg", "hello");
    let expected = format!(
        r#"{{"account":"{ACCOUNT}","action":"PutObject","bucket":"photos","object":{{"key":"cat.jpg","size":5,"eTag":"5d41402abc4b2a76b9719d911017c592"}},"eventTime":"2026-01-01T02:46:40.000Z"}}"#
    );
    assert_eq!(r2.notified[0].event.to_body().text(), Some(expected.as_str()));
}

#[test]
fn the_message_of_a_delete_has_neither_size_nor_etag() {
    let mut r2 = everything();
    r2.put("cat.jpg", "hello");
    r2.wait(1);
    r2.call(Op::delete(BUCKET, "cat.jpg")).unwrap();
    let expected = format!(
        r#"{{"account":"{ACCOUNT}","action":"DeleteObject","bucket":"photos","object":{{"key":"cat.jpg"}},"eventTime":"2026-01-01T02:46:40.001Z"}}"#
    );
    assert_eq!(r2.notified[1].event.to_body().text(), Some(expected.as_str()));
}

#[test]
fn only_a_copy_names_its_source() {
    let mut r2 = everything();
    r2.put("a.jpg", "hello");
    r2.call(copy("b.jpg", "a.jpg")).unwrap();
    let text = r2.notified[1].event.to_body();
    let text = text.text().unwrap();
    assert!(text.contains(r#""action":"CopyObject""#), "{text}");
    assert!(text.ends_with(r#""copySource":{"bucket":"photos","object":"a.jpg"}}"#), "{text}");
    assert_eq!(r2.text("b.jpg"), "hello");
    let error = r2.call(copy("c.jpg", "missing")).unwrap_err().to_string();
    assert_eq!(error, "copy: The specified key does not exist. (10007)");
}

fn copy(key: &str, source: &str) -> Op {
    Op::Copy {
        bucket: BUCKET.into(),
        key: key.into(),
        source_bucket: BUCKET.into(),
        source_key: source.into(),
    }
}

#[test]
fn every_action_is_told_by_its_name() {
    let mut r2 = everything();
    let (bucket, key): (Arc<str>, Arc<str>) = (BUCKET.into(), "m".into());
    let options = Arc::new(MultipartOptions::default());
    let create = Op::CreateMultipartUpload { bucket: bucket.clone(), key: key.clone(), options };
    let Ok(Reply::MultipartUpload { upload_id, .. }) = r2.call(create) else { panic!() };
    let parts = Vec::new();
    r2.call(Op::CompleteMultipartUpload {
        bucket: bucket.clone(),
        key: key.clone(),
        upload_id,
        parts,
    })
    .unwrap();
    r2.call(Op::LifecycleDelete { bucket: bucket.clone(), key: key.clone() }).unwrap();
    r2.call(Op::LifecycleDelete { bucket, key }).unwrap();
    assert_eq!(
        heard(&mut r2),
        [
            "events: CompleteMultipartUpload photos/m etag=d41d8cd9…",
            "events: LifecycleDeletion photos/m",
        ]
    );
}

#[test]
fn identical_bytes_are_told_again_and_may_share_the_time() {
    let mut r2 = everything();
    r2.put("same", "hello");
    r2.put("same", "hello");
    assert_eq!(r2.notified[0], r2.notified[1]);
}

#[test]
fn an_event_has_the_moment_at_which_its_object_was_uploaded() {
    let mut r2 = everything();
    r2.wait(7);
    let object = r2.put("a", "x");
    assert_eq!(object.uploaded, r2.now);
    assert_eq!(r2.notified[0].event.event_time, Date::from(object.uploaded));
}

#[test]
fn nothing_is_told_of_a_write_that_did_not_happen() {
    let mut r2 = everything();
    r2.put("a", "1");
    heard(&mut r2);
    let only_if = Some(Conditional::etag_does_not_match("*"));
    let options = PutOptions { only_if, ..PutOptions::default() };
    let reply = r2.call(Op::put_with(BUCKET, "a", "2", options)).unwrap();
    assert_eq!(reply, Reply::PreconditionFailed(None));
    r2.call(Op::put(BUCKET, "k".repeat(1025), "x")).unwrap_err();
    r2.call(Op::get(BUCKET, "a")).unwrap();
    assert!(heard(&mut r2).is_empty());
}

#[test]
fn deleting_a_missing_key_is_told_only_on_request() {
    for (event_for_missing_delete, expected) in [(false, 1), (true, 3)] {
        let options = Options { event_for_missing_delete, ..Options::default() };
        let mut r2 = store(vec![Rule::new("events", [DELETE])], options);
        r2.put("there", "x");
        let keys = vec!["gone".into(), "there".into(), "there".into()];
        r2.call(Op::Delete { bucket: BUCKET.into(), keys }).unwrap();
        assert_eq!(heard(&mut r2).len(), expected);
    }
}

#[test]
fn prefix_and_suffix_must_both_match_and_each_queue_hears_once() {
    let mut r2 = store(
        vec![
            Rule::new("images", [CREATE]).prefix("in/").suffix(".jpg"),
            Rule::new("all", [CREATE]),
            Rule::new("all", [DELETE]),
        ],
        Options::default(),
    );
    for key in ["in/a.jpg", "in/a.png", "out/a.jpg"] {
        r2.put(key, "");
    }
    r2.call(Op::delete(BUCKET, "in/a.jpg")).unwrap();
    let lines = heard(&mut r2).into_iter().map(|line| line.replace(" etag=d41d8cd9…", ""));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "images: PutObject photos/in/a.jpg",
            "all: PutObject photos/in/a.jpg",
            "all: PutObject photos/in/a.png",
            "all: PutObject photos/out/a.jpg",
            "all: DeleteObject photos/in/a.jpg",
        ]
    );
}

fn refusal(rules: Vec<Rule>) -> Option<String> {
    let config = BucketConfig { rules, ..BucketConfig::default() };
    R2::new().create_bucket(BUCKET, config).err().map(|error| error.to_string())
}

#[test]
fn rules_that_could_tell_one_queue_twice_are_refused() {
    let rule = |prefix: &str, suffix: &str| Rule::new("q", [CREATE]).prefix(prefix).suffix(suffix);
    assert_eq!(
        refusal(vec![rule("a/", ""), rule("a/b", ".jpg")]).unwrap(),
        "conflicting event notification rules: one event could match both \
         \"object-create of a/* to q\" and \"object-create of a/b*.jpg to q\""
    );
    assert!(refusal(vec![rule("", ".jpg"), rule("", "at.jpg")]).is_some());
    assert!(refusal(vec![rule("", ".jpg"), rule("x", "")]).is_some());
    assert_eq!(refusal(vec![rule("a", ""), rule("b", "")]), None);
    assert_eq!(refusal(vec![rule("", ".jpg"), rule("", ".png")]), None);
    assert_eq!(refusal(vec![Rule::new("q", [CREATE]), Rule::new("q", [DELETE])]), None);
    assert_eq!(refusal(vec![Rule::new("q", [CREATE]), Rule::new("r", [CREATE])]), None);
}

#[test]
fn a_bucket_has_at_most_a_hundred_rules() {
    let rules = |count| (0..count).map(|i| Rule::new(&format!("q{i}"), [CREATE])).collect();
    assert_eq!(refusal(rules(100)), None);
    assert_eq!(
        refusal(rules(101)).unwrap(),
        "a bucket has at most 100 notification rules, not 101"
    );
    assert_eq!(
        refusal(vec![Rule::new("q", [])]).unwrap(),
        "the notification rule for queue \"q\" names no event type"
    );
}

#[test]
fn a_bucket_is_created_once_and_under_a_valid_name() {
    let mut r2 = R2::new();
    r2.create_bucket("my-bucket-1", BucketConfig::default()).unwrap();
    let again = r2.create_bucket("my-bucket-1", BucketConfig::default());
    assert_eq!(again, Err(ConfigError::BucketConflict("my-bucket-1".into())));
    for name in ["ab", "Photos", "-ab", "ab-", "a_b", "", &"a".repeat(64)] {
        let refused = r2.create_bucket(name, BucketConfig::default());
        assert_eq!(refused, Err(ConfigError::InvalidBucketName(name.into())));
    }
}

#[test]
fn a_message_survives_the_way_through_a_queue() {
    let mut r2 = everything();
    r2.put("a\n\"é", "x");
    r2.call(copy("b", "a\n\"é")).unwrap();
    r2.call(Op::delete(BUCKET, "b")).unwrap();
    for notify in &r2.notified {
        assert_eq!(Notification::parse(&notify.event.to_body()).as_ref(), Ok(&notify.event));
    }
    let mut value: serde_json::Value =
        serde_json::from_str(r2.notified[0].event.to_body().text().unwrap()).unwrap();
    value["later"] = "addition".into();
    assert!(Notification::parse(&Body::from(value.to_string())).is_ok());
}

#[test]
fn a_malformed_message_is_refused_with_its_reason() {
    let mut r2 = everything();
    r2.put("a", "x");
    r2.call(copy("b", "a")).unwrap();
    let parse = |i: usize, change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = serde_json::to_value(&r2.notified[i].event).unwrap();
        change(&mut value);
        Notification::parse(&Body::from(value.to_string())).unwrap_err().to_string()
    };
    let without = |field: &'static str| {
        move |value: &mut serde_json::Value| {
            value.as_object_mut().unwrap().remove(field);
        }
    };
    let start = "not an R2 event notification: ";
    for field in ["account", "action", "bucket", "object", "eventTime", "copySource"] {
        assert_eq!(parse(1, &without(field)), format!("{start}`{field}` is missing"));
    }
    for field in ["key", "size", "eTag"] {
        let reason = parse(0, &|value| without(field)(&mut value["object"]));
        assert_eq!(reason, format!("{start}`object.{field}` is missing"));
    }
    let reason = parse(0, &|value| value["action"] = "PutObjects".into());
    assert_eq!(reason, format!("{start}unknown action \"PutObjects\""));
    let reason = parse(0, &|value| value["eventTime"] = "today".into());
    assert_eq!(reason, format!("{start}`eventTime` is no date: \"today\""));
    assert!(parse(0, &|value| value["object"]["size"] = "5".into()).starts_with(start));
    for body in [Body::from("hello"), Body::empty(), Body::from(vec![0xff]), Body::from("[]")] {
        let error = Notification::parse(&body).unwrap_err();
        assert!(matches!(error, ParseError::NotANotification(_)), "{error}");
    }
}
