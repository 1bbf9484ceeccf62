//! Names the platform draws at random, here drawn from a counter so that every run agrees.

use std::sync::Arc;

use crate::values::hash::split_mix;
use crate::values::hex::hex;

/// Makes versions and upload ids that look random and never repeat.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub(super) drawn: u64,
}

impl Ids {
    /// 32 hexadecimal digits, as R2 gives to each upload.
    pub(super) fn version(&mut self) -> Arc<str> {
        Arc::from(hex(&self.draw::<16>()))
    }

    /// 171 characters of base64url, as the emulator gives to multipart uploads.
    pub(super) fn opaque(&mut self) -> Arc<str> {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bytes = self.draw::<128>();
        let mut text = String::with_capacity(172);
        for chunk in bytes.chunks(3) {
            let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for digit in 0..=chunk.len() {
                let at = (bits >> (18 - 6 * digit)) & 63;
                text.push(char::from(ALPHABET[at as usize]));
            }
        }
        Arc::from(text)
    }

    /// The first eight bytes are a bijection of the counter, so no two draws are equal.
    fn draw<const N: usize>(&mut self) -> [u8; N] {
        self.drawn += 1;
        let mut word = self.drawn;
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            word = split_mix(word);
            chunk.copy_from_slice(&word.to_be_bytes()[..chunk.len()]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use crate::values::sorted_set::SortedSet;

    use super::*;

    #[test]
    fn names_have_the_platforms_shape_and_never_repeat() {
        let mut ids = Ids::default();
        let versions: SortedSet<_> = (0..1000).map(|_| ids.version()).collect();
        assert_eq!(versions.len(), 1000);
        assert!(versions.iter().all(|version| version.len() == 32));
        let opaque: SortedSet<_> = (0..1000).map(|_| ids.opaque()).collect();
        assert_eq!(opaque.len(), 1000);
        assert!(opaque.iter().all(|id| id.len() == 171));
    }

    #[test]
    fn names_are_the_same_in_every_process() {
        assert_eq!(&*Ids::default().version(), "910a2dec89025cc15e41ab087439611e");
    }
}
