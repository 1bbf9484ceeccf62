//! The folder of a Worker in place of a system: `thunderhead explore DIR`, and every other command.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thunderhead_props::{System, history, quietly};
use thunderhead_sim::answers::Answers;
use thunderhead_sim::{
    Body, ClientRequest, EventKind, Op, Reply, Request, Response, Run, Scenario, Source, Tape,
    Trace, printable, simulate,
};
#[cfg(feature = "workers")]
use thunderhead_workers::{Config, Worker};

#[cfg(not(feature = "workers"))]
use super::without_workers::{Config, Worker};
use super::{Answer, CliError, input};

/// The name of the environment when no argument names one, as wrangler has it.
const ENVIRONMENT: &str = "CLOUDFLARE_ENV";
/// What stands between the folder and the environment in the name of a system.
const BEHIND_FOLDER: char = '#';
/// What a Worker says that used up its processor time.
const EXCEEDED: &str = "exceeded CPU time limit";

/// A Worker that a command names.
#[derive(Debug)]
pub struct Loaded {
    pub worker: Worker,
    pub system: System,
    folder: PathBuf,
    environment: Option<String>,
}

/// Whether a path names a Worker: a folder does, or a configuration of wrangler's.
pub fn is_named_by(path: &Path) -> bool {
    path.is_dir() || Config::is_one(path)
}

/// A Worker as a command or a script names it: a folder or a configuration, and an environment behind it if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name as it is written.
    pub name: String,
    /// The folder that it is relative to, for a script; then the working directory is tried as well.
    pub home: Option<PathBuf>,
    /// The environment that the command names.
    pub environment: Option<String>,
}

impl Named {
    pub fn new(name: &str) -> Named {
        Named { name: name.into(), home: None, environment: None }
    }

    /// The folder or the configuration, and the environment, if there is such a Worker.
    fn place(&self) -> Option<(PathBuf, Option<String>)> {
        let folder = |name: &str| {
            let home = self.home.iter().map(|home| home.join(name));
            let folder =
                |path: PathBuf| if path.as_os_str().is_empty() { ".".into() } else { path };
            home.map(folder).chain([PathBuf::from(name)]).find(|path| is_named_by(path))
        };
        if let Some(found) = folder(&self.name) {
            return Some((found, self.environment.clone()));
        }
        let (name, environment) = self.name.rsplit_once(BEHIND_FOLDER)?;
        Some((folder(name)?, Some(environment.into())))
    }

    /// Loads the Worker, if the name is that of one.
    pub fn load(&self, taken: &[&System]) -> Result<Option<Loaded>, CliError> {
        let Some((folder, asked)) = self.place() else { return Ok(None) };
        let usual = || std::env::var(ENVIRONMENT).ok().filter(|name| !name.is_empty());
        // A script says all that there is to say: what surrounds it must not change what it plays.
        let environment = if self.home.is_some() { asked } else { asked.or_else(usual) };
        let worker = Worker::load(&folder, environment.as_deref())
            .map_err(|why| CliError::Input(printable(&why).into_owned()))?;
        let is_taken = taken.iter().any(|system| *system.name == *worker.name());
        let name = format!("{}{}", worker.name(), if is_taken { "-worker" } else { "" });
        let origin = self.name.clone();
        let system = worker.system(name, origin);
        Ok(Some(Loaded { worker, system, folder, environment }))
    }
}

impl Loaded {
    /// The environment that it is of, if it has environments.
    pub fn environment(&self) -> Option<&str> {
        self.environment.as_deref()
    }

    /// How a failure file in another folder names it.
    pub fn seen_from(&self, folder: &Path) -> String {
        let path = relative(folder, &self.folder).display().to_string();
        match &self.environment {
            Some(environment) => format!("{path}{BEHIND_FOLDER}{environment}"),
            None => path,
        }
    }

    /// What its author should know before anything is played.
    pub fn notes(&self) -> Vec<String> {
        let environment =
            self.environment.iter().map(|name| format!("the environment `{name}` is used"));
        let notes = environment.chain(self.worker.notes());
        notes.map(|note| format!("note: {}", printable(&note))).collect()
    }

    /// Plays its requests in the calm. A Worker whose every request fails there, or that never comes to an end, would
    /// not be tested by any storm. Returns what fails otherwise.
    pub fn rehearsed(&self, program: &str) -> Result<Vec<String>, CliError> {
        let calm = Calm::of(&self.worker)?;
        let failed: Vec<&Answered> = calm.answered.iter().filter(|one| one.failed()).collect();
        let endless = calm.logs.iter().any(|line| line.contains(EXCEEDED));
        let told = |note: String| format!("note: {}", printable(&note));
        let strange = self.worker.notes_on(&calm.run.trace).into_iter().map(told);
        if failed.is_empty() && !endless {
            return Ok(strange.collect());
        }
        let folder = input::shown(&self.folder);
        let told =
            |one: &&Answered| format!("{}: {}", printable(&one.request), printable(&one.answer));
        if endless || failed.len() == calm.answered.len() {
            let why = match endless {
                true => "a request uses up all processor time in the calm",
                false => "every request fails in the calm, so a storm would show nothing",
            };
            let lines = failed
                .iter()
                .map(told)
                .chain(calm.logs.iter().map(|log| printable(log).into_owned()));
            let lines: String = lines.take(SHOWN).map(|line| format!("\n  {line}")).collect();
            return Err(CliError::Input(format!(
                "{folder}: {why}:{lines}\n`{program} run {folder}` shows all of it"
            )));
        }
        let notes = failed.iter().map(|one| format!("note: fails in the calm: {}", told(one)));
        Ok(strange.chain(notes).collect())
    }
}

/// At most so many lines are shown of what fails in the calm.
const SHOWN: usize = 8;

/// The way from one folder to another. Where they share nothing but the root it is the whole path.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let whole = |path: &Path| {
        let real = path.canonicalize().or_else(|_| std::path::absolute(path));
        real.unwrap_or_else(|_| path.into())
    };
    let (from, to) = (whole(from), whole(to));
    let shared =
        from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    if shared <= 1 {
        return to;
    }
    let up = from.components().skip(shared).map(|_| std::path::Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(shared)).collect();
    if path.as_os_str().is_empty() { ".".into() } else { path }
}

/// All requests of a Worker in the calm.
struct Calm {
    run: Run,
    answered: Vec<Answered>,
    logs: Vec<String>,
}

impl Calm {
    fn of(worker: &Worker) -> Result<Calm, CliError> {
        let requests = worker.one_by_one();
        let scenario = Scenario { requests, ..Scenario::default() };
        let source = Source::Tape(Tape::benign());
        let run = quietly(|| simulate(&scenario, &source, &|cloud| worker.mount(cloud)))?;
        let mut answers = Answers::to(&scenario.requests);
        let requests = scenario.requests.iter();
        let answered = requests.map(|sent| Answered::of(sent, &run, &mut answers)).collect();
        let logs = logs(&run);
        Ok(Calm { run, answered, logs })
    }
}

/// Plays every request of a Worker's `storm.http` in the calm, one long after the other.
pub fn run(program: &str, loaded: &Loaded, wide: bool) -> Result<Answer, CliError> {
    let (worker, folder) = (&loaded.worker, &loaded.folder);
    let Calm { run, answered, logs } = Calm::of(worker)?;
    let mut text = String::new();
    for Answered { request, answer, said, .. } in &answered {
        let _ = writeln!(text, "{}\n  {}", printable(request), printable(answer));
        for line in said {
            let _ = writeln!(text, "  {}", printable(line));
        }
    }
    let left = left_behind(&run);
    for (title, lines) in [("what was logged", &logs), ("what is left behind", &left)] {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}:");
        }
        for line in lines {
            let _ = writeln!(text, "  {}", printable(line));
        }
    }
    text += &advice(worker, program, folder);
    if wide {
        let _ = write!(text, "\n{}", run.trace);
    }
    let json = json!({
        "ok": true,
        "folder": folder.display().to_string(),
        "answers": answered.iter().map(Answered::document).collect::<Vec<_>>(),
        "logs": logs,
        "leftBehind": left,
        "traceHash": run.trace.hash(),
    });
    let mut notes = loaded.notes();
    let strange = worker.notes_on(&run.trace);
    notes.extend(strange.iter().map(|note| format!("note: {}", printable(note))));
    Ok(Answer { text, json, code: 0, notes })
}

/// What to type next, and how to write requests if there are none.
fn advice(worker: &Worker, program: &str, folder: &Path) -> String {
    let folder = input::shown(folder);
    if worker.has_requests() {
        return format!("\n`{program} explore {folder}` plays them in the storm\n");
    }
    format!(
        "\nThere is no {folder}/storm.http, so nothing else was sent. Write your requests there, separated by `###`:\n\n  \
         POST /orders\n  content-type: application/json\n\n  {{\"product\": \"tea\"}}\n  ###\n  GET /orders\n"
    )
}

/// A request and its answer.
struct Answered {
    request: String,
    answer: String,
    status: Option<u16>,
    body: Option<String>,
    /// What was said on the connection that it has opened.
    said: Vec<String>,
    threw: bool,
}

impl Answered {
    /// The answer to a request, which is then known to those below it.
    fn of(sent: &ClientRequest, run: &Run, answers: &mut Answers) -> Answered {
        let filled = match answers.filled(&sent.request) {
            Ok(filled) => filled.into_owned(),
            Err(why) => {
                let request = shown(&sent.request);
                return Answered::without_status(request, format!("not sent: {why}"), true);
            }
        };
        let trace = &run.trace;
        let mut calls = trace.events().iter().filter_map(|event| match event.kind {
            EventKind::Call { call, .. }
                if event.at >= sent.at && *trace.actor(event) == *sent.from =>
            {
                Some(call)
            }
            _ => None,
        });
        let call = calls.find(
            |call| matches!(trace.op(*call), Op::Fetch { request, .. } if *request == filled),
        );
        let outcome = call.and_then(|wanted| {
            trace.events().iter().find_map(|event| match event.kind {
                EventKind::Return { call, outcome } if call == wanted => {
                    Some(trace.outcome(outcome))
                }
                _ => None,
            })
        });
        let request = shown(&filled);
        match outcome {
            Some(Ok(Reply::Fetch(response))) => {
                let streamed = call.and_then(|call| streamed(trace, call));
                let broken = streamed.as_ref().is_some_and(|(_, broken)| *broken);
                let bytes = streamed.map_or_else(|| response.body.clone(), |(bytes, _)| bytes);
                if response.status < 500 && !broken {
                    answers.came(sent, &Response { body: bytes.clone(), ..response.clone() });
                }
                let body = bytes.text().map(str::to_string);
                let status = match response.headers.get("location") {
                    Some(location) => format!("{} location {location}", response.status),
                    None => response.status.to_string(),
                };
                let mut shown = body.clone().unwrap_or_else(|| format!("{} bytes", bytes.len()));
                if broken {
                    shown += " (broken off)";
                }
                Answered {
                    request,
                    answer: format!("{status} {shown}").trim_end().into(),
                    status: Some(response.status),
                    body,
                    said: call.map(|call| said(trace, call)).unwrap_or_default(),
                    threw: broken,
                }
            }
            Some(Ok(other)) => Answered::without_status(request, other.to_string(), false),
            Some(Err(error)) => Answered::without_status(request, format!("error: {error}"), true),
            None => Answered::without_status(request, "no answer".into(), false),
        }
    }

    fn without_status(request: String, answer: String, threw: bool) -> Answered {
        Answered { request, answer, status: None, body: None, said: Vec::new(), threw }
    }

    /// Whether the Worker threw, or answered that something is wrong with it. What is not answered at all is for the
    /// promises to tell.
    fn failed(&self) -> bool {
        self.threw || self.status.is_some_and(|status| status >= 500)
    }

    fn document(&self) -> Value {
        let mut document = json!({ "request": self.request, "status": self.status, "body": self.body, "answer": self.answer });
        if !self.said.is_empty() {
            document["said"] = json!(self.said);
        }
        document
    }
}

/// The line of a request as `storm.http` has it.
fn shown(request: &Request) -> String {
    let (method, path) = (&*request.method, &*request.path);
    match method {
        // The path of a trigger is the trigger.
        "SCHEDULED" => format!("{method} {}", path.trim_start_matches('/').replace('+', " ")),
        // That of a message has its sender and its recipient.
        "EMAIL" => format!("{method} {}", path.trim_start_matches('/').replacen('/', " ", 1)),
        // And that of a message for a queue has the queue.
        "QUEUE" => format!("{method} {}", path.trim_start_matches('/')),
        _ => format!("{method} {path}"),
    }
}

fn exchange(trace: &Trace, call: u32) -> Option<history::Exchange<'_>> {
    history::exchanges(trace).find(|exchange| exchange.call == call)
}

/// All that has come of a body that was streamed, and whether it broke off.
fn streamed(trace: &Trace, call: u32) -> Option<(Body, bool)> {
    let body = exchange(trace, call).and_then(|exchange| history::streamed(trace, &exchange));
    body.map(|body| (body.before(usize::MAX), body.broken))
}

/// What was said on the connection that a request has opened, as its client sees it.
fn said(trace: &Trace, call: u32) -> Vec<String> {
    let exchange = exchange(trace, call);
    let said = exchange.map(|exchange| history::said(trace, &exchange)).unwrap_or_default();
    let line = |said: &history::Said| {
        let way = if said.by_client { ">" } else { "<" };
        let kind = if said.frame.closes() { "close " } else { "" };
        format!("{way} {kind}{:#}", said.frame)
    };
    said.iter().map(line).collect()
}

fn logs(run: &Run) -> Vec<String> {
    let trace = &run.trace;
    let lines = trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(format!("{} {}: {text}", event.at, trace.actor(event))),
        _ => None,
    });
    lines.collect()
}

/// The objects in buckets, the values in namespaces and the rows in tables, a line each.
fn left_behind(run: &Run) -> Vec<String> {
    let contents = history::contents(&run.trace);
    let objects = contents.iter().map(|stored| {
        let body = stored.body.map(|body| format!(" {body}")).unwrap_or_default();
        format!("r2 {}/{}{body}", stored.bucket, stored.key())
    });
    // An alarm that has fired is still in the platform's own table.
    let rows = history::rows(&run.trace);
    let rows = rows.iter().filter(|held| held.table != "_cf_METADATA").map(|held| {
        let cells: Vec<String> =
            held.row.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{} {}: {}", held.owner, held.table, cells.join(", "))
    });
    let namespaces = history::namespaces(&run.trace);
    let values =
        namespaces.iter().map(|((namespace, key), value)| format!("kv {namespace}/{key} {value}"));
    objects.chain(values).chain(rows).collect()
}
