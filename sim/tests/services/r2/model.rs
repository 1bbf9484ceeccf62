//! A map is all an object store has to be: over many random histories R2 agrees with one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_sim::r2::{BucketConfig, Conditional, EventType, Op, PutOptions, Reply, Rule};

use super::support::{BUCKET, Store};

/// Numerical Recipes' generator: the histories are the same in every process.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

const KEYS: [&str; 8] = ["a", "a/1", "a/2", "ab", "b", "b/1/2", "b/1/3", "é"];
const BODIES: [&str; 3] = ["", "one", "two"];

/// The store, and what it should hold: the bytes of each key and how many events were due.
struct Pair {
    r2: Store,
    model: BTreeMap<&'static str, &'static str>,
    events: usize,
    versions: BTreeSet<String>,
}

impl Pair {
    fn new() -> Pair {
        let types = [EventType::ObjectCreate, EventType::ObjectDelete];
        let rules = vec![Rule::new("events", types)];
        let r2 = Store::with(BucketConfig { rules, ..BucketConfig::default() });
        Pair { r2, model: BTreeMap::new(), events: 0, versions: BTreeSet::new() }
    }

    fn step(&mut self, lcg: &mut Lcg) {
        let (key, body) = (lcg.pick(&KEYS), lcg.pick(&BODIES));
        self.r2.wait(lcg.below(3));
        match lcg.below(6) {
            0 | 1 => self.put(key, body, None),
            2 => self.put(key, body, Some(None)),
            3 => {
                let expected = lcg.pick(&BODIES);
                self.put(key, body, Some(Some(expected)));
            }
            4 => {
                self.r2.call(Op::delete(BUCKET, key)).unwrap();
                self.events += usize::from(self.model.remove(key).is_some());
            }
            _ => self.copy(key, lcg.pick(&KEYS)),
        }
    }

    /// A put: unconditional, only where there is nothing, or only over `expected` bytes.
    fn put(
        &mut self,
        key: &'static str,
        body: &'static str,
        condition: Option<Option<&'static str>>,
    ) {
        let current = self.model.get(key).copied();
        let due = condition.is_none_or(|expected| current == expected);
        let only_if = condition.map(|expected| match expected {
            None => Conditional::etag_does_not_match("*"),
            Some(expected) => Conditional::etag_matches(&*etag_of(expected)),
        });
        let options = PutOptions { only_if, ..PutOptions::default() };
        match self.r2.call(Op::put_with(BUCKET, key, body, options)).unwrap() {
            Reply::Stored(object) => {
                assert!(due, "{key} was written although the condition failed");
                assert!(self.versions.insert(object.version.to_string()), "a version came twice");
                self.model.insert(key, body);
                self.events += 1;
            }
            reply => assert!(!due && reply == Reply::PreconditionFailed(None), "{key}: {reply}"),
        }
    }

    fn copy(&mut self, key: &'static str, source: &'static str) {
        let reply = self.r2.call(Op::Copy {
            bucket: BUCKET.into(),
            key: key.into(),
            source_bucket: BUCKET.into(),
            source_key: source.into(),
        });
        assert_eq!(reply.is_ok(), self.model.contains_key(source));
        if let Some(body) = self.model.get(source).copied() {
            self.model.insert(key, body);
            self.events += 1;
        }
    }

    fn compare(&mut self, lcg: &mut Lcg) {
        for key in KEYS {
            let reply = self.r2.call(Op::get(BUCKET, key)).unwrap();
            assert_eq!(reply.body().and_then(|body| body.text()), self.model.get(key).copied());
            let etag = self.r2.head(key).map(|object| object.etag.to_string());
            assert_eq!(etag, self.model.get(key).map(|body| etag_of(body)));
        }
        assert_eq!(self.r2.notified.len(), self.events);
        let prefix = lcg.pick(&["", "a", "a/", "b/1", "z"]);
        let delimiter = ["", "/"][lcg.below(2) as usize];
        let expected = self.expected_entries(prefix, delimiter);
        assert_eq!(self.entries(prefix, delimiter, 1 + lcg.below(4) as u32), expected);
    }

    /// Keys, and shared prefixes with a `*` behind, as the map has them.
    fn expected_entries(&self, prefix: &str, delimiter: &str) -> Vec<String> {
        let mut entries = Vec::new();
        for key in self.model.keys().filter(|key| key.starts_with(prefix)) {
            let entry = match key[prefix.len()..].find(delimiter) {
                Some(at) if !delimiter.is_empty() => {
                    format!("{}*", &key[..prefix.len() + at + delimiter.len()])
                }
                _ => (*key).to_owned(),
            };
            if entries.last() != Some(&entry) {
                entries.push(entry);
            }
        }
        entries.sort();
        entries
    }

    /// The entries as R2 lists them, page by page.
    fn entries(&mut self, prefix: &str, delimiter: &str, limit: u32) -> Vec<String> {
        let (mut entries, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.r2.list(prefix, |options| {
                options.limit = Some(limit);
                options.delimiter = Some(delimiter.into());
                options.cursor = cursor.take();
            });
            let count = page.objects.len() + page.delimited_prefixes.len();
            assert!(count <= limit as usize && page.truncated == page.cursor.is_some());
            entries.extend(page.objects.iter().map(|object| object.key.to_string()));
            entries.extend(page.delimited_prefixes.iter().map(|prefix| format!("{prefix}*")));
            cursor = page.cursor;
            if cursor.is_none() {
                entries.sort();
                return entries;
            }
        }
    }
}

/// The ETags of [`BODIES`], from another MD5 than ours.
fn etag_of(body: &str) -> String {
    match body {
        "" => "d41d8cd98f00b204e9800998ecf8427e",
        "one" => "f97c5d29941bfb1b2fdab0874906ab82",
        "two" => "b8a9f715dbb64fd5c56e7783c6820a61",
        other => panic!("no etag is written down for {other:?}"),
    }
    .to_owned()
}

#[test]
fn r2_agrees_with_a_map_over_random_histories() {
    for seed in 0..2000 {
        let mut lcg = Lcg(seed);
        let mut pair = Pair::new();
        for _ in 0..lcg.below(25) {
            pair.step(&mut lcg);
        }
        pair.compare(&mut lcg);
    }
}
