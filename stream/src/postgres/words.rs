//! Connection strings, as far as words have to be taken out of them that the client does not know.

use std::iter::Peekable;
use std::str::Chars;

/// Takes the values of some keys out of a connection string, whichever of its two forms it has: what is left,
/// and the values.
pub fn take<const N: usize>(
    text: &str,
    keys: [&str; N],
) -> Result<(String, [Option<String>; N]), String> {
    let mut taken = [const { None }; N];
    let mut keep = |key: &str, value: String| {
        let found = keys.iter().position(|known| *known == key);
        found.map(|index| taken[index] = Some(value)).is_none()
    };
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let rest = if is_url {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if keep(key, decoded(value)?) {
                rest.push(pair);
            }
        }
        match rest.is_empty() {
            true => place.to_owned(),
            false => format!("{place}?{}", rest.join("&")),
        }
    } else {
        let mut rest = String::new();
        for (key, value) in pairs(text)? {
            if keep(&key, value.clone()) {
                let value = value.replace('\\', "\\\\").replace('\'', "\\'");
                rest.push_str(&format!("{key}='{value}' "));
            }
        }
        rest
    };
    Ok((rest, taken))
}

/// The pairs of `key = value` or `key = 'value'`; a backslash takes the next character as it is.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut chars = text.chars().peekable();
    let mut pairs = Vec::new();
    loop {
        skip_spaces(&mut chars);
        if chars.peek().is_none() {
            return Ok(pairs);
        }
        let mut key = String::new();
        while let Some(next) = chars.next_if(|next| *next != '=' && !next.is_whitespace()) {
            key.push(next);
        }
        skip_spaces(&mut chars);
        if chars.next() != Some('=') {
            return Err(format!("{key:?} has no value"));
        }
        skip_spaces(&mut chars);
        pairs.push((key, value(&mut chars)?));
    }
}

fn value(chars: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let is_quoted = chars.next_if_eq(&'\'').is_some();
    let mut value = String::new();
    loop {
        match chars.peek() {
            None if is_quoted => return Err("a quotation mark is missing".to_owned()),
            None => return Ok(value),
            Some('\'') if is_quoted => {
                chars.next();
                return Ok(value);
            }
            Some(space) if !is_quoted && space.is_whitespace() => return Ok(value),
            Some('\\') => {
                chars.next();
                value.extend(chars.next());
            }
            Some(_) => value.extend(chars.next()),
        }
    }
}

fn skip_spaces(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|next| next.is_whitespace()).is_some() {}
}

/// A value of a URL without its percent signs.
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not percent-encoded");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2).ok_or_else(wrong)?;
        let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}
