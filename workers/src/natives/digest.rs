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
}
