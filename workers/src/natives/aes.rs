//! AES in the modes of `crypto.subtle`. A key has 16, 24 or 32 bytes, or there is no answer. The modes are written out
//! here because the platform's take what the usual crates do not: nonces of any length, counters of any number of bits,
//! tags that are cut off.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt};
use aes::{Aes128, Aes192, Aes256};
use ghash::GHash;
use ghash::universal_hash::{KeyInit, UniversalHash};

type Block = [u8; 16];

/// A key that is ready to encrypt and decrypt blocks.
enum Aes {
    Of16(Aes128),
    Of24(Aes192),
    Of32(Aes256),
}

impl Aes {
    /// None for a key of another size.
    fn new(key: &[u8]) -> Option<Aes> {
        match key.len() {
            16 => Aes128::new_from_slice(key).ok().map(Aes::Of16),
            24 => Aes192::new_from_slice(key).ok().map(Aes::Of24),
            _ => Aes256::new_from_slice(key).ok().map(Aes::Of32),
        }
    }

    /// Encrypts one block.
    fn encrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Aes::Of16(key) => key.encrypt_block(&mut block),
            Aes::Of24(key) => key.encrypt_block(&mut block),
            Aes::Of32(key) => key.encrypt_block(&mut block),
        }
        block.into()
    }

    /// Decrypts one block.
    fn decrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Aes::Of16(key) => key.decrypt_block(&mut block),
            Aes::Of24(key) => key.decrypt_block(&mut block),
            Aes::Of32(key) => key.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn block(bytes: &[u8]) -> Option<Block> {
    bytes.try_into().ok()
}

fn xor(one: &Block, other: &Block) -> Block {
    std::array::from_fn(|at| one[at] ^ other[at])
}

/// AES-CBC with the padding of PKCS #7.
pub fn cbc_encrypt(key: &[u8], iv: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let (aes, mut last) = (Aes::new(key)?, block(iv)?);
    let padding = 16 - text.len() % 16;
    let padded = [text, &vec![padding as u8; padding]].concat();
    let mut sealed = Vec::with_capacity(padded.len());
    for next in padded.chunks(16) {
        last = aes.encrypt(xor(&last, &block(next)?));
        sealed.extend(last);
    }
    Some(sealed)
}

/// The opposite of `cbc_encrypt`. None if the padding is none.
pub fn cbc_decrypt(key: &[u8], iv: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let (aes, mut last) = (Aes::new(key)?, block(iv)?);
    let mut text = Vec::with_capacity(sealed.len());
    for next in sealed.chunks(16) {
        let next = block(next)?;
        text.extend(xor(&last, &aes.decrypt(next)));
        last = next;
    }
    let padding = usize::from(*text.last()?);
    let from = text.len().checked_sub(padding).filter(|_| (1..=16).contains(&padding))?;
    let whole = text[from..].iter().all(|byte| usize::from(*byte) == padding);
    text.truncate(from);
    whole.then_some(text)
}

/// Adds one to the last bits of a counter, which begin again at zero.
fn count(counter: Block, bits: u32) -> Block {
    let number = u128::from_be_bytes(counter);
    let mask = u128::MAX.checked_shr(128 - bits).unwrap_or(0);
    ((number & !mask) | (number.wrapping_add(1) & mask)).to_be_bytes()
}

/// AES-CTR, which is its own opposite. Of the counter, so many bits count.
pub fn ctr(key: &[u8], counter: &[u8], bits: u32, text: &[u8]) -> Option<Vec<u8>> {
    let (aes, mut counter) = (Aes::new(key)?, block(counter)?);
    if !(1..=128).contains(&bits) {
        return None;
    }
    let mut found = Vec::with_capacity(text.len());
    for part in text.chunks(16) {
        let key = aes.encrypt(counter);
        found.extend(part.iter().zip(key).map(|(byte, key)| byte ^ key));
        counter = count(counter, bits);
    }
    Some(found)
}

/// The sum of GCM over what is sent with a text, the text, and the lengths of both in bits.
fn ghash(factor: Block, with: &[u8], text: &[u8]) -> Block {
    let mut sum = GHash::new(&factor.into());
    sum.update_padded(with);
    sum.update_padded(text);
    let lengths = ((with.len() as u128 * 8) << 64) | (text.len() as u128 * 8);
    sum.update(&[lengths.to_be_bytes().into()]);
    sum.finalize().into()
}

/// The text with the key stream of GCM, and the whole tag of what is sealed.
fn gcm(
    key: &[u8],
    nonce: &[u8],
    with: &[u8],
    text: &[u8],
    opens: bool,
) -> Option<(Vec<u8>, Block)> {
    let aes = Aes::new(key)?;
    let factor = aes.encrypt([0; 16]);
    let start = match <[u8; 12]>::try_from(nonce) {
        Ok(nonce) => block(&[&nonce[..], &[0, 0, 0, 1]].concat())?,
        Err(_) => ghash(factor, &[], nonce),
    };
    let other = ctr(key, &count(start, 32), 32, text)?;
    let sealed = if opens { text } else { &other };
    let tag = xor(&ghash(factor, with, sealed), &aes.encrypt(start));
    Some((other, tag))
}

/// AES-GCM with a nonce of any length; so many bytes of the tag are behind the text.
pub fn seal(key: &[u8], nonce: &[u8], with: &[u8], text: &[u8], tag: usize) -> Option<Vec<u8>> {
    let (mut sealed, whole) = gcm(key, nonce, with, text, false)?;
    sealed.extend(whole.get(..tag)?);
    Some(sealed)
}

/// Decrypts what `seal` has made. None if anything of it was changed.
pub fn open(key: &[u8], nonce: &[u8], with: &[u8], sealed: &[u8], tag: usize) -> Option<Vec<u8>> {
    let (sealed, told) = sealed.split_at_checked(sealed.len().checked_sub(tag)?)?;
    let (text, whole) = gcm(key, nonce, with, sealed, true)?;
    (whole.get(..tag)? == told).then_some(text)
}

/// What stands before a key that RFC 3394 wraps.
const WRAPPED: [u8; 8] = [0xa6; 8];

/// The key wrap of RFC 3394. None if the text is not made of two or more halves of a block.
pub fn wrap(key: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let aes = Aes::new(key)?;
    let (halves, rest) = text.as_chunks::<8>();
    if !rest.is_empty() || halves.len() < 2 {
        return None;
    }
    let (mut halves, mut first) = (halves.to_vec(), WRAPPED);
    for step in 0..6 * halves.len() {
        let at = step % halves.len();
        let found = aes.encrypt(block(&[first, halves[at]].concat())?);
        let number = (step as u64 + 1).to_be_bytes();
        first = std::array::from_fn(|byte| found[byte] ^ number[byte]);
        halves[at].copy_from_slice(&found[8..]);
    }
    Some([&first[..], &halves.concat()].concat())
}

/// The opposite of `wrap`. None if anything was changed.
pub fn unwrap(key: &[u8], wrapped: &[u8]) -> Option<Vec<u8>> {
    let aes = Aes::new(key)?;
    let (halves, rest) = wrapped.as_chunks::<8>();
    let (mut first, mut halves) = (*halves.first()?, halves[1..].to_vec());
    if !rest.is_empty() || halves.len() < 2 {
        return None;
    }
    for step in (0..6 * halves.len()).rev() {
        let at = step % halves.len();
        let number = (step as u64 + 1).to_be_bytes();
        let before: [u8; 8] = std::array::from_fn(|byte| first[byte] ^ number[byte]);
        let found = aes.decrypt(block(&[before, halves[at]].concat())?);
        first.copy_from_slice(&found[..8]);
        halves[at].copy_from_slice(&found[8..]);
    }
    (first == WRAPPED).then(|| halves.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
    }

    /// Appendix C of FIPS 197: the same block with keys of each size.
    #[test]
    fn a_block_is_encrypted_as_the_standard_does() {
        let text: Block = std::array::from_fn(|at| at as u8 * 0x11);
        for (size, sealed) in [
            (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
            (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
            (32, "8ea2b7ca516745bfeafc49904b496089"),
        ] {
            let key: Vec<u8> = (0..size).collect();
            let aes = Aes::new(&key).expect("a size");
            assert_eq!(aes.encrypt(text).to_vec(), bytes(sealed));
            assert_eq!(aes.decrypt(aes.encrypt(text)), text);
        }
        assert!(Aes::new(&[0; 17]).is_none());
    }

    /// Appendix F of SP 800-38A: the first block of CBC and two blocks of CTR with a key of 16 bytes.
    #[test]
    fn chains_and_counters_are_those_of_the_standard() {
        let key = bytes("2b7e151628aed2a6abf7158809cf4f3c");
        let text = bytes("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let iv: Vec<u8> = (0..16).collect();
        let sealed = cbc_encrypt(&key, &iv, &text).expect("a key");
        assert_eq!(sealed[..16], bytes("7649abac8119b246cee98e9b12e9197d"));
        assert_eq!(sealed.len(), 48);
        assert_eq!(cbc_decrypt(&key, &iv, &sealed), Some(text.clone()));
        assert_eq!(cbc_decrypt(&key, &iv, &sealed[..32]), None);
        let counter = bytes("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let sealed = ctr(&key, &counter, 64, &text).expect("a key");
        assert_eq!(
            sealed,
            bytes("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff")
        );
        assert_eq!(ctr(&key, &counter, 64, &sealed), Some(text));
        assert_eq!(count([0xff; 16], 8)[14..], [0xff, 0]);
    }

    /// The fourth and the sixth test case of the authors of GCM: nonces of 12 and of 60 bytes.
    #[test]
    fn a_sealed_text_is_that_of_the_standard() {
        let key = bytes("feffe9928665731c6d6a8f9467308308");
        let with = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
        let text = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
             1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        );
        let long = bytes(
            "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728\
             c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
        );
        for (nonce, tag) in [
            (bytes("cafebabefacedbaddecaf888"), "5bc94fbc3221a5db94fae95ae7121a47"),
            (long, "619cc5aefffe0bfa462af43c1699d050"),
        ] {
            let mut sealed = seal(&key, &nonce, &with, &text, 16).expect("a key");
            assert_eq!(sealed[text.len()..], bytes(tag));
            assert_eq!(open(&key, &nonce, &with, &sealed, 16), Some(text.clone()));
            assert_eq!(
                open(&key, &nonce, &with, &sealed[..sealed.len() - 4], 12),
                Some(text.clone())
            );
            sealed[3] ^= 1;
            assert_eq!(open(&key, &nonce, &with, &sealed, 16), None);
        }
    }

    /// Section 4.6 of RFC 3394.
    #[test]
    fn a_wrapped_key_is_that_of_the_standard() {
        let key: Vec<u8> = (0..32).collect();
        let text = bytes("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f");
        let mut wrapped = wrap(&key, &text).expect("whole halves");
        assert_eq!(
            wrapped,
            bytes(
                "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
            )
        );
        assert_eq!(unwrap(&key, &wrapped), Some(text));
        wrapped[9] ^= 1;
        assert_eq!(unwrap(&key, &wrapped), None);
        assert_eq!(wrap(&key, b"too short"), None);
    }
}
