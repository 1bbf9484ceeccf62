//! A bucket and a clock for tests: short verbs, so that a test shows only what it is about.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thunderhead_sim::Time;
use thunderhead_sim::r2::{
    Applied, BucketConfig, Date, Error, ListOptions, Listing, Notify, Object, Op, R2, Reply,
};

pub const BUCKET: &str = "photos";

/// One bucket, and the time.
pub struct Store {
    pub r2: R2,
    pub now: Time,
    /// Everything queues were told so far.
    pub notified: Vec<Notify>,
}

impl Store {
    pub fn new() -> Store {
        Store::with(BucketConfig::default())
    }

    pub fn with(config: BucketConfig) -> Store {
        let mut r2 = R2::new();
        r2.create_bucket(BUCKET, config).unwrap();
        Store { r2, now: Time::from_ms(10_000_000), notified: Vec::new() }
    }

    pub fn wait(&mut self, ms: u64) {
        self.now = self.now + Duration::from_millis(ms);
    }

    /// The calendar moment `ms` from now.
    pub fn date(&self, ms: i64) -> Date {
        Date::from_unix_ms(Date::from(self.now).unix_ms() + ms)
    }

    pub fn call(&mut self, op: Op) -> Result<Reply, Error> {
        let Applied { reply, notifications } = self.r2.apply(self.now, &op);
        self.notified.extend(notifications);
        reply
    }

    pub fn put(&mut self, key: &str, body: &str) -> Arc<Object> {
        match self.call(Op::put(BUCKET, key, body)) {
            Ok(Reply::Stored(object)) => object,
            other => panic!("put of {key:?}: {other:?}"),
        }
    }

    pub fn head(&mut self, key: &str) -> Option<Arc<Object>> {
        self.call(Op::head(BUCKET, key)).unwrap().object().cloned()
    }

    pub fn text(&mut self, key: &str) -> String {
        let reply = self.call(Op::get(BUCKET, key)).unwrap();
        reply.body().unwrap().text().unwrap().to_owned()
    }

    pub fn list(&mut self, prefix: &str, set: impl FnOnce(&mut ListOptions)) -> Listing {
        let mut options = ListOptions { prefix: Some(prefix.into()), ..ListOptions::default() };
        set(&mut options);
        match self.call(Op::list(BUCKET, options)).unwrap() {
            Reply::Listing(page) => page,
            other => panic!("list answered {other}"),
        }
    }
}

pub fn map(pairs: &[(&str, &str)]) -> BTreeMap<Arc<str>, Arc<str>> {
    pairs.iter().map(|(name, value)| (Arc::from(*name), Arc::from(*value))).collect()
}
