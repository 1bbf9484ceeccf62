//! Bindings, and ids: the key of a pair, the id of a comparison, the id of its workflow instance.

use sha2::{Digest, Sha256};
use thunderhead_sim::hex;

use super::target::Target;

/// The durable objects, one for each pair.
pub const ENVPAIR_DO: &str = "ENVPAIR_DO";
/// The workflow that makes a comparison.
pub const COMPARE: &str = "compare";

/// How many hexadecimal digits a pair's key has: 128 bits, too many to find two pairs that share one.
const PAIR_DIGITS: usize = 32;
/// How many a request has within its pair.
const REQUEST_DIGITS: usize = 16;

/// The key of a pair, the same for ever.
///
/// Order matters: `(a, b)` asks what changes from a to b, and `(b, a)` is another pair with a
/// history of its own. Spelling does not: targets are in the one spelling that a URL has. The length
/// of the left URL goes in first, or `(a, bc)` and `(ab, c)` would be one pair.
pub fn pair_key(left: &Target, right: &Target) -> String {
    let (left, right) = (left.as_str(), right.as_str());
    digest(&format!("{}:{left}{right}", left.len()), PAIR_DIGITS)
}

/// A key that a mistake makes: pairs whose URLs join to the same text share it.
pub fn joined_key(left: &Target, right: &Target) -> String {
    digest(&format!("{}{}", left.as_str(), right.as_str()), PAIR_DIGITS)
}

/// The id of the comparison that a request asks for: the same request gives the same id.
pub fn comparison_id(pair_key: &str, request: &str) -> String {
    format!("{pair_key}:{}", digest(request, REQUEST_DIGITS))
}

/// The key of the pair that a comparison belongs to, if this can be the id of one.
pub fn pair_of(comparison_id: &str) -> Option<&str> {
    let (pair, request) = comparison_id.split_once(':')?;
    (is_hex(pair, PAIR_DIGITS) && is_hex(request, REQUEST_DIGITS)).then_some(pair)
}

/// Whether this can be the key of a pair.
pub fn is_pair_key(text: &str) -> bool {
    is_hex(text, PAIR_DIGITS)
}

/// The id of the workflow instance of a comparison: the platform accepts no colon in it.
pub fn instance_id(comparison_id: &str) -> String {
    comparison_id.replace(':', "-")
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn digest(text: &str, digits: usize) -> String {
    hex(&Sha256::digest(text)[..digits / 2])
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::workflow::MAX_ID_LEN;

    use super::*;

    fn key(left: &str, right: &str) -> String {
        pair_key(&Target::parse(left).expect("public"), &Target::parse(right).expect("public"))
    }

    #[test]
    fn a_pair_has_one_key_however_its_urls_are_spelt() {
        let pair = key("https://a.example/", "https://b.example/");
        assert_eq!(pair, "ea9178c5a0c454d208fd012a802c0d58");
        assert_eq!(key("HTTPS://A.example:443", "https://b.example/#top"), pair);
        assert!(is_pair_key(&pair));
    }

    #[test]
    fn left_and_right_are_not_the_same() {
        let (a, b) = ("https://a.example/", "https://b.example/");
        assert_ne!(key(a, b), key(b, a));
    }

    #[test]
    fn pairs_whose_urls_join_to_the_same_text_have_different_keys() {
        let one = key("https://a.example/", "https://b.example/https://c.example/");
        let other = key("https://a.example/https://b.example/", "https://c.example/");
        assert_ne!(one, other);
    }

    #[test]
    fn the_id_of_a_comparison_leads_to_its_pair() {
        let pair = key("https://a.example/", "https://b.example/");
        let id = comparison_id(&pair, "request 1");
        assert_eq!(pair_of(&id), Some(&*pair));
        assert_eq!(id, comparison_id(&pair, "request 1"));
        assert_ne!(id, comparison_id(&pair, "request 2"));
        for wrong in ["", ":", "a:b", &pair, &format!("{id}0"), &id.to_uppercase()] {
            assert_eq!(pair_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_platform_accepts_the_id_of_an_instance() {
        let pair = key("https://a.example/", "https://b.example/");
        let id = instance_id(&comparison_id(&pair, ""));
        assert!(id.len() <= MAX_ID_LEN);
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{id}");
    }
}
