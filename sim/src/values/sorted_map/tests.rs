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
