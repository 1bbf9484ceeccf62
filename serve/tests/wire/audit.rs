//! Compares what clients were told with what is there in the end, and with the history that the server wrote.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_serve::Judged;
use thunderhead_sim::Time;

use super::kinds::Applied;
use super::log::{Log, Try};

/// What the server shows in the end.
#[derive(Clone, Debug, Hash)]
pub struct Shown {
    /// The status and the text of the list.
    pub list: (u16, Vec<u8>),
    /// The bytes of each picture that was ever named.
    pub pictures: BTreeMap<String, Option<Vec<u8>>>,
}

/// Returns what is wrong, and writes down what was seen.
pub fn audit(log: &mut Log, shown: &Shown, judged: &Judged) -> Vec<String> {
    let mut wrong = Vec::new();
    let broken = judged.violations.iter();
    wrong.extend(broken.map(|broken| format!("{}: {}", broken.promise, broken.finding.message)));
    if !judged.at_rest {
        wrong.push("the server stopped before all work was done".into());
    }
    let applied = Applied::of(&judged.trace);
    for (at, tried) in log.tries.iter().enumerate() {
        wrong.extend(once(tried, &applied));
        wrong.extend(read(tried, &log.tries[..at]));
    }
    for (name, found) in &shown.pictures {
        wrong.extend(allowed(name, found.as_deref(), &log.tries, "in the end"));
    }
    wrong.extend(listed(shown));
    see(log, &applied);
    wrong
}

/// A request is handled at most once, exactly once if it was answered, and not at all if its body never ended.
fn once(tried: &Try, applied: &Applied) -> Option<String> {
    let (begun, done) = (applied.begun(tried), applied.done(tried));
    let least = usize::from(tried.answered().is_some());
    let most = usize::from(!tried.broken_off);
    let fits = |times| (least..=most).contains(&times);
    (!fits(begun) || !fits(done)).then(|| {
        let (method, name, tag) = (tried.method, &tried.name, &tried.tag);
        let was = match (tried.answered(), tried.broken_off) {
            (Some(status), _) => format!("was acknowledged with {status}"),
            (None, true) => "broke off in its body".into(),
            (None, false) => "was not answered".into(),
        };
        format!("{method} {name} ({tag}) {was}, began {begun} times and was done {done} times")
    })
}

/// What a client was given for a picture is what it may expect.
fn read(tried: &Try, before: &[Try]) -> Option<String> {
    let status = tried.answered().filter(|_| tried.method == "GET")?;
    let found = tried.answer.as_ref().map(|(_, body)| &**body).filter(|_| status == 200);
    allowed(&tried.name, found, before, &format!("in {}", tried.tag))
}

/// A name holds what the last answered request left there. A request that was not answered may take effect at any time:
/// its packets may be late.
fn allowed(name: &str, found: Option<&[u8]>, tries: &[Try], when: &str) -> Option<String> {
    let writes: Vec<&Try> = tries
        .iter()
        .filter(|tried| tried.name == name && tried.method != "GET" && !tried.broken_off)
        .collect();
    let last = writes.iter().rposition(|tried| tried.answered().is_some());
    let mut possible: Vec<Option<&[u8]>> = vec![last.and_then(|last| left(writes[last]))];
    let open = writes.iter().filter(|tried| tried.answered().is_none());
    possible.extend(open.map(|tried| left(tried)));
    (!possible.contains(&found)).then(|| {
        let text = |bytes: Option<&[u8]>| {
            let tag =
                |bytes: &[u8]| String::from_utf8_lossy(bytes).split('x').next().map(String::from);
            bytes.and_then(tag).unwrap_or_else(|| "nothing".into())
        };
        let possible: Vec<String> = possible.iter().map(|bytes| text(*bytes)).collect();
        format!("{when}, {name} holds {}; it was acknowledged to hold {possible:?}", text(found))
    })
}

/// What a write leaves under its name.
fn left(tried: &Try) -> Option<&[u8]> {
    (tried.method == "PUT").then_some(&*tried.body)
}

/// The list has every picture that is there, classified, and no other.
fn listed(shown: &Shown) -> Option<String> {
    let list: Vec<serde_json::Value> = serde_json::from_slice(&shown.list.1).unwrap_or_default();
    let text =
        |row: &serde_json::Value, field: &str| row[field].as_str().unwrap_or_default().to_string();
    let listed: BTreeSet<(String, String)> =
        list.iter().map(|row| (text(row, "name"), text(row, "status"))).collect();
    let there = shown.pictures.iter().filter(|(_, bytes)| bytes.is_some());
    let expected: BTreeSet<(String, String)> =
        there.map(|(name, _)| (name.clone(), "classified".into())).collect();
    (listed != expected || list.len() != listed.len())
        .then(|| format!("{} {listed:?} is shown and {expected:?} is there", shown.list.0))
}

/// Everything that has to happen in some run.
pub const SOMETIMES: [&str; 18] = [
    "a connection works after a trouble that it lived through",
    "a slow reader gets all its answers",
    "a slow reader is cut off",
    "a stream of changes breaks",
    "a stream of changes comes back",
    "a socket breaks",
    "a socket comes back",
    "one who hears of changes is cut off",
    "a body breaks off",
    "a large body breaks off",
    "a large picture is put",
    "a request is answered at the second try",
    "a request is answered at the third try",
    "a client gives up",
    "a request that was not answered is done",
    "a request is done after its client has given up",
    "the server crashes while a client waits",
    "the server crashes between the beginning of a request and its effect",
];

fn see(log: &mut Log, applied: &Applied) {
    let mut seen = BTreeSet::new();
    for tried in &log.tries {
        let attempt = tried.tag.trim().rsplit('.').next().unwrap_or_default();
        let answered = tried.answered().is_some();
        if tried.broken_off {
            seen.insert("a body breaks off");
        }
        match attempt {
            "1" if answered => drop(seen.insert("a request is answered at the second try")),
            "2" if answered => drop(seen.insert("a request is answered at the third try")),
            "2" => drop(seen.insert("a client gives up")),
            _ => {}
        }
        let done = applied.done(tried) > 0;
        if done && !answered {
            seen.insert("a request that was not answered is done");
        }
        let during = |crash: &&_| (tried.when[0]..=tried.when[1]).contains(*crash);
        let crashed = log.crashes.iter().any(|crash| during(&crash));
        if crashed && !answered {
            seen.insert("the server crashes while a client waits");
        }
        if crashed && applied.begun(tried) > 0 && !done {
            seen.insert("the server crashes between the beginning of a request and its effect");
        }
        let late = |stored: Time| u128::from(stored.as_ms()) > tried.when[1].as_millis();
        if applied.stored(tried).is_some_and(late) {
            seen.insert("a request is done after its client has given up");
        }
    }
    log.seen.extend(seen);
}
