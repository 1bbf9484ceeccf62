//! The map beside that of the standard library.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;
use thunderhead_sim::SortedMap;

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u32),
    Entry(u16),
    Remove(u16),
    PopFirst,
    Keep(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..1_000_u16, any::<u32>()).prop_map(|(key, value)| Step::Insert(key, value)),
        2 => (0..1_000_u16).prop_map(Step::Entry),
        4 => (0..1_000_u16).prop_map(Step::Remove),
        1 => Just(Step::PopFirst),
        1 => (50..60_u16).prop_map(Step::Keep),
    ]
}

fn bound() -> impl Strategy<Value = Bound<u16>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0..1_100_u16).prop_map(Bound::Included),
        (0..1_100_u16).prop_map(Bound::Excluded),
    ]
}

fn same(map: &SortedMap<u16, u32>, model: &BTreeMap<u16, u32>) -> Result<(), TestCaseError> {
    prop_assert!(map.iter().eq(model));
    prop_assert!(map.iter().rev().eq(model.iter().rev()));
    prop_assert_eq!(map.len(), model.len());
    prop_assert_eq!(map.is_empty(), model.is_empty());
    prop_assert_eq!(map.first_key_value(), model.first_key_value());
    prop_assert_eq!(map.last_key_value(), model.last_key_value());
    Ok(())
}

/// A map of many pieces: in the order of the keys, against it, and one of each in turn.
fn large() -> [(SortedMap<u16, u32>, BTreeMap<u16, u32>); 3] {
    let entries: Vec<(u16, u32)> = (0..1_000).step_by(2).map(|key| (key, u32::from(key))).collect();
    let mixed =
        entries.iter().take(250).zip(entries.iter().rev()).flat_map(|(low, high)| [*low, *high]);
    [
        (entries.iter().copied().collect(), entries.iter().copied().collect()),
        (entries.iter().rev().copied().collect(), entries.iter().copied().collect()),
        (mixed.collect(), entries.iter().copied().collect()),
    ]
}

proptest! {
    #[test]
    fn it_has_what_the_map_of_the_standard_library_has_after_every_step(
        start in 0..4_usize,
        steps in prop::collection::vec(step(), 0..400),
    ) {
        let (mut map, mut model) = large().into_iter().nth(start).unwrap_or_default();
        for step in steps {
            match step {
                Step::Insert(key, value) => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                Step::Entry(key) => {
                    *map.entry(key).or_default() += 1;
                    *model.entry(key).or_default() += 1;
                }
                Step::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                Step::PopFirst => prop_assert_eq!(map.pop_first(), model.pop_first()),
                Step::Keep(rest) => {
                    map.retain(|key, _| key % 60 < rest);
                    model.retain(|key, _| key % 60 < rest);
                }
            }
            same(&map, &model)?;
        }
        for key in 0..1_000 {
            prop_assert_eq!(map.get(&key), model.get(&key));
        }
        prop_assert!(map.iter_mut().map(|(key, value)| (*key, *value)).eq(model.clone()));
        prop_assert!(map.into_iter().eq(model));
    }

    #[test]
    fn a_range_has_the_entries_that_one_of_the_standard_library_has(start in 0..4_usize, low in bound(), high in bound()) {
        let (map, model) = large().into_iter().nth(start).unwrap_or_default();
        let expected: Vec<_> = model.iter().filter(|(key, _)| std::ops::RangeBounds::contains(&(low, high), *key)).collect();
        prop_assert_eq!(&map.range((low, high)).collect::<Vec<_>>(), &expected);
        prop_assert!(map.range((low, high)).rev().eq(expected.into_iter().rev()));
    }
}

#[test]
fn it_is_written_as_json_and_read_back_like_that_of_the_standard_library() {
    let [(map, model), ..] = large();
    let written = serde_json::to_string(&map).unwrap();
    assert_eq!(written, serde_json::to_string(&model).unwrap());
    assert_eq!(serde_json::from_str::<SortedMap<u16, u32>>(&written).unwrap(), map);
}
