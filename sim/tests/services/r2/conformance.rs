//! What the real local runtime answered about objects, asked of the simulated R2.
//!
//! Each test is named after the probe it repeats. Where production is documented to differ from
//! the emulator, production's answer is asserted, and the emulator's under its option. The probes
//! of listings, reads and multipart uploads are in the sibling files; rows left out are listed in
//! `docs/platform-r2.md`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use thunderhead_sim::r2::{
    Algorithm, BucketConfig, Checksum, Checksums, Conditional, Date, Error, HttpMetadata, Object,
    Op, Options, PutOptions, Reply, StorageClass,
};

use super::support::{BUCKET, Store, map};

const MD5_HELLO: &str = "5d41402abc4b2a76b9719d911017c592";

#[test]
fn etag_identical_bytes_twice() {
    let mut r2 = Store::new();
    let a = r2.put("same", "hello");
    r2.wait(5);
    let b = r2.put("same", "hello");
    let c = r2.put("same-other-key", "hello");
    assert_eq!(&*a.etag, MD5_HELLO);
    assert_eq!((&a.etag, &a.etag), (&b.etag, &c.etag));
    assert_ne!(a.version, b.version);
    assert!(b.uploaded > a.uploaded);
}

#[test]
fn version_shape() {
    let mut r2 = Store::new();
    let versions: Vec<_> = (0..3).map(|i| r2.put("v", &format!("x{i}")).version.clone()).collect();
    for version in &versions {
        assert_eq!(version.len(), 32);
        assert!(version.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')), "{version}");
    }
    assert!(versions[0] != versions[1] && versions[1] != versions[2] && versions[0] != versions[2]);
    assert_eq!(r2.head("v").unwrap().version, versions[2]);
}

#[test]
fn http_etag() {
    let object = Store::new().put("he", "hello");
    let mut headers = BTreeMap::new();
    object.write_http_metadata(&mut headers);
    assert_eq!(object.http_etag(), format!("\"{MD5_HELLO}\""));
    assert!(headers.is_empty());
}

#[test]
fn delete_missing() {
    assert_eq!(Store::new().call(Op::delete(BUCKET, "nope")), Ok(Reply::Deleted));
}

#[test]
fn delete_existing_then_head() {
    let mut r2 = Store::new();
    r2.put("d", "x");
    assert_eq!(r2.call(Op::delete(BUCKET, "d")), Ok(Reply::Deleted));
    assert_eq!(r2.call(Op::head(BUCKET, "d")), Ok(Reply::NotFound));
}

fn put_if(r2: &mut Store, key: &str, body: &str, only_if: Conditional) -> Option<Arc<Object>> {
    let options = PutOptions { only_if: Some(only_if), ..PutOptions::default() };
    match r2.call(Op::put_with(BUCKET, key, body, options)).unwrap() {
        Reply::Stored(object) => Some(object),
        Reply::PreconditionFailed(None) => None,
        other => panic!("unexpected {other}"),
    }
}

#[test]
fn cond_put_etag_matches() {
    let mut r2 = Store::new();
    let first = r2.put("cp1", "one");
    let right = Conditional::etag_matches(&*first.etag);
    let stored = put_if(&mut r2, "cp1", "two", right.clone()).unwrap();
    assert_eq!((stored.size, &*stored.etag), (3, "b8a9f715dbb64fd5c56e7783c6820a61"));
    assert_eq!(put_if(&mut r2, "cp1", "three", right.clone()), None);
    assert_eq!(r2.text("cp1"), "two");
    assert_eq!(put_if(&mut r2, "cp1-missing", "x", right), None);
    assert_eq!(r2.head("cp1-missing"), None);
    let quoted = Conditional::etag_matches(&*stored.http_etag());
    let options = PutOptions { only_if: Some(quoted), ..PutOptions::default() };
    let error = r2.call(Op::put_with(BUCKET, "cp1", "q", options)).unwrap_err();
    assert_eq!(error.name(), "TypeError");
    assert_eq!(
        error.to_string(),
        "Conditional ETag should not be wrapped in quotes (\"b8a9f715dbb64fd5c56e7783c6820a61\")."
    );
    let star = put_if(&mut r2, "cp1", "s", Conditional::etag_matches("*")).unwrap();
    assert_eq!(&*star.etag, "03c7c0ace395d80182db07ae2c30f034");
    assert_eq!(put_if(&mut r2, "cp1-missing2", "s", Conditional::etag_matches("*")), None);
}

#[test]
fn cond_put_combined() {
    let mut r2 = Store::new();
    let (past, future) = (r2.date(-1_000_000), r2.date(1_000_000));
    let object = r2.put("cc", "1");
    let mut condition = Conditional::etag_matches(&*object.etag);
    condition.uploaded_before = Some(past);
    let stored = put_if(&mut r2, "cc", "2", condition).unwrap();
    assert_eq!(&*stored.etag, "c81e728d9d4c2f636f067f89cc14862c");

    let object = r2.put("cc", "1");
    let mut condition = Conditional::etag_does_not_match(&*object.etag);
    condition.uploaded_after = Some(past);
    assert_eq!(put_if(&mut r2, "cc", "2", condition), None);

    r2.put("cc", "1");
    let mut condition = Conditional::etag_matches("deadbeef");
    condition.uploaded_before = Some(future);
    assert_eq!(put_if(&mut r2, "cc", "2", condition), None);
}

#[test]
fn cond_put_race_create_once() {
    let mut r2 = Store::new();
    let create_only = Conditional::etag_does_not_match("*");
    let results = (0..10).map(|i| put_if(&mut r2, "race", &format!("v{i}"), create_only.clone()));
    assert_eq!(results.filter(Option::is_some).count(), 1);
}

#[test]
fn custom_metadata_roundtrip() {
    let mut r2 = Store::new();
    let custom_metadata = map(&[("A", "1"), ("b", ""), ("unié", "😀"), ("x y", "line\nbreak")]);
    let http_metadata = HttpMetadata {
        content_type: Some("text/x".into()),
        cache_control: Some("no-store".into()),
        content_language: Some("en".into()),
        content_disposition: Some("inline".into()),
        content_encoding: Some("gzip".into()),
        cache_expiry: Some(Date::from_unix_ms(1_000_000_000_000)),
    };
    let options = PutOptions {
        custom_metadata: custom_metadata.clone(),
        http_metadata: http_metadata.clone(),
        ..PutOptions::default()
    };
    r2.call(Op::put_with(BUCKET, "cm", "x", options)).unwrap();
    let head = r2.head("cm").unwrap();
    assert_eq!((&head.custom_metadata, &head.http_metadata), (&custom_metadata, &http_metadata));
    let get = r2.call(Op::get(BUCKET, "cm")).unwrap();
    assert_eq!(get.object(), Some(&head));
    let mut headers = BTreeMap::new();
    head.write_http_metadata(&mut headers);
    let headers: Vec<_> = headers.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(
        headers,
        [
            ("cache-control", "no-store"),
            ("content-disposition", "inline"),
            ("content-encoding", "gzip"),
            ("content-language", "en"),
            ("content-type", "text/x"),
            ("expires", "Sun, 09 Sep 2001 01:46:40 GMT"),
        ]
    );
}

fn metadata_of(bytes: usize) -> Op {
    let custom_metadata = map(&[("k", &"v".repeat(bytes - 1))]);
    let options = PutOptions { custom_metadata, ..PutOptions::default() };
    Op::put_with(BUCKET, "cml", "x", options)
}

#[test]
fn custom_metadata_limits() {
    const TOO_LARGE: &str =
        "put: Your metadata headers exceed the maximum allowed metadata size. (10012)";
    let mut r2 = Store::new();
    for bytes in [2047, 2048, 2049, 8191, 8192] {
        assert!(r2.call(metadata_of(bytes)).is_ok(), "{bytes}");
    }
    assert_eq!(r2.call(metadata_of(8193)).unwrap_err().to_string(), TOO_LARGE);

    let options = Options { miniflare_metadata_limit: true, ..Options::default() };
    let mut older = Store::with(BucketConfig { options, ..BucketConfig::default() });
    assert!(older.call(metadata_of(2048)).is_ok());
    assert_eq!(older.call(metadata_of(2049)).unwrap_err().to_string(), TOO_LARGE);
}

#[test]
fn overwrite_drops_metadata() {
    let mut r2 = Store::new();
    let options = PutOptions {
        custom_metadata: map(&[("a", "1")]),
        http_metadata: HttpMetadata { content_type: Some("a/b".into()), ..Default::default() },
        ..PutOptions::default()
    };
    r2.call(Op::put_with(BUCKET, "om", "x", options)).unwrap();
    r2.put("om", "y");
    let head = r2.head("om").unwrap();
    let etag = "415290769594460e2e485922904f345d";
    assert_eq!((&*head.key, head.size, &*head.etag), ("om", 1, etag));
    assert_eq!(head.checksums, Checksums { md5: Some(etag.into()), ..Checksums::default() });
    assert_eq!(head.http_metadata, HttpMetadata::default());
    assert!(head.custom_metadata.is_empty());
    assert_eq!((head.range().offset, head.range().length), (0, 1));
}

#[test]
fn http_metadata_from_headers() {
    let headers = [("Content-Type", "text/a"), ("cache-control", "max-age=1"), ("x-other", "1")];
    let expected = HttpMetadata {
        content_type: Some("text/a".into()),
        cache_control: Some("max-age=1".into()),
        ..HttpMetadata::default()
    };
    assert_eq!(HttpMetadata::from_headers(&headers), Ok(expected));
}

fn put_checked(r2: &mut Store, body: &str, sums: Vec<Checksum>) -> Result<Checksums, Error> {
    let options = PutOptions { checksums: sums, ..PutOptions::default() };
    let reply = r2.call(Op::put_with(BUCKET, "ck", body, options))?;
    Ok(reply.object().unwrap().checksums.clone())
}

#[test]
fn checksums() {
    let mut r2 = Store::new();
    let md5 = Checksum::hex(Algorithm::Md5, MD5_HELLO);
    let raw = |digits: &str| -> Vec<u8> {
        let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    };
    let only_md5 = Checksums { md5: Some(MD5_HELLO.into()), ..Checksums::default() };
    assert_eq!(put_checked(&mut r2, "hello", vec![md5.clone()]).unwrap(), only_md5);
    let bytes = Checksum::bytes(Algorithm::Md5, raw(MD5_HELLO));
    assert_eq!(put_checked(&mut r2, "hello", vec![bytes]).unwrap(), only_md5);

    let sha1 = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d";
    let sha1_sum = Checksum::bytes(Algorithm::Sha1, raw(sha1));
    let kept = Checksums { sha1: Some(sha1.into()), ..only_md5.clone() };
    assert_eq!(put_checked(&mut r2, "hello", vec![sha1_sum.clone()]).unwrap(), kept);

    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let sha256_sum = Checksum::bytes(Algorithm::Sha256, raw(sha256));
    let kept = Checksums { sha256: Some(sha256.into()), ..only_md5 };
    assert_eq!(put_checked(&mut r2, "hello", vec![sha256_sum]).unwrap(), kept);
    assert_eq!(r2.head("ck").unwrap().checksums, kept);

    let short = put_checked(&mut r2, "world", vec![Checksum::hex(Algorithm::Md5, "abcd")]);
    let two = put_checked(&mut r2, "hello", vec![md5, sha1_sum]);
    for (result, text) in [
        (short, "MD5 is 32 hex characters, not 4"),
        (two, "You cannot specify multiple hashing algorithms."),
    ] {
        let error = result.unwrap_err();
        assert_eq!((error.name(), error.to_string().as_str()), ("TypeError", text));
    }
}

/// The mismatches of the probe `checksums`: their text quotes both digests.
#[test]
fn checksums_that_do_not_match() {
    let mut r2 = Store::new();
    for (algorithm, name, of_hello, of_world) in [
        (Algorithm::Md5, "MD5", MD5_HELLO, "7d793037a0760186574b0282f2f435e7"),
        (
            Algorithm::Sha256,
            "SHA-256",
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7",
        ),
        (
            Algorithm::Sha512,
            "SHA-512",
            "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca7\
             2323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043",
            "11853df40f4b2b919d3815f64792e58d08663767a494bcbb38c0b2389d9140bb\
             b170281b4a847be7757bde12c9cd0054ce3652d0ad3a1a0c92babb69798246ee",
        ),
    ] {
        let sum = Checksum::hex(algorithm, of_hello);
        let error = put_checked(&mut r2, "world", vec![sum]).unwrap_err();
        assert_eq!((error.name(), error.code()), ("Error", Some(10037)));
        let expected = format!(
            "put: The {name} checksum you specified did not match what we received.\n\
             You provided a {name} checksum with value: {of_hello}\n\
             Actual {name} was: {of_world} (10037)"
        );
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(r2.head("ck"), None);
}

#[test]
fn key_limits() {
    let mut r2 = Store::new();
    let (longest, wide) = ("k".repeat(1024), "é".repeat(512));
    for key in [&longest, &wide, "", ".", "../x", "/", "a//b", "a\0b", "a\nb"] {
        r2.put(key, "x");
        assert!(r2.head(key).is_some(), "{key:?}");
        assert_eq!(r2.call(Op::delete(BUCKET, key)), Ok(Reply::Deleted));
    }
    let (too_long, too_wide) = ("k".repeat(1025), "é".repeat(513));
    for op in [
        Op::put(BUCKET, &*too_long, "x"),
        Op::put(BUCKET, &*too_wide, "x"),
        Op::get(BUCKET, &*too_long),
        Op::head(BUCKET, &*too_long),
        Op::delete(BUCKET, &*too_long),
    ] {
        let expected = format!("{}: The specified object name is not valid. (10020)", op.name());
        assert_eq!(r2.call(op).unwrap_err().to_string(), expected);
    }
}

#[test]
fn storage_class() {
    let of = |r2: &mut Store, storage_class| {
        let options = PutOptions { storage_class, ..PutOptions::default() };
        r2.call(Op::put_with(BUCKET, "sc", "x", options)).unwrap();
        r2.head("sc").unwrap().storage_class
    };
    let (standard, infrequent) = (StorageClass::Standard, StorageClass::InfrequentAccess);
    let mut production = Store::new();
    assert_eq!(of(&mut production, None), Some(standard));
    assert_eq!(of(&mut production, Some(standard)), Some(standard));
    assert_eq!(of(&mut production, Some(infrequent)), Some(infrequent));

    let options = Options { miniflare_storage_class: true, ..Options::default() };
    let mut emulator = Store::with(BucketConfig { options, ..BucketConfig::default() });
    for asked in [None, Some(standard), Some(infrequent)] {
        assert_eq!(of(&mut emulator, asked), None);
    }
}

#[test]
fn concurrent_puts_last_wins() {
    let mut r2 = Store::new();
    let stored: Vec<_> = (0..10).map(|i| r2.put("cpl", &format!("v{i}"))).collect();
    assert_eq!(r2.text("cpl"), "v9");
    assert_eq!(r2.head("cpl").unwrap().version, stored[9].version);
}
