//! Simulated time: whole milliseconds, because that is what the platform's own timestamps carry.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment in a run, in milliseconds since the run began.
///
/// Every run begins at the same calendar moment, [`EPOCH_MS`], so that timestamps an application
/// stores are the same in every process.
///
/// ```
/// use std::time::Duration;
/// use thunderhead_sim::Time;
///
/// let later = Time::ZERO + Duration::from_millis(1_500);
/// assert_eq!(later.to_string(), "1.500s");
/// assert_eq!(later.iso(), "2026-01-01T00:00:01.500Z");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// 2026-01-01T00:00:00Z in Unix milliseconds: the calendar moment at which every run begins.
pub const EPOCH_MS: u64 = 1_767_225_600_000;

impl Time {
    /// The beginning of the run.
    pub const ZERO: Time = Time(0);
    /// A moment no run reaches.
    pub const NEVER: Time = Time(u64::MAX);

    /// The moment `ms` milliseconds into the run.
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms)
    }

    /// Milliseconds since the run began.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// What `Date.now()` would say: milliseconds since 1970.
    pub const fn unix_ms(self) -> u64 {
        EPOCH_MS.saturating_add(self.0)
    }

    /// What `new Date().toISOString()` would say.
    pub fn iso(self) -> String {
        let unix = self.unix_ms();
        let (days, in_day) = (unix / 86_400_000, unix % 86_400_000);
        let (year, month, day) = date(days);
        let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
        let (second, ms) = (in_day / 1000 % 60, in_day % 1000);
        let parts = [
            (year, 4.max(year.max(1).ilog10() + 1), '-'),
            (month, 2, '-'),
            (day, 2, 'T'),
            (hour, 2, ':'),
            (minute, 2, ':'),
            (second, 2, '.'),
            (ms, 3, 'Z'),
        ];
        let mut text = String::with_capacity(24);
        for (number, digits, end) in parts {
            for place in (0..digits).rev() {
                let digit = number / 10_u64.pow(place) % 10;
                text.push(char::from(b'0' + digit as u8));
            }
            text.push(end);
        }
        text
    }
}

/// The year, the month and the day of a day since 1970. Years are counted from March, so that the leap day is last.
pub fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, duration: Duration) -> Time {
        // Not by `as_millis`, which is in 128 bits: this is a part of every call.
        let ms = duration.as_secs().saturating_mul(1_000);
        Time(self.0.saturating_add(ms).saturating_add(duration.subsec_millis().into()))
    }
}

impl Sub for Time {
    type Output = Duration;
    /// The time from `earlier` to `self`; zero when `earlier` is in fact later.
    fn sub(self, earlier: Time) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:03}s", self.0 / 1000, self.0 % 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_crosses_leap_days_and_years() {
        let day = |n: u64| Time::from_ms(n * 86_400_000).iso();
        assert_eq!(day(0), "2026-01-01T00:00:00.000Z");
        assert_eq!(day(59), "2026-03-01T00:00:00.000Z");
        assert_eq!(day(365), "2027-01-01T00:00:00.000Z");
        assert_eq!(day(365 + 365 + 59), "2028-02-29T00:00:00.000Z");
    }

    #[test]
    fn time_never_wraps() {
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Time::ZERO - Time::from_ms(5), Duration::ZERO);
    }
}
