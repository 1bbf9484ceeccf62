//! Durations as the platform writes them: a number of milliseconds, or a few words.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The duration that a text such as `10 minutes` or `1 day` names, if it names one.
///
/// ```
/// use std::time::Duration;
/// use thunderhead_sim::workflow::parse_duration;
///
/// assert_eq!(parse_duration("10 minutes"), Some(Duration::from_secs(600)));
/// assert_eq!(parse_duration("soon"), None);
/// assert_eq!(parse_duration("1.5 hours"), Some(Duration::from_secs(5_400)));
/// assert_eq!(parse_duration("250"), Some(Duration::from_millis(250)));
/// ```
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut words = text.split_whitespace();
    let (number, unit) = (words.next()?, words.next().unwrap_or("millisecond"));
    let unit = match unit.strip_suffix('s').unwrap_or(unit) {
        "millisecond" => 1,
        "second" => 1_000,
        "minute" => 60_000,
        "hour" => 3_600_000,
        "day" => 86_400_000,
        "week" => 7 * 86_400_000,
        "month" => 30 * 86_400_000,
        "year" => 365 * 86_400_000,
        _ => return None,
    };
    if words.next().is_some() {
        return None;
    }
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    // Of a fraction no more digits are read than there are milliseconds in a year.
    let part = part.get(..FRACTION).unwrap_or(part);
    let digits = |text: &str| match text {
        "" => Some(0),
        text if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u128>().ok(),
        _ => None,
    };
    let (fraction, scale) = (digits(part)?, 10u128.pow(part.len() as u32));
    let whole = digits(whole).filter(|_| number.bytes().any(|byte| byte.is_ascii_digit()))?;
    let ms = whole.checked_mul(unit)?.checked_add(fraction * unit / scale)?;
    u64::try_from(ms).ok().map(Duration::from_millis)
}

/// How many digits of a fraction are read.
const FRACTION: usize = 12;

/// Whole milliseconds; a duration too long to count is the longest that can be counted.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in JSON: written as milliseconds, read as milliseconds or as words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub Duration);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(ms(self.0))
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Words(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(ms) => Ok(Millis(Duration::from_millis(ms))),
            Form::Words(text) => parse_duration(&text)
                .map(Millis)
                .ok_or_else(|| de::Error::custom(format!("{text:?} is not a duration"))),
        }
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Millis {
        Millis(duration)
    }
}

impl fmt::Display for Millis {
    /// `250ms`, `10s`, `10m`, `24h`: the largest unit that leaves no rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = ms(self.0);
        let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
        match units.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", ms / unit),
            None => write!(f, "{ms}ms"),
        }
    }
}

impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_takes_numbers_and_words_and_gives_numbers() {
        let read =
            |json: &str| serde_json::from_str::<Millis>(json).map(|Millis(duration)| ms(duration));
        assert_eq!(read("250").unwrap(), 250);
        assert_eq!(read("\"1 second\"").unwrap(), 1_000);
        assert_eq!(read("\"2 weeks\"").unwrap(), 1_209_600_000);
        assert_eq!(read("\"1\"").unwrap(), 1);
        assert_eq!(read("\"0.1 seconds\"").unwrap(), 100);
        assert_eq!(read("\".5 minutes\"").unwrap(), 30_000);
        assert_eq!(read("\"100 milliseconds\"").unwrap(), 100);
        let long = format!("\"0.{} days\"", "9".repeat(100));
        assert_eq!(read(&long).unwrap(), 86_399_999);
        let wrong = [
            "soon",
            "",
            ".",
            "1.x hours",
            "1.ééééééé hours",
            "1 fortnight",
            "1 second more",
            "1 sec",
            "-1 day",
        ];
        let wrong = wrong.map(|text| format!("\"{text}\""));
        for bad in wrong.iter().map(String::as_str).chain(["-1", "null"]) {
            assert!(read(bad).is_err(), "{bad}");
        }
        let json = serde_json::to_string(&Millis(Duration::from_secs(2))).unwrap();
        assert_eq!(json, "2000");
    }

    #[test]
    fn a_trace_shows_the_largest_unit_without_a_rest() {
        let shown = |ms| Millis(Duration::from_millis(ms)).to_string();
        assert_eq!([shown(0), shown(1_500), shown(10_000)], ["0ms", "1500ms", "10s"]);
        assert_eq!([shown(600_000), shown(86_400_000)], ["10m", "24h"]);
    }
}
