//! Keys and values beside the tables.
//!
//! The platform keeps them in a hidden table of the same database. Here they are in a map, which
//! is faster and cannot be told apart, save that the hidden table is not listed in the schema.

use std::ops::Bound;
use std::sync::Arc;

use super::{Error, Redo, Storage, Undo};
use crate::services::sqlite::{RowChange, Value};
use crate::values::body::Body;

/// The most bytes of a key and its value together. Keys of 2,048 bytes and calls with 128 keys are limits of the older
/// backend without SQL; the runtime refuses neither here.
pub const MAX_PAIR_BYTES: usize = 2_000_000;

/// Which keys to list, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListOptions {
    /// From this key on.
    pub start: Option<Arc<str>>,
    /// From behind this key on.
    pub start_after: Option<Arc<str>>,
    /// Up to this key, without it.
    pub end: Option<Arc<str>>,
    /// Only keys that begin so.
    pub prefix: Option<Arc<str>>,
    /// From the last to the first.
    pub reverse: bool,
    /// At most so many.
    pub limit: Option<usize>,
}

impl Storage {
    /// The value of a key, if it has one.
    pub fn get(&self, key: &str) -> Option<Body> {
        self.kv.get(key).cloned()
    }

    /// The values of those keys that have one, in the order of the keys.
    pub fn get_multiple(&self, keys: &[&str]) -> Vec<(Arc<str>, Body)> {
        let mut found: Vec<(Arc<str>, Body)> = keys
            .iter()
            .filter_map(|key| self.kv.get_key_value(*key))
            .map(|(key, body)| (Arc::clone(key), body.clone()))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Gives a key a value.
    pub fn put(&mut self, key: &str, body: impl Into<Body>) -> Result<(), Error> {
        let body = body.into();
        check_pair(key, &body)?;
        self.replace_key(key, Some(body));
        Ok(())
    }

    /// Gives several keys their values, all or none.
    pub fn put_multiple(&mut self, pairs: &[(&str, Body)]) -> Result<(), Error> {
        pairs.iter().try_for_each(|(key, body)| check_pair(key, body))?;
        for (key, body) in pairs {
            self.replace_key(key, Some(body.clone()));
        }
        Ok(())
    }

    /// Removes a key and says whether it was there.
    pub fn delete(&mut self, key: &str) -> bool {
        self.replace_key(key, None).is_some()
    }

    /// Removes several keys and says how many were there.
    pub fn delete_multiple(&mut self, keys: &[&str]) -> usize {
        keys.iter().filter(|key| self.replace_key(key, None).is_some()).count()
    }

    /// All keys and their values, in the order of their bytes in UTF-8.
    pub fn list(&self) -> Vec<(Arc<str>, Body)> {
        self.list_with_options(&ListOptions::default()).expect("the default asks nothing wrong")
    }

    /// Keys and their values, in the order of their bytes in UTF-8.
    pub fn list_with_options(&self, options: &ListOptions) -> Result<Vec<(Arc<str>, Body)>, Error> {
        if options.limit == Some(0) {
            return Err(Error::ListLimit);
        }
        let prefix = options.prefix.as_deref().unwrap_or("");
        let start = match (&options.start, &options.start_after) {
            (Some(_), Some(_)) => return Err(Error::StartAndStartAfter),
            (Some(start), None) => Bound::Included(&**start),
            (None, Some(start)) => Bound::Excluded(&**start),
            (None, None) => Bound::Included(prefix),
        };
        let before_end = |key: &str| options.end.as_deref().is_none_or(|end| key < end);
        let range = self.kv.range::<str, _>((start, Bound::Unbounded));
        let wanted =
            range.filter(|(key, _)| key.starts_with(prefix)).take_while(|(key, _)| before_end(key));
        let mut found: Vec<(Arc<str>, Body)> =
            wanted.map(|(key, body)| (Arc::clone(key), body.clone())).collect();
        if options.reverse {
            found.reverse();
        }
        found.truncate(options.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    pub(super) fn replace_key(&mut self, key: &str, body: Option<Body>) -> Option<Body> {
        self.ensure_turn();
        let key: Arc<str> = key.into();
        let before = match &body {
            Some(body) => self.kv.insert(Arc::clone(&key), body.clone()),
            None => self.kv.remove(&key),
        };
        if before.is_some() || body.is_some() {
            let row = |body: Body| {
                let value = body.text().map_or_else(|| Value::Blob(body.clone()), Value::from);
                vec![(Arc::from("key"), Value::from(Arc::clone(&key))), (Arc::from("value"), value)]
            };
            self.db.note(RowChange {
                table: "_cf_KV".into(),
                key: vec![Value::from(Arc::clone(&key))],
                before: before.clone().map(row),
                after: body.map(row),
            });
            if self.redo.is_some() {
                let body = self.kv.get(&key).cloned();
                self.note(|| Redo::Key { key: key.clone(), body });
            }
            self.undo.push(Undo::Key(key, before.clone()));
        }
        before
    }
}

fn check_pair(key: &str, body: &Body) -> Result<(), Error> {
    match key.len() + body.len() > MAX_PAIR_BYTES {
        true => Err(Error::PairTooBig),
        false => Ok(()),
    }
}
