//! What of KV outlives the process that runs it: the latest value of each key.
//!
//! Nothing lags in such a process, so what a key was before is forgotten at once.

use std::sync::Arc;

use crate::values::sorted_set::SortedSet;

use super::namespace::Namespace;
use super::{Entry, Kv};

/// What a process that runs for long remembers of a namespace, besides its keys.
#[derive(Debug, Default)]
pub(super) struct Persisted {
    /// The keys that changed since they were last written down.
    pub changed: SortedSet<Arc<str>>,
    /// The keys that expire, by when that is in seconds since 1970.
    pub expiring: SortedSet<(i64, Arc<str>)>,
}

/// A namespace, a key, and its entry unless it is gone.
pub(crate) type Changed = (Arc<str>, Arc<str>, Option<Arc<Entry>>);

impl Kv {
    /// From now on remembers which keys change, and nothing else of the past.
    pub(crate) fn keep_changes(&mut self) {
        for namespace in self.namespaces.values_mut() {
            namespace.kept = Some(Persisted::default());
        }
    }

    /// The keys that have changed.
    pub(crate) fn take_kept(&mut self) -> Vec<Changed> {
        let mut all = Vec::new();
        for (name, namespace) in &mut self.namespaces {
            let changed = namespace.kept.as_mut().map(|kept| std::mem::take(&mut kept.changed));
            for key in changed.unwrap_or_default() {
                let entry = namespace.latest(&key);
                all.push((name.clone(), key, entry));
            }
        }
        all
    }

    /// Puts an entry back. Returns whether there is such a namespace.
    pub(crate) fn restore_entry(&mut self, namespace: &str, key: &str, entry: Entry) -> bool {
        let restore = |namespace: &mut Namespace| namespace.restore(key.into(), entry);
        self.namespaces.get_mut(namespace).map(restore).is_some()
    }
}
