//! The folder of a Worker: the program, its requests, and the system that they make.

pub mod workload;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use thunderhead_props::history::exchanges;
use thunderhead_props::{FREE, Name, System, Variant, judge, quietly};
use thunderhead_sim::{
    Cloud, Headers, Rng, Scenario, SortedSet, Source, Tape, Trace, closest, simulate,
};

use crate::app::App;
use crate::config::Config;
use crate::cron::{SCHEDULED, path, trigger};
use crate::email;
use crate::ignored::{self, Written};
use crate::message;
use crate::mount;
use crate::outside::{INTERNET, Outside};
use crate::service_bindings::{self, Found, Wanted};
use crate::storm_http::{self, Entry, Event, Storm};
use crate::storm_ts::StormTs;

/// The name of the only variant.
const VARIANT: &str = "worker";
/// The name of the file with the requests.
const STORM: &str = "storm.http";

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
    /// Whether messages come to its queues from outside.
    sends_messages: bool,
    /// The cron triggers that it has and that do not fail in the calm.
    triggers: SortedSet<String>,
    /// The promises that the calm breaks, and how.
    troubles: Vec<(Name, String)>,
    /// What the calm writes to.
    written: Written,
    /// What was wrong with a workload that was drawn; all copies of this Worker share it.
    wrong: Arc<OnceLock<String>>,
}

impl Worker {
    /// Reads a folder: a configuration of wrangler's, the files that it names, and `storm.http` if there is one. The
    /// place may also be the configuration, or a folder of several Workers. Then the requests may be in the folder of
    /// the Worker that they are sent to. The error says what keeps the Worker from running.
    pub fn load(place: &Path, environment: Option<&str>) -> Result<Worker, String> {
        let mut apps = Vec::new();
        let mut folder = Config::folder(place).to_path_buf();
        let found = service_bindings::read(place, environment)?;
        let has_storm = folder.join(STORM).is_file() || StormTs::name_in(&folder).is_some();
        if let Some(first) = found.first().filter(|_| !has_storm) {
            folder = first.folder.clone();
        }
        for Found { folder, config } in found {
            apps.push(Arc::new(App::of_config(&folder, config)?));
        }
        let path = folder.join(STORM);
        let told = |why: String| format!("{}: {why}", path.display());
        let worker = match std::fs::read_to_string(&path) {
            Ok(text) => Worker::of(apps, Some(&text)).map_err(told)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Worker::of(apps, None)?,
            Err(error) => return Err(told(error.to_string())),
        };
        match StormTs::load(&folder)? {
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
            can_be_sent(&entry.event, app).map_err(|why| format!("line {}: {why}", entry.line))?;
        }
        for (line, what) in &storm.ignored {
            ignored::check(what).map_err(|why| format!("line {line}: {why}"))?;
        }
        let outside = Outside::new(&storm.outside, None);
        let storm = Arc::new(storm);
        let (troubles, wrong) = (Vec::new(), Arc::default());
        let triggers = SortedSet::new();
        let is_message = |entry: &Entry| matches!(entry.event, Event::Message(_));
        let sends_messages = storm.entries.iter().any(is_message);
        let worker = Worker {
            apps,
            storm,
            script: None,
            outside,
            has_requests,
            sends_messages,
            triggers,
            troubles,
            written: Written::default(),
            wrong,
        };
        Ok(worker.rehearsed())
    }

    /// The same Worker with a `storm.ts`, whose workload is sent if it has one.
    fn scripted(self, script: StormTs) -> Result<Worker, String> {
        let file = script.file();
        for what in script.ignored() {
            ignored::check(what).map_err(|why| format!("{file}: {why}"))?;
        }
        let mut rng = Rng::new(0);
        for sent in if script.has_workload() { script.drawn(&mut rng)? } else { Vec::new() } {
            can_be_sent(&sent.event(), self.app()).map_err(|why| format!("{file}: {why}"))?;
        }
        let script = Arc::new(script);
        let outside = Outside::new(&self.storm.outside, Some(script.clone()));
        let has_requests = self.has_requests || script.has_workload();
        // A workload that is drawn may send any.
        let consumes = !self.app().config().queues.consumers.is_empty();
        let sends_messages = self.sends_messages || script.has_workload() && consumes;
        Ok(Worker { script: Some(script), outside, has_requests, sends_messages, ..self }
            .rehearsed())
    }

    /// Plays the calm. A workflow that fails or waits there does so by its program, and not by a storm. A trigger that
    /// fails there would do so after every storm.
    fn rehearsed(mut self) -> Worker {
        self.triggers = self.declared_triggers();
        let requests = self.with_next_firings(self.one_by_one());
        let scenario = Scenario { requests, ..Scenario::default() };
        let source = Source::Tape(Tape::benign());
        let played = quietly(|| simulate(&scenario, &source, &|cloud| self.mount(cloud)));
        let Ok(run) = played else { return self };
        let broken = judge(FREE.iter().copied().filter(|free| CALM.contains(&&*free.name)), &run);
        let told = broken.into_iter().map(|one| (one.promise, one.finding.message));
        self.troubles = told.collect();
        self.written = Written::of(&run.trace, self.apps.iter().map(|app| app.config()));
        for exchange in exchanges(&run.trace) {
            if exchange.request.method == SCHEDULED && !exchange.is_ok() {
                self.triggers.remove(&trigger(&exchange.request.path));
            }
        }
        self
    }

    /// The triggers of its configuration, if it handles any: only its own can be fired, not those of its neighbours.
    fn declared_triggers(&self) -> SortedSet<String> {
        let crons = &self.app().config().triggers.crons;
        crons.iter().filter(|_| self.app().handles("scheduled")).cloned().collect()
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

    /// What is ignored, and where that is said.
    fn ignored(&self) -> impl Iterator<Item = (&String, String)> {
        let lines = self.storm.ignored.iter();
        let lines = lines.map(|(line, what)| (what, format!("line {line} of {STORM}")));
        let script = self.script.iter().flat_map(|script| {
            script.ignored().iter().map(|what| (what, script.file().to_string()))
        });
        lines.chain(script)
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
            let unknown: SortedSet<String> = app
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
        notes.extend(self.declared_triggers().difference(&self.triggers).map(|cron| {
            format!(
                "the cron trigger `{cron}` fails in the calm, so it does not fire after a storm"
            )
        }));
        notes.extend(self.ignored().filter_map(|(what, whence)| {
            self.written.odd(what).map(|why| format!("`### ignore {what}` ({whence}): {why}"))
        }));
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
        let strange: SortedSet<(&str, &str)> = strange
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
        if self.sends_messages {
            cloud.worker(&self.app().sender()).fetch(message::send);
        }
    }

    /// The Worker as a system of that name, which was read from `origin`.
    pub fn system(&self, name: String, origin: String) -> System {
        let (mounted, drawn, smallest) = (self.clone(), self.clone(), self.clone());
        let variant = Variant::holds(VARIANT, "as it is", move |cloud| mounted.mount(cloud));
        let system = System::new(name, "a Worker", variant)
            .read_from(origin, remedy)
            .with_workload(move |rng| drawn.workload(rng))
            .with_smallest(move || smallest.smallest())
            .with_triggers(self.triggers.iter().map(|cron| path(cron).into()));
        let promises = self.script.iter().flat_map(|script| script.promises()).collect::<Vec<_>>();
        let system = system.with_promises(&promises.iter().collect::<Vec<_>>());
        let system = self.troubles.iter().fold(system, |system, (promise, why)| {
            system.without(promise, format!("the calm breaks it: {why}"))
        });
        self.ignored().fold(system, |system, (what, whence)| {
            let why = format!("{whence} says so");
            match FREE.iter().any(|promise| promise.name == **what) {
                true if system.left_out().iter().any(|(name, _)| name == what) => system,
                true => system.without(what, why),
                false => system.ignoring(what.clone(), why),
            }
        })
    }
}

/// Refuses what the Worker has no handler for, and a message to a queue that it does not consume.
fn can_be_sent(event: &Event, app: &App) -> Result<(), String> {
    let handler = event.handler();
    if !app.handles(handler) {
        return Err(format!("the Worker has no `{handler}` handler"));
    }
    let Event::Message(request) = event else { return Ok(()) };
    let queue = message::queue(request);
    let known: Vec<&str> =
        app.config().queues.consumers.iter().map(|consumer| &*consumer.queue).collect();
    if known.contains(&queue) {
        return Ok(());
    }
    Err(format!("the Worker does not consume the queue `{queue}`; {}", closest(queue, known)))
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
        storm.entries.push(Entry::new(Event::Scheduled(cron), 1));
    }
    if app.handles("email") && storm.entries.is_empty() {
        let request =
            email::request("ann@example.com worker@example.com", Headers::default(), "", 1)?;
        storm.entries.push(Entry::new(Event::Email(request), 1));
    }
    if storm.entries.is_empty() {
        return Err(match app.config().queues.consumers.first() {
            Some(consumer) => format!(
                "the Worker only consumes queues, and nothing is sent to them; write `QUEUE {}`, an empty line and a message \
                 into {STORM}",
                consumer.queue
            ),
            None => "the Worker has no handler that anything could be sent to".into(),
        });
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
