//! Ids that systems make: UUIDs of version 7, which sort by time.

use thunderhead_sim::Env;

/// A new UUID of version 7.
pub fn uuid_v7(env: &Env) -> String {
    from_parts(env.now().unix_ms(), &env.unique())
}

/// Joins a time of 48 bits with as many of 32 random hexadecimal digits as fit.
fn from_parts(unix_ms: u64, chance: &str) -> String {
    let time = format!("{:012x}", unix_ms & 0xffff_ffff_ffff);
    let variant = ['8', '9', 'a', 'b'][chance.as_bytes()[3] as usize % 4];
    let (high, low) = time.split_at(8);
    format!("{high}-{low}-7{}-{variant}{}-{}", &chance[..3], &chance[4..7], &chance[20..])
}

/// Whether this is a UUID in lower case.
pub fn is_uuid(text: &str) -> bool {
    let groups = [8, 4, 4, 4, 12];
    let hex = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    text.split('-').map(str::len).eq(groups) && text.split('-').all(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_time_its_version_and_its_variant() {
        let uuid = from_parts(0x0001_9b75_0c2d_1234, &"0123456789abcdef".repeat(2));
        assert_eq!(uuid, "9b750c2d-1234-7012-b456-456789abcdef");
        assert!(is_uuid(&uuid));
    }

    #[test]
    fn what_is_made_later_sorts_later() {
        let chance = "f".repeat(32);
        assert!(from_parts(1, &chance) < from_parts(2, &"0".repeat(32)));
    }

    #[test]
    fn other_texts_are_no_uuids() {
        for text in ["", "nobody", "9b750c2d-1234-7012-b456-456789abcdeg", "../../etc/passwd"] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
