//! The folder of a Worker: the program, its requests, and the system that they make.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use thunderhead_props::{FREE, Name, System, Variant, judge, quietly};
use thunderhead_sim::{
    ClientRequest, Cloud, Headers, Request, Rng, Scenario, Source, Tape, Time, Trace, closest,
    simulate,
};

use crate::app::App;
use crate::config::Config;
use crate::email;
use crate::mount;
use crate::neighbours::{self, Found, Wanted};
use crate::outside::{INTERNET, Outside};
use crate::storm_http::{self, Entry, Event, Storm};
use crate::storm_ts::{Sent, StormTs};

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
/// How long after the last request a cron trigger fires again: long after the storm.
const AFTERWARDS: Duration = Duration::from_secs(2 * 60 * 60);

/// The promises that are not judged if the calm breaks them.
const CALM: [&str; 2] = ["every workflow ends", "no workflow fails unheard"];

/// A Worker and the requests that are sent to it.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The one that requests are sent to, and those that it is bound to.
    apps: Vec<Arc<App>>,
    storm: Arc<Storm>,
    script: Option<Arc<StormTs>>,
    outside: Outside,
    has_requests: bool,
    /// The promises that the calm breaks, and how.
    troubles: Vec<(Name, String)>,
    /// What was wrong with a workload that was drawn; all copies of this Worker share it.
    wrong: Arc<OnceLock<String>>,
}

impl Worker {
    /// Reads a folder: a configuration of wrangler's, the files that it names, and `storm.http` if there is one. The
    /// place may also be the configuration. The error says what keeps the Worker from running.
    pub fn load(place: &Path, environment: Option<&str>) -> Result<Worker, String> {
        let mut apps = Vec::new();
        for Found { folder, config } in neighbours::read(place, environment)? {
            apps.push(Arc::new(App::of_config(&folder, config)?));
        }
        let folder = Config::folder(place);
        let path = folder.join(STORM);
        let told = |why: String| format!("{}: {why}", path.display());
        let worker = match std::fs::read_to_string(&path) {
            Ok(text) => Worker::of(apps, Some(&text)).map_err(told)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Worker::of(apps, None)?,
            Err(error) => return Err(told(error.to_string())),
        };
        match StormTs::load(folder)? {
            Some(script) => {
                worker.scripted(script).map_err(|why| format!("{}: {why}", folder.display()))
            }
            None => Ok(worker),
        }
    }

    /// A Worker and the text of its `storm.http`; without one, `GET /` is sent, or a cron trigger fires.
    pub fn new(app: App, storm: Option<&str>) -> Result<Worker, String> {
        Worker::of(vec![Arc::new(app)], storm)
    }

    fn of(apps: Vec<Arc<App>>, storm: Option<&str>) -> Result<Worker, String> {
        let app = &apps[0];
        let has_requests = storm.is_some();
        let storm = match storm {
            Some(text) => storm_http::parse(text).map_err(|error| error.to_string())?,
            None => usual(app)?,
        };
        for entry in &storm.entries {
            let handler = entry.event.handler();
            if !app.handles(handler) {
                return Err(format!("line {}: the Worker has no `{handler}` handler", entry.line));
            }
        }
        for (line, what) in &storm.ignored {
            can_be_ignored(what).map_err(|why| format!("line {line}: {why}"))?;
        }
        let outside = Outside::new(&storm.outside, None);
        let storm = Arc::new(storm);
        let (troubles, wrong) = (Vec::new(), Arc::default());
        let worker = Worker { apps, storm, script: None, outside, has_requests, troubles, wrong };
        Ok(worker.rehearsed())
    }

    /// The same Worker with a `storm.ts`, whose workload is sent if it has one.
    fn scripted(self, script: StormTs) -> Result<Worker, String> {
        let file = script.file();
        for what in script.ignored() {
            can_be_ignored(what).map_err(|why| format!("{file}: {why}"))?;
        }
        let mut rng = Rng::new(0);
        for sent in if script.has_workload() { script.drawn(&mut rng)? } else { Vec::new() } {
            let handler = sent.event().handler();
            if !self.app().handles(handler) {
                return Err(format!("{file}: the Worker has no `{handler}` handler"));
            }
        }
        let script = Arc::new(script);
        let outside = Outside::new(&self.storm.outside, Some(script.clone()));
        let has_requests = self.has_requests || script.has_workload();
        Ok(Worker { script: Some(script), outside, has_requests, ..self }.rehearsed())
    }

    /// Plays the calm. A workflow that fails or waits there does so by its program, and not by a storm.
    fn rehearsed(mut self) -> Worker {
        let scenario = Scenario { requests: self.one_by_one(), ..Scenario::default() };
        let source = Source::Tape(Tape::benign());
        let played = quietly(|| simulate(&scenario, &source, &|cloud| self.mount(cloud)));
        let Ok(run) = played else { return self };
        let broken = judge(FREE.iter().copied().filter(|free| CALM.contains(&&*free.name)), &run);
        let told = broken.into_iter().map(|one| (one.promise, one.finding.message));
        self.troubles = told.collect();
        self
    }

    /// What was wrong with a workload that was drawn: the search is worth nothing then.
    pub fn wrong(&self) -> Option<&str> {
        self.wrong.get().map(String::as_str)
    }

    /// The `storm.ts` whose workload is sent.
    fn sender(&self) -> Option<&StormTs> {
        self.script.as_deref().filter(|script| script.has_workload())
    }

    fn app(&self) -> &App {
        &self.apps[0]
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        self.app().name()
    }

    /// What its author should know about the configuration and the requests.
    pub fn notes(&self) -> Vec<String> {
        let config = self.app().config();
        let mut notes: Vec<String> =
            self.apps.iter().flat_map(|app| app.config().notes()).collect();
        let others = self.apps[1..].iter().map(|app| app.name());
        notes.extend(others.map(|name| format!("the Worker `{name}` is played with it")));
        notes.extend(self.troubles.iter().map(|(promise, why)| {
            format!("*{promise}* is not judged, because the calm breaks it: {why}")
        }));
        for app in &self.apps {
            let unknown: BTreeSet<String> = app
                .config()
                .wanted()
                .into_iter()
                .filter(|wanted| !self.apps.iter().any(|app| wanted.is(app.config())))
                .map(|wanted| match wanted {
                    Wanted::Worker(name) => format!(
                        "there is no Worker `{name}` in the folders nearby: calls of it throw"
                    ),
                    Wanted::Consumer(queue) => format!(
                        "no Worker in the folders nearby consumes the queue `{queue}`: its messages stay in it"
                    ),
                })
                .collect();
            notes.extend(unknown);
        }
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

    /// What its author should know about a run: hosts outside that it asks and that nothing describes.
    pub fn notes_on(&self, trace: &Trace) -> Vec<String> {
        let asked =
            thunderhead_props::history::served(trace, INTERNET).map(|(_, request, _)| request);
        let strange = asked.filter(|request| !self.outside.describes(request));
        let strange: BTreeSet<(&str, &str)> = strange
            .map(|request| (&*request.method, request.headers.get("host").unwrap_or_default()))
            .collect();
        let told = strange.into_iter().map(|(method, host)| {
            format!(
                "`{host}` is outside, and nothing says what it answers, so it answers 200 with `{{}}`; write \
                 `OUTSIDE {method} https://{host}/* 200` and the answer into {STORM}"
            )
        });
        told.collect()
    }

    /// Takes an isolate and takes its heap back to the image, as at the end of each of its lives; how many bytes the
    /// image has.
    pub fn restored(&self) -> Result<usize, String> {
        self.app().isolate().map(|isolate| isolate.image_size())
    }

    /// Whether the requests are from a file.
    pub fn has_requests(&self) -> bool {
        self.has_requests
    }

    /// Adds the Worker and all that it is bound to.
    pub fn mount(&self, cloud: &mut Cloud) {
        mount::mount(&self.apps, cloud);
        self.outside.mount(cloud);
    }

    /// The Worker as a system of that name, which was read from `origin`.
    pub fn system(&self, name: String, origin: String) -> System {
        let (mounted, drawn, smallest) = (self.clone(), self.clone(), self.clone());
        let variant = Variant::holds(VARIANT, "as it is", move |cloud| mounted.mount(cloud));
        let system = System::new(name, "a Worker", variant)
            .read_from(origin, remedy)
            .with_workload(move |rng| drawn.workload(rng))
            .with_smallest(move || smallest.smallest());
        let promises = self.script.iter().flat_map(|script| script.promises()).collect::<Vec<_>>();
        let system = system.with_promises(&promises.iter().collect::<Vec<_>>());
        let system = self.troubles.iter().fold(system, |system, (promise, why)| {
            system.without(promise, format!("the calm breaks it: {why}"))
        });
        let lines = self.storm.ignored.iter();
        let lines = lines.map(|(line, what)| (what, format!("line {line} of {STORM} says so")));
        let script = self.script.iter().flat_map(|script| {
            script.ignored().iter().map(|what| (what, format!("{} says so", script.file())))
        });
        lines.chain(script).fold(system, |system, (what, why)| {
            match FREE.iter().any(|promise| promise.name == **what) {
                true if system.left_out().iter().any(|(name, _)| name == what) => system,
                true => system.without(what, why),
                false => system.ignoring(what.clone(), why),
            }
        })
    }

    fn smallest(&self) -> Vec<ClientRequest> {
        match self.sender() {
            Some(script) => {
                self.scripted_workload(script, &mut Rng::new(0)).into_iter().take(1).collect()
            }
            None => vec![self.sent(&self.storm.entries[0], Time::ZERO)],
        }
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
        self.sent(&Entry { after: None, event: sent.event(), line: 0 }, sent.at())
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
        requests
    }

    fn workload(&self, rng: &mut Rng) -> Vec<ClientRequest> {
        let mut requests = match self.sender() {
            Some(script) => self.scripted_workload(script, rng),
            None => self.drawn(rng),
        };
        requests.extend(next_firings(&requests));
        requests
    }

    /// Requests of the file, in its order or in any other.
    fn drawn(&self, rng: &mut Rng) -> Vec<ClientRequest> {
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
        let tried_again = |request: &Request, to: &str| ClientRequest {
            request: request.clone(),
            to: Some(to.into()),
            ..ClientRequest::new(at, "", "", "").retried(RETRIES)
        };
        match &entry.event {
            Event::Request(request) => tried_again(request, self.app().name()),
            Event::Email(request) => tried_again(request, &self.app().mail()),
            // A trigger that is missed is not tried again: see `next_firings`.
            Event::Scheduled(cron) => {
                let path = format!("/{}", cron.replace(' ', "+"));
                let to = Some(self.app().cron().into());
                ClientRequest { to, ..ClientRequest::new(at, "SCHEDULED", &path, "") }
            }
        }
    }
}

/// The next firing of every cron trigger, long after the storm. It finds what one that failed has left half done.
fn next_firings(requests: &[ClientRequest]) -> Vec<ClientRequest> {
    let Some(last) = requests.iter().map(|sent| sent.at).max() else { return Vec::new() };
    let mut firings: Vec<ClientRequest> = Vec::new();
    for sent in requests.iter().filter(|sent| sent.request.method == "SCHEDULED") {
        if firings.iter().all(|known| known.request != sent.request) {
            firings.push(ClientRequest { at: last + AFTERWARDS, ..sent.clone() });
        }
    }
    firings
}

/// Refuses what is neither a column nor a promise that comes for nothing.
fn can_be_ignored(what: &str) -> Result<(), String> {
    let known = FREE.iter().any(|promise| promise.name == *what);
    let column = what.split_once('.').is_some_and(|(table, _)| !table.contains(' '));
    if known || column {
        return Ok(());
    }
    let advice = closest(what, FREE.iter().map(|promise| &*promise.name));
    Err(format!("`{what}` is neither a column, as `table.column`, nor a promise; {advice}"))
}

/// What is sent when there is no file.
fn usual(app: &App) -> Result<Storm, String> {
    let mut storm = match app.handles("fetch") {
        true => storm_http::usual(),
        false => Storm::default(),
    };
    let crons = &app.config().triggers.crons;
    if app.handles("scheduled") && (storm.entries.is_empty() || !crons.is_empty()) {
        let cron = crons.first().cloned().unwrap_or_else(|| "* * * * *".into());
        storm.entries.push(Entry { after: None, event: Event::Scheduled(cron), line: 1 });
    }
    if app.handles("email") && storm.entries.is_empty() {
        let request =
            email::request("ann@example.com worker@example.com", Headers::default(), "", 1)?;
        storm.entries.push(Entry { after: None, event: Event::Email(request), line: 1 });
    }
    if storm.entries.is_empty() {
        return Err(
            "the Worker has no `fetch`, no `scheduled` and no `email` handler, so there is nothing to send it"
                .into(),
        );
    }
    Ok(storm)
}

/// The lines of `storm.http` that ignore columns.
fn remedy(columns: &[String]) -> String {
    let lines: Vec<String> =
        columns.iter().map(|column| format!("`### ignore {column}`")).collect();
    let what = if lines.len() == 1 { "the line" } else { "the lines" };
    format!("write {what} {} into {STORM}", lines.join(" and "))
}
