//! Digests and codes of `crypto.subtle`.

use sha2::Digest;

/// The digest of that name, if there is one.
pub fn digest(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match name {
        "MD5" => md5::Md5::digest(bytes).to_vec(),
        "SHA-1" => sha1::Sha1::digest(bytes).to_vec(),
        "SHA-256" => sha2::Sha256::digest(bytes).to_vec(),
        "SHA-384" => sha2::Sha384::digest(bytes).to_vec(),
        "SHA-512" => sha2::Sha512::digest(bytes).to_vec(),
        _ => return None,
    })
}

/// The keyed code of RFC 2104 over the digest of that name.
pub fn hmac(name: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let block = if matches!(name, "SHA-384" | "SHA-512") { 128 } else { 64 };
    let mut padded = if key.len() > block { digest(name, key)? } else { key.to_vec() };
    padded.resize(block, 0);
    let keyed = |pad: u8, rest: &[u8]| {
        let mut text: Vec<u8> = padded.iter().map(|byte| byte ^ pad).collect();
        text.extend(rest);
        digest(name, &text)
    };
    keyed(0x5c, &keyed(0x36, bytes)?)
}

/// The bytes that RFC 8018 derives from a password: PBKDF2 with the keyed code over the digest of that name.
pub fn pbkdf2(name: &str, key: &[u8], salt: &[u8], rounds: u32, length: usize) -> Option<Vec<u8>> {
    Some(match name {
        "SHA-1" => stretched::<sha1::Sha1>(64, key, salt, rounds, length),
        "SHA-256" => stretched::<sha2::Sha256>(64, key, salt, rounds, length),
        "SHA-384" => stretched::<sha2::Sha384>(128, key, salt, rounds, length),
        "SHA-512" => stretched::<sha2::Sha512>(128, key, salt, rounds, length),
        _ => return None,
    })
}

/// The key is digested once; each of many rounds goes on from there.
fn stretched<D: Digest + Clone>(
    block: usize,
    key: &[u8],
    salt: &[u8],
    rounds: u32,
    length: usize,
) -> Vec<u8> {
    let mut padded = if key.len() > block { D::digest(key).to_vec() } else { key.to_vec() };
    padded.resize(block, 0);
    let begun = |pad: u8| {
        let bytes: Vec<u8> = padded.iter().map(|byte| byte ^ pad).collect();
        D::new().chain_update(bytes)
    };
    let (inner, outer) = (begun(0x36), begun(0x5c));
    let code = |bytes: &[u8]| {
        let inside = inner.clone().chain_update(bytes).finalize();
        outer.clone().chain_update(inside).finalize()
    };
    let mut derived = Vec::new();
    for number in 1u32.. {
        if derived.len() >= length {
            break;
        }
        let mut last = code(&[salt, &number.to_be_bytes()[..]].concat());
        let mut sum = last.to_vec();
        for _ in 1..rounds {
            last = code(&last);
            sum.iter_mut().zip(last.iter()).for_each(|(sum, byte)| *sum ^= byte);
        }
        derived.extend(sum);
    }
    derived.truncate(length);
    derived
}

/// The bytes that RFC 5869 derives from a key.
pub fn hkdf(name: &str, key: &[u8], salt: &[u8], info: &[u8], length: usize) -> Option<Vec<u8>> {
    let extracted = hmac(name, salt, key)?;
    let (mut derived, mut last) = (Vec::new(), Vec::new());
    for number in 1..=u8::MAX {
        if derived.len() >= length {
            break;
        }
        last = hmac(name, &extracted, &[&last[..], info, &[number]].concat())?;
        derived.extend_from_slice(&last);
    }
    derived.truncate(length);
    Some(derived)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The second and the sixth test case of RFC 4231.
    #[test]
    fn codes_are_those_of_the_standard() {
        let code = hmac("SHA-256", b"Jefe", b"what do ya want for nothing?").expect("known");
        assert_eq!(hex(&code), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let code = hmac("SHA-256", &[0xaa; 131], text).expect("known");
        assert_eq!(hex(&code), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
        assert_eq!(digest("SHA-3", b""), None);
    }

    /// The third case of RFC 6070, one of RFC 7914, and the first of RFC 5869.
    #[test]
    fn derived_bytes_are_those_of_the_standards() {
        let bytes = pbkdf2("SHA-1", b"password", b"salt", 4_096, 20).expect("known");
        assert_eq!(hex(&bytes), "4b007901b765489abead49d926f721d065a429c1");
        let bytes = pbkdf2("SHA-256", b"passwd", b"salt", 1, 64).expect("known");
        assert!(hex(&bytes).starts_with("55ac046e56e3089fec1691c22544b605"), "{}", hex(&bytes));
        assert!(hex(&bytes).ends_with("41d3a19783"), "{}", hex(&bytes));
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let bytes = hkdf("SHA-256", &[0x0b; 22], &salt, &info, 42).expect("known");
        assert_eq!(
            hex(&bytes),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        );
    }
}
