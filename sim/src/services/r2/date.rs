//! A calendar date as JavaScript's `Date` has it, because metadata and messages carry dates from
//! before any run began.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::values::time::Time;

/// A calendar moment in milliseconds since 1970; in JSON, the text of `toISOString()`.
///
/// ```
/// use thunderhead_sim::{Time, r2::Date};
///
/// assert_eq!(Date::from(Time::ZERO).to_string(), "2026-01-01T00:00:00.000Z");
/// assert_eq!(Date::from_unix_ms(1_000_000_000_000).http(), "Sun, 09 Sep 2001 01:46:40 GMT");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i64);

const DAY_MS: i64 = 86_400_000;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Date {
    /// The moment `ms` milliseconds after 1970 began.
    pub const fn from_unix_ms(ms: i64) -> Date {
        Date(ms)
    }

    /// Milliseconds since 1970 began.
    pub const fn unix_ms(self) -> i64 {
        self.0
    }

    /// The form HTTP headers use, to the second: what `toUTCString()` says.
    pub fn http(self) -> String {
        let Parts { year, month, day, hour, minute, second, .. } = self.parts();
        let weekday = WEEKDAYS[index(self.0.div_euclid(DAY_MS).rem_euclid(7))];
        let month = MONTHS[index(month - 1)];
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    /// Reads `2026-01-01T00:00:00.000Z`; the fraction may be absent, and is cut to milliseconds.
    pub fn parse_iso(text: &str) -> Option<Date> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [year, month, day] = numbers(date, '-')?;
        let [hour, minute, second] = numbers(clock, ':')?;
        if fraction.is_empty() || !fraction.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let cut = fraction.bytes().chain(*b"00").take(3);
        let ms = cut.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
        Parts { year, month, day, hour, minute, second, ms }.date()
    }

    /// Reads the form HTTP headers use: `Sun, 09 Sep 2001 01:46:40 GMT`.
    pub fn parse_http(text: &str) -> Option<Date> {
        let mut words = text.split_once(", ")?.1.split(' ');
        let mut word = || words.next();
        let day = digits(word()?)?;
        let name = word()?;
        let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
        let year = digits(word()?)?;
        let [hour, minute, second] = numbers(word()?, ':')?;
        let parts = Parts { year, month, day, hour, minute, second, ms: 0 };
        (word()? == "GMT" && word().is_none()).then(|| parts.date())?
    }

    fn parts(self) -> Parts {
        let (days, in_day) = (self.0.div_euclid(DAY_MS), self.0.rem_euclid(DAY_MS));
        // Counting years from March puts the leap day last.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Parts {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            hour: in_day / 3_600_000,
            minute: in_day / 60_000 % 60,
            second: in_day / 1000 % 60,
            ms: in_day % 1000,
        }
    }
}

#[derive(PartialEq)]
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    ms: i64,
}

impl Parts {
    /// The date these parts spell, unless they spell none (the 30th of February, 25 o'clock).
    fn date(self) -> Option<Date> {
        let year = self.year - i64::from(self.month <= 2);
        let from_march = (self.month + 9) % 12;
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * from_march + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        let seconds = self.hour * 3600 + self.minute * 60 + self.second;
        let date = Date(days * DAY_MS + seconds * 1000 + self.ms);
        (date.parts() == self).then_some(date)
    }
}

fn index(number: i64) -> usize {
    usize::try_from(number).expect("months and weekdays are counted from zero")
}

/// At most four digits, so that no sum of ours can overflow.
fn digits(text: &str) -> Option<i64> {
    let plain = (1..=4).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut words = text.split(separator);
    let three = [digits(words.next()?)?, digits(words.next()?)?, digits(words.next()?)?];
    words.next().is_none().then_some(three)
}

impl From<Time> for Date {
    fn from(time: Time) -> Date {
        Date(i64::try_from(time.unix_ms()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { year, month, day, hour, minute, second, ms } = self.parts();
        if !(0..10_000).contains(&year) {
            return write!(
                f,
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"
            );
        }
        // Every notification and every message has a date, and formatting number by number takes
        // several times as long.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let fields =
            [(year, 3), (month, 6), (day, 9), (hour, 12), (minute, 15), (second, 18), (ms, 22)];
        for (mut number, mut at) in fields {
            while number > 0 {
                text[at] = b'0' + (number % 10) as u8;
                number /= 10;
                at = at.saturating_sub(1);
            }
        }
        f.write_str(std::str::from_utf8(&text).expect("digits are ASCII"))
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        let text = String::deserialize(deserializer)?;
        Date::parse_iso(&text).ok_or_else(|| de::Error::custom(format!("not a date: {text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_survive_both_text_forms() {
        for ms in [-1, 0, 951_782_400_000, 1_000_000_000_123, 1_767_225_600_000] {
            let date = Date::from_unix_ms(ms);
            assert_eq!(Date::parse_iso(&date.to_string()), Some(date));
            let seconds = Date::from_unix_ms(ms.div_euclid(1000) * 1000);
            assert_eq!(Date::parse_http(&date.http()), Some(seconds));
        }
        assert_eq!(
            Date::parse_iso("2024-05-24T19:36:44.379Z").unwrap().unix_ms(),
            1_716_579_404_379
        );
        assert_eq!(Date::parse_iso("1970-01-01T00:00:00.1239Z"), Some(Date(123)));
    }

    #[test]
    fn a_date_of_a_run_reads_as_its_time_does() {
        for ms in [0, 1, 5_184_000_000, 99_999_999_999] {
            let time = Time::ZERO + Duration::from_millis(ms);
            assert_eq!(Date::from(time).to_string(), time.iso());
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in ["", "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T25:00:00Z", "TZ", "-T:Z"]
        {
            assert_eq!(Date::parse_iso(text), None, "{text}");
        }
        for text in ["Sun, 09 Foo 2001 01:46:40 GMT", "yesterday", "Sun, 09 Sep 2001 01:46:40 CET"]
        {
            assert_eq!(Date::parse_http(text), None, "{text}");
        }
    }
}
