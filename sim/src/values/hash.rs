//! A hash that is the same in every process: for trace hashes, site keys and derived seeds.

use std::hash::{Hash, Hasher};

/// A [`Hasher`] without a per-process seed.
///
/// Integers are folded in at their own width, and `usize` as 64 bits, so that a 32-bit build
/// computes the same value.
#[derive(Clone, Copy, Debug, Default)]
pub struct StableHasher(u64);

impl StableHasher {
    /// The hash of one value.
    ///
    /// ```
    /// use thunderhead_sim::StableHasher;
    ///
    /// assert_eq!(StableHasher::of("r2"), StableHasher::of(&String::from("r2")));
    /// ```
    pub fn of<T: Hash + ?Sized>(value: &T) -> u64 {
        let mut hasher = StableHasher::default();
        value.hash(&mut hasher);
        hasher.finish()
    }

    fn fold(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.fold(u64::from_le_bytes(chunk.try_into().expect("chunks of eight")));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.fold(u64::from_le_bytes(word));
        }
        self.fold(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.fold(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.fold(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.fold(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.fold(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.fold(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.fold(value as u64);
    }

    fn finish(&self) -> u64 {
        mix(self.0)
    }
}

/// Spreads every input bit over the whole word (the finaliser of SplitMix64).
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The output of SplitMix64 for a counter. It is one to one, so different counters stay different.
pub(crate) fn split_mix(counter: u64) -> u64 {
    mix(counter.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_pinned_because_failure_files_carry_them() {
        assert_eq!(StableHasher::of("thunderhead"), StableHasher::of("thunderhead"));
        assert_eq!(StableHasher::of(&0u64), 0);
        assert_eq!(StableHasher::of(&1u64), mix(0x517c_c1b7_2722_0a95));
    }

    #[test]
    fn length_is_part_of_the_value() {
        assert_ne!(StableHasher::of(&b"a\0"[..]), StableHasher::of(&b"a"[..]));
    }
}
