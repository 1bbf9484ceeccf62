//! The sum by which AES-GCM knows a text.

/// The factor of a sum: a number of the field of GCM, whose highest bit comes first.
pub struct Ghash(u128);

impl Ghash {
    pub fn new(factor: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(factor))
    }

    fn times(&self, number: u128) -> u128 {
        let (mut product, mut power) = (0, self.0);
        for bit in (0..128).rev() {
            if (number >> bit) & 1 != 0 {
                product ^= power;
            }
            let carry = power & 1 != 0;
            power >>= 1;
            if carry {
                power ^= 0xe1 << 120;
            }
        }
        product
    }

    /// The sum over what is sent with a text, the text, and the lengths of both in bits.
    pub fn of(&self, with: &[u8], text: &[u8]) -> [u8; 16] {
        let mut sum = 0;
        for part in with.chunks(16).chain(text.chunks(16)) {
            let mut block = [0; 16];
            block[..part.len()].copy_from_slice(part);
            sum = self.times(sum ^ u128::from_be_bytes(block));
        }
        let lengths = ((with.len() as u128 * 8) << 64) | (text.len() as u128 * 8);
        self.times(sum ^ lengths).to_be_bytes()
    }
}
