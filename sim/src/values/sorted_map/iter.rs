//! Going through a map, and making one of what is gone through.

use std::{slice, vec};

use super::SortedMap;

/// The entries of a map, in order.
pub struct Iter<'a, K, V> {
    pub(super) front: slice::Iter<'a, (K, V)>,
    pub(super) middle: slice::Iter<'a, Vec<(K, V)>>,
    pub(super) back: slice::Iter<'a, (K, V)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { front: self.front.clone(), middle: self.middle.clone(), back: self.back.clone() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.front.next() {
                return Some((key, value));
            }
            match self.middle.next() {
                Some(piece) => self.front = piece.iter(),
                None => return self.back.next().map(|(key, value)| (key, value)),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let least = self.front.len() + self.back.len();
        (least, self.middle.as_slice().is_empty().then_some(least))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.back.next_back() {
                return Some((key, value));
            }
            match self.middle.next_back() {
                Some(piece) => self.back = piece.iter(),
                None => return self.front.next_back().map(|(key, value)| (key, value)),
            }
        }
    }
}

/// The entries of a map, in order, with values to change.
pub struct IterMut<'a, K, V> {
    pub(super) front: slice::IterMut<'a, (K, V)>,
    pub(super) rest: slice::IterMut<'a, Vec<(K, V)>>,
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.front.next() {
                return Some((key, value));
            }
            self.front = self.rest.next()?.iter_mut();
        }
    }
}

/// The entries of a map, in order, to keep.
pub struct IntoIter<K, V> {
    front: vec::IntoIter<(K, V)>,
    rest: vec::IntoIter<Vec<(K, V)>>,
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.front.next() {
                return Some(entry);
            }
            self.front = self.rest.next()?.into_iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.front.len(), self.rest.as_slice().is_empty().then_some(self.front.len()))
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter { front: self.first.into_iter(), rest: self.rest.into_iter() }
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        Self::from_iter(entries)
    }
}
