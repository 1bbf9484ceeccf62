//! A map in the order of its keys that compiles to little code.
//!
//! [`BTreeMap`](std::collections::BTreeMap) is compiled again for each pair of a key and a value: in this workspace
//! that was a third to a half of all code. This map has a tenth of that, and the small ones that a run is full of are
//! one sorted list.

mod entry;
mod iter;
mod serde;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, Index, RangeBounds};
use std::{fmt, mem};

pub use entry::Entry;
pub use iter::{IntoIter, Iter, IterMut};

/// The most entries of a piece. To insert into a full one moves a few kilobytes.
const PIECE: usize = 128;

/// A map in the order of its keys.
#[derive(Clone)]
pub struct SortedMap<K, V> {
    /// The entries with the lowest keys. It is empty only if the map is.
    first: Vec<(K, V)>,
    /// The entries after them, in pieces of at least one and at most [`PIECE`].
    rest: Vec<Vec<(K, V)>>,
}

/// Where an entry is, or would be: its piece, counted from `first`, and its place there.
type Place = (usize, usize);

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: Vec::new(), rest: Vec::new() }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len() + self.rest.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        self.first.clear();
        self.rest.clear();
    }

    /// The entries in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { front: self.first.iter(), middle: self.rest.iter(), back: [].iter() }
    }

    /// The entries in the order of their keys, with values to change.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut { front: self.first.iter_mut(), rest: self.rest.iter_mut() }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The values in the order of their keys, to change.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// The keys in order.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        self.into_iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// The entry with the lowest key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.first.first().map(|(key, value)| (key, value))
    }

    /// The entry with the highest key.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.rest.last().unwrap_or(&self.first).last().map(|(key, value)| (key, value))
    }

    /// Takes the entry with the lowest key out.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.is_empty()).then(|| self.take((0, 0)))
    }

    /// Leaves out the entries that `keep` is false for.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.first.retain_mut(|(key, value)| keep(key, value));
        self.rest.retain_mut(|piece| {
            piece.retain_mut(|(key, value)| keep(key, value));
            !piece.is_empty()
        });
        self.fill_first();
    }

    fn piece(&self, piece: usize) -> &Vec<(K, V)> {
        if piece == 0 { &self.first } else { &self.rest[piece - 1] }
    }

    fn piece_mut(&mut self, piece: usize) -> &mut Vec<(K, V)> {
        if piece == 0 { &mut self.first } else { &mut self.rest[piece - 1] }
    }

    fn value_mut(&mut self, (piece, at): Place) -> &mut V {
        &mut self.piece_mut(piece)[at].1
    }

    /// Puts an entry where it belongs, and says where it then is.
    fn put(&mut self, (piece, at): Place, key: K, value: V) -> Place {
        let entries = self.piece_mut(piece);
        entries.insert(at, (key, value));
        if entries.len() <= PIECE {
            return (piece, at);
        }
        // What comes in the order of its keys leaves full pieces behind.
        let kept = if at == PIECE { PIECE } else { PIECE / 2 };
        let upper = entries.split_off(kept);
        self.rest.insert(piece, upper);
        if at < kept { (piece, at) } else { (piece + 1, at - kept) }
    }

    fn take(&mut self, (piece, at): Place) -> (K, V) {
        let entries = self.piece_mut(piece);
        let entry = entries.remove(at);
        if entries.is_empty() && piece > 0 {
            self.rest.remove(piece - 1);
        }
        self.fill_first();
        entry
    }

    /// The next piece becomes the first one if that is empty.
    fn fill_first(&mut self) {
        if self.first.is_empty() && !self.rest.is_empty() {
            self.first = self.rest.remove(0);
        }
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where the entry of a key is, or where it would have to be put.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        // A piece but the first has the keys from its first one on.
        let piece = self.rest.partition_point(|entries| entries[0].0.borrow() <= key);
        match self.piece(piece).binary_search_by(|(other, _)| other.borrow().cmp(key)) {
            Ok(at) => Ok((piece, at)),
            Err(at) => Err((piece, at)),
        }
    }

    /// Whether there is an entry of this key.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The entry of a key.
    #[must_use]
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (piece, at) = self.find(key).ok()?;
        let (key, value) = &self.piece(piece)[at];
        Some((key, value))
    }

    /// The value of a key, to change.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.value_mut(place))
    }

    /// Gives a key a value, and returns the one it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => Some(mem::replace(self.value_mut(place), value)),
            Err(place) => {
                self.put(place, key, value);
                None
            }
        }
    }

    /// Takes the value of a key out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Takes the entry of a key out.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.take(place))
    }

    /// The entry of a key, which may have to be made.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let place = self.find(&key);
        Entry { map: self, key, place }
    }

    /// The entries whose keys are in a range, in order. Nothing is in a range that ends before it begins.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (low, low_at) = match range.start_bound() {
            Bound::Unbounded => (0, 0),
            Bound::Included(key) => self.find(key).unwrap_or_else(|place| place),
            Bound::Excluded(key) => {
                self.find(key).map_or_else(|place| place, |(piece, at)| (piece, at + 1))
            }
        };
        let (high, high_at) = match range.end_bound() {
            Bound::Unbounded => (self.rest.len(), self.piece(self.rest.len()).len()),
            Bound::Included(key) => {
                self.find(key).map_or_else(|place| place, |(piece, at)| (piece, at + 1))
            }
            Bound::Excluded(key) => self.find(key).unwrap_or_else(|place| place),
        };
        let none = || [].iter();
        match low.cmp(&high) {
            Ordering::Less => Iter {
                front: self.piece(low)[low_at..].iter(),
                middle: self.rest[low..high - 1].iter(),
                back: self.piece(high)[..high_at].iter(),
            },
            Ordering::Equal if low_at < high_at => Iter {
                front: self.piece(low)[low_at..high_at].iter(),
                middle: [].iter(),
                back: none(),
            },
            _ => Iter { front: none(), middle: [].iter(), back: none() },
        }
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

// Two maps with the same entries can have them in other pieces.
impl<K: PartialEq, V: PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for SortedMap<K, V> {}

impl<K: PartialOrd, V: PartialOrd> PartialOrd for SortedMap<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.iter().partial_cmp(other)
    }
}

impl<K: Ord, V: Ord> Ord for SortedMap<K, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other)
    }
}

impl<K: Hash, V: Hash> Hash for SortedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: Borrow<Q> + Ord, V, Q: Ord + ?Sized> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the map has an entry of this key")
    }
}
