//! The folder of a Worker in place of a system: `thunderhead explore DIR` and `thunderhead run DIR`.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use thunderhead_props::{System, history, quietly};
use thunderhead_sim::{
    ClientRequest, EventKind, Op, Reply, Run, Scenario, Source, Tape, printable, simulate,
};
use thunderhead_workers::Worker;

use super::{Answer, CliError, input};

/// Whether the name is that of a folder.
pub fn is_one(name: &str) -> bool {
    Path::new(name).is_dir()
}

/// The Worker in a folder as a system of that name.
pub fn system(name: &str) -> Result<System, CliError> {
    Ok(load(Path::new(name))?.system(name.to_string()))
}

fn load(folder: &Path) -> Result<Worker, CliError> {
    Worker::load(folder, None).map_err(|why| CliError::Input(printable(&why).into_owned()))
}

/// Plays every request of a Worker's `storm.http` in the calm, one long after the other.
pub fn run(program: &str, folder: &Path, wide: bool) -> Result<Answer, CliError> {
    let worker = load(folder)?;
    let requests = worker.one_by_one();
    let scenario = Scenario { requests, ..Scenario::default() };
    let source = Source::Tape(Tape::benign());
    let run = quietly(|| simulate(&scenario, &source, &|cloud| worker.mount(cloud)))?;
    let answered: Vec<Answered> =
        scenario.requests.iter().map(|sent| Answered::of(sent, &run)).collect();
    let mut text = String::new();
    for Answered { request, answer, .. } in &answered {
        let _ = writeln!(text, "{}\n  {}", printable(request), printable(answer));
    }
    let (logs, left) = (logs(&run), left_behind(&run));
    for (title, lines) in [("what was logged", &logs), ("what is left behind", &left)] {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}:");
        }
        for line in lines {
            let _ = writeln!(text, "  {}", printable(line));
        }
    }
    text += &advice(&worker, program, folder);
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
    Ok(Answer { text, json, code: 0, notes: notes(&worker) })
}

/// What to type next, and how to write requests if there are none.
fn advice(worker: &Worker, program: &str, folder: &Path) -> String {
    let folder = input::shown(folder);
    if worker.has_requests() {
        return format!("\n`{program} explore {folder}` plays them in the storm\n");
    }
    format!(
        "\nThere is no {folder}/storm.http, so one `GET /` was sent. Write your requests there, separated by `###`:\n\n  \
         POST /orders\n  content-type: application/json\n\n  {{\"product\": \"tea\"}}\n  ###\n  GET /orders\n"
    )
}

/// The bindings that say that they are not simulated when they are called.
fn notes(worker: &Worker) -> Vec<String> {
    let missing = worker.missing().into_iter();
    let note = |(name, what)| {
        format!("note: `{name}` is a binding of {what}, which is not simulated: its calls throw")
    };
    missing.map(note).collect()
}

/// A request and its answer.
struct Answered {
    request: String,
    answer: String,
    status: Option<u16>,
    body: Option<String>,
}

impl Answered {
    fn of(sent: &ClientRequest, run: &Run) -> Answered {
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
            |call| matches!(trace.op(*call), Op::Fetch { request, .. } if *request == sent.request),
        );
        let outcome = call.and_then(|wanted| {
            trace.events().iter().find_map(|event| match event.kind {
                EventKind::Return { call, outcome } if call == wanted => {
                    Some(trace.outcome(outcome))
                }
                _ => None,
            })
        });
        let request = format!("{} {}", sent.request.method, sent.request.path);
        match outcome {
            Some(Ok(Reply::Fetch(response))) => {
                let body = response.body.text().map(str::to_string);
                let shown =
                    body.clone().unwrap_or_else(|| format!("{} bytes", response.body.len()));
                Answered {
                    request,
                    answer: format!("{} {shown}", response.status),
                    status: Some(response.status),
                    body,
                }
            }
            Some(Ok(other)) => {
                Answered { request, answer: other.to_string(), status: None, body: None }
            }
            Some(Err(error)) => {
                Answered { request, answer: format!("error: {error}"), status: None, body: None }
            }
            None => Answered { request, answer: "no answer".into(), status: None, body: None },
        }
    }

    fn document(&self) -> Value {
        json!({ "request": self.request, "status": self.status, "body": self.body, "answer": self.answer })
    }
}

fn logs(run: &Run) -> Vec<String> {
    let trace = &run.trace;
    let lines = trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(format!("{} {}: {text}", event.at, trace.actor(event))),
        _ => None,
    });
    lines.collect()
}

/// The objects in buckets and the rows in tables, a line each.
fn left_behind(run: &Run) -> Vec<String> {
    let contents = history::contents(&run.trace);
    let objects = contents.iter().map(|stored| {
        let body = stored.body.map(|body| format!(" {body}")).unwrap_or_default();
        format!("r2 {}/{}{body}", stored.bucket, stored.key())
    });
    let rows = history::rows(&run.trace);
    let rows = rows.iter().map(|held| {
        let cells: Vec<String> =
            held.row.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{} {}: {}", held.owner, held.table, cells.join(", "))
    });
    objects.chain(rows).collect()
}
