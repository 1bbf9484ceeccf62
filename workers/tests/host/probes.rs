//! The probes that the real runtime has answered (`workers/tests/probes`), unmodified, on this host. What differs is
//! listed in `docs/platform-workers.md`, row by row.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};
use thunderhead_sim::{Fault, Request, Scenario, ScriptedFault, Source, Tape, simulate};
use thunderhead_workers::{App, Config, Files};

/// How many of the answers are the runtime's own, at least.
const SAME_AT_LEAST: usize = 241;
const COMPONENTS: [&str; 5] = ["d1", "do", "queues", "r2", "workflows"];
/// The parts of the second series that are run.
const SECOND: [&str; 6] = ["kv", "lifecycle", "scheduled", "do2", "queues2", "workflows2"];
const DEVIATIONS: &str = include_str!("../../../docs/platform-workers.md");

pub fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probes").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn load(main: &str, config: Value, files: &[(&str, String)]) -> Arc<App> {
    let files = files.iter().map(|(name, text)| (name.to_string(), text.clone())).collect();
    let mut config = config;
    config["main"] = main.into();
    let config = Config::parse("wrangler.json", &config.to_string()).unwrap();
    Arc::new(App::new(config, Files::Memory(files)).unwrap_or_else(|why| panic!("{main}: {why}")))
}

/// Requests in the calm, one after the other, and their answers.
pub fn ask(app: &Arc<App>, paths: &[String]) -> Vec<Result<Value, String>> {
    let answers: Rc<RefCell<Vec<String>>> = Rc::default();
    // The runtime evicts every object that was idle for ten seconds; in a storm that is drawn.
    let evicted = ScriptedFault { times: u32::MAX, ..ScriptedFault::once(Fault::Evict, "*") };
    let faults = vec![evicted];
    let scenario = Scenario { max_steps: 3_000_000, faults, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        app.mount_locally(cloud);
        let (answers, paths, name) = (answers.clone(), paths.to_vec(), app.name().to_string());
        cloud.client("client", move |env| async move {
            for path in paths {
                let said = match env.fetch(&name, Request::new("GET", &path, "")).await {
                    Ok(response) => response.body.text().unwrap_or_default().to_string(),
                    Err(error) => json!({ "failed": error.to_string() }).to_string(),
                };
                answers.borrow_mut().push(said);
            }
        });
    });
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    if std::env::var_os("PROBE").is_some() {
        println!("{}", run.trace);
    }
    let mut answers = answers.take().into_iter();
    let read = |answer: String| {
        serde_json::from_str(&answer).map_err(|error| format!("{error}: {answer}"))
    };
    let all = paths.iter().map(|_| answers.next().map_or(Err(format!("{:?}", run.end)), read));
    all.collect()
}

/// What the probes' own `run.mjs` gives to the runtime.
fn config(component: &str) -> Value {
    match component {
        "r2" => json!({
            "r2_buckets": [{ "binding": "R2", "bucket_name": "probes" }],
            "queues": {
                "producers": [{ "binding": "Q", "queue": "notif" }],
            },
        }),
        "d1" => json!({ "d1_databases": [{ "binding": "DB", "database_name": "DB" }] }),
        "workflows" => json!({ "workflows": [
            { "binding": "WF", "name": "wf", "class_name": "WF" },
            { "binding": "WFL", "name": "wf-limited", "class_name": "WF", "limits": { "steps": 3 } },
        ] }),
        "do" => json!({
            "durable_objects": { "bindings": [
                { "name": "DO", "class_name": "ProbeDO" },
                { "name": "DO2", "class_name": "OtherDO" },
                { "name": "DOKV", "class_name": "KvDO" },
            ] },
            "r2_buckets": [{ "binding": "R2", "bucket_name": "probes" }],
            "migrations": [{ "tag": "v1", "new_classes": ["KvDO"] }],
        }),
        _ => queues(),
    }
}

/// The queues, from the module that configures them.
fn queues() -> Value {
    let main = "import { config } from './queues.config.mjs'; export default { fetch: () => Response.json(config) };";
    let files = [("index.js", main.to_string()), ("queues.config.mjs", read("queues.config.mjs"))];
    let told = ask(&load("index.js", json!({}), &files), &["/".to_string()]).remove(0).unwrap();
    let map = |key: &str| told[key].as_object().unwrap().clone();
    let producers = map("queueProducers").into_iter().map(|(name, to)| {
        let mut producer = json!({ "binding": name, "queue": to["queueName"] });
        if let Some(delay) = to.get("deliveryDelay") {
            producer["delivery_delay"] = delay.clone();
        }
        producer
    });
    let consumers = map("queueConsumers").into_iter().map(|(name, set)| {
        json!({
            "queue": name,
            "max_batch_size": set.get("maxBatchSize"),
            "max_batch_timeout": set.get("maxBatchTimeout"),
            "max_retries": set.get("maxRetries"),
            "dead_letter_queue": set.get("deadLetterQueue"),
            "retry_delay": set.get("retryDelay"),
        })
    });
    let (producers, consumers): (Vec<_>, Vec<_>) = (producers.collect(), consumers.collect());
    json!({
        "queues": { "producers": producers, "consumers": consumers },
        "services": [{ "binding": "SELF", "service": "worker" }],
    })
}

/// A probe and the runtime's answer.
struct Row {
    component: String,
    probe: String,
    observed: Value,
}

fn observed() -> Vec<Row> {
    let text = read("observed.jsonl");
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let name = |row: &Value, key: &str| row[key].as_str().unwrap().to_string();
    let row = |row: Value| Row {
        component: name(&row, "component"),
        probe: name(&row, "probe"),
        observed: row["observed"].clone(),
    };
    rows.map(row).collect()
}

/// The rows that the table of the documentation names: `| component | probe | …`.
pub fn listed() -> BTreeSet<(String, String)> {
    let rows = DEVIATIONS.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let (component, probe) = (cells.next()?, cells.next()?);
        let mut parts = COMPONENTS.iter().chain(&SECOND);
        parts
            .any(|part| *part == component)
            .then(|| (component.to_string(), probe.trim_matches('`').to_string()))
    });
    rows.collect()
}

/// The places where two answers differ.
pub fn differences(path: &str, wanted: &Value, got: &Value, out: &mut Vec<String>) {
    match (wanted, got) {
        _ if wanted == got => {}
        (Value::Object(one), Value::Object(two)) => {
            let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
            for key in keys {
                let part = |of: &serde_json::Map<String, Value>| {
                    of.get(key).cloned().unwrap_or("«nothing»".into())
                };
                differences(&format!("{path}.{key}"), &part(one), &part(two), out);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (at, (one, two)) in one.iter().zip(two).enumerate() {
                differences(&format!("{path}[{at}]"), one, two, out);
            }
        }
        _ => out.push(format!("{path}: the runtime {wanted}, here {got}")),
    }
}

/// The answers of this host. Probes of R2 and D1 were recorded one after the other in one run, and some see what
/// earlier ones left behind; the others were recorded side by side, on names of their own.
fn answers(component: &str, rows: &[&Row]) -> Vec<Result<Value, String>> {
    let main = format!("{component}.mjs");
    let files = [(&*main, read(&main)), ("common.mjs", read("common.mjs"))];
    let app = load(&main, config(component), &files);
    let paths = rows.iter().map(|row| format!("/__run?name={}", row.probe));
    let paths: Vec<String> = paths.collect();
    match component {
        "d1" | "r2" => ask(&app, &paths),
        _ => paths.chunks(1).flat_map(|path| ask(&app, path)).collect(),
    }
}

#[test]
fn every_probe_answers_as_the_runtime_did_or_is_listed_with_the_reason() {
    let only = std::env::var("PROBE").ok();
    let (observed, listed) = (observed(), listed());
    let mut wrong = Vec::new();
    let mut same = 0;
    for component in COMPONENTS {
        let wanted = |row: &&Row| only.as_ref().is_none_or(|only| *only == row.probe);
        let rows = observed.iter().filter(|row| row.component == component).filter(wanted);
        let rows: Vec<&Row> = rows.collect();
        for (row, got) in rows.iter().zip(answers(component, &rows)) {
            let mut differ = Vec::new();
            match &got {
                Ok(got) => differences("", &row.observed, &got["observed"], &mut differ),
                Err(why) => differ.push(why.clone()),
            }
            same += usize::from(differ.is_empty());
            let name = format!("{component} {}", row.probe);
            match (differ.is_empty(), listed.contains(&(component.into(), row.probe.clone()))) {
                (true, true) => wrong.push(format!("{name} is the same, and listed")),
                (false, false) => {
                    wrong.push(format!("{name} differs:\n    {}", differ.join("\n    ")))
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{same} are the same\n{}", wrong.join("\n"));
    assert!(same >= SAME_AT_LEAST, "{same} are the same");
}
