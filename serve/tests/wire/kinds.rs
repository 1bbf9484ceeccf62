//! What can come of a call, over the wire and at the doorway of the simulator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thunderhead::systems;
use thunderhead_props::history::{exchanges, stored};
use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::{ClientRequest, EventKind, Op, Reply, Request, Time, Trace};

use super::log::Try;

/// What came of one request that was sent once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    pub method: String,
    /// How often a handler began to work on it.
    pub begun: usize,
    /// How often it took effect: a put by what is stored, another one by its handler's answer.
    pub done: usize,
    /// Whether its sender learnt what the system answered.
    pub answered: bool,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answered = if self.answered { "answered" } else { "not answered" };
        write!(f, "{} begun {}, done {}, {answered}", self.method, self.begun, self.done)
    }
}

/// What a history says of requests, by their bodies: no two have the same.
#[derive(Debug, Default)]
pub struct Applied {
    begun: BTreeMap<Vec<u8>, usize>,
    ended: BTreeMap<Vec<u8>, usize>,
    /// When it was stored, each time.
    stored: BTreeMap<Vec<u8>, Vec<Time>>,
}

impl Applied {
    pub fn of(trace: &Trace) -> Applied {
        let mut applied = Applied::default();
        for event in trace.events() {
            let (call, counts) = match event.kind {
                EventKind::Begin { call } => (call, &mut applied.begun),
                EventKind::End { call, outcome }
                    if matches!(trace.outcome(outcome), Ok(Reply::Fetch(_))) =>
                {
                    (call, &mut applied.ended)
                }
                _ => continue,
            };
            if let Op::Fetch { request, .. } = trace.op(call) {
                *counts.entry(request.body.bytes().to_vec()).or_insert(0) += 1;
            }
        }
        for put in stored(trace) {
            if let Some(body) = put.body {
                applied
                    .stored
                    .entry(body.bytes().to_vec())
                    .or_default()
                    .push(trace.events()[put.event].at);
            }
        }
        applied
    }

    /// How often a handler began to work on this.
    pub fn begun(&self, tried: &Try) -> usize {
        self.begun.get(&tried.body).copied().unwrap_or_default()
    }

    /// How often it took effect.
    pub fn done(&self, tried: &Try) -> usize {
        self.done_by(tried.method, &tried.body)
    }

    /// When it was stored.
    pub fn stored(&self, tried: &Try) -> Option<Time> {
        self.stored.get(&tried.body)?.last().copied()
    }

    fn done_by(&self, method: &str, body: &[u8]) -> usize {
        match method {
            "PUT" => self.stored.get(body).map_or(0, Vec::len),
            _ => self.ended.get(body).copied().unwrap_or_default(),
        }
    }
}

/// What came of what clients sent over the wire. What they never sent to its end is no call.
pub fn of_tries(tries: &[Try], trace: &Trace) -> BTreeSet<Kind> {
    let applied = Applied::of(trace);
    let whole = tries.iter().filter(|tried| !tried.broken_off);
    whole
        .map(|tried| Kind {
            method: tried.method.into(),
            begun: applied.begun(tried),
            done: applied.done(tried),
            answered: tried.answered().is_some(),
        })
        .collect()
}

/// What comes of the same requests in a simulated storm: the kinds that a search tries a system on.
pub fn simulated(seed: u64) -> BTreeSet<Kind> {
    let system = systems::find("uploads").unwrap();
    let (mut scenario, source) = search::of_seed(system, seed, Sampling::Random, 3);
    scenario.requests = (0..24)
        .map(|number: u64| {
            let method = ["PUT", "GET", "DELETE"][number as usize % 3];
            let path = format!("/acme/{}.jpg?as=ann@acme", number / 6);
            ClientRequest::new(
                Time::from_ms(number * 700),
                method,
                &path,
                format!("{number} ").as_str(),
            )
        })
        .collect();
    let run = search::play(system.reference(), &scenario, &source).expect("the workload fits");
    let applied = Applied::of(&run.trace);
    let asked = exchanges(&run.trace).filter(|exchange| exchange.from.starts_with("client"));
    asked
        .map(|exchange| {
            let Request { method, body, .. } = exchange.request;
            Kind {
                method: method.to_string(),
                begun: applied.begun.get(body.bytes()).copied().unwrap_or_default(),
                done: applied.done_by(method, body.bytes()),
                answered: exchange.response.is_some(),
            }
        })
        .collect()
}
