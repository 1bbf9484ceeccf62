//! The only random numbers in the workspace: seeded, forkable, the same everywhere.

use crate::values::hash::{StableHasher, mix};

/// A small seeded generator (SplitMix64).
///
/// ```
/// use thunderhead_sim::Rng;
///
/// let mut rng = Rng::new(7);
/// let first = rng.below(100);
/// assert_eq!(first, Rng::new(7).below(100));
/// ```
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(mix(seed ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// A generator of its own for `label`, so that a new draw in one place shifts no other.
    pub fn fork(&self, label: &str) -> Rng {
        Rng(mix(self.0 ^ StableHasher::of(label)))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// True `per_1024` times in 1024.
    pub fn chance(&mut self, per_1024: u16) -> bool {
        per_1024 > 0 && self.below(1024) < u32::from(per_1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_cover_the_range_and_nothing_else() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1_200).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn forks_are_independent_of_each_other() {
        let root = Rng::new(1);
        assert_ne!(root.fork("a").bits(), root.fork("b").bits());
    }
}
