//! What is sent to a Worker: the requests of its files as they are written, or drawn from them.

use std::sync::Arc;
use std::time::Duration;

use thunderhead_sim::{ClientRequest, Request, Rng, SortedMap, SortedSet, Time, answers};

use super::Worker;
use crate::cron::{Cron, DUE, SCHEDULED, path, trigger};
use crate::storm_http::{Entry, Event};
use crate::storm_ts::{Sent, StormTs};

/// How often a client tries again: until it is answered, or until long after the storm. What is missing in the end is
/// then the Worker's fault.
const RETRIES: u32 = 90;
/// The times between two requests that a workload draws from: at once, racing, close, and far apart.
const GAPS_MS: [u64; 5] = [0, 3, 40, 1_000, 6_000];
/// The most requests that are drawn, beside those whose answers they use. A file that has no more is played as it is
/// written by half of the seeds.
const MOST: u32 = 4;
/// The time between two requests that are played one by one: long enough for a queue, an alarm and a workflow.
const ONE_BY_ONE: Duration = Duration::from_secs(60);
/// How long after the last request every cron trigger fires: long after the storm.
const AFTERWARDS: Duration = Duration::from_secs(2 * 60 * 60);

impl Worker {
    pub(super) fn smallest(&self) -> Vec<ClientRequest> {
        let requests = match self.sender() {
            Some(script) => {
                self.scripted_workload(script, &mut Rng::new(0)).into_iter().take(1).collect()
            }
            None => vec![self.sent(&self.storm.entries[0], Time::ZERO)],
        };
        self.with_next_firings(requests)
    }

    /// What `storm.ts` sends. It was tried when the file was read, so an error now depends on what was drawn. Then
    /// nothing is sent, and [`Worker::wrong`] tells of it when the search is over.
    fn scripted_workload(&self, script: &StormTs, rng: &mut Rng) -> Vec<ClientRequest> {
        let drawn = script.drawn(rng).unwrap_or_else(|why| {
            // Another thread may have been first, and one error will do.
            let _ = self.wrong.set(format!("{}: the workload: {why}", script.file()));
            Vec::new()
        });
        drawn.iter().map(|sent| self.scripted_request(sent)).collect()
    }

    fn scripted_request(&self, sent: &Sent) -> ClientRequest {
        self.sent(&Entry::new(sent.event(), 0), sent.at())
    }

    /// Every request of the file once, each as long after the one before it as the file says, or else long after it.
    pub fn one_by_one(&self) -> Vec<ClientRequest> {
        if let Some(script) = self.sender() {
            let drawn = self.scripted_workload(script, &mut Rng::new(0)).into_iter();
            return drawn.map(|sent| ClientRequest { retries: 0, ..sent }).collect();
        }
        let mut at = Time::ZERO;
        let mut requests = Vec::new();
        for entry in &self.storm.entries {
            if !requests.is_empty() {
                at = at + entry.after.unwrap_or(ONE_BY_ONE);
            }
            requests.push(ClientRequest { retries: 0, ..self.sent(entry, at) });
        }
        set_due_times(&mut requests);
        requests
    }

    pub(super) fn workload(&self, rng: &mut Rng) -> Vec<ClientRequest> {
        let requests = match self.sender() {
            Some(script) => self.scripted_workload(script, rng),
            None => self.drawn(rng),
        };
        self.with_next_firings(requests)
    }

    /// The same requests, and long after the storm the next firing of every trigger: those that are among them, and
    /// those that the Worker has. It finds what was left half done.
    pub(super) fn with_next_firings(&self, mut requests: Vec<ClientRequest>) -> Vec<ClientRequest> {
        let Some(last) = requests.iter().map(|sent| sent.at).max() else { return requests };
        let played: Vec<String> = requests
            .iter()
            .filter(|sent| sent.request.method == SCHEDULED)
            .map(|sent| trigger(&sent.request.path))
            .collect();
        let all: SortedSet<&String> = played.iter().chain(&self.triggers).collect();
        requests.extend(all.into_iter().map(|cron| self.firing(cron, last + AFTERWARDS)));
        set_due_times(&mut requests);
        requests
    }

    fn firing(&self, cron: &str, at: Time) -> ClientRequest {
        let to = Some(self.app().cron().into());
        ClientRequest { to, ..ClientRequest::new(at, SCHEDULED, &path(cron), "") }
    }

    /// Requests of the file, in its order or in any other.
    fn drawn(&self, rng: &mut Rng) -> Vec<ClientRequest> {
        let all = u32::try_from(self.storm.entries.len()).unwrap_or(u32::MAX);
        let as_written = (2..=MOST).contains(&all) && rng.below(2) == 0;
        let count = if as_written { all } else { 1 + rng.below(MOST) };
        let mut at = Time::ZERO;
        let mut drawn = Drawn { worker: self, requests: Vec::new(), latest: SortedMap::new() };
        for turn in 0..count {
            let entry =
                &self.storm.entries[if as_written { turn } else { rng.below(all) } as usize];
            let gap = Duration::from_millis(GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize]);
            if turn > 0 {
                at = at + entry.after.filter(|_| as_written).unwrap_or(gap);
            }
            if as_written {
                drawn.requests.push(self.sent(entry, at));
            } else {
                drawn.add(entry, at);
            }
        }
        drawn.requests
    }

    fn sent(&self, entry: &Entry, at: Time) -> ClientRequest {
        let name = entry.name.as_deref();
        let tried_again = |request: &Request, to: &str| ClientRequest {
            from: client(name).into(),
            name: name.map(Arc::from),
            request: request.clone(),
            to: Some(to.into()),
            ..ClientRequest::new(at, "", "", "").retried(RETRIES)
        };
        match &entry.event {
            Event::Request(request) => tried_again(request, self.app().name()),
            Event::Email(request) => tried_again(request, &self.app().mail()),
            Event::Message(request) => tried_again(request, &self.app().sender()),
            // A trigger that is missed is not tried again: see `with_next_firings`.
            Event::Scheduled(cron) => self.firing(cron, at),
        }
    }
}

/// The client that sends a request. Two requests with names may be equal, and their clients tell them apart.
fn client(name: Option<&str>) -> String {
    name.map_or("client".into(), |name| format!("client {name}"))
}

/// Whether an actor is such a client. No Worker has a space in its name.
pub fn is_client(actor: &str) -> bool {
    actor == "client" || actor.starts_with("client ")
}

/// Requests that were drawn, any of them several times.
struct Drawn<'a> {
    worker: &'a Worker,
    requests: Vec<ClientRequest>,
    /// The last request of each name in the file, by the name that it has here.
    latest: SortedMap<&'a str, String>,
}

impl<'a> Drawn<'a> {
    /// Adds a request, and before it those whose answers it uses and that are not there yet.
    fn add(&mut self, entry: &'a Entry, at: Time) {
        let entries = &self.worker.storm.entries;
        let place = |name: &String| entries.iter().position(|e| e.name.as_ref() == Some(name));
        let mut needed: SortedSet<usize> = SortedSet::new();
        let mut uses: Vec<&String> = entry.uses.iter().collect();
        while let Some(used) = uses.pop() {
            let missing = place(used).filter(|_| !self.latest.contains_key(&**used));
            if let Some(missing) = missing.filter(|missing| needed.insert(*missing)) {
                uses.extend(&entries[missing].uses);
            }
        }
        // A request only uses those above it in the file.
        needed.into_iter().for_each(|needed| self.add_one(&entries[needed], at));
        self.add_one(entry, at);
    }

    fn add_one(&mut self, entry: &'a Entry, at: Time) {
        let mut sent = self.worker.sent(entry, at);
        if !entry.uses.is_empty() {
            let renamed = answers::renamed(&sent.request, |name| self.latest.get(name).cloned());
            sent.request = renamed.into_owned();
        }
        if let Some(name) = &entry.name {
            let own = self.own_name(name);
            (sent.from, sent.name) = (client(Some(&own)).into(), Some(own.as_str().into()));
            self.latest.insert(name, own);
        }
        self.requests.push(sent);
    }

    /// A name that no other request has.
    fn own_name(&self, name: &str) -> String {
        let is_drawn =
            |own: &str| self.requests.iter().any(|sent| sent.name.as_deref() == Some(own));
        let entries = &self.worker.storm.entries;
        let is_in_file = |own: &str| entries.iter().any(|entry| entry.name.as_deref() == Some(own));
        let mut own = name.to_string();
        let mut nth = 1;
        while is_drawn(&own) || nth > 1 && is_in_file(&own) {
            nth += 1;
            own = format!("{name}-{nth}");
        }
        own
    }
}

/// Says of each firing of a trigger when it was due, as the platform does. No two were due at the same time, although a
/// late one may come together with the next.
fn set_due_times(requests: &mut [ClientRequest]) {
    let mut latest: SortedMap<String, u64> = SortedMap::new();
    for sent in requests.iter_mut().filter(|sent| sent.request.method == SCHEDULED) {
        let path = sent.request.path.to_string();
        let Some(cron) = Cron::parse(&trigger(&path)) else { continue };
        let last = cron.last(sent.at.unix_ms());
        let next = latest.get(&path).and_then(|before| cron.next(*before));
        let Some(due) = last.max(next) else { continue };
        sent.request.headers.set(DUE, &due.to_string());
        latest.insert(path, due);
    }
}
