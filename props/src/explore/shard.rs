//! One of the parts of a search that are played apart, by several processes or on several machines.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// How many seeds make a block. A search of seeds is saved after whole blocks, and shards consist of them, so that
/// their hashes can be put together.
pub(super) const BLOCK: u64 = 512;

/// The `number`th of `of` parts, counting from 1.
///
/// ```
/// use thunderhead_props::explore::Shard;
///
/// let shard: Shard = "2/4".parse().unwrap();
/// assert_eq!((shard.number(), shard.of()), (2, 4));
/// assert!("5/4".parse::<Shard>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// The whole search.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Which part it is, counting from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many parts there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Which of so many runs belong to it. A search of few blocks leaves some shards without any.
    pub(super) fn turns(self, runs: u64) -> Range<u64> {
        let blocks = u128::from(runs.div_ceil(BLOCK));
        let bound = |number: u32| {
            let before = blocks * u128::from(number) / u128::from(self.of) * u128::from(BLOCK);
            u64::try_from(before).unwrap_or(u64::MAX).min(runs)
        };
        bound(self.number - 1)..bound(self.number)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("a shard is a number and how many there are, like 2/4".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_whole_blocks_and_together_the_whole_search() {
        for runs in [0, 1, 511, 512, 513, 5_000, 1 << 40, u64::MAX] {
            for of in [1, 2, 3, 7, 100] {
                let mut next = 0;
                for number in 1..=of {
                    let turns = Shard { number, of }.turns(runs);
                    assert_eq!(turns.start, next, "{number}/{of} of {runs}");
                    assert!(turns.start.is_multiple_of(BLOCK) || turns.start == runs);
                    next = turns.end;
                }
                assert_eq!(next, runs, "{of} shards");
            }
        }
    }

    #[test]
    fn what_is_no_part_of_a_whole_is_refused() {
        for text in ["", "1", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/4/2", "1/99999999999"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
