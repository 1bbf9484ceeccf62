//! A set in order that compiles to little code: see [`sorted_map`](super::sorted_map).

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeBounds;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use super::sorted_map::{self, SortedMap};

/// A set in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T>(SortedMap<T, ()>);

/// The elements of a set, in order.
pub struct Iter<'a, T>(sorted_map::Iter<'a, T, ()>);

/// The elements of a set, in order, to keep.
pub struct IntoIter<T>(sorted_map::IntoIter<T, ()>);

impl<T> SortedSet<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes every element.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The elements in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self.0.iter())
    }

    /// The lowest element.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.0.first_key_value().map(|(element, ())| element)
    }

    /// The highest element.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.0.last_key_value().map(|(element, ())| element)
    }

    /// Takes the lowest element out.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(element, ())| element)
    }

    /// Leaves out the elements that `keep` is false for.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|element, ()| keep(element));
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether it has this element.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(element)
    }

    /// Puts an element in, and says whether it is new.
    pub fn insert(&mut self, element: T) -> bool {
        self.0.insert(element, ()).is_none()
    }

    /// Takes an element out, and says whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(element).is_some()
    }

    /// The elements in a range, in order.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        Iter(self.0.range(range))
    }

    /// The elements that `other` does not have, in order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|element| !other.contains(*element))
    }

    /// Whether `other` has all of its elements.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|element| other.contains(element))
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(element, ())| element)
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self.0.into_iter())
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

impl<'a, T: Ord + Copy> Extend<&'a T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, elements: I) {
        self.extend(elements.into_iter().copied());
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = Self::new();
        set.extend(elements);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(elements: [T; N]) -> Self {
        Self::from_iter(elements)
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from_iter)
    }
}
