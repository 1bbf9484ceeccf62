//! When two heaps of records are alike: when they are the same but for names and times that were made anew.
//!
//! Times are struck out. Names (long hexadecimal numbers, UUIDs) are matched: what counts is where each occurs
//! again. To tell that without trying every renaming, each name is coloured by the records in which it occurs, each
//! record by the names that it has, and so on for a few rounds; like heaps have the same colours.

use thunderhead_sim::{EPOCH_MS, SortedMap, StableHasher};

use super::calendar;
use super::columns::Columns;
use super::remains::Record;

/// How often colours are renewed. A chain of more records than this that refer to each other is not told apart.
const ROUNDS: usize = 4;
/// From so many hexadecimal digits on, a number is a name.
const NAME_MIN: usize = 12;

/// A heap of records, each with its colour: the same colour in like heaps.
#[derive(Clone, Debug)]
pub struct Likeness<'a> {
    /// Sorted by colour.
    records: Vec<(u64, &'a Record)>,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Plain(&'a str),
    Name(&'a str),
    Time,
}

impl PartialEq for Likeness<'_> {
    fn eq(&self, other: &Likeness) -> bool {
        self.colours().eq(other.colours())
    }
}

impl<'a> Likeness<'a> {
    /// The colours of records, by every column that is not among `ignored`.
    pub fn of(records: &'a [Record], ignored: &Columns) -> Likeness<'a> {
        let is_ignored = |record: &Record| {
            let row = |name: &str| ignored.has_row(&record.table, name);
            ignored.has_table(&record.table) || record.name().is_some_and(row)
        };
        let records: Vec<&Record> = records.iter().filter(|record| !is_ignored(record)).collect();
        let pieces: Vec<Vec<Piece>> =
            records.iter().map(|record| pieces(record, ignored)).collect();
        let mut colours: SortedMap<&str, u64> = SortedMap::new();
        for piece in pieces.iter().flatten() {
            if let Piece::Name(name) = piece {
                colours.insert(name, 0);
            }
        }
        let colour = |pieces: &[Piece], colours: &SortedMap<&str, u64>| {
            let each: Vec<(u8, &str, u64)> = (pieces.iter())
                .map(|piece| match piece {
                    Piece::Plain(text) => (0, *text, 0),
                    Piece::Name(name) => (1, "", colours[name]),
                    Piece::Time => (2, "", 0),
                })
                .collect();
            StableHasher::of(&each)
        };
        for _ in 0..ROUNDS {
            let mut places: SortedMap<&str, Vec<(u64, usize)>> = SortedMap::new();
            for pieces in &pieces {
                let record = colour(pieces, &colours);
                for (at, piece) in pieces.iter().enumerate() {
                    if let Piece::Name(name) = piece {
                        places.entry(name).or_default().push((record, at));
                    }
                }
            }
            for (name, mut places) in places {
                places.sort_unstable();
                colours.insert(name, StableHasher::of(&places));
            }
        }
        let coloured = pieces.iter().map(|pieces| colour(pieces, &colours));
        let mut records: Vec<(u64, &Record)> = coloured.zip(records).collect();
        records.sort_by_key(|(colour, _)| *colour);
        Likeness { records }
    }

    fn colours(&self) -> impl Iterator<Item = u64> {
        self.records.iter().map(|(colour, _)| *colour)
    }

    /// Every record.
    pub fn records(&self) -> impl Iterator<Item = &'a Record> {
        self.records.iter().map(|(_, record)| *record)
    }

    /// The records that have no like in `other`.
    pub fn without(&self, other: &Likeness) -> Vec<&'a Record> {
        let mut theirs: SortedMap<u64, usize> = SortedMap::new();
        for colour in other.colours() {
            *theirs.entry(colour).or_default() += 1;
        }
        let mine = self.records.iter().filter(|(colour, _)| match theirs.get_mut(colour) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        mine.map(|(_, record)| *record).collect()
    }
}

fn pieces<'a>(record: &'a Record, ignored: &Columns) -> Vec<Piece<'a>> {
    let mut pieces = split(&record.owner);
    pieces.push(Piece::Plain(&record.table));
    for (column, text) in &record.cells {
        if !ignored.has(&record.table, column) {
            pieces.push(Piece::Plain(column));
            pieces.extend(split(text));
        }
    }
    pieces
}

/// The names in a text.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    split(text).into_iter().filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Plain(_) | Piece::Time => None,
    })
}

/// Whether a text says nothing but names and times.
pub fn is_made_anew(text: &str) -> bool {
    let made = |piece: &Piece| matches!(piece, Piece::Name(_) | Piece::Time | Piece::Plain(" "));
    !text.trim().is_empty() && split(text).iter().all(made)
}

/// Whether a text is one line without names and times.
pub fn is_constant(text: &str) -> bool {
    let plain = |piece: &Piece| matches!(piece, Piece::Plain(_));
    !text.contains('\n') && split(text).iter().all(plain)
}

/// Whether two texts are the same but for names and times.
pub fn alike(one: &str, two: &str) -> bool {
    let struck = |piece: Piece| match piece {
        Piece::Plain(text) => (0, text.to_string()),
        Piece::Name(_) => (1, String::new()),
        Piece::Time => (2, String::new()),
    };
    one == two || split(one).into_iter().map(struck).eq(split(two).into_iter().map(struck))
}

/// A text as plain text, names and times, with a space behind it.
fn split(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let found = time(rest).map(|len| (len, Piece::Time));
        let found = found.or_else(|| name(rest).map(|len| (len, Piece::Name(&rest[..len]))));
        let (len, piece) = match found {
            Some((len, piece)) => (len, Some(piece)),
            // A word that is neither is passed over as a whole: its end may look like a name.
            None => (word(rest).max(rest.chars().next().map_or(1, char::len_utf8)), None),
        };
        if let Some(piece) = piece {
            if from < at {
                pieces.push(Piece::Plain(&text[from..at]));
            }
            pieces.push(piece);
            from = at + len;
        }
        at += len;
    }
    if from < text.len() {
        pieces.push(Piece::Plain(&text[from..]));
    }
    pieces.push(Piece::Plain(" "));
    pieces
}

/// How long the word of letters and digits is with which a text begins.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// The length of the name with which a text begins, if it begins with one.
fn name(text: &str) -> Option<usize> {
    const UUID: [usize; 5] = [8, 4, 4, 4, 12];
    let hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut at = 0;
    let uuid = UUID.iter().enumerate().all(|(nth, len)| {
        let begin = at + usize::from(nth > 0);
        let fits = (nth == 0 || text[at..].starts_with('-'))
            && word(text.get(begin..).unwrap_or_default()) == *len
            && hex(&text[begin..begin + len]);
        at = begin + len;
        fits
    });
    if uuid {
        return Some(at);
    }
    let len = word(text);
    (len >= NAME_MIN && hex(&text[..len])).then_some(len)
}

/// The lengths of time that programs count: a number of minutes or of hours since 1970 is a time too. Days are not
/// among them: their numbers are as small as prices, and a run seldom sees a second one.
const WINDOWS_MS: [u64; 7] = [10_000, 60_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000];
/// How long after its beginning a run is still going on. Longer, and more numbers would be taken for times.
const RUN_MS: u64 = 32 * 86_400_000;

/// The length of the time with which a text begins, if it begins with one: seconds or milliseconds of this century,
/// the number of a window of time in which the run may be, or a time of the calendar.
fn time(text: &str) -> Option<usize> {
    let len = word(text);
    let number = text[..len].parse::<u64>().ok();
    if matches!(number, Some(1_600_000_000..4_000_000_000 | 1_600_000_000_000..4_000_000_000_000)) {
        return Some(len);
    }
    let is_window = |number: u64| {
        let windows = WINDOWS_MS.iter().map(|ms| EPOCH_MS / ms..=(EPOCH_MS + RUN_MS) / ms);
        windows.into_iter().any(|windows| windows.contains(&number))
    };
    if number.is_some_and(is_window) {
        return Some(len);
    }
    iso(text).or_else(|| calendar::time(text))
}

/// The length of the ISO date with a time of day with which a text begins, however that is written: names of files have
/// dashes in it.
fn iso(text: &str) -> Option<usize> {
    let date = text.get(..11)?.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T' || byte == b' ',
        _ => byte.is_ascii_digit(),
    });
    let end = |c: char| !(c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T' | 'Z' | ' '));
    date.then(|| text.find(end).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &[&[&str]], two: &[&[&str]]) -> bool {
        let heap = |records: &[&[&str]]| -> Vec<Record> {
            let cell = |text: &&str| ("c".to_string(), text.to_string());
            let record = |texts: &&[&str]| Record {
                owner: "d1".into(),
                table: "t".into(),
                cells: texts.iter().map(cell).collect(),
            };
            records.iter().map(record).collect()
        };
        let none = Columns::default();
        Likeness::of(&heap(one), &none) == Likeness::of(&heap(two), &none)
    }

    const A: &str = "00112233445566778899aabbccddeeff";
    const B: &str = "ffeeddccbbaa99887766554433221100";
    const UUID: &str = "3f0c1de2-7b5a-4c1d-9e0f-0123456789ab";

    #[test]
    fn names_and_times_may_differ_and_nothing_else() {
        assert!(alike(&[&["t", A]], &[&["t", B]]));
        assert!(alike(&[&["t", UUID]], &[&["t", A]]));
        assert!(alike(&[&["at=1735689600000"]], &[&["at=1735689700123"]]));
        assert!(alike(&[&["2025-01-01T00:00:00.000Z"]], &[&["2025-01-02 10:00:00"]]));
        assert!(alike(&[&["at 1/1/2026, 12:00:01 AM"]], &[&["at 1/1/2026, 1:10:01 PM"]]));
        assert!(!alike(&[&["born 1/1/2026"]], &[&["born 1/2/2026"]]));
        let windows = |ms: u64| [EPOCH_MS, EPOCH_MS + 7_000_000].map(|at| (at / ms).to_string());
        for [one, two] in [60_000, 300_000, 3_600_000].map(windows) {
            assert!(alike(&[&[&*one, "1"]], &[&[&*two, "1"]]), "{one} {two}");
            assert!(!alike(&[&[&*one, "1"]], &[&[&*two, "2"]]), "{one} {two}");
        }
        assert!(!alike(&[&["490000"]], &[&["490001"]]), "hours long before");
        assert!(!alike(&[&["t", "1"]], &[&["t", "2"]]));
        assert!(!alike(&[&["t", A]], &[&["t", A], &["t", A]]));
        assert!(!alike(&[&["deadbeef"]], &[&["cafebabe"]]), "too short to be a name");
    }

    #[test]
    fn a_name_that_occurs_again_has_to_occur_again() {
        let (photo, receipt) = (&["photo", A], &["receipt", A]);
        assert!(alike(&[photo, receipt], &[&["receipt", B], &["photo", B]]));
        assert!(!alike(&[photo, receipt], &[photo, &["receipt", B]]));
    }

    #[test]
    fn records_that_differ_only_in_what_refers_to_them_are_told_apart() {
        let one: [&[&str]; 4] = [&["a", A], &["a", B], &["b", A, "x"], &["b", B, "y"]];
        let swapped: [&[&str]; 4] = [&["a", B], &["a", A], &["b", B, "x"], &["b", A, "y"]];
        let both: [&[&str]; 4] = [&["a", A], &["a", B], &["b", A, "x"], &["b", A, "y"]];
        assert!(alike(&one, &swapped));
        assert!(!alike(&one, &both));
    }

    #[test]
    fn the_end_of_a_word_is_no_name() {
        assert_eq!(
            split("x00112233445566778899"),
            [Piece::Plain("x00112233445566778899"), Piece::Plain(" ")]
        );
        let key = format!("k/{A}.jpg");
        assert_eq!(
            split(&key),
            [Piece::Plain("k/"), Piece::Name(A), Piece::Plain(".jpg"), Piece::Plain(" ")]
        );
        assert_eq!(split("é"), [Piece::Plain("é"), Piece::Plain(" ")]);
    }
}
