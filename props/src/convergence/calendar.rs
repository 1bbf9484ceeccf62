//! Times of the calendar in a text, in the formats that programs write.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// What stands between a date and a time of day, the longer ones first.
const BETWEEN: [&str; 5] = [", at ", " at ", ", ", " ", "T"];
/// What follows a time of day, the longer ones first.
const ZONES: [&str; 8] = [
    " GMT+0000 (Coordinated Universal Time)",
    " GMT+0000",
    " GMT",
    " UTC",
    " +0000",
    "+0000",
    "+00:00",
    "Z",
];

/// The length of the time with which a text begins, if it begins with one: a date with a time of day, or a time of day
/// with seconds. A date alone is none: a run seldom sees a second one, and a birthday must not be changed.
pub fn time(text: &str) -> Option<usize> {
    let mut rest = Rest(text);
    let has_date = rest.try_to(Rest::compact_date) || rest.try_to(Rest::date);
    if has_date && !BETWEEN.iter().any(|between| rest.skip(between)) {
        return None;
    }
    let has_seconds = rest.clock()?;
    if !(has_date || has_seconds) {
        return None;
    }
    let _ = ZONES.iter().any(|zone| rest.skip(zone));
    // A MAC address goes on.
    let ends = !rest.0.starts_with(|c: char| c == ':' || c.is_ascii_alphanumeric());
    ends.then(|| text.len() - rest.0.len())
}

/// What of a text is not read yet.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn skip(&mut self, start: &str) -> bool {
        let after = self.0.strip_prefix(start);
        self.0 = after.unwrap_or(self.0);
        after.is_some()
    }

    /// Reads something, or nothing.
    fn try_to(&mut self, read: impl Fn(&mut Self) -> Option<()>) -> bool {
        let mut ahead = Rest(self.0);
        let found = read(&mut ahead).is_some();
        if found {
            self.0 = ahead.0;
        }
        found
    }

    /// Reads a number. Returns how many digits it has.
    fn number(&mut self) -> Option<usize> {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        self.0 = &self.0[end..];
        (end > 0).then_some(end)
    }

    fn number_of(&mut self, digits: &[usize]) -> Option<()> {
        self.number().filter(|found| digits.contains(found)).map(drop)
    }

    /// Reads one of these words, or its first three letters.
    fn word_of(&mut self, words: &[&str]) -> Option<()> {
        let end = self.0.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.0.len());
        let word = self.0[..end].to_ascii_lowercase();
        self.0 = &self.0[end..];
        words.iter().any(|known| word == *known || word == known[..3]).then_some(())
    }

    /// `20260131`, in front of `T235959`.
    fn compact_date(&mut self) -> Option<()> {
        self.number_of(&[8])?;
        self.0.starts_with('T').then_some(())
    }

    fn date(&mut self) -> Option<()> {
        (self.try_to(Rest::numbers) || self.try_to(Rest::named)).then_some(())
    }

    /// `2026-01-31`, `1/31/2026` or `31.1.2026`.
    fn numbers(&mut self) -> Option<()> {
        let first = self.number()?;
        let between = ["-", "/", "."].into_iter().find(|between| self.skip(between))?;
        self.number_of(&[1, 2])?;
        let goes_on = self.skip(between);
        let last = self.number().filter(|_| goes_on)?;
        matches!((first, last), (4, 1 | 2) | (1 | 2, 4)).then_some(())
    }

    /// `Sat, 31 Jan 2026`, `Sat Jan 31 2026`, `31-Jan-2026` or `January 31, 2026`.
    fn named(&mut self) -> Option<()> {
        if self.try_to(|rest| rest.word_of(&WEEKDAYS)) {
            self.skip(",");
            self.skip(" ").then_some(())?;
        }
        let has_day = self.try_to(|rest| rest.number_of(&[1, 2]));
        if has_day && !(self.skip(" ") || self.skip("-")) {
            return None;
        }
        self.word_of(&MONTHS)?;
        if !has_day {
            self.skip(" ").then_some(())?;
            self.number_of(&[1, 2])?;
            self.skip(",");
        }
        (self.skip(" ") || self.skip("-")).then_some(())?;
        self.number_of(&[4])
    }

    /// `23:59`, `23:59:59.999`, `11:59:59 PM` or `235959`. Returns whether it has seconds.
    fn clock(&mut self) -> Option<bool> {
        if self.try_to(|rest| rest.number_of(&[6])) {
            return self.0.starts_with('Z').then_some(false);
        }
        self.number_of(&[1, 2])?;
        self.skip(":").then_some(())?;
        self.number_of(&[2])?;
        let has_seconds = self.try_to(|rest| {
            rest.skip(":").then_some(())?;
            rest.number_of(&[2])
        });
        self.try_to(|rest| {
            rest.skip(".").then_some(())?;
            rest.number().map(drop)
        });
        // Before it, the language's own formats have a narrow space.
        self.try_to(|rest| {
            let _ = rest.skip("\u{202f}") || rest.skip(" ");
            ["AM", "PM", "am", "pm"].iter().any(|half| rest.skip(half)).then_some(())
        });
        Some(has_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn a_date_with_a_time_of_day_is_read_in_the_formats_that_programs_write() {
        for text in [
            "Thu, 01 Jan 2026 00:00:01 GMT",
            "Thu, 01-Jan-2026 00:00:01 GMT",
            "Thu Jan 01 2026 00:00:01 GMT+0000 (Coordinated Universal Time)",
            "1/31/2026, 12:00:01 AM",
            "1/31/2026, 12:00:01\u{202f}AM",
            "31.1.2026 12:00",
            "2026/01/31 00:00:01",
            "2026-01-31T00:00:01.000Z",
            "2026-01-31 00:00",
            "20260131T000001Z",
            "Jan 31, 2026 00:00:01",
            "January 31, 2026 at 12:00 AM",
            "00:00:01",
            "12:00:01 AM",
        ] {
            assert_eq!(time(text), Some(text.len()), "{text}");
            assert_eq!(time(&format!("{text}; path=/")), Some(text.len()), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_time_is_none() {
        for text in [
            "2026-01-31",
            "January 31, 2026",
            "Thu",
            "may",
            "12:30",
            "11:22:33:44:55:66",
            "1.2.3",
            "127.0.0.1:80",
            "20260131",
            "20260131T0000",
            "1/2 cup",
            "",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
