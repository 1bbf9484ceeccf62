//! Names of things in a queue: the queue, a message, a batch.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::values::hash::split_mix;

/// A queue, as a small index that is cheap to copy and compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueueId(pub(super) u32);

impl QueueId {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).expect("an index of 32 bits fits in memory")
    }
}

/// One batch that a queue formed; every copy of that batch carries the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchId(pub(super) u64);

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The id of a message: 32 hexadecimal digits, as the platform writes it.
///
/// ```
/// use thunderhead_sim::queue::MessageId;
///
/// let id: MessageId = serde_json::from_str("\"000102030405060708090a0b0c0d0e0f\"").unwrap();
/// assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0e0f");
/// assert_eq!(id.short(), "000102");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(u128);

impl MessageId {
    /// The id of the message with this number; two numbers never share one.
    pub(super) fn numbered(number: u64) -> MessageId {
        let low = split_mix(number);
        MessageId(u128::from(split_mix(low ^ 0x7468_756e_6465_7268)) << 64 | u128::from(low))
    }

    /// The first six digits, which is enough to tell messages apart in a trace.
    pub fn short(self) -> String {
        format!("{:06x}", self.0 >> 104)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MessageId, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = if digits { u128::from_str_radix(&text, 16).ok() } else { None };
        value.map(MessageId).ok_or_else(|| de::Error::custom("a message id has 32 hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use crate::values::sorted_set::SortedSet;

    use super::*;

    #[test]
    fn ids_are_32_hex_digits_and_never_repeat() {
        let ids: SortedSet<String> =
            (0..10_000).map(|n| MessageId::numbered(n).to_string()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }

    #[test]
    fn an_id_that_is_not_32_hex_digits_is_refused() {
        for text in ["\"\"", "\"+00102030405060708090a0b0c0d0e0f\"", "\"zz\"", "7"] {
            assert!(serde_json::from_str::<MessageId>(text).is_err(), "{text}");
        }
    }
}
