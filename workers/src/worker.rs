//! The folder of a Worker: the program, its requests, and the system that they make.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use thunderhead_props::{System, Variant};
use thunderhead_sim::{ClientRequest, Cloud, Rng, Time};

use crate::app::App;
use crate::storm_http::{self, Entry, Event};

/// The name of the only variant.
const VARIANT: &str = "worker";
/// The name of the file with the requests.
const STORM: &str = "storm.http";

/// How often a client tries again: until it is answered, or until long after the storm. What is missing in the end is
/// then the Worker's fault.
const RETRIES: u32 = 90;
/// The times between two requests that a workload draws from: at once, racing, close, and far apart.
const GAPS_MS: [u64; 5] = [0, 3, 40, 1_000, 6_000];
/// The most requests of a workload that is drawn. A file that has no more is played as it is written by half of the
/// seeds.
const MOST: u32 = 4;
/// The time between two requests that are played one by one: long enough for a queue, an alarm and a workflow.
const ONE_BY_ONE: Duration = Duration::from_secs(60);

/// A Worker and the requests that are sent to it.
#[derive(Clone, Debug)]
pub struct Worker {
    app: Arc<App>,
    entries: Arc<[Entry]>,
    has_requests: bool,
}

impl Worker {
    /// Reads a folder: a configuration of wrangler's, the files that it names, and `storm.http` if there is one. The
    /// error says what keeps the Worker from running.
    pub fn load(folder: &Path, environment: Option<&str>) -> Result<Worker, String> {
        let app = App::load(folder, environment)?;
        let path = folder.join(STORM);
        let told = |why: String| format!("{}: {why}", path.display());
        match std::fs::read_to_string(&path) {
            Ok(text) => Worker::new(app, Some(&text)).map_err(told),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Worker::new(app, None),
            Err(error) => Err(told(error.to_string())),
        }
    }

    /// A Worker and the text of its `storm.http`; without one, `GET /` is sent.
    pub fn new(app: App, storm: Option<&str>) -> Result<Worker, String> {
        let entries = match storm {
            Some(text) => storm_http::parse(text).map_err(|error| error.to_string())?,
            None => storm_http::usual(),
        };
        for entry in &entries {
            let handler = entry.event.handler();
            if !app.handles(handler) {
                return Err(format!("line {}: the Worker has no `{handler}` handler", entry.line));
            }
        }
        Ok(Worker { app: Arc::new(app), entries: entries.into(), has_requests: storm.is_some() })
    }

    /// Whether the requests are from a file.
    pub fn has_requests(&self) -> bool {
        self.has_requests
    }

    /// The bindings that are declared and cannot be simulated: their names, and what they are bindings of.
    pub fn missing(&self) -> Vec<(String, &'static str)> {
        self.app.config().missing()
    }

    /// Adds the Worker and all that it is bound to.
    pub fn mount(&self, cloud: &mut Cloud) {
        self.app.mount(cloud);
    }

    /// The Worker as a system of that name.
    pub fn system(&self, name: String) -> System {
        let (mounted, drawn, smallest) = (self.clone(), self.clone(), self.clone());
        let variant = Variant::holds(VARIANT, "as it is", move |cloud| mounted.mount(cloud));
        System::new(name, "a Worker in JavaScript", variant)
            .with_workload(move |rng| drawn.workload(rng))
            .with_smallest(move || vec![smallest.sent(&smallest.entries[0], Time::ZERO)])
    }

    /// Every request of the file once, each long after the one before it.
    pub fn one_by_one(&self) -> Vec<ClientRequest> {
        let mut at = Time::ZERO;
        let mut requests = Vec::new();
        for entry in &*self.entries {
            if !requests.is_empty() {
                at = at + ONE_BY_ONE.max(entry.after.unwrap_or_default());
            }
            requests.push(ClientRequest { retries: 0, ..self.sent(entry, at) });
        }
        requests
    }

    fn workload(&self, rng: &mut Rng) -> Vec<ClientRequest> {
        let all = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let as_written = (2..=MOST).contains(&all) && rng.below(2) == 0;
        let count = if as_written { all } else { 1 + rng.below(MOST) };
        let mut at = Time::ZERO;
        let mut requests = Vec::new();
        for turn in 0..count {
            let entry = &self.entries[if as_written { turn } else { rng.below(all) } as usize];
            let gap = Duration::from_millis(GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize]);
            if turn > 0 {
                at = at + entry.after.filter(|_| as_written).unwrap_or(gap);
            }
            requests.push(self.sent(entry, at));
        }
        requests
    }

    fn sent(&self, entry: &Entry, at: Time) -> ClientRequest {
        match &entry.event {
            Event::Request(request) => {
                let (request, to) = (request.clone(), Some(self.app.name().into()));
                ClientRequest { request, to, ..ClientRequest::new(at, "", "", "").retried(RETRIES) }
            }
            // A trigger that is missed is not made up for.
            Event::Scheduled(cron) => {
                let path = format!("/{}", cron.replace(' ', "+"));
                let to = Some(self.app.cron().into());
                ClientRequest { to, ..ClientRequest::new(at, "SCHEDULED", &path, "") }
            }
        }
    }
}
