//! Rates, refusals and transient errors where production publishes nothing; `docs/platform-r2.md`
//! says why each is as it is.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::r2::{
    BucketConfig, Code, Conditional, Error, ListOptions, Method, Op, Options, PutOptions, Reply,
    transient_errors,
};

use super::support::{BUCKET, Store};

/// A bucket that takes one write of a key a second.
fn strict() -> Store {
    let options = Options { strict_same_key_rate: true, ..Options::default() };
    Store::with(BucketConfig { options, ..BucketConfig::default() })
}

/// A put that succeeds only where there is nothing.
fn create(key: &str, body: &str) -> Op {
    let only_if = Some(Conditional::etag_does_not_match("*"));
    Op::put_with(BUCKET, key, body, PutOptions { only_if, ..PutOptions::default() })
}

#[test]
fn under_a_strict_rate_a_delete_counts_if_the_key_was_there() {
    let mut r2 = strict();
    r2.put("there", "1");
    r2.wait(1000);
    r2.call(Op::delete(BUCKET, "there")).unwrap();
    let error = r2.call(Op::put(BUCKET, "there", "2")).unwrap_err();
    assert_eq!(error.code(), Some(10058));
    r2.call(Op::delete(BUCKET, "missing")).unwrap();
    r2.put("missing", "1");
    assert_eq!(r2.text("missing"), "1");
}

#[test]
fn under_a_strict_rate_a_write_that_was_not_made_does_not_count() {
    let mut r2 = strict();
    r2.put("a", "1");
    r2.wait(999);
    let error = r2.call(Op::put(BUCKET, "a", "2")).unwrap_err();
    assert_eq!(error.code(), Some(10058));
    r2.wait(1);
    assert_eq!(r2.call(create("a", "3")), Ok(Reply::PreconditionFailed(None)));
    r2.put("a", "4");
    assert_eq!(r2.text("a"), "4");
}

#[test]
fn under_a_strict_rate_the_loser_of_a_race_hears_of_the_rate_and_not_of_the_condition() {
    let mut r2 = strict();
    assert!(matches!(r2.call(create("a", "1")), Ok(Reply::Stored(_))));
    assert_eq!(r2.call(create("a", "2")).unwrap_err().code(), Some(10058));
}

#[test]
fn a_delete_with_a_key_that_is_refused_deletes_nothing() {
    let mut r2 = Store::new();
    r2.put("a", "x");
    let keys = vec!["a".into(), "k".repeat(1025).into()];
    let error = r2.call(Op::Delete { bucket: BUCKET.into(), keys }).unwrap_err();
    assert_eq!(error.code(), Some(10020));
    assert_eq!(r2.text("a"), "x");
}

#[test]
fn a_read_fails_for_the_moment_with_10001_or_10043() {
    let list = Op::list(BUCKET, ListOptions::default());
    for op in [Op::head(BUCKET, "a"), Op::get(BUCKET, "a"), list] {
        let numbers: Vec<u32> = transient_errors(&op).iter().map(|code| code.number()).collect();
        assert_eq!(numbers, [10001, 10043], "{op}");
    }
}

#[test]
fn a_read_that_comes_too_often_is_told_of_simultaneous_reads() {
    let text = |method| Error::service(method, Code::TooManyRequests).to_string();
    assert_eq!(
        text(Method::Get),
        "get: Reduce your rate of simultaneous reads on the same object. (10058)"
    );
    for (method, name) in [(Method::List, "list"), (Method::Put, "put")] {
        let usual = "Reduce your concurrent request rate for the same object. (10058)";
        assert_eq!(text(method), format!("{name}: {usual}"));
    }
}
