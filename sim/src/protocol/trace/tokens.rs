//! Words that a reader cannot tell apart anyway, in their short forms: long hexadecimal names, UUIDs, calendar
//! times and text that is written as a list of bytes.

use crate::services::r2::Date;
use crate::values::time::{EPOCH_MS, Time};

/// From so many hexadecimal digits on, eight are shown.
const HEX_MIN: usize = 16;
/// A number up to this long after the beginning of the run, in milliseconds, is a moment of it: 100 days.
const RUN_MS: u64 = 100 * 86_400_000;
/// From so many bytes on a list of them is shown as the text that it is.
const BYTES_MIN: usize = 3;

/// Hexadecimal names, UUIDs and calendar times in their short forms.
///
/// A hexadecimal name keeps its first eight digits. A UUID keeps its last eight, because those that are made
/// in one run share their first: they begin with the time. A moment of the run, as a date or in milliseconds or
/// seconds since 1970, is shown on the clock of the first column: `@1.007s`.
pub(super) fn tokens(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if word == 0 {
            if let Some((said, length)) = bytes(rest) {
                short.push_str(&format!("bytes {said:?}"));
                rest = &rest[length..];
                continue;
            }
            short.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if let Some(uuid) = rest.get(..36).filter(|uuid| is_uuid(uuid)) {
            short.push('…');
            short.push_str(&uuid[28..]);
            rest = &rest[36..];
            continue;
        }
        if let Some((time, length)) = date(rest) {
            short.push_str(&time);
            rest = &rest[length..];
            continue;
        }
        let (token, after) = rest.split_at(word);
        let hex = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match moment(token) {
            Some(time) if !short.ends_with(['.', '-']) => short.push_str(&time),
            _ if hex && word >= HEX_MIN => {
                short.push_str(&token[..8]);
                short.push('…');
            }
            _ => short.push_str(token),
        }
        rest = after;
    }
    short
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// A number that is a moment of the run, in milliseconds or seconds since 1970.
fn moment(token: &str) -> Option<String> {
    if !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let unit = match token.len() {
        13 => 1,
        10 => 1_000,
        _ => return None,
    };
    let since = (token.parse::<u64>().ok()? * unit).checked_sub(EPOCH_MS)?;
    let time = Time::from_ms(since).to_string();
    (since < RUN_MS)
        .then(|| if unit == 1 { format!("@{time}") } else { format!("@{}s", since / 1_000) })
}

/// A moment of the run that `text` begins with as a date, and how long the date is.
fn date(text: &str) -> Option<(String, usize)> {
    // As JavaScript writes it, and as SQLite does.
    let forms = [
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00Z",
        "2026-01-01 00:00:00.000",
        "2026-01-01 00:00:00",
    ];
    forms.iter().find_map(|form| {
        let date = text.get(..form.len())?;
        let iso = match form.ends_with('Z') {
            true => date.to_string(),
            false => date.replacen(' ', "T", 1) + "Z",
        };
        let ms = u64::try_from(Date::parse_iso(&iso)?.unix_ms()).ok()?;
        let since = ms.checked_sub(EPOCH_MS).filter(|since| *since < RUN_MS)?;
        Some((format!("@{}", Time::from_ms(since)), form.len()))
    })
}

/// The text that a JSON array of bytes at the beginning of `text` spells, and how long the array is.
fn bytes(text: &str) -> Option<(String, usize)> {
    let (list, _) = text.strip_prefix('[')?.split_once(']')?;
    let bytes: Option<Vec<u8>> = list.split(',').map(|number| number.trim().parse().ok()).collect();
    let said = String::from_utf8(bytes.filter(|bytes| bytes.len() >= BYTES_MIN)?).ok()?;
    let reads = !said.contains(char::is_control) && said.contains(char::is_alphabetic);
    reads.then(|| (said, list.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_hexadecimal_name_keeps_eight_digits() {
        let long = "imgcls_875edc86ebb5c55f11c0e5f2e6fb5e46 and 0123456789abcdef";
        assert_eq!(tokens(long), "imgcls_875edc86… and 01234567…");
        assert_eq!(
            tokens("0123456789abcde deadbeef"),
            "0123456789abcde deadbeef",
            "15 digits stay"
        );
    }

    #[test]
    fn a_uuid_keeps_the_end_because_the_beginning_is_the_time() {
        assert_eq!(
            tokens("GENERATION:019b76da-a802-7569-a161-e52fa3730902"),
            "GENERATION:…a3730902"
        );
        assert_eq!(tokens("é 019b76da-a802-7569-a161"), "é 019b76da-a802-7569-a161");
    }

    #[test]
    fn a_calendar_time_of_the_run_is_shown_on_the_clock_of_the_history() {
        assert_eq!(tokens("at=1767225601007 then 1767225612"), "at=@1.007s then @12s");
        assert_eq!(tokens("0.1767225601007 1467225601007"), "0.1767225601007 1467225601007");
        let dates =
            r#"{"at":"2026-01-01T00:00:10.002Z"} 2026-01-01T00:01:00Z 2001-01-01T00:00:00Z"#;
        assert_eq!(tokens(dates), r#"{"at":"@10.002s"} @60.000s 2001-01-01T00:00:00Z"#);
        assert_eq!(tokens("at: '2026-01-01 00:00:01.016'"), "at: '@1.016s'");
    }

    #[test]
    fn a_list_of_bytes_is_shown_as_the_text_that_it_spells() {
        assert_eq!(tokens("load#1: [111,110,101] and more"), r#"load#1: bytes "one" and more"#);
        for numbers in ["[1,2,3]", "[111,110]", "[49,50,51]", "[300,111,110]", "[]"] {
            assert_eq!(tokens(numbers), numbers);
        }
    }
}
