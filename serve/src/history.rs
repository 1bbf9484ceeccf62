//! What happened to one upload: of the history that a server with `--trace` writes, the events that concern it, as a
//! page in the look of the viewer.

mod relevant;
mod shortened;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use thunderhead_sim::{Page, Time, Trace};

use relevant::About;

/// So much of the history is looked through, from its end.
const LOOKED_THROUGH: i64 = 256 << 20;
/// So many events are shown at most, the last ones.
const EVENTS_MOST: usize = 1_000;

/// An upload, by its organisation and its name there.
#[derive(Clone, Debug)]
pub struct Upload {
    pub organisation: String,
    pub name: String,
}

impl Upload {
    /// Reads a key such as `acme/cat.jpg`.
    pub fn of(key: &str) -> Option<Upload> {
        let (organisation, name) = key.split_once('/')?;
        let is_one = !organisation.is_empty() && !name.is_empty();
        is_one.then(|| Upload { organisation: organisation.into(), name: name.into() })
    }

    pub fn key(&self) -> String {
        format!("{}/{}", self.organisation, self.name)
    }
}

/// The page of an upload; none when the history does not tell of it.
pub fn page(folder: &Path, upload: &Upload) -> Result<Option<String>, String> {
    let mut found = Found { about: About::new(upload), lines: VecDeque::new(), more: false };
    let earlier = read(folder, |line| found.take(line)).map_err(|error| error.to_string())?;
    if found.lines.is_empty() {
        return Ok(None);
    }
    let began = found.begin();
    let mut notes = vec![format!("Times are counted from {}.", Time::from_ms(began).iso())];
    if found.more || earlier {
        notes.push("What happened earlier is left out here; it is in the data directory.".into());
    }
    let trace = Trace::from_jsonl(&found.text()).map_err(|error| error.to_string())?;
    let title = format!("What happened to {}", upload.name);
    Ok(Some(trace.to_page(&Page { title: &title, notes: &notes, ..Page::default() })))
}

/// Gives every line of the history to `take`, the oldest first. Returns whether some were left out.
fn read(folder: &Path, mut take: impl FnMut(&str)) -> rusqlite::Result<bool> {
    // A reader of its own: in WAL mode it keeps nobody from writing.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(folder.join("cloud.db"), flags)?;
    let mut sizes =
        db.prepare("select rowid, octet_length(lines) from history order by rowid desc")?;
    let mut sizes = sizes.query([])?;
    let (mut first, mut size, mut left_out) = (i64::MAX, 0, false);
    while let Some(row) = sizes.next()? {
        size += row.get::<_, i64>(1)?;
        if size > LOOKED_THROUGH {
            left_out = true;
            break;
        }
        first = row.get(0)?;
    }
    let mut rows = db.prepare("select lines from history where rowid >= ? order by rowid")?;
    let mut rows = rows.query([first])?;
    while let Some(row) = rows.next()? {
        row.get_ref(0)?.as_str()?.lines().for_each(&mut take);
    }
    Ok(left_out)
}

/// The events that were found.
struct Found {
    about: About,
    lines: VecDeque<Value>,
    /// Whether there were more than are kept.
    more: bool,
}

impl Found {
    fn take(&mut self, line: &str) {
        if !self.about.may_concern(line) {
            return;
        }
        let Ok(mut line) = serde_json::from_str::<Value>(line) else { return };
        if !self.about.concerns(&mut line) {
            return;
        }
        shortened::shorten(&mut line);
        self.lines.push_back(line);
        if self.lines.len() > EVENTS_MOST {
            self.lines.pop_front();
            self.more = true;
        }
    }

    /// Counts times from the first event, which is returned, and calls from 0.
    fn begin(&mut self) -> u64 {
        let began = self.lines.front().and_then(|line| line["at"].as_u64()).unwrap_or(0);
        let mut calls = BTreeMap::new();
        for line in &mut self.lines {
            line["at"] = line["at"].as_u64().unwrap_or(0).saturating_sub(began).into();
            if let Some(call) = line["call"].as_u64() {
                let next = calls.len();
                line["call"] = (*calls.entry(call).or_insert(next)).into();
            }
        }
        began
    }

    /// The lines of a trace. An event of a call whose question is among those left out is left out too.
    fn text(&self) -> String {
        let mut asked = BTreeSet::new();
        let mut text = String::new();
        for line in &self.lines {
            if let Some(call) = line["call"].as_u64() {
                if line.get("op").is_some() {
                    asked.insert(call);
                }
                if !asked.contains(&call) {
                    continue;
                }
            }
            text += &format!("{line}\n");
        }
        text
    }
}
