//! The pieces of a map. That it has what it should is tested beside the map of the standard library, in `sim/tests`.

use super::{PIECE, SortedMap};

fn up() -> SortedMap<u32, u32> {
    (0..1_000).map(|key| (key, key)).collect()
}

fn down() -> SortedMap<u32, u32> {
    (0..1_000).rev().map(|key| (key, key)).collect()
}

#[test]
fn entries_that_come_in_order_fill_their_pieces() {
    assert_eq!(up().rest.len(), 1_000 / PIECE);
}

#[test]
fn no_piece_is_empty_or_has_more_than_there_is_room_for() {
    let mut map = down();
    for key in (0..1_000).filter(|key| key % 3 > 0) {
        map.remove(&key);
        map.insert(key + 2_000, key);
        assert!(!map.first.is_empty() && map.first.len() <= PIECE);
        assert!(map.rest.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE));
    }
}

#[test]
fn maps_with_the_same_entries_are_equal_whatever_their_pieces() {
    assert_ne!(up().first.len(), down().first.len());
    assert_eq!(up(), down());
    assert_eq!(up().cmp(&down()), std::cmp::Ordering::Equal);
}

#[test]
fn a_piece_that_loses_its_last_entry_is_gone() {
    let mut map = up();
    let first = u32::try_from(PIECE).unwrap();
    for key in (2 * first..3 * first).chain(0..first) {
        assert_eq!(map.remove(&key), Some(key));
        assert_eq!(map.get(&key), None);
    }
    assert_eq!(map.first_key_value(), Some((&first, &first)));
    assert_eq!(map.len(), 1_000 - 2 * PIECE);
    map.retain(|key, _| *key >= 700);
    assert_eq!((map.is_empty(), map.first_key_value()), (false, Some((&700, &700))));
    assert_eq!(map.into_keys().collect::<Vec<_>>(), Vec::from_iter(700..1_000));
}

#[test]
fn an_entry_that_is_made_anywhere_in_a_full_piece_is_the_one_that_is_changed() {
    let full: SortedMap<u32, u32> = (0..).step_by(2).take(PIECE).map(|key| (key, 0)).collect();
    for key in (0..).step_by(2).map(|key| key + 1).take(PIECE) {
        let mut map = full.clone();
        *map.entry(key).or_insert(1) += 1;
        assert_eq!(map.iter().filter(|(_, value)| **value > 0).collect::<Vec<_>>(), [(&key, &2)]);
    }
}
