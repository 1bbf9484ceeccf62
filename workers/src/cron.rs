//! The times at which a cron trigger is due.

use std::ops::RangeInclusive;

use thunderhead_sim::date;

/// The method of the request with which a trigger fires. Its path is the trigger.
pub const SCHEDULED: &str = "SCHEDULED";
/// The header of that request which says when the trigger was due, in milliseconds since 1970.
pub const DUE: &str = "scheduled-time";

/// The path of the request with which a trigger fires.
pub fn path(trigger: &str) -> String {
    format!("/{}", trigger.replace(' ', "+"))
}

/// The trigger that is the path of a request.
pub fn trigger(path: &str) -> String {
    path.trim_start_matches('/').replace('+', " ")
}

/// A trigger as the platform reads it: minutes, hours, days, months and days of the week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: Vec<u64>,
    hours: Vec<u64>,
    days: Vec<u64>,
    months: Vec<u64>,
    weekdays: Vec<u64>,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
/// On this platform Sunday is 1.
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const MINUTE_MS: u64 = 60_000;
const DAY_MINUTES: u64 = 24 * 60;
/// No trigger is due more rarely than in leap years.
const DAYS_MAX: u64 = 8 * 366;

impl Cron {
    /// Reads a trigger; none if it uses more than numbers, names, ranges, steps and lists.
    pub fn parse(text: &str) -> Option<Cron> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        Some(Cron {
            minutes: field(minutes, 0..=59, &[])?,
            hours: field(hours, 0..=23, &[])?,
            days: field(days, 1..=31, &[])?,
            months: field(months, 1..=12, &MONTHS)?,
            weekdays: field(weekdays, 1..=7, &WEEKDAYS)?,
        })
    }

    /// The last time at which it was due, in milliseconds since 1970.
    pub fn last(&self, now: u64) -> Option<u64> {
        let minute = now / MINUTE_MS;
        self.first((0..=minute).rev(), minute)
    }

    /// The next time at which it is due.
    pub fn next(&self, now: u64) -> Option<u64> {
        let minute = now / MINUTE_MS;
        self.first(minute + 1.., minute)
    }

    /// The first of these minutes at which it is due. A day on which it is not is passed over.
    fn first(&self, minutes: impl Iterator<Item = u64>, from: u64) -> Option<u64> {
        let near = minutes.take_while(|at| at.abs_diff(from) < DAYS_MAX * DAY_MINUTES);
        let mut passed = None;
        for minute in near {
            let day = minute / DAY_MINUTES;
            if passed == Some(day) {
                continue;
            }
            if !self.is_due_on(day) {
                passed = Some(day);
                continue;
            }
            let (hour, minute_of_hour) = (minute / 60 % 24, minute % 60);
            if self.hours.contains(&hour) && self.minutes.contains(&minute_of_hour) {
                return Some(minute * MINUTE_MS);
            }
        }
        None
    }

    fn is_due_on(&self, day: u64) -> bool {
        let (_, month, day_of_month) = date(day);
        // The first of January 1970 was a Thursday.
        let weekday = (day + 4) % 7 + 1;
        let (by_day, by_weekday) =
            (self.days.contains(&day_of_month), self.weekdays.contains(&weekday));
        let is_due = match (self.days.len() == 31, self.weekdays.len() == 7) {
            // If both are restricted, either will do.
            (false, false) => by_day || by_weekday,
            _ => by_day && by_weekday,
        };
        self.months.contains(&month) && is_due
    }
}

/// The numbers that a field stands for.
fn field(text: &str, range: RangeInclusive<u64>, names: &[&str]) -> Option<Vec<u64>> {
    let number = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = named.map(|at| range.start() + at as u64).or_else(|| text.parse().ok());
        number.filter(|number| range.contains(number))
    };
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (span, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: usize = step.parse().ok().filter(|step| *step > 0)?;
        let (first, last) = match span.split_once('-') {
            _ if span == "*" || span == "?" => (*range.start(), *range.end()),
            Some((first, last)) => (number(first)?, number(last)?),
            // With a step, a single number begins a range.
            None if part.contains('/') => (number(span)?, *range.end()),
            None => (number(span)?, number(span)?),
        };
        // Behind the end it goes on at the beginning: `FRI-MON` is a weekend and two days more.
        match first > last {
            false => numbers.extend((first..=last).step_by(step)),
            true => {
                numbers.extend((first..=*range.end()).chain(*range.start()..=last).step_by(step))
            }
        }
    }
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thursday, the first of January 2026, at half past ten and seven seconds.
    const NOW: u64 = 1_767_263_407_000;

    fn shown(unix_ms: Option<u64>) -> String {
        let (day, minute) = unix_ms.map_or((0, 0), |ms| (ms / 86_400_000, ms / MINUTE_MS % 1_440));
        let (year, month, day) = date(day);
        format!("{year}-{month:02}-{day:02} {:02}:{:02}", minute / 60, minute % 60)
    }

    #[test]
    fn a_trigger_was_due_and_is_due_on_its_grid() {
        for (text, last, next) in [
            ("* * * * *", "2026-01-01 10:30", "2026-01-01 10:31"),
            ("*/20 * * * *", "2026-01-01 10:20", "2026-01-01 10:40"),
            ("0 * * * *", "2026-01-01 10:00", "2026-01-01 11:00"),
            ("15,45 9-17/4 * * *", "2026-01-01 09:45", "2026-01-01 13:15"),
            ("0 3 * * *", "2026-01-01 03:00", "2026-01-02 03:00"),
            ("0 9 * * MON-FRI", "2026-01-01 09:00", "2026-01-02 09:00"),
            ("0 9 * * 1", "2025-12-28 09:00", "2026-01-04 09:00"),
            ("0 0 1 */6 *", "2026-01-01 00:00", "2026-07-01 00:00"),
            ("0 0 29 feb *", "2024-02-29 00:00", "2028-02-29 00:00"),
            ("0 22-2,12 * * *", "2026-01-01 02:00", "2026-01-01 12:00"),
            ("0 0 * * FRI-MON", "2025-12-29 00:00", "2026-01-02 00:00"),
            ("30 10 13 * FRI", "2025-12-26 10:30", "2026-01-02 10:30"),
        ] {
            let cron = Cron::parse(text).unwrap();
            assert_eq!((&*shown(cron.last(NOW)), &*shown(cron.next(NOW))), (last, next), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_or_is_never_due_has_no_time() {
        for text in ["", "* * * *", "60 * * * *", "* * * * L", "a * * * *", "*/0 * * * *"] {
            assert_eq!(Cron::parse(text), None, "{text}");
        }
        let never = Cron::parse("0 0 30 2 *").unwrap();
        assert_eq!((never.last(NOW), never.next(NOW)), (None, None));
    }
}
