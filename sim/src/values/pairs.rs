//! A map as a list of pairs, for JSON: its objects have names that are text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::values::sorted_map::SortedMap;

pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
    map: &SortedMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map)
}

pub(crate) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<SortedMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
}
