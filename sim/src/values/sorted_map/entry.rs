//! An entry of a map that is changed, and made first if it is missing.

use super::{Place, SortedMap};

/// What [`SortedMap::entry`] found.
pub struct Entry<'a, K, V> {
    pub(super) map: &'a mut SortedMap<K, V>,
    pub(super) key: K,
    pub(super) place: Result<Place, Place>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value, which is made if it is missing.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let place = match self.place {
            Ok(place) => place,
            Err(place) => self.map.put(place, self.key, value()),
        };
        self.map.value_mut(place)
    }

    /// The value, or this one if it is missing.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, or the default one if it is missing.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    #[must_use]
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(place) = self.place {
            change(self.map.value_mut(place));
        }
        self
    }
}
