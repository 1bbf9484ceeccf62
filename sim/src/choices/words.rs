//! The lines of a tape in words: `lose_reply on relay → r2.put (2nd)` for `verdict relay>r2.put #2 = 4/8`.
//!
//! What a number stands for depends on the faults that the scenario draws, so both directions are told them. A choice
//! that has no words of its own is told as in `mood 5 of 8 at provider (1st)`.

use std::time::Duration;

use crate::choices::Draw;
use crate::choices::tape::{Deviation, Tape};
use crate::protocol::fault::{Fault, FaultSet};
use crate::protocol::site::{ChoiceKind, OpCode, Site};
use crate::values::call::CallClass;

/// How long an ordinary message travels.
pub(crate) const LATENCIES: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(15),
    Duration::from_millis(30),
];

/// The delays that can be drawn. The later ones outlast the time limit of a call.
pub(crate) const DELAYS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
    Duration::from_secs(60),
    Duration::from_secs(600),
];

/// How long an outage lasts that is drawn. The longer ones last until the storm is over.
pub(crate) const OUTAGES: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(300),
    Duration::from_secs(6 * 3600),
];

/// How long a crashed host stays down.
pub(crate) const DOWNTIMES: [Duration; 4] = [
    Duration::from_millis(10),
    Duration::from_millis(300),
    Duration::from_secs(5),
    Duration::from_secs(60),
];

/// Said of a call that a replica may answer.
const SESSION: &str = " in a session";
/// Said of a call on which nobody can die, because no crash is left or the victim cannot crash.
const SPENT: &str = " without a crash to spare";
const LATE: &str = "late by ";
const LASTS: &str = "lasts for ";
const DOWN: &str = "down for ";
const TRAVELS: &str = "travels for ";
/// The three ways in which a host dies after a poll; only an object has writes to keep or to lose.
const CRASHES: [(&str, u32, u32); 3] = [
    ("crash of ", 1, 2),
    ("crash with its writes kept of ", 1, 3),
    ("crash with its writes lost of ", 2, 3),
];
const EVICTION: &str = "eviction of ";

impl Tape {
    /// Its lines in words, which [`Deviation::from_words`] reads back exactly. `drawn` are the scenario's faults.
    ///
    /// ```
    /// use thunderhead_sim::{Deviation, FaultSet, Tape};
    ///
    /// let tape = Tape(vec!["verdict relay>r2.put #2 = 4/8".parse().unwrap()]);
    /// let words = tape.in_words(FaultSet::explored());
    /// assert_eq!(words, ["lose_reply on relay → r2.put (2nd)"]);
    /// assert_eq!(Deviation::from_words(&words[0], FaultSet::explored()).unwrap(), tape.0[0]);
    /// ```
    pub fn in_words(&self, drawn: FaultSet) -> Vec<String> {
        let mut before = None;
        let lines = self.0.iter().map(|line| {
            // How strong a fault is follows on the fault.
            let told = before.take().and_then(|fault| amount(fault, line));
            let (said, fault) = match told {
                Some(said) => (said, None),
                None => told_of(line, drawn),
            };
            before = fault;
            let exact = Deviation::from_words(&said, drawn).as_ref() == Ok(line);
            if exact { said } else { line.to_string() }
        });
        lines.collect()
    }
}

impl Deviation {
    /// Reads a line of a tape, in words or as numbers.
    pub fn from_words(text: &str, drawn: FaultSet) -> Result<Deviation, String> {
        match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
            Some((said, nth)) if ordinal(nth).is_some() => {
                let nth = ordinal(nth).unwrap_or_default();
                let (site, value, of) = choice(said, drawn)?;
                if nth == 0 || value == 0 || value >= of {
                    return Err(format!(
                        "`{text}` is out of range: turns count from 1, values below {of}"
                    ));
                }
                Ok(Deviation { site, nth, value, of })
            }
            _ => text.parse(),
        }
    }
}

/// A line in words, and the fault that it tells of.
fn told_of(line: &Deviation, drawn: FaultSet) -> (String, Option<Fault>) {
    let (place, nth) = (place(&line.site), counted(line.nth));
    let (value, of, host) = (line.value, line.of, &line.site.host);
    let own = match line.site.kind {
        ChoiceKind::Verdict => {
            let told = verdict(line, drawn);
            if let Some((fault, remark)) = told {
                return (format!("{fault} on {place}{remark} ({nth})"), Some(fault));
            }
            None
        }
        ChoiceKind::Crash => {
            let way = CRASHES.iter().find(|(_, v, o)| (*v, *o) == (value, of));
            way.map(|(way, _, _)| format!("{way}{host}"))
        }
        ChoiceKind::Evict if of == 2 => Some(format!("{EVICTION}{host}")),
        ChoiceKind::Restart => timed(DOWN, &DOWNTIMES, line, &place),
        ChoiceKind::Latency => timed(TRAVELS, &LATENCIES, line, &place),
        _ => None,
    };
    let kind = line.site.kind.name();
    let said = own.unwrap_or_else(|| format!("{kind} {value} of {of} at {place}"));
    (format!("{said} ({nth})"), None)
}

/// How long the fault lasts that was just told, if it is one that lasts.
fn amount(fault: Fault, line: &Deviation) -> Option<String> {
    let (word, table) = match fault {
        Fault::Delay | Fault::LateReply => (LATE, &DELAYS[..]),
        Fault::Outage => (LASTS, &OUTAGES[..]),
        _ => return None,
    };
    let of_it = line.site.kind == ChoiceKind::Amount;
    let said = of_it.then(|| timed(word, table, line, &place(&line.site)))??;
    Some(format!("{said} ({})", counted(line.nth)))
}

fn timed(word: &str, table: &[Duration], line: &Deviation, place: &str) -> Option<String> {
    let by = table.get(line.value as usize).filter(|_| table.len() == line.of as usize)?;
    Some(format!("{word}{by:?} at {place}"))
}

/// The fault behind a verdict, and what else has to be said of the call.
fn verdict(line: &Deviation, drawn: FaultSet) -> Option<(Fault, String)> {
    classes(line.site.op).iter().find_map(|class| {
        let table = Table::of(drawn, *class);
        let spent = table.options(false) == line.of && table.options(true) != line.of;
        let fits = spent || table.options(true) == line.of;
        let fault = table.faults.get(line.value as usize - 1).filter(|_| fits)?;
        // Only of a database is it worth saying: nothing else is read in two ways.
        let both = classes(line.site.op).len() > 1;
        let session = if both && *class == CallClass::Read { SESSION } else { "" };
        Some((*fault, format!("{session}{}", if spent { SPENT } else { "" })))
    })
}

/// The fault that a verdict has drawn.
pub(crate) fn fault_of(line: &Deviation, drawn: FaultSet) -> Option<Fault> {
    verdict(line, drawn).map(|(fault, _)| fault)
}

/// Whether `fault` could have been drawn where this verdict was.
pub(crate) fn offers(draw: &Draw, drawn: FaultSet, fault: Fault) -> bool {
    classes(draw.op).iter().any(|class| {
        let (table, kind) = (Table::of(drawn, *class), fault.kind());
        let spent = table.options(false) == draw.of && table.options(true) != draw.of;
        let fits = spent || table.options(true) == draw.of;
        fits && kind.classes.contains(class) && !(spent && fault.is_crash())
    })
}

/// The site, the value and the number of options that the words before the turn stand for.
fn choice(said: &str, drawn: FaultSet) -> Result<(Site, u32, u32), String> {
    let host = |kind, host: &str| Site { kind, host: host.into(), op: OpCode::NONE };
    for (way, value, of) in CRASHES {
        if let Some(name) = said.strip_prefix(way) {
            return Ok((host(ChoiceKind::Crash, name), value, of));
        }
    }
    if let Some(name) = said.strip_prefix(EVICTION) {
        return Ok((host(ChoiceKind::Evict, name), 1, 2));
    }
    for (word, kind, table) in [
        (LATE, ChoiceKind::Amount, &DELAYS[..]),
        (LASTS, ChoiceKind::Amount, &OUTAGES[..]),
        (DOWN, ChoiceKind::Restart, &DOWNTIMES[..]),
        (TRAVELS, ChoiceKind::Latency, &LATENCIES[..]),
    ] {
        let Some(rest) = said.strip_prefix(word) else { continue };
        let (by, place) = rest.split_once(" at ").ok_or_else(|| unreadable(said))?;
        let value = table.iter().position(|known| format!("{known:?}") == by);
        let value = value.ok_or_else(|| format!("`{by}` is not among {table:?}"))?;
        return Ok((site(kind, place)?, value as u32, table.len() as u32));
    }
    let (word, rest) = said.split_once(' ').ok_or_else(|| unreadable(said))?;
    if let Some(rest) = rest.strip_prefix("on ") {
        return struck(word.parse()?, rest, drawn);
    }
    let kind = ChoiceKind::ALL.into_iter().find(|kind| kind.name() == word);
    let kind = kind.ok_or_else(|| unreadable(said))?;
    let (numbers, place) = rest.split_once(" at ").ok_or_else(|| unreadable(said))?;
    let (value, of) = numbers.split_once(" of ").ok_or_else(|| unreadable(said))?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| unreadable(said));
    Ok((site(kind, place)?, number(value)?, number(of)?))
}

/// The verdict by which `fault` strikes the call in `rest`.
fn struck(fault: Fault, rest: &str, drawn: FaultSet) -> Result<(Site, u32, u32), String> {
    let (rest, crashes) = match rest.strip_suffix(SPENT) {
        Some(rest) => (rest, false),
        None => (rest, true),
    };
    let (rest, session) = match rest.strip_suffix(SESSION) {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let site = site(ChoiceKind::Verdict, rest)?;
    let all = classes(site.op);
    let mut classes =
        all.iter().filter(|class| all.len() == 1 || (**class == CallClass::Read) == session);
    let class = classes.next().ok_or_else(|| format!("`{}` is in no session", site.op.name()))?;
    if !drawn.contains(fault) {
        return Err(format!("`{fault}` is not among the drawn faults, so it cannot strike"));
    }
    let table = Table::of(drawn, *class);
    let at = table.faults.iter().position(|known| *known == fault);
    let value =
        at.ok_or_else(|| format!("`{fault}` cannot strike `{}`", site.op.name()))? as u32 + 1;
    Ok((site, value, table.options(crashes)))
}

/// The verdicts that can be drawn for one class of calls.
struct Table {
    faults: Vec<Fault>,
}

impl Table {
    fn of(drawn: FaultSet, class: CallClass) -> Table {
        Table { faults: drawn.striking(class).collect() }
    }

    /// How many outcomes a verdict has, the benign one included.
    fn options(&self, crashes: bool) -> u32 {
        self.faults.iter().filter(|fault| crashes || !fault.is_crash()).count() as u32 + 1
    }
}

/// The classes that a call of this kind can have. Only a database is read in two ways.
fn classes(op: OpCode) -> &'static [CallClass] {
    match op.name() {
        "fetch" => &[CallClass::Fetch],
        "queue.deliver" | "object.alarm" => &[CallClass::Delivery],
        "r2.notify" => &[CallClass::Event],
        "object.rpc" | "object.connect" => &[CallClass::Rpc],
        "object.message" | "object.push" | "socket.message" | "socket.close" => {
            &[CallClass::Socket]
        }
        "workflow.create" | "workflow.createBatch" => &[CallClass::Create],
        name if name.starts_with("ai.") => &[CallClass::Ai],
        name if name.starts_with("d1.") => &[CallClass::Service, CallClass::Read],
        "kv.get" | "kv.getBulk" | "kv.list" => &[CallClass::Read],
        // Only what an application asks for can be refused; the rest is the engine's own journal.
        name if name.starts_with("workflow.") && op.failures().is_empty() => &[CallClass::Journal],
        _ => &[CallClass::Service],
    }
}

/// `relay → r2.put`, or `relay` for a choice about no call.
fn place(site: &Site) -> String {
    match site.op {
        OpCode::NONE => site.host.to_string(),
        op => format!("{} → {}", site.host, op.name()),
    }
}

fn site(kind: ChoiceKind, place: &str) -> Result<Site, String> {
    let of_call = matches!(kind, ChoiceKind::Latency | ChoiceKind::Verdict | ChoiceKind::Amount);
    if !of_call {
        return Ok(Site { kind, host: place.into(), op: OpCode::NONE });
    }
    let Some((host, call)) = place.rsplit_once(" → ") else {
        // What a service sends by itself travels too.
        return match kind {
            ChoiceKind::Verdict => Err(format!("`{place}` names no call: expected `HOST → CALL`")),
            _ => Ok(Site { kind, host: place.into(), op: OpCode::NONE }),
        };
    };
    let op = OpCode::find(call).ok_or_else(|| {
        let known: Vec<_> = OpCode::all().map(OpCode::name).collect();
        format!("`{call}` is not a call: expected one of {}", known.join(", "))
    })?;
    Ok(Site { kind, host: host.into(), op })
}

fn unreadable(said: &str) -> String {
    format!(
        "`{said}` is not a choice: expected `FAULT on HOST → CALL (1st)` or `KIND 1 of 2 at HOST (1st)`"
    )
}

/// `1st`, `2nd`, `3rd`, `4th`.
fn counted(number: u32) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

fn ordinal(text: &str) -> Option<u32> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok()?;
    (counted(number) == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> String {
        let drawn = FaultSet::explored();
        let tape = Tape(vec![line.parse().unwrap()]);
        let said = tape.in_words(drawn).remove(0);
        assert_eq!(Deviation::from_words(&said, drawn).as_ref(), Ok(&tape.0[0]), "{said}");
        said
    }

    #[test]
    fn every_kind_of_choice_is_told_in_words_and_read_back() {
        for (line, said) in [
            ("verdict charge/ann-o1>fetch #1 = 3/7", "lose_reply on charge/ann-o1 → fetch (1st)"),
            ("verdict web>r2.put #12 = 7/8", "crash_after on web → r2.put (12th)"),
            (
                "verdict web>r2.put #22 = 2/6",
                "fail on web → r2.put without a crash to spare (22nd)",
            ),
            ("verdict web>d1.all #3 = 6/9", "stale_read on web → d1.all in a session (3rd)"),
            (
                "verdict wf/1>workflow.beginStep #1 = 1/3",
                "crash_before on wf/1 → workflow.beginStep (1st)",
            ),
            ("crash relay #1 = 1/2", "crash of relay (1st)"),
            ("crash ROOM:a b #1 = 1/3", "crash with its writes kept of ROOM:a b (1st)"),
            ("crash ROOM:a #4 = 2/3", "crash with its writes lost of ROOM:a (4th)"),
            ("evict ROOM:a #1 = 1/2", "eviction of ROOM:a (1st)"),
            ("restart relay #1 = 2/4", "down for 5s at relay (1st)"),
            ("latency relay>r2.put #1 = 5/6", "travels for 30ms at relay → r2.put (1st)"),
            ("latency workflows #5 = 4/6", "travels for 15ms at workflows (5th)"),
            ("amount relay>r2.put #1 = 1/3", "amount 1 of 3 at relay → r2.put (1st)"),
            ("mood provider #1 = 5/8", "mood 5 of 8 at provider (1st)"),
            ("order relay #113 = 1/3", "order 1 of 3 at relay (113th)"),
        ] {
            assert_eq!(words(line), said);
        }
    }

    #[test]
    fn a_delay_is_followed_by_how_long_it_is() {
        let drawn = FaultSet::explored();
        let lines = ["verdict web>r2.put #1 = 1/8", "amount web>r2.put #1 = 3/5"];
        let tape = Tape(lines.map(|line| line.parse().unwrap()).into());
        let said = tape.in_words(drawn);
        assert_eq!(said, ["delay on web → r2.put (1st)", "late by 60s at web → r2.put (1st)"]);
        assert_eq!(Deviation::from_words(&said[1], drawn), Ok(tape.0[1].clone()));
    }

    #[test]
    fn what_words_cannot_say_exactly_stays_a_number() {
        for line in [
            "verdict web>r2.put #1 = 1/99",
            "crash ROOM:a (1st) #1 = 1/9",
            "mood web>r2.put #1 = 1/2",
            "restart a #1 = 1/7",
        ] {
            words(line);
        }
        assert_eq!(words("mood web>r2.put #1 = 1/2"), "mood web>r2.put #1 = 1/2");
    }

    #[test]
    fn words_that_mean_nothing_are_refused_with_what_would() {
        let drawn = FaultSet::explored();
        for (said, why) in [
            ("lose_repy on web → r2.put (1st)", "unknown fault `lose_repy`"),
            ("lose_event on web → r2.notify (1st)", "not among the drawn faults"),
            ("few_labels on web → r2.put (1st)", "`few_labels` cannot strike `r2.put`"),
            ("fail on web → r2.pot (1st)", "`r2.pot` is not a call"),
            ("fail on web (1st)", "names no call"),
            ("fail on web → r2.put (0th)", "out of range"),
            ("late by 3s at web → r2.put (1st)", "`3s` is not among"),
            ("gloom (1st)", "is not a choice"),
        ] {
            let error = Deviation::from_words(said, drawn).unwrap_err();
            assert!(error.contains(why), "{said}: {error}");
        }
    }
}
