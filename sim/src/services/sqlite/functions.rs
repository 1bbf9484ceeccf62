//! SQL functions that would read the clock or the operating system's randomness, made to repeat.
//!
//! `random()` and `randomblob()` are a hash of the database's seed and of how many draws came
//! before. Date functions take `'now'` for the time the caller has set, and `'localtime'` for UTC,
//! the platform's time zone. `total_changes()` counts from the opening of the database, not of the
//! pooled connection under it.
//!
//! The bundled SQLite is built without its mathematical functions. Those whose result is the same
//! on every machine are added here; sines and logarithms are not, since theirs may differ in the
//! last bit.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::Value;
use super::prepared::Prepared;
use super::shared::Shared;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

const DATE_FUNCTIONS: [&str; 7] =
    ["date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"];
const CURRENT: [(&str, &str); 3] =
    [("current_date", "date"), ("current_time", "time"), ("current_timestamp", "datetime")];

type Mathematics = (&'static str, fn(f64) -> f64);

const MATHEMATICS: [Mathematics; 5] = [
    ("sqrt", f64::sqrt),
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("floor", f64::floor),
    ("trunc", f64::trunc),
];

/// As long as SQLite's own longest blob would be refused anyway.
const MAX_RANDOM_BYTES: i64 = super::limits::MAX_VALUE_BYTES as i64;

thread_local! {
    /// Evaluates SQLite's own date functions, since those of the connection are replaced. It holds
    /// no table and no state of any run.
    static CALENDAR: Prepared =
        Prepared::new(Connection::open_in_memory().expect("an in-memory database opens"));
    /// What it said last, by function and arguments: the time of a row is mostly read more than once.
    static SAID: RefCell<SortedMap<(&'static str, Vec<Value>), Value>> =
        const { RefCell::new(SortedMap::new()) };
}

/// As many answers as one run needs. More would take longer to look through.
const MOST_SAID: usize = 64;

pub(super) fn install(connection: &Connection, shared: &Arc<Shared>) -> rusqlite::Result<()> {
    let volatile = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    // Constant within one statement, as SQLite's own are, and usable in an index.
    let stable = volatile | FunctionFlags::SQLITE_DETERMINISTIC;

    let state = Arc::clone(shared);
    connection
        .create_scalar_function("random", 0, volatile, move |_| Ok(state.draw().cast_signed()))?;
    let state = Arc::clone(shared);
    connection.create_scalar_function("randomblob", 1, volatile, move |context| {
        let length = length(context)?;
        let words = std::iter::repeat_with(|| state.draw().to_le_bytes());
        Ok(words.take(length.div_ceil(8)).flatten().take(length).collect::<Vec<u8>>())
    })?;
    let state = Arc::clone(shared);
    connection.create_scalar_function("total_changes", 0, volatile, move |_| {
        Ok(state.total_changes.load(Relaxed))
    })?;
    for name in DATE_FUNCTIONS {
        let state = Arc::clone(shared);
        connection.create_scalar_function(name, -1, stable, move |context| {
            let arguments = (0..context.len()).map(|i| Value::from(context.get_raw(i)));
            calendar(name, state.now(), arguments.collect())
        })?;
    }
    for (name, function) in MATHEMATICS {
        connection.create_scalar_function(name, 1, stable, move |context| {
            Ok(match Value::from(context.get_raw(0)) {
                Value::Integer(number) if name != "sqrt" => Value::Integer(number),
                Value::Integer(number) => Value::from(function(number as f64)),
                Value::Real(number) => Value::from(function(number.get())),
                Value::Text(text) => text.trim().parse().ok().map(function).into(),
                Value::Null | Value::Blob(_) => Value::Null,
            })
        })?;
    }
    for (name, function) in CURRENT {
        let state = Arc::clone(shared);
        connection.create_scalar_function(name, 0, stable, move |_| {
            calendar(function, state.now(), Vec::new())
        })?;
    }
    Ok(())
}

/// How many bytes are asked for; SQLite gives one where less makes no sense.
fn length(context: &Context<'_>) -> rusqlite::Result<usize> {
    let asked = match Value::from(context.get_raw(0)) {
        Value::Integer(number) => number,
        Value::Real(number) => number.get() as i64,
        Value::Text(text) => text.trim().parse().unwrap_or(1),
        _ => 1,
    };
    if asked > MAX_RANDOM_BYTES {
        let text = Some("string or blob too big".to_owned());
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG);
        return Err(rusqlite::Error::SqliteFailure(code, text));
    }
    Ok(usize::try_from(asked.max(1)).unwrap_or(1))
}

/// Calls a date function of SQLite, after replacing whatever means the present.
fn calendar(
    function: &'static str,
    now: Time,
    mut arguments: Vec<Value>,
) -> rusqlite::Result<Value> {
    let is = |value: &Value, word: &str| matches!(value, Value::Text(text) if text.eq_ignore_ascii_case(word));
    let moments = match function {
        "strftime" => 1..2,
        "timediff" => 0..2,
        _ => 0..1,
    };
    if function != "timediff" && arguments.len() == moments.start {
        arguments.push(Value::Text("now".into()));
    }
    for at in moments.clone() {
        let Some(argument) = arguments.get_mut(at) else { continue };
        if is(argument, "now") {
            *argument = now.iso().into();
        } else if is(argument, "subsec") || is(argument, "subsecond") {
            arguments.insert(at, now.iso().into());
        }
    }
    let mut place = 0;
    arguments.retain(|argument| {
        place += 1;
        place <= moments.end || !(is(argument, "localtime") || is(argument, "utc"))
    });
    let asked = (function, arguments);
    if let Some(said) = SAID.with_borrow(|said| said.get(&asked).cloned()) {
        return Ok(said);
    }
    let marks = "?,".repeat(asked.1.len());
    let sql = format!("select {function}({})", marks.trim_end_matches(','));
    let arguments = rusqlite::params_from_iter(&asked.1);
    let answer: Value = CALENDAR.with(|calendar| {
        calendar.ours(&sql, |statement| {
            statement.query_row(arguments, |row| Ok(Value::from(row.get_ref(0)?)))
        })?
    })?;
    SAID.with_borrow_mut(|said| {
        if said.len() == MOST_SAID {
            said.clear();
        }
        said.insert(asked, answer.clone());
    });
    Ok(answer)
}
