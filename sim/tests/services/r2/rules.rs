//! Rules of R2 that no probe of the runtime covers: conditions by date, limits, errors, options.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::Body;
use thunderhead_sim::r2::{
    BucketConfig, Code, Conditional, Error, Etag, GetOptions, HttpMetadata, Include, ListOptions,
    Method, MultipartOptions, Notify, Op, Options, PutOptions, Range, Reply, transient_errors,
};

use super::support::{BUCKET, Store, map};

#[test]
fn a_failed_condition_on_get_answers_metadata_without_bytes() {
    let mut r2 = Store::new();
    let object = r2.put("a", "hello");
    let get = |only_if| Op::Get {
        bucket: BUCKET.into(),
        key: "a".into(),
        options: GetOptions { only_if: Some(only_if), range: None },
    };
    let unchanged = Conditional::etag_does_not_match(&*object.etag);
    assert_eq!(r2.call(get(unchanged)), Ok(Reply::PreconditionFailed(Some(object.clone()))));
    let reply = r2.call(get(Conditional::etag_matches(&*object.etag))).unwrap();
    assert_eq!(reply.body(), Some(&Body::from("hello")));
}

#[test]
fn dates_are_compared_in_milliseconds_unless_a_header_states_them() {
    let mut r2 = Store::new();
    r2.wait(500);
    let object = r2.put("a", "x");
    let (same, next) = (r2.date(0), r2.date(1));
    let before = |date| Conditional { uploaded_before: Some(date), ..Conditional::default() };
    let after = |date| Conditional { uploaded_after: Some(date), ..Conditional::default() };
    let seconds = |condition| Conditional { seconds_granularity: true, ..condition };
    let holds = |condition: Conditional| condition.holds(Some(&object));
    assert!(!holds(before(same)) && holds(before(next)));
    assert!(!holds(after(same)) && holds(after(r2.date(-1))));
    assert!(!holds(seconds(before(next))) && holds(seconds(before(r2.date(500)))));
    assert!(!holds(seconds(after(r2.date(-500)))) && holds(seconds(after(r2.date(-501)))));
    let header = [("If-Unmodified-Since", &*next.http())];
    assert!(!holds(Conditional::from_headers(&header).unwrap()));
}

#[test]
fn an_etag_condition_that_holds_forgives_a_date_that_does_not() {
    let r2 = &mut Store::new();
    let object = r2.put("a", "x");
    let (past, future) = (Some(r2.date(-1)), Some(r2.date(1)));
    let mut other = Conditional::etag_does_not_match("other");
    other.uploaded_after = future;
    assert!(other.holds(Some(&object)));
    other.uploaded_before = past;
    assert!(!other.holds(Some(&object)), "an etag speaks only for the date of its direction");
    let mut same = Conditional::etag_matches(&*object.etag);
    same.uploaded_before = past;
    assert!(same.holds(Some(&object)));
}

#[test]
fn conditions_on_a_missing_object_ask_only_for_its_presence() {
    let date = Store::new().date(0);
    let before = Conditional { uploaded_before: Some(date), ..Conditional::default() };
    let after = Conditional { uploaded_after: Some(date), ..Conditional::default() };
    assert!(before.holds(None) && !after.holds(None));
    assert!(Conditional::etag_does_not_match("x").holds(None));
    assert!(!Conditional::etag_matches("x").holds(None));
}

#[test]
fn a_weak_etag_never_matches_but_does_prevent() {
    let object = Store::new().put("a", "hello");
    let weak = Etag::Weak(object.etag.clone());
    assert!(!Conditional::etag_matches(weak.clone()).holds(Some(&object)));
    assert!(!Conditional::etag_does_not_match(weak).holds(Some(&object)));
    let list = vec![Etag::from("other"), Etag::from(&*object.etag)];
    let any = Conditional { etag_matches: Some(list), ..Conditional::default() };
    assert!(any.holds(Some(&object)));
}

#[test]
fn a_delete_takes_one_to_a_thousand_keys() {
    let mut r2 = Store::new();
    r2.put("k7", "x");
    let delete = |count: usize| Op::Delete {
        bucket: BUCKET.into(),
        keys: (0..count).map(|i| format!("k{i}").into()).collect(),
    };
    for count in [0, 1001] {
        assert_eq!(
            r2.call(delete(count)).unwrap_err().to_string(),
            "delete: The number of keys in the request must be between 1 and 1000 inclusive. \
             (10027)"
        );
    }
    assert!(r2.head("k7").is_some());
    assert_eq!(r2.call(delete(1000)), Ok(Reply::Deleted));
    assert_eq!(r2.head("k7"), None);
}

#[test]
fn a_page_has_one_to_a_thousand_entries() {
    let mut r2 = Store::new();
    for limit in [0, 1001] {
        let options = ListOptions { limit: Some(limit), ..ListOptions::default() };
        assert_eq!(
            r2.call(Op::list(BUCKET, options)).unwrap_err().to_string(),
            "list: MaxKeys params must be positive integer <= 1000. (10022)"
        );
    }
}

#[test]
fn a_listing_starts_behind_the_later_of_cursor_and_start_after() {
    let mut r2 = Store::new();
    for key in ["a", "b", "c", "d"] {
        r2.put(key, "x");
    }
    let first = r2.list("", |options| options.limit = Some(1));
    let keys = |r2: &mut Store, after: &str, cursor| {
        let page = r2.list("", |options| {
            options.start_after = Some(after.into());
            options.cursor = cursor;
        });
        page.objects.iter().map(|object| object.key.to_string()).collect::<String>()
    };
    assert_eq!(keys(&mut r2, "b", None), "cd");
    assert_eq!(keys(&mut r2, "b", first.cursor.clone()), "cd");
    assert_eq!(keys(&mut r2, "", first.cursor), "bcd");
    assert_eq!(keys(&mut r2, "aa", None), "bcd");
}

#[test]
fn each_kind_of_metadata_is_listed_only_on_request() {
    let mut r2 = Store::new();
    let http_metadata = HttpMetadata { content_type: Some("a/b".into()), ..Default::default() };
    let custom_metadata = map(&[("a", "b")]);
    let options = PutOptions { http_metadata, custom_metadata, ..PutOptions::default() };
    r2.call(Op::put_with(BUCKET, "a", "x", options)).unwrap();
    let full = r2.head("a").unwrap();
    let both = vec![Include::HttpMetadata, Include::CustomMetadata];
    assert_eq!(r2.list("", |options| options.include = both).objects[0], full);
    let http = r2.list("", |options| options.include = vec![Include::HttpMetadata]);
    assert_eq!(http.objects[0].http_metadata, full.http_metadata);
    assert!(http.objects[0].custom_metadata.is_empty());
    assert_eq!(r2.head("a"), Some(full));
}

#[test]
fn an_unknown_bucket_is_an_error_of_every_operation() {
    let mut r2 = Store::new();
    for op in every_op("nowhere") {
        let expected = format!("{}: The specified bucket does not exist. (10006)", op.name());
        assert_eq!(r2.call(op).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_strict_bucket_takes_one_write_of_a_key_a_second() {
    let options = Options { strict_same_key_rate: true, ..Options::default() };
    let mut r2 = Store::with(BucketConfig { options, ..BucketConfig::default() });
    r2.put("a", "1");
    r2.put("b", "1");
    r2.wait(999);
    for op in [Op::put(BUCKET, "a", "2"), Op::delete(BUCKET, "a")] {
        let expected = format!(
            "{}: Reduce your concurrent request rate for the same object. (10058)",
            op.name()
        );
        let error = r2.call(op).unwrap_err();
        assert_eq!((error.to_string(), error.is_transient()), (expected, true));
    }
    assert_eq!(r2.text("a"), "1");
    r2.wait(1);
    assert_eq!(r2.call(Op::delete(BUCKET, "a")), Ok(Reply::Deleted));

    let mut lenient = Store::new();
    lenient.put("a", "1");
    lenient.put("a", "2");
}

#[test]
fn every_transient_code_has_a_text_and_passes() {
    for op in every_op(BUCKET) {
        for code in transient_errors(&op) {
            let error = Error::for_op(&op, *code);
            let text = error.to_string();
            assert!(error.is_transient(), "{text}");
            assert!(text.starts_with(&format!("{}: ", op.name())), "{text}");
            assert!(text.ends_with(&format!(". ({})", code.number())), "{text}");
        }
    }
    let writes = [Code::InternalError, Code::ServiceUnavailable, Code::TooManyRequests];
    assert_eq!(transient_errors(&Op::put(BUCKET, "a", "x")), writes);
    assert_eq!(transient_errors(&Op::get(BUCKET, "a")), &writes[..2]);
    assert_eq!(
        Error::service(Method::Put, Code::ServiceUnavailable).to_string(),
        "put: Please look at https://www.cloudflarestatus.com for issues or contact customer \
         support. (10043)"
    );
}

#[test]
fn codes_are_known_by_their_numbers() {
    for code in Code::ALL {
        assert_eq!(Code::from_number(code.number()), Some(code));
    }
    assert!(Code::ALL.is_sorted_by_key(|code| code.number()));
    assert_eq!(Code::from_number(10002), None);
}

#[test]
fn operations_and_replies_are_one_line_each() {
    let lines: Vec<_> = every_op(BUCKET).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "head photos/a",
            "get photos/a last 3 bytes if-none-match=01234567…",
            r#"put photos/a\nb "hello" if-match=*"#,
            "delete photos (2 keys)",
            "list photos/in/*",
            "createMultipartUpload photos/a",
            r#"uploadPart photos/a part 1 "x""#,
            "completeMultipartUpload photos/a (0 parts)",
            "abortMultipartUpload photos/a",
            "copy photos/a from photos/b",
            "lifecycleDelete photos/a",
        ]
    );
    let mut r2 = Store::new();
    let stored = r2.call(Op::put(BUCKET, "a", "hello")).unwrap();
    let line = stored.to_string();
    let version = &stored.object().unwrap().version[..8];
    assert_eq!(line, format!("stored etag=5d41402a… version={version}…"));
    let read = r2.call(Op::get(BUCKET, "a")).unwrap().to_string();
    assert_eq!(read, line.replace("stored", "\"hello\""));
    assert_eq!(r2.call(Op::get(BUCKET, "b")).unwrap().to_string(), "not found");
    assert_eq!(r2.call(Op::list(BUCKET, ListOptions::default())).unwrap().to_string(), "1 object");
}

#[test]
fn everything_that_crosses_the_doorway_survives_json() {
    fn check<T>(value: &T)
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let json = serde_json::to_string(value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), *value, "{json}");
    }
    let mut r2 = Store::new();
    for op in every_op(BUCKET) {
        check(&op);
        match r2.call(op) {
            Ok(reply) => check(&reply),
            Err(error) => check(&error),
        }
    }
    check(&BucketConfig::default());
    let sent: Vec<Notify> = r2.notified;
    check(&sent);
    let op = serde_json::to_value(Op::put(BUCKET, "a", "x")).unwrap();
    assert_eq!(
        (&op["op"], &op["bucket"], &op["body"]),
        (&"put".into(), &BUCKET.into(), &"x".into())
    );
}

#[test]
fn what_crosses_the_doorway_can_be_sent_to_another_thread() {
    fn check<T: Send + Sync + Clone>() {}
    check::<Op>();
    check::<Reply>();
    check::<Error>();
    check::<Notify>();
}

/// One operation of each kind.
fn every_op(bucket: &str) -> Vec<Op> {
    let (b, a) = (|| bucket.into(), || "a".into());
    let unchanged = Conditional::etag_does_not_match("0123456789");
    let options = GetOptions { only_if: Some(unchanged), range: Some(Range::suffix(3)) };
    let only_if = Some(Conditional::etag_matches("*"));
    let put = PutOptions { only_if, ..PutOptions::default() };
    let list = ListOptions { prefix: Some("in/".into()), ..ListOptions::default() };
    let upload_id = || "id".into();
    vec![
        Op::head(bucket, "a"),
        Op::Get { bucket: b(), key: a(), options },
        Op::put_with(bucket, "a\nb", "hello", put),
        Op::Delete { bucket: b(), keys: vec![a(), "b".into()] },
        Op::list(bucket, list),
        Op::CreateMultipartUpload {
            bucket: b(),
            key: a(),
            options: MultipartOptions::default().into(),
        },
        Op::UploadPart {
            bucket: b(),
            key: a(),
            upload_id: upload_id(),
            part_number: 1,
            body: Body::from("x"),
        },
        Op::CompleteMultipartUpload {
            bucket: b(),
            key: a(),
            upload_id: upload_id(),
            parts: vec![],
        },
        Op::AbortMultipartUpload { bucket: b(), key: a(), upload_id: upload_id() },
        Op::Copy { bucket: b(), key: a(), source_bucket: b(), source_key: "b".into() },
        Op::LifecycleDelete { bucket: b(), key: a() },
    ]
}
