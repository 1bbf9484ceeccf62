//! How two heaps of records differ, cell by cell.

use thunderhead_sim::SortedSet;

use super::columns::{self, Columns};
use super::likeness::{Likeness, alike, is_constant, is_made_anew, names};
use super::remains::Record;

/// What one heap has and the other has not.
#[derive(Debug)]
pub enum Difference<'a> {
    /// Two records are the same but for some columns.
    Cells { storm: &'a Record, calm: &'a Record, columns: Vec<&'a str> },
    /// Two records are the same but for names that occur elsewhere, too, in other places each.
    Names { storm: &'a Record, column: &'a str, storm_has: Places, calm_has: Places },
    /// A record that only the storm leaves, or leaves more often.
    More(&'a Record, Times),
    /// A record that only the calm leaves, or leaves more often.
    Less(&'a Record, Times),
}

/// How many records like it the storm leaves, and how many the calm.
pub type Times = (usize, usize);

/// The columns in which a name occurs.
type Places = SortedSet<String>;

/// Every difference, the smallest first: records are compared with those that they share most with.
pub fn differences<'a>(
    storm: &Likeness<'a>,
    calm: &Likeness<'a>,
    ignored: &Columns,
) -> Vec<Difference<'a>> {
    let (more, mut less) = (storm.without(calm), calm.without(storm));
    let times = |record: &Record| {
        let like = |other: &&Record| {
            same_kind(record, other) && differing(record, other, ignored).is_empty()
        };
        (storm.records().filter(like).count(), calm.records().filter(like).count())
    };
    let mut found = Vec::new();
    for record in more {
        let near = less.iter().enumerate().filter(|(_, other)| same_kind(record, other));
        let near = near.map(|(at, other)| (differing(record, other, ignored), at));
        let shared = |columns: &[&str]| columns.len() < record.cells.len();
        match near.min_by_key(|(columns, _)| columns.len()).filter(|(columns, _)| shared(columns)) {
            Some((columns, at)) => {
                let other = less.remove(at);
                let named =
                    if columns.is_empty() { renamed(record, storm, other, calm) } else { None };
                let cells = Difference::Cells { storm: record, calm: other, columns };
                found.push(named.unwrap_or(cells));
            }
            None => found.push(Difference::More(record, times(record))),
        }
    }
    found.extend(less.into_iter().map(|record| Difference::Less(record, times(record))));
    found.sort_by_key(Difference::size);
    found
}

/// The first column of two records that has a name which occurs in other places in each heap.
fn renamed<'a>(
    record: &'a Record,
    storm: &Likeness<'a>,
    other: &'a Record,
    calm: &Likeness<'a>,
) -> Option<Difference<'a>> {
    let places = |heap: &Likeness, text: &str, but: &str| -> Places {
        let wanted: SortedSet<&str> = names(text).collect();
        let cells = heap.records().flat_map(|record| {
            record.cells.iter().map(|(column, text)| (columns::name(&record.table, column), text))
        });
        let having = cells.filter(|(_, text)| names(text).any(|name| wanted.contains(name)));
        having.map(|(place, _)| place).filter(|place| place != but).collect()
    };
    record.cells.iter().zip(&other.cells).find_map(|((column, mine), (_, theirs))| {
        let here = columns::name(&record.table, column);
        let (storm_has, calm_has) = (places(storm, mine, &here), places(calm, theirs, &here));
        let differ = storm_has != calm_has;
        differ.then_some(Difference::Names { storm: record, column, storm_has, calm_has })
    })
}

fn same_kind(one: &Record, two: &Record) -> bool {
    one.table == two.table && alike(&one.owner, &two.owner)
}

/// The columns in which two records differ, names and times apart.
fn differing<'a>(one: &'a Record, two: &'a Record, ignored: &Columns) -> Vec<&'a str> {
    let text = |record: &'a Record, column: &str| {
        record.cells.iter().find(|(name, _)| name == column).map(|(_, text)| text.as_str())
    };
    let mine = one
        .cells
        .iter()
        .filter(|(column, mine)| !text(two, column).is_some_and(|other| alike(mine, other)));
    let theirs = two.cells.iter().filter(|(column, _)| text(one, column).is_none());
    let columns = mine.chain(theirs).map(|(column, _)| &**column);
    columns.filter(|column| !ignored.has(&one.table, column)).collect()
}

impl Difference<'_> {
    fn size(&self) -> usize {
        match self {
            Difference::Cells { columns, .. } if !columns.is_empty() => columns.len(),
            Difference::More(..) | Difference::Less(..) => 1_000,
            // Only names differ, which may be because of another difference.
            Difference::Names { .. } => 2_000,
            Difference::Cells { .. } => 3_000,
        }
    }

    /// The record that it is about, when the storm leaves one.
    pub fn left_by_the_storm(&self) -> Option<&Record> {
        match self {
            Difference::Cells { storm, .. }
            | Difference::Names { storm, .. }
            | Difference::More(storm, _) => Some(storm),
            Difference::Less(..) => None,
        }
    }

    /// The columns that would have to be left out for the two to be alike.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Difference::Cells { storm, columns, .. } if !columns.is_empty() => {
                let mut names: Vec<String> =
                    columns.iter().map(|column| columns::name(&storm.table, column)).collect();
                names.sort();
                names.dedup();
                names
            }
            Difference::Names { storm, column, .. } => vec![columns::name(&storm.table, column)],
            Difference::Cells { storm: record, .. }
            | Difference::More(record, _)
            | Difference::Less(record, _) => vec![format!("{}.*", record.table)],
        }
    }

    /// What would have to be ignored for the first of the two to be left out: the columns, or the one row if it has a key
    /// that is the same in every run.
    pub fn remedies(&self) -> Vec<String> {
        let (Difference::More(record, _) | Difference::Less(record, _)) = self else {
            return self.columns();
        };
        let has_key = record.cells.first().is_some_and(|(column, _)| column == "key");
        let key = record.name().filter(|key| has_key && is_constant(key));
        key.map_or_else(|| self.columns(), |key| vec![format!("{}[{key}]", record.table)])
    }

    /// In a sentence or two, with the values on both sides.
    pub fn told(&self) -> String {
        match self {
            Difference::More(record, (_, 0)) => {
                format!("the storm leaves {}, and the calm does not", whole(record))
            }
            Difference::Less(record, (0, _)) => {
                format!("the calm leaves {}, and the storm does not", whole(record))
            }
            Difference::More(record, (storm, calm)) | Difference::Less(record, (storm, calm)) => {
                format!(
                    "the storm leaves {} {}, and the calm {}, names and times apart",
                    whole(record),
                    how_often(*storm),
                    how_often(*calm)
                )
            }
            Difference::Names { storm, column, storm_has, calm_has } => format!(
                "in {}, the name in `{column}` occurs {} after the storm and {} in the calm",
                whole(storm),
                also(storm_has),
                also(calm_has)
            ),
            Difference::Cells { storm, calm, columns } if columns.is_empty() => format!(
                "{} is as in the calm, but for what its names refer to: in the calm it is {}",
                whole(storm),
                whole(calm)
            ),
            Difference::Cells { storm, calm, columns } => {
                let column = columns[0];
                let others = match columns.len() {
                    1 => String::new(),
                    2 => " (another column differs as well)".into(),
                    len => format!(" ({} other columns differ as well)", len - 1),
                };
                format!(
                    "in {}, `{column}` is {} after the storm and {} in the calm{others}",
                    place(storm, columns),
                    value(storm, column),
                    value(calm, column)
                )
            }
        }
    }
}

fn how_often(times: usize) -> String {
    match times {
        0 => "never".into(),
        1 => "once".into(),
        2 => "twice".into(),
        more => format!("{more} times"),
    }
}

/// At most so many characters of a value are shown.
const VALUE_SHOWN: usize = 60;
/// At most so many cells of a record are shown.
const CELLS_SHOWN: usize = 3;

fn value(record: &Record, column: &str) -> String {
    match record.cells.iter().find(|(name, _)| name == column) {
        Some((_, text)) => format!("`{}`", short(text)),
        None => "not there".into(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(VALUE_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn also(places: &Places) -> String {
    match places.iter().map(String::as_str).collect::<Vec<_>>().join(" and ") {
        none if none.is_empty() => "nowhere else".into(),
        places => format!("also in {places}"),
    }
}

fn whole(record: &Record) -> String {
    place(record, &[])
}

/// Where a record is, with its first cells that are not made anew in every run.
fn place(record: &Record, but: &[&str]) -> String {
    let mut telling: Vec<&(String, String)> = record.cells.iter().collect();
    telling.sort_by_key(|(_, text)| is_made_anew(text));
    let cells = telling.into_iter().filter(|(column, _)| !but.contains(&&**column));
    let cells = cells.take(CELLS_SHOWN).map(|(column, text)| format!("{column}={}", short(text)));
    let cells = cells.collect::<Vec<_>>().join(", ");
    match &*record.owner {
        "r2" => format!("the object of bucket {} ({cells})", record.table),
        "kv" => format!("the value in namespace {} ({cells})", record.table),
        owner => format!("the row of {} in {owner} ({cells})", record.table),
    }
}
