//! The second series of probes (`workers/tests/probes/observed2.jsonl`): each row has its source, and `second.txt` has
//! the text around them. What differs is listed in `docs/platform-workers.md` too.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::probes::{ask, differences, listed, load, read};

/// The parts that are run, each with the number of answers that are the runtime's own, at least.
const PARTS: [(&str, usize); 6] =
    [("kv", 26), ("lifecycle", 14), ("scheduled", 7), ("do", 19), ("queues", 5), ("workflows", 8)];

/// The parts that the first series has too are told apart in the table by a two.
fn again(part: &str) -> &'static str {
    if ["do", "queues", "workflows"].contains(&part) { "2" } else { "" }
}

struct Row {
    probe: String,
    source: String,
    observed: Value,
}

fn rows(part: &str) -> Vec<Row> {
    let text = read("observed2.jsonl");
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let row = |row: Value| {
        let field = |key: &str| row[key].as_str().unwrap().to_string();
        let (probe, source) = (field("probe"), field("source"));
        let observed = row["observed"].clone();
        (field("component") == part).then_some(Row { probe, source, observed })
    };
    rows.filter_map(row).collect()
}

/// The text of a part, with the probes in their place.
fn module(part: &str, probes: &str) -> String {
    let text = read("second.txt");
    let from = text.find(&format!("## {part}\n```js\n")).unwrap();
    let block = text[from..].split("```").nth(1).unwrap().trim_start_matches("js\n");
    block.replace("// ... probes ...", probes)
}

/// The classes of a text that extend another, and are exported.
fn classes<'a>(source: &'a str, extends: &str) -> BTreeSet<&'a str> {
    let named = |at: &'a str| at.split_once(&format!(" extends {extends} "));
    let classes = source.split("export class ").skip(1).filter_map(named).map(|(name, _)| name);
    classes.filter(|name| !name.contains(' ')).collect()
}

/// The queues that a text names in comments: `// @queue NAME {config}`.
fn queues(source: &str) -> Value {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix("// @queue "));
    let (mut producers, mut consumers) = (Vec::new(), Vec::new());
    for line in lines {
        let (name, config) = line.trim().split_once(' ').unwrap_or((line.trim(), "{}"));
        let told: Value = serde_json::from_str(config).unwrap_or_else(|_| json!({}));
        let or = |key: &str, usual: Value| told.get(key).cloned().unwrap_or(usual);
        producers.push(json!({ "binding": name, "queue": name }));
        consumers.push(json!({
            "queue": name,
            "max_batch_size": or("maxBatchSize", 10.into()),
            "max_batch_timeout": or("maxBatchTimeout", 0.2.into()),
            "max_retries": or("maxRetries", 2.into()),
            "retry_delay": told.get("retryDelay"),
            "dead_letter_queue": told.get("deadLetterQueue"),
        }));
    }
    json!({ "producers": producers, "consumers": consumers })
}

fn config(source: &str) -> Value {
    let service = |name: &&str| {
        let props = json!({ "tenant": "t1", "n": 5, "nested": { "a": [1, null] } });
        let props = if name.ends_with("Props") { props } else { json!({}) };
        json!({ "binding": name, "service": "worker", "entrypoint": name, "props": props })
    };
    let mut services: Vec<Value> =
        classes(source, "WorkerEntrypoint").iter().map(service).collect();
    services.push(json!({ "binding": "SELF", "service": "worker" }));
    let objects = classes(source, "DurableObject");
    let workflows = match source.contains("class WF extends") {
        true => json!([{ "binding": "WF", "name": "wf", "class_name": "WF" }]),
        false => json!([]),
    };
    let object = |name: &&str| json!({ "name": name, "class_name": name });
    json!({
        "services": services,
        "durable_objects": { "bindings": objects.iter().map(object).collect::<Vec<_>>() },
        "queues": queues(source),
        "workflows": workflows,
        "r2_buckets": [{ "binding": "R2", "bucket_name": "probes" }],
        "kv_namespaces": [
            { "binding": "KV", "id": "kv" },
            { "binding": "KV_ALIAS", "id": "kv" },
            { "binding": "KV_OTHER", "id": "other" },
        ],
        "vars": {
            "TEXT": "plain", "EMPTY": "", "SECRET": "s3cr3t", "JSON_OBJ": { "a": 1, "nested": { "b": [1, 2] } },
            "JSON_NUM": 5, "JSON_BOOL": false, "JSON_NULL": null, "JSON_ARR": [1, "2"],
        },
    })
}

#[test]
fn every_probe_of_the_second_series_answers_as_the_runtime_did_or_is_listed_with_the_reason() {
    let only = std::env::var("PROBE").ok();
    let listed = listed();
    let mut wrong = Vec::new();
    for (part, at_least) in PARTS {
        let rows = rows(part);
        let probes: Vec<&str> = rows.iter().map(|row| &*row.source).collect();
        let source = module(part, &probes.join("\n"));
        let files = [("index.mjs", source.clone()), ("common.mjs", module("common", ""))];
        let app = load("index.mjs", config(&source), &files);
        let mut same = 0;
        for row in rows.iter().filter(|row| only.as_ref().is_none_or(|only| *only == row.probe)) {
            let got = ask(&app, &[format!("/__run?name={}", row.probe)]).remove(0);
            let mut differ = Vec::new();
            match &got {
                Ok(got) => differences("", &row.observed, &got["observed"], &mut differ),
                Err(why) => differ.push(why.clone()),
            }
            same += usize::from(differ.is_empty());
            match (
                differ.is_empty(),
                listed.contains(&(format!("{part}{}", again(part)), row.probe.clone())),
            ) {
                (true, true) => wrong.push(format!("{part} {} is the same, and listed", row.probe)),
                (false, false) => {
                    wrong.push(format!(
                        "{part} {} differs:\n    {}",
                        row.probe,
                        differ.join("\n    ")
                    ));
                }
                _ => {}
            }
        }
        if same < at_least && only.is_none() {
            wrong.push(format!("{part}: {same} are the same"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
