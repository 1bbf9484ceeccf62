//! What the real local runtime answered about multipart uploads, asked of the simulated R2.
//!
//! Each test is named after the probe it repeats, or says what no probe covers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use thunderhead_sim::Body;
use thunderhead_sim::r2::limits::UPLOAD_LIFETIME;
use thunderhead_sim::r2::{
    BucketConfig, Checksums, Error, HttpMetadata, MultipartOptions, Object, Op, Options, Range,
    Reply, UploadedPart,
};

use super::support::{BUCKET, Store, map};

const M: usize = 5 << 20;
const GONE: &str = "The specified multipart upload does not exist. (10024)";
const INTERNAL: &str = "We encountered an internal error. Please try again. (10001)";
const NO_PART: &str =
    "completeMultipartUpload: One or more of the specified parts could not be found. (10025)";

/// An upload under way.
struct Upload {
    key: Arc<str>,
    id: Arc<str>,
}

impl Upload {
    fn new(r2: &mut Store, key: &str) -> Upload {
        Upload::with(r2, key, MultipartOptions::default())
    }

    fn with(r2: &mut Store, key: &str, options: MultipartOptions) -> Upload {
        let (bucket, options) = (BUCKET.into(), Arc::new(options));
        match r2.call(Op::CreateMultipartUpload { bucket, key: key.into(), options }) {
            Ok(Reply::MultipartUpload { key, upload_id }) => Upload { key, id: upload_id },
            other => panic!("{other:?}"),
        }
    }

    fn bogus(key: &str) -> Upload {
        Upload { key: key.into(), id: "bogus-upload-id".into() }
    }

    fn part(&self, r2: &mut Store, number: i64, body: impl Into<Body>) -> UploadedPart {
        self.try_part(r2, number, body).unwrap()
    }

    fn try_part(
        &self,
        r2: &mut Store,
        part_number: i64,
        body: impl Into<Body>,
    ) -> Result<UploadedPart, Error> {
        let (bucket, key, upload_id) = (BUCKET.into(), self.key.clone(), self.id.clone());
        let op = Op::UploadPart { bucket, key, upload_id, part_number, body: body.into() };
        match r2.call(op)? {
            Reply::UploadedPart(part) => Ok(part),
            other => panic!("{other}"),
        }
    }

    fn complete(&self, r2: &mut Store, parts: &[&UploadedPart]) -> Result<Arc<Object>, Error> {
        let (bucket, key, upload_id) = (BUCKET.into(), self.key.clone(), self.id.clone());
        let parts = parts.iter().map(|part| (*part).clone()).collect();
        match r2.call(Op::CompleteMultipartUpload { bucket, key, upload_id, parts })? {
            Reply::Stored(object) => Ok(object),
            other => panic!("{other}"),
        }
    }

    fn complete_error(&self, r2: &mut Store, parts: &[&UploadedPart]) -> String {
        self.complete(r2, parts).unwrap_err().to_string()
    }

    fn abort(&self, r2: &mut Store) -> Result<Reply, Error> {
        let (bucket, key, upload_id) = (BUCKET.into(), self.key.clone(), self.id.clone());
        r2.call(Op::AbortMultipartUpload { bucket, key, upload_id })
    }
}

fn big(length: usize) -> Vec<u8> {
    vec![b'a'; length]
}

#[test]
fn multipart_basic() {
    let mut r2 = Store::new();
    let options = MultipartOptions {
        custom_metadata: map(&[("a", "1")]),
        http_metadata: HttpMetadata { content_type: Some("x/y".into()), ..Default::default() },
        ..MultipartOptions::default()
    };
    let upload = Upload::with(&mut r2, "mp", options.clone());
    assert_eq!((&*upload.key, upload.id.len()), ("mp", 171));
    assert_eq!(r2.head("mp"), None);
    assert!(r2.list("mp", |_| {}).objects.is_empty());

    let one = upload.part(&mut r2, 1, big(M));
    let two = upload.part(&mut r2, 2, "bbbbbbbbbb");
    assert_eq!(one.part_number, 1);
    let stored = upload.complete(&mut r2, &[&one, &two]).unwrap();
    assert_eq!((stored.size, &*stored.etag), (5_242_890, "8b0be7847da5564ae08e97af63b60885-2"));
    assert_eq!(stored.checksums, Checksums::default());
    assert_eq!(stored.http_metadata, options.http_metadata);
    assert_eq!(stored.custom_metadata, options.custom_metadata);
    assert_eq!(r2.head("mp"), Some(stored.clone()));

    let tail = Range::from_offset(5_242_878);
    let mut get = Op::get(BUCKET, "mp");
    if let Op::Get { options, .. } = &mut get {
        options.range = Some(tail);
    }
    assert_eq!(r2.call(get).unwrap().body().unwrap().text(), Some("aabbbbbbbbbb"));

    let again = Upload::new(&mut r2, "mp-b");
    let first = again.part(&mut r2, 1, big(M));
    let second = again.part(&mut r2, 2, "bbbbbbbbbb");
    assert_eq!(again.complete(&mut r2, &[&first, &second]).unwrap().etag, stored.etag);
    // Production: the part's own MD5. The emulator's answer is in the next test.
    assert_eq!(first.etag, one.etag);
    assert_eq!(&*second.etag, "82136b4240d6ce4ea7d03e51469a393b");
}

/// The emulator's side of `multipart_basic`: part ETags say nothing about the bytes.
#[test]
fn multipart_basic_part_etags_of_the_emulator() {
    let options = Options { miniflare_part_etags: true, ..Options::default() };
    let mut r2 = Store::with(BucketConfig { options, ..BucketConfig::default() });
    let (a, b) = (Upload::new(&mut r2, "mp"), Upload::new(&mut r2, "mp-b"));
    let (p, q) = (a.part(&mut r2, 1, "same"), b.part(&mut r2, 1, "same"));
    assert_eq!((p.etag.len(), q.etag.len()), (171, 171));
    assert_ne!(p.etag, q.etag);
    let (a, b) = (a.complete(&mut r2, &[&p]).unwrap(), b.complete(&mut r2, &[&q]).unwrap());
    assert_eq!(a.etag, b.etag);
}

#[test]
fn parts_are_at_least_as_long_as_the_bucket_says() {
    let options = Options { min_part_bytes: Some(4), ..Options::default() };
    let mut r2 = Store::with(BucketConfig { options, ..BucketConfig::default() });
    let upload = Upload::new(&mut r2, "small");
    let (one, two) = (upload.part(&mut r2, 1, "four"), upload.part(&mut r2, 2, "4"));
    assert_eq!(upload.complete(&mut r2, &[&one, &two]).unwrap().size, 5);
    let upload = Upload::new(&mut r2, "too small");
    let (one, two) = (upload.part(&mut r2, 1, "tre"), upload.part(&mut r2, 2, "3"));
    assert!(upload.complete(&mut r2, &[&one, &two]).is_err());
}

#[test]
fn a_part_but_the_last_has_five_mebibytes_at_least() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mpl");
    let (small, last) = (upload.part(&mut r2, 1, big(M - 1)), upload.part(&mut r2, 2, "x"));
    let error = upload.complete(&mut r2, &[&small, &last]).unwrap_err();
    assert_eq!(error.code(), Some(10011));
    let enough = upload.part(&mut r2, 1, big(M));
    assert_eq!(upload.complete(&mut r2, &[&enough, &last]).unwrap().size, 5_242_881);
}

#[test]
fn multipart_single_small_part() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mps");
    let part = upload.part(&mut r2, 1, "hello");
    let object = upload.complete(&mut r2, &[&part]).unwrap();
    assert_eq!(object.size, 5);
    assert_eq!((object.etag.len(), object.etag.ends_with("-1")), (34, true));
    assert_eq!(object.checksums, Checksums::default());
    assert_eq!(r2.text("mps"), "hello");
}

/// The first half of `multipart_errors`: what is wrong with parts.
#[test]
fn multipart_errors_of_parts() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mpe");
    for number in [0, 10_001] {
        let error = upload.try_part(&mut r2, number, "x").unwrap_err();
        let text = format!(
            "Part number must be between 1 and 10000 (inclusive). Actual value was: {number}"
        );
        assert_eq!((error.name(), error.to_string()), ("TypeError", text));
    }
    assert_eq!(upload.part(&mut r2, 10_000, "x").part_number, 10_000);

    let upload = Upload::new(&mut r2, "mpe");
    let (one, two) = (upload.part(&mut r2, 1, "small"), upload.part(&mut r2, 2, "small2"));
    assert_eq!(
        upload.complete_error(&mut r2, &[&one, &two]),
        "completeMultipartUpload: Your proposed upload is smaller than the minimum allowed object \
         size. (10011)"
    );
    let wrong = UploadedPart { part_number: 1, etag: "nope".into() };
    let unknown = UploadedPart { part_number: 7, etag: one.etag.clone() };
    assert_eq!(upload.complete_error(&mut r2, &[&wrong]), NO_PART);
    assert_eq!(upload.complete_error(&mut r2, &[&unknown]), NO_PART);
    let twice = upload.complete_error(&mut r2, &[&one, &one]);
    assert_eq!(twice, format!("completeMultipartUpload: {INTERNAL}"));
    let nothing = upload.complete(&mut r2, &[]).unwrap();
    assert_eq!((nothing.size, nothing.etag.ends_with("-0")), (0, true));

    let upload = Upload::new(&mut r2, "mpe");
    let first = upload.part(&mut r2, 1, "first");
    let second = upload.part(&mut r2, 1, "second");
    assert_eq!(upload.complete_error(&mut r2, &[&first]), NO_PART);
    upload.complete(&mut r2, &[&second]).unwrap();
    assert_eq!(r2.text("mpe"), "second");
}

/// The second half of `multipart_errors`: what is wrong with uploads.
#[test]
fn multipart_errors_of_uploads() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mpe");
    let part = upload.part(&mut r2, 1, "one");
    assert!(upload.complete(&mut r2, &[&part]).unwrap().etag.ends_with("-1"));
    let complete_gone = format!("completeMultipartUpload: {GONE}");
    let part_gone = format!("uploadPart: {GONE}");
    assert_eq!(upload.complete_error(&mut r2, &[&part]), complete_gone);
    assert_eq!(upload.try_part(&mut r2, 2, "x").unwrap_err().to_string(), part_gone);
    assert_eq!(upload.abort(&mut r2), Ok(Reply::Aborted));
    assert_eq!(r2.text("mpe"), "one");

    let upload = Upload::new(&mut r2, "mpe");
    assert_eq!(upload.abort(&mut r2), Ok(Reply::Aborted));
    assert_eq!(upload.abort(&mut r2), Ok(Reply::Aborted));
    assert_eq!(upload.try_part(&mut r2, 1, "x").unwrap_err().to_string(), part_gone);
    assert_eq!(upload.complete_error(&mut r2, &[&part]), complete_gone);

    let bogus = Upload::bogus("mpe");
    assert_eq!(bogus.try_part(&mut r2, 1, "x").unwrap_err().to_string(), part_gone);
    let internal = bogus.complete_error(&mut r2, &[&part]);
    assert_eq!(internal, format!("completeMultipartUpload: {INTERNAL}"));
    let internal = bogus.abort(&mut r2).unwrap_err().to_string();
    assert_eq!(internal, format!("abortMultipartUpload: {INTERNAL}"));
}

#[test]
fn multipart_out_of_order_and_uneven() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mpo");
    let (two, one) = (upload.part(&mut r2, 2, "bbb"), upload.part(&mut r2, 1, big(M)));
    let error = upload.complete(&mut r2, &[&two, &one]).unwrap_err();
    assert_eq!(error.code(), Some(10011));

    let bad = "completeMultipartUpload: There was a problem with the multipart upload. (10048)";
    let upload = Upload::new(&mut r2, "mpo2");
    let one = upload.part(&mut r2, 1, big(M));
    let two = upload.part(&mut r2, 2, big(M + 1));
    let three = upload.part(&mut r2, 3, big(M + 1));
    assert_eq!(upload.complete_error(&mut r2, &[&one, &two, &three]), bad);
    assert_eq!(upload.complete_error(&mut r2, &[&one, &two]), bad);
    assert_eq!(r2.head("mpo2"), None);
}

#[test]
fn multipart_gap_in_part_numbers() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mpg");
    let (a, b) = (upload.part(&mut r2, 3, big(M)), upload.part(&mut r2, 9, "tail"));
    let object = upload.complete(&mut r2, &[&a, &b]).unwrap();
    assert_eq!((object.size, object.etag.ends_with("-2")), (5_242_884, true));
}

#[test]
fn an_unfinished_upload_expires_after_seven_days() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "late");
    let part = upload.part(&mut r2, 1, "x");
    r2.now = r2.now + UPLOAD_LIFETIME;
    assert_eq!(
        upload.complete_error(&mut r2, &[&part]),
        format!("completeMultipartUpload: {GONE}")
    );
    assert_eq!(upload.abort(&mut r2), Ok(Reply::Aborted));

    let upload = Upload::new(&mut r2, "in-time");
    let part = upload.part(&mut r2, 1, "x");
    r2.now = r2.now + UPLOAD_LIFETIME;
    r2.now = thunderhead_sim::Time::from_ms(r2.now.as_ms() - 1);
    assert!(upload.complete(&mut r2, &[&part]).is_ok());
}

#[test]
fn an_upload_belongs_to_its_key() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "mine");
    let stranger = Upload { key: "yours".into(), id: upload.id.clone() };
    let error = stranger.try_part(&mut r2, 1, "x").unwrap_err().to_string();
    assert_eq!(error, format!("uploadPart: {GONE}"));
}

#[test]
fn an_upload_of_seven_days_ago_takes_no_part() {
    let mut r2 = Store::new();
    let upload = Upload::new(&mut r2, "late");
    r2.wait(7 * 24 * 60 * 60 * 1000 - 1);
    assert_eq!(upload.part(&mut r2, 1, "x").part_number, 1);
    r2.wait(1);
    let error = upload.try_part(&mut r2, 2, "x").unwrap_err().to_string();
    assert_eq!(error, format!("uploadPart: {GONE}"));
}

#[test]
fn too_much_metadata_is_refused_when_an_upload_begins() {
    let mut r2 = Store::new();
    let with = |bytes: usize| MultipartOptions {
        custom_metadata: map(&[("k", &"v".repeat(bytes - 1))]),
        ..MultipartOptions::default()
    };
    Upload::with(&mut r2, "mpm", with(8192));
    let options = Arc::new(with(8193));
    let op = Op::CreateMultipartUpload { bucket: BUCKET.into(), key: "mpm".into(), options };
    assert_eq!(
        r2.call(op).unwrap_err().to_string(),
        "createMultipartUpload: Your metadata headers exceed the maximum allowed metadata size. \
         (10012)"
    );
}

#[test]
fn a_copy_has_the_md5_of_its_bytes_the_metadata_of_its_source_and_a_version_of_its_own() {
    let mut r2 = Store::new();
    let options = MultipartOptions {
        custom_metadata: map(&[("a", "1")]),
        http_metadata: HttpMetadata { content_type: Some("x/y".into()), ..Default::default() },
        ..MultipartOptions::default()
    };
    let upload = Upload::with(&mut r2, "source", options);
    let part = upload.part(&mut r2, 1, "hello");
    let source = upload.complete(&mut r2, &[&part]).unwrap();
    assert!(source.etag.ends_with("-1"), "{}", source.etag);
    r2.call(Op::Copy {
        bucket: BUCKET.into(),
        key: "copy".into(),
        source_bucket: BUCKET.into(),
        source_key: "source".into(),
    })
    .unwrap();
    let copy = r2.head("copy").unwrap();
    assert_eq!(&*copy.etag, "5d41402abc4b2a76b9719d911017c592");
    assert_eq!(copy.http_metadata, source.http_metadata);
    assert_eq!(copy.custom_metadata, source.custom_metadata);
    assert_ne!(copy.version, source.version);
}
