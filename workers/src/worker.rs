//! The folder of a Worker: the program, its requests, and the system that they make.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use thunderhead_props::{FREE, System, Variant};
use thunderhead_sim::{ClientRequest, Cloud, Rng, Time, closest};

use crate::app::App;
use crate::storm_http::{self, Entry, Event, Storm};

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
    storm: Arc<Storm>,
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

    /// A Worker and the text of its `storm.http`; without one, `GET /` is sent, or a cron trigger fires.
    pub fn new(app: App, storm: Option<&str>) -> Result<Worker, String> {
        let has_requests = storm.is_some();
        let storm = match storm {
            Some(text) => storm_http::parse(text).map_err(|error| error.to_string())?,
            None => usual(&app)?,
        };
        for entry in &storm.entries {
            let handler = entry.event.handler();
            if !app.handles(handler) {
                return Err(format!("line {}: the Worker has no `{handler}` handler", entry.line));
            }
        }
        for (line, what) in &storm.ignored {
            let known = FREE.iter().any(|promise| promise.name == **what);
            if !known && (what.contains(' ') || !what.contains('.')) {
                let advice = closest(what, FREE.iter().map(|promise| &*promise.name));
                return Err(format!(
                    "line {line}: `{what}` is neither a column, as `table.column`, nor a promise; {advice}"
                ));
            }
        }
        Ok(Worker { app: Arc::new(app), storm: Arc::new(storm), has_requests })
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        self.app.name()
    }

    /// What its author should know about the configuration and the requests.
    pub fn notes(&self) -> Vec<String> {
        let config = self.app.config();
        let mut notes = config.notes();
        for entry in &self.storm.entries {
            if let Event::Scheduled(cron) = &entry.event
                && !config.triggers.crons.contains(cron)
            {
                notes.push(format!(
                    "{STORM}, line {}: `{cron}` is none of the `triggers.crons` in {}, so the platform would never \
                     fire it; {}",
                    entry.line,
                    config.file,
                    closest(cron, config.triggers.crons.iter().map(String::as_str))
                ));
            }
        }
        notes
    }

    /// Whether the requests are from a file.
    pub fn has_requests(&self) -> bool {
        self.has_requests
    }

    /// Adds the Worker and all that it is bound to.
    pub fn mount(&self, cloud: &mut Cloud) {
        self.app.mount(cloud);
    }

    /// The Worker as a system of that name, which was read from `origin`.
    pub fn system(&self, name: String, origin: String) -> System {
        let (mounted, drawn, smallest) = (self.clone(), self.clone(), self.clone());
        let variant = Variant::holds(VARIANT, "as it is", move |cloud| mounted.mount(cloud));
        let system = System::new(name, "a Worker", variant)
            .read_from(origin, remedy)
            .with_workload(move |rng| drawn.workload(rng))
            .with_smallest(move || vec![smallest.sent(&smallest.storm.entries[0], Time::ZERO)]);
        self.storm.ignored.iter().fold(system, |system, (line, what)| {
            let why = format!("line {line} of {STORM} says so");
            match FREE.iter().any(|promise| promise.name == **what) {
                true => system.without(what, why),
                false => system.ignoring(what.clone(), why),
            }
        })
    }

    /// Every request of the file once, each as long after the one before it as the file says, or else long after it.
    pub fn one_by_one(&self) -> Vec<ClientRequest> {
        let mut at = Time::ZERO;
        let mut requests = Vec::new();
        for entry in &self.storm.entries {
            if !requests.is_empty() {
                at = at + entry.after.unwrap_or(ONE_BY_ONE);
            }
            requests.push(ClientRequest { retries: 0, ..self.sent(entry, at) });
        }
        requests
    }

    fn workload(&self, rng: &mut Rng) -> Vec<ClientRequest> {
        let all = u32::try_from(self.storm.entries.len()).unwrap_or(u32::MAX);
        let as_written = (2..=MOST).contains(&all) && rng.below(2) == 0;
        let count = if as_written { all } else { 1 + rng.below(MOST) };
        let mut at = Time::ZERO;
        let mut requests = Vec::new();
        for turn in 0..count {
            let entry =
                &self.storm.entries[if as_written { turn } else { rng.below(all) } as usize];
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

/// What is sent when there is no file.
fn usual(app: &App) -> Result<Storm, String> {
    if app.handles("fetch") {
        return Ok(storm_http::usual());
    }
    if !app.handles("scheduled") {
        return Err(
            "the Worker has no `fetch` and no `scheduled` handler, so there is nothing to send it"
                .into(),
        );
    }
    let cron = app.config().triggers.crons.first().cloned().unwrap_or_else(|| "* * * * *".into());
    let entry = Entry { after: None, event: Event::Scheduled(cron), line: 1 };
    Ok(Storm { entries: vec![entry], ..Storm::default() })
}

/// The lines of `storm.http` that ignore columns.
fn remedy(columns: &[String]) -> String {
    let lines: Vec<String> =
        columns.iter().map(|column| format!("`### ignore {column}`")).collect();
    let what = if lines.len() == 1 { "the line" } else { "the lines" };
    format!("write {what} {} into {STORM}", lines.join(" and "))
}
