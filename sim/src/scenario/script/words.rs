//! The small languages inside a script's strings: durations, chances, requests.

use std::time::Duration;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// The advice for anything that is not a duration.
pub const DURATION: &str =
    "write a whole number and a unit, such as \"250ms\", \"3s\", \"5m\", \"2h\" or \"1d\"";

/// Reads `250ms`, `3s`, `5m`, `2h` or `1d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("`{text}` is before the beginning: time does not run backwards"));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(format!("`{text}` is not a duration"));
    }
    if unit.is_empty() {
        return Err(format!("`{text}` has no unit"));
    }
    let Some((_, ms)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("`{}` is not a unit of time", unit.trim()));
    };
    let number: Option<u64> = number.parse().ok();
    let total = number.and_then(|number| number.checked_mul(*ms));
    total.map(Duration::from_millis).ok_or_else(|| format!("`{text}` is too long"))
}

/// Writes what [`duration`] reads, in the largest unit that fits exactly.
pub fn duration_text(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    // Days and hours are kept for those who write them; "90m" is no clearer than "5400s".
    let fits = UNITS[..3].iter().rev().find(|(_, unit)| ms > 0 && ms.is_multiple_of(*unit));
    match fits {
        Some((name, unit)) => format!("{}{name}", ms / unit),
        None => "0s".into(),
    }
}

/// The advice for anything that is not a chance.
pub const CHANCE: &str = "write a percentage such as \"10%\", or a fraction such as \"1/8\"";

/// Reads `10%` or `1/8`, in 1024ths.
pub fn chance(text: &str) -> Result<u16, String> {
    let wrong = || format!("`{text}` is not a chance");
    let (part, whole) = match (text.strip_suffix('%'), text.split_once('/')) {
        (Some(percent), _) => (percent.parse::<u32>().map_err(|_| wrong())?, 100),
        (None, Some((part, whole))) => {
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            (number(part)?, number(whole)?)
        }
        (None, None) => return Err(wrong()),
    };
    if part > whole || whole == 0 {
        return Err(format!("`{text}` is more than certain"));
    }
    let rounded = (u64::from(part) * 1024 + u64::from(whole) / 2) / u64::from(whole);
    Ok(u16::try_from(rounded).expect("at most 1024"))
}

/// Writes what [`chance`] reads.
pub fn chance_text(per_1024: u16) -> String {
    let percent = (0..=100).map(|percent| format!("{percent}%"));
    let exact = percent.into_iter().find(|text| chance(text) == Ok(per_1024));
    exact.unwrap_or_else(|| format!("{per_1024}/1024"))
}

/// The advice for anything that is not a request.
pub const FETCH: &str = "write a method and a path, such as \"PUT /cat.jpg\"";

/// Reads `PUT /cat.jpg`.
pub fn fetch(text: &str) -> Result<(&str, &str), String> {
    let (method, path) =
        text.split_once(' ').ok_or_else(|| format!("`{text}` is not a method and a path"))?;
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(format!("`{method}` is not a method"));
    }
    // The whole address may come from an answer.
    if !path.starts_with('/') && !path.starts_with("{{") {
        return Err(format!("the path `{path}` does not begin with `/`"));
    }
    Ok((method, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_path_or_an_address_from_an_answer() {
        assert_eq!(fetch("PUT /cat.jpg"), Ok(("PUT", "/cat.jpg")));
        assert_eq!(fetch("GET {{a.response.body}}"), Ok(("GET", "{{a.response.body}}")));
        assert!(fetch("GET cat.jpg").is_err() && fetch("get /").is_err());
    }

    #[test]
    fn durations_are_read_and_written() {
        for (text, ms, written) in [
            ("250ms", 250, "250ms"),
            ("3s", 3_000, "3s"),
            ("5m", 300_000, "5m"),
            ("2h", 7_200_000, "120m"),
            ("1d", 86_400_000, "1440m"),
            ("0ms", 0, "0s"),
            ("1500ms", 1_500, "1500ms"),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
            assert_eq!(duration_text(Duration::from_millis(ms)), written);
            assert_eq!(duration(written), Ok(Duration::from_millis(ms)), "{written}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_told_apart() {
        for (text, why) in [
            ("-3s", "backwards"),
            ("5 parsecs", "`parsecs` is not a unit"),
            ("5", "no unit"),
            ("s", "not a duration"),
            ("", "not a duration"),
            ("1.5s", "`.5s` is not a unit"),
            ("99999999999999999999s", "too long"),
            ("99999999999999999d", "too long"),
        ] {
            let error = duration(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn every_chance_survives_writing() {
        assert_eq!(chance("10%"), Ok(102));
        assert_eq!(chance("1/8"), Ok(128));
        assert_eq!(chance_text(102), "10%");
        for per_1024 in 0..=1024 {
            assert_eq!(chance(&chance_text(per_1024)), Ok(per_1024));
        }
        for text in ["often", "110%", "2/1", "0/0", "10", "-5%", "1.5%"] {
            assert!(chance(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_request_is_a_method_and_a_path() {
        assert_eq!(fetch("PUT /cat.jpg"), Ok(("PUT", "/cat.jpg")));
        for text in ["PUT", "put /cat.jpg", "PUT cat.jpg", "", " /cat.jpg"] {
            assert!(fetch(text).is_err(), "{text}");
        }
    }
}
