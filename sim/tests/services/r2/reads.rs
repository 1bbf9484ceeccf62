//! What the real local runtime answered about reading and listing, asked of the simulated R2.
//!
//! Each test is named after the probe it repeats.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use thunderhead_sim::r2::{
    GetOptions, HttpMetadata, Include, Listing, Op, PutOptions, Range, Reply,
};

use super::support::{BUCKET, Store, map};

#[test]
fn range_get() {
    const UNSATISFIABLE: &str = "Error: get: The requested range is not satisfiable (10039)";
    let mut r2 = Store::new();
    r2.put("rg", "0123456789");
    r2.put("rg0", "");
    let length = |n| Range::Bytes { offset: None, length: Some(n), suffix: None };
    let header = |text: &str| Range::Header(text.into());
    let both = Range::Bytes { offset: Some(1), length: None, suffix: Some(1) };
    let nothing = Range::Bytes { offset: None, length: None, suffix: None };
    for (range, expected) in [
        (Range::from_offset(2), "23456789 2+8"),
        (Range::part(2, 3), "234 2+3"),
        (length(3), "012 0+3"),
        (Range::suffix(3), "789 7+3"),
        (Range::suffix(100), "0123456789 0+10"),
        (Range::suffix(0), UNSATISFIABLE),
        (Range::from_offset(10), UNSATISFIABLE),
        (Range::from_offset(11), UNSATISFIABLE),
        (Range::part(1, 0), UNSATISFIABLE),
        (Range::part(8, 100), "89 8+2"),
        (
            Range::from_offset(-1),
            "RangeError: Invalid range. Starting offset (-1) must be greater than or equal to 0.",
        ),
        (both, "TypeError: Suffix is incompatible with offset."),
        (nothing, "0123456789 0+10"),
        (header("bytes=0-3"), "0123 0+4"),
        (header("bytes=5-"), "56789 5+5"),
        (header("bytes=-2"), "89 8+2"),
        (header("bytes=0-1,3-4"), "0123456789 0+10"),
        (header("lines=0-1"), "0123456789 0+10"),
        (header("bytes=50-60"), "0123456789 0+10"),
    ] {
        assert_eq!(read(&mut r2, "rg", Some(range.clone())), expected, "{range:?}");
    }
    assert_eq!(read(&mut r2, "rg", None), "0123456789 0+10");
    assert_eq!(read(&mut r2, "rg0", Some(Range::from_offset(0))), UNSATISFIABLE);
}

fn read(r2: &mut Store, key: &str, range: Option<Range>) -> String {
    let options = GetOptions { only_if: None, range };
    match r2.call(Op::Get { bucket: BUCKET.into(), key: key.into(), options }) {
        Ok(Reply::ObjectBody { range, body, object }) => {
            assert_eq!(object.size, if key == "rg" { 10 } else { 0 });
            format!("{} {}+{}", body.text().unwrap(), range.offset, range.length)
        }
        Ok(other) => other.to_string(),
        Err(error) => format!("{}: {error}", error.name()),
    }
}

#[test]
fn get_body_snapshot_after_overwrite() {
    let mut r2 = Store::new();
    r2.put("snap", &"a".repeat(100_000));
    let reply = r2.call(Op::get(BUCKET, "snap")).unwrap();
    r2.put("snap", &"b".repeat(100_000));
    assert_eq!(reply.body().unwrap().text().unwrap(), "a".repeat(100_000));
}

#[test]
fn get_body_after_delete() {
    let mut r2 = Store::new();
    r2.put("snapd", &"a".repeat(100_000));
    let reply = r2.call(Op::get(BUCKET, "snapd")).unwrap();
    r2.call(Op::delete(BUCKET, "snapd")).unwrap();
    assert_eq!(reply.body().unwrap().text().unwrap(), "a".repeat(100_000));
}

#[test]
fn list_pagination_with_deletes_and_inserts() {
    let mut r2 = Store::new();
    for key in ["lpd/0", "lpd/2", "lpd/4"] {
        r2.put(key, "x");
    }
    let first = r2.list("lpd/", |options| options.limit = Some(1));
    assert_eq!(keys(&first), ["lpd/0"]);
    r2.call(Op::delete(BUCKET, "lpd/2")).unwrap();
    r2.put("lpd/1", "x");
    let second = r2.list("lpd/", |options| options.cursor = first.cursor.clone());
    assert_eq!(keys(&second), ["lpd/1", "lpd/4"]);
}

#[test]
fn list_default_limit() {
    let mut r2 = Store::new();
    for i in 0..1005 {
        r2.put(&format!("ld/{i:05}"), "");
    }
    let page = r2.list("ld/", |_| {});
    assert_eq!((page.objects.len(), page.truncated), (1000, true));
    assert_eq!(keys(&page).last(), Some(&"ld/00999"));
}

#[test]
fn list_include_metadata_limit() {
    let mut r2 = Store::new();
    let custom_metadata = map(&[("a", "b")]);
    for i in 0..200 {
        let custom_metadata = custom_metadata.clone();
        let options = PutOptions { custom_metadata, ..PutOptions::default() };
        r2.call(Op::put_with(BUCKET, format!("lim/{i:05}"), "", options)).unwrap();
    }
    let plain = r2.list("lim/", |_| {});
    assert_eq!((plain.objects.len(), plain.truncated), (200, false));
    assert!(plain.objects[0].custom_metadata.is_empty());
    let with = r2.list("lim/", |options| options.include = vec![Include::CustomMetadata]);
    assert_eq!((with.objects.len(), with.truncated), (100, true));
    assert_eq!(with.objects[0].custom_metadata, custom_metadata);
    assert_eq!(with.objects[0].http_metadata, HttpMetadata::default());
}

#[test]
fn list_delimiter() {
    let mut r2 = Store::new();
    for key in ["a/1", "a/2", "b/1", "c", "d/e/f", "a", "bb"] {
        r2.put(&format!("del/{key}"), "x");
    }
    let page = r2.list("del/", |options| options.delimiter = Some("/".into()));
    assert_eq!(keys(&page), ["del/a", "del/bb", "del/c"]);
    assert_eq!(prefixes(&page), ["del/a/", "del/b/", "del/d/"]);

    let (mut cursor, mut pages) = (None, Vec::new());
    loop {
        let page = r2.list("del/", |options| {
            options.delimiter = Some("/".into());
            options.limit = Some(2);
            options.cursor = cursor.clone();
        });
        pages.push(format!("{:?} {:?} {}", keys(&page), prefixes(&page), page.truncated));
        cursor = page.cursor.clone();
        if !page.truncated {
            break;
        }
    }
    assert_eq!(
        pages,
        [
            r#"["del/a"] ["del/a/"] true"#,
            r#"["del/bb"] ["del/b/"] true"#,
            r#"["del/c"] ["del/d/"] false"#,
        ]
    );
    let above = r2.list("del", |options| options.delimiter = Some("/".into()));
    assert_eq!((keys(&above), prefixes(&above)), (vec![], vec!["del/"]));
    let long = r2.list("del/", |options| options.delimiter = Some("/e/".into()));
    assert_eq!(keys(&long), ["del/a", "del/a/1", "del/a/2", "del/b/1", "del/bb", "del/c"]);
    assert_eq!(prefixes(&long), ["del/d/e/"]);
}

#[test]
fn list_bad_cursor() {
    let mut r2 = Store::new();
    for key in ["sa/1", "sa/2", "sa/3"] {
        r2.put(key, "x");
    }
    let garbage = r2.list("", |options| options.cursor = Some("!!!not-a-cursor".into()));
    assert_eq!(garbage, Listing::default());
    let empty = r2.list("sa/", |options| options.cursor = Some("".into()));
    assert_eq!(empty.objects.len(), 3);
}

fn keys(page: &Listing) -> Vec<&str> {
    page.objects.iter().map(|object| &*object.key).collect()
}

fn prefixes(page: &Listing) -> Vec<&str> {
    page.delimited_prefixes.iter().map(|prefix| &**prefix).collect()
}
