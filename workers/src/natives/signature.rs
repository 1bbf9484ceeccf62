//! Signatures of `crypto.subtle`: what tokens are made with.

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaEncoding, RsaKeyPair, UnparsedPublicKey,
    VerificationAlgorithm,
};

/// Whether a signature is that of a text. None if there is no such algorithm. The key is a point, or the two numbers
/// of RSA as PKCS #1 writes them.
pub fn verify(algorithm: &str, key: &[u8], text: &[u8], signature: &[u8]) -> Option<bool> {
    let algorithm: &'static dyn VerificationAlgorithm = match algorithm {
        "ECDSA P-256 SHA-256" => &ECDSA_P256_SHA256_FIXED,
        "ECDSA P-384 SHA-384" => &ECDSA_P384_SHA384_FIXED,
        "ED25519" => &ED25519,
        "RSASSA-PKCS1-V1_5 SHA-256" => &RSA_PKCS1_2048_8192_SHA256,
        "RSASSA-PKCS1-V1_5 SHA-384" => &RSA_PKCS1_2048_8192_SHA384,
        "RSASSA-PKCS1-V1_5 SHA-512" => &RSA_PKCS1_2048_8192_SHA512,
        "RSA-PSS SHA-256" => &RSA_PSS_2048_8192_SHA256,
        "RSA-PSS SHA-384" => &RSA_PSS_2048_8192_SHA384,
        "RSA-PSS SHA-512" => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    };
    Some(UnparsedPublicKey::new(algorithm, key).verify(text, signature).is_ok())
}

/// Signs a text. Only with algorithms whose signature depends on key and text alone: a run must give the same bytes
/// every time. None for any other, and for a key that is none.
pub fn sign(algorithm: &str, key: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let encoding: &'static dyn RsaEncoding = match algorithm {
        "ED25519" => {
            let pair = Ed25519KeyPair::from_seed_unchecked(key).ok()?;
            return Some(pair.sign(text).as_ref().to_vec());
        }
        "RSASSA-PKCS1-V1_5 SHA-256" => &RSA_PKCS1_SHA256,
        "RSASSA-PKCS1-V1_5 SHA-384" => &RSA_PKCS1_SHA384,
        "RSASSA-PKCS1-V1_5 SHA-512" => &RSA_PKCS1_SHA512,
        _ => return None,
    };
    let pair = RsaKeyPair::from_der(key).ok()?;
    let mut signature = vec![0; pair.public().modulus_len()];
    // The interface asks for randomness; this padding takes none.
    pair.sign(encoding, &SystemRandom::new(), text, &mut signature).ok()?;
    Some(signature)
}

/// The public half of a key of Ed25519.
pub fn ed25519_public(seed: &[u8]) -> Option<Vec<u8>> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
    Some(pair.public_key().as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
    }

    /// The second test case of RFC 8032.
    #[test]
    fn a_signature_is_that_of_the_standard() {
        let seed = bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
        let key = ed25519_public(&seed).expect("a seed");
        assert_eq!(key, bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"));
        let signature = sign("ED25519", &seed, &[0x72]).expect("a seed");
        assert_eq!(signature[..4], bytes("92a009a9"));
        assert_eq!(verify("ED25519", &key, &[0x72], &signature), Some(true));
        assert_eq!(verify("ED25519", &key, &[0x73], &signature), Some(false));
        assert_eq!(verify("ED448", &key, &[0x72], &signature), None);
        assert_eq!(sign("RSASSA-PKCS1-V1_5 SHA-256", b"no key", b""), None);
    }
}
