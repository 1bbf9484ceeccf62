//! Lines that come again and again are shown once.

use super::folded::Line;
use crate::services::sqlite::TIED;
use crate::values::time::Time;

/// A cycle has at most so many lines, and is folded from so many repetitions on.
const CYCLE_MAX: usize = 24;
const REPEATS_MIN: usize = 3;
/// Folding replaces so many lines at least.
const SAVED_MIN: usize = 2;

/// A part of a history.
pub(super) enum Part<'a> {
    Line(&'a Line),
    /// So many lines before this come again, so many times, the last at this time.
    Again {
        lines: usize,
        times: usize,
        until: Time,
    },
}

/// The lines, with every cycle that repeats shown once.
pub(super) fn repeats<'a>(lines: &[&'a Line]) -> Vec<Part<'a>> {
    let patterns: Vec<_> =
        lines.iter().map(|line| (line.actor, &line.pattern, line.marked)).collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let best = (1..=CYCLE_MAX)
            .map(|length| {
                let cycle = |nth: usize| patterns.get(at + nth * length..at + (nth + 1) * length);
                let first = cycle(0);
                let times =
                    (1..).take_while(|nth| first.is_some() && cycle(*nth) == first).count() + 1;
                (length, times)
            })
            .filter(|(length, times)| *times >= REPEATS_MIN && length * (times - 1) >= SAVED_MIN)
            .max_by_key(|(length, times)| (length * times, usize::MAX - length));
        let Some((length, times)) = best else {
            parts.push(Part::Line(lines[at]));
            at += 1;
            continue;
        };
        parts.extend(lines[at..at + length].iter().map(|line| Part::Line(line)));
        let until = lines[at + length * times - 1].at;
        parts.push(Part::Again { lines: length, times: times - 1, until });
        at += length * times;
    }
    parts
}

/// What makes two lines the same to a reader: not their times, nor the numbers of calls, deliveries and retries.
pub(super) fn pattern(text: &str) -> String {
    let mut pattern: Vec<&str> = Vec::new();
    for word in text.split([' ', TIED]) {
        let (name, number) =
            word.trim_end_matches([']', ',', ';']).split_once('#').unwrap_or(("", ""));
        let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        // `#7` is a call, and `5e0638#2` the second delivery of a message.
        let delivery = name.trim_start_matches('[');
        let delivery = delivery.len() == 6 && delivery.bytes().all(|byte| byte.is_ascii_hexdigit());
        let counted = pattern.last() == Some(&"retry");
        pattern.push(match word {
            _ if numbered && name.is_empty() || counted || time(word) => "",
            _ if numbered && delivery => name,
            word => word,
        });
    }
    pattern.join(" ")
}

/// Whether a word is a time of the run: `20.018s`, `@20.018s` and the like, or `at=@20.018s`.
fn time(word: &str) -> bool {
    let word = word.trim_end_matches([']', ',', ';', '}']);
    let word = word.rsplit(['@', '=', '"', ':']).next().unwrap_or(word);
    word.strip_suffix('s').and_then(|word| word.split_once('.')).is_some_and(|(whole, part)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        digits(whole) && digits(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_of_calls_deliveries_and_retries_do_not_tell_lines_apart() {
        for (one, two) in [
            ("call   #7 r2.get a", "call   #12 r2.get a"),
            (
                "queue.deliver q [5e0638#1 5151ff#1] to w",
                "queue.deliver q [5e0638#2 5151ff#3] to w",
            ),
            ("settle q 5e0638 retried at 6.006s on #2", "settle q 5e0638 retried at 12.010s on #4"),
            ("object.alarm ROOM:a retry 2", "object.alarm ROOM:a retry 3"),
            ("select x [@1.000s] = 0 rows", "select x [@2.000s] = 0 rows"),
        ] {
            assert_eq!(pattern(one), pattern(two));
        }
        for (one, two) in [
            ("insert Upload#1 a", "insert Upload#2 a"),
            ("settle q 5e0638 acked on #2", "settle q 5151ff acked on #2"),
            ("r2.get a", "r2.get b"),
        ] {
            assert_ne!(pattern(one), pattern(two));
        }
    }
}
