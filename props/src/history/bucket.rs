//! What buckets were given, and what they hold.

use std::sync::Arc;

use thunderhead_sim::r2::{self, Object};
use thunderhead_sim::{Body, Op, Outcome, Reply, SortedMap, Trace};

/// One object as it was stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The index of the event.
    pub event: usize,
    /// The bucket.
    pub bucket: &'a str,
    /// What R2 says of the object.
    pub object: &'a Arc<Object>,
    /// The bytes, unless the object was copied or uploaded in parts.
    pub body: Option<&'a Body>,
}

impl<'a> Stored<'a> {
    /// The key of the object.
    pub fn key(&self) -> &'a str {
        &self.object.key
    }

    /// The version that R2 gave it.
    pub fn version(&self) -> &'a str {
        &self.object.version
    }

    /// The text that was stored; empty when it is none.
    pub fn text(&self) -> &'a str {
        self.body.and_then(Body::text).unwrap_or_default()
    }
}

/// Everything that was stored in any bucket, in R2's order.
pub fn stored(trace: &Trace) -> impl Iterator<Item = Stored<'_>> {
    trace.effects().filter_map(|(event, op, outcome)| stored_by(event, op, outcome))
}

fn stored_by<'a>(event: usize, op: &'a Op, outcome: &'a Outcome) -> Option<Stored<'a>> {
    let (Op::R2(op), Ok(Reply::R2(r2::Reply::Stored(object)))) = (op, outcome) else {
        return None;
    };
    let body = match op {
        r2::Op::Put { body, .. } => Some(body),
        _ => None,
    };
    Some(Stored { event, bucket: op.bucket(), object, body })
}

/// What every bucket holds at a moment.
#[derive(Clone, Debug, Default)]
pub struct Contents<'a>(SortedMap<&'a str, SortedMap<&'a str, Stored<'a>>>);

impl<'a> Contents<'a> {
    /// The object under a key.
    pub fn get(&self, bucket: &str, key: &str) -> Option<&Stored<'a>> {
        self.0.get(bucket)?.get(key)
    }

    /// The objects of a bucket, in the order of their keys.
    pub fn of(&self, bucket: &str) -> impl Iterator<Item = &Stored<'a>> {
        self.iter().filter(move |stored| stored.bucket == bucket)
    }

    /// All objects, by bucket and key.
    pub fn iter(&self) -> impl Iterator<Item = &Stored<'a>> {
        self.0.values().flat_map(SortedMap::values)
    }
}

/// What the buckets hold in the end.
pub fn contents(trace: &Trace) -> Contents<'_> {
    contents_before(trace, trace.events().len())
}

/// What the buckets hold just before an event, which is told by its index.
pub fn contents_before(trace: &Trace, event: usize) -> Contents<'_> {
    let mut contents = Contents::default();
    for (at, op, outcome) in trace.effects().take_while(|(at, ..)| *at < event) {
        if let Some(stored) = stored_by(at, op, outcome) {
            contents.0.entry(stored.bucket).or_default().insert(stored.key(), stored);
        } else if let (Op::R2(op), Ok(_)) = (op, outcome)
            && let r2::Op::Delete { .. } | r2::Op::LifecycleDelete { .. } = op
        {
            let bucket = contents.0.entry(op.bucket()).or_default();
            for key in op.keys() {
                bucket.remove(&**key);
            }
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::History;

    #[test]
    fn buckets_hold_what_was_stored_last_and_not_deleted() {
        let mut history = History::default();
        history.stored("photos", "cat", "one", "v1").stored("photos", "cat", "two", "v2");
        history.stored("photos", "dog", "woof", "v3");
        let delete = r2::Op::Delete { bucket: "photos".into(), keys: vec!["dog".into()] };
        history.effect_of(Op::R2(delete), Ok(Reply::R2(r2::Reply::Deleted)));
        let trace = history.trace();
        assert_eq!(stored(&trace).count(), 3);
        let kept = contents(&trace);
        assert_eq!(kept.get("photos", "cat").map(Stored::text), Some("two"));
        assert_eq!(kept.of("photos").count(), 1);
        assert_eq!(contents_before(&trace, 3).of("photos").count(), 2);
    }
}
