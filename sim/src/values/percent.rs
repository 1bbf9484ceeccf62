//! Percent-encoding, as in the query of a URL.

/// Decodes a name or a value of a query. `+` is a space; what is no valid escape stays as it is, and bytes
/// that are not UTF-8 become replacement characters.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high << 4 | low) as u8);
                rest = &after[2..];
            }
            (b'+', ..) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn escapes_are_decoded_and_anything_else_stays() {
        assert_eq!(decoded("a+b%20c%2B"), "a b c+");
        assert_eq!(decoded("h%C3%A9"), "hé");
        for odd in ["%", "%2", "%zz", "100%"] {
            assert_eq!(decoded(odd), odd);
        }
        assert_eq!(decoded("%ff"), "\u{fffd}");
    }
}
