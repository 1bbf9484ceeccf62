//! The folder of a Worker on the command line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::{Path, PathBuf};

use support::{files, root, scratch, thunderhead};

/// A folder with a Worker of one module.
fn worker(name: &str, config: &str, source: &str, storm: Option<&str>) -> PathBuf {
    let folder = scratch(name);
    std::fs::write(
        folder.join("wrangler.jsonc"),
        format!("{{ \"main\": \"index.js\", {config} }}"),
    )
    .unwrap();
    std::fs::write(folder.join("index.js"), source).unwrap();
    if let Some(storm) = storm {
        std::fs::write(folder.join("storm.http"), storm).unwrap();
    }
    folder
}

const HELLO: &str = "export default { async fetch(request) { console.log('served'); return new Response('hello ' + new URL(request.url).pathname); } };";
/// An object that never answers, so that the application does not come to rest.
const STUCK: &str = "import { DurableObject } from 'cloudflare:workers';
    export class Thing extends DurableObject { async wait() { await new Promise(() => {}); } }
    export default { async fetch(request, env) { await env.O.getByName('a').wait(); return new Response('done'); } };";
const STUCK_CONFIG: &str =
    r#""durable_objects": { "bindings": [{ "name": "O", "class_name": "Thing" }] }"#;

#[test]
fn run_plays_the_requests_in_the_calm_and_prints_answers_and_logs() {
    let folder = worker("worker-run", "\"name\": \"hello\"", HELLO, Some("GET /a\n###\nGET /b\n"));
    let done = thunderhead(&folder, &["run", "."]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stdout.contains("GET /a\n  200 hello /a\n") && done.stdout.contains("200 hello /b"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("hello: served"), "{}", done.stdout);
}

#[test]
fn run_prints_what_is_left_behind() {
    let folder = root().join("examples/workers/charges-in-a-step").display().to_string();
    let done = thunderhead(root(), &["run", &folder]);
    for left in
        ["r2 receipts/order-1 \"paid 500\"", "ACCOUNT:bob charges: id = 'order-2', cents = 700"]
    {
        assert!(done.stdout.contains(left), "{left}: {}", done.stdout);
    }
}

#[test]
fn without_requests_one_is_sent_and_it_is_said_how_to_write_them() {
    let folder = worker("worker-no-requests", "\"name\": \"hello\"", HELLO, None);
    let done = thunderhead(&folder, &["run", "."]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stdout.contains("GET /\n  200 hello /\n") && done.stdout.contains("storm.http"),
        "{}",
        done.stdout
    );
}

#[test]
fn explore_says_that_every_promise_held_and_exits_with_0() {
    let folder = worker("worker-holds", "\"name\": \"hello\"", HELLO, None);
    let done = thunderhead(&folder, &["explore", ".", "--runs", "20", "--json"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let json = done.json();
    assert_eq!(
        (json["ok"].as_bool(), json["violations"].as_array().map(Vec::len)),
        (Some(true), Some(0)),
        "{json}"
    );
    let two = thunderhead(&folder, &["explore", ".", "--runs", "20", "--json", "--jobs", "1"]);
    let two = two.json();
    assert_eq!(
        two["traceHash"], json["traceHash"],
        "another process with another number of threads"
    );
}

#[test]
fn what_explore_finds_is_written_and_replayed_from_the_same_folder() {
    let folder = worker("worker-broken", STUCK_CONFIG, STUCK, None);
    let found = thunderhead(&folder, &["explore", ".", "--runs", "5", "--json"]);
    assert_eq!(found.code, 1, "{}{}", found.stdout, found.stderr);
    let json = found.json();
    assert_eq!(json["violations"][0]["promise"], "the application comes to rest", "{json}");
    assert_eq!(json["violations"][0]["deviations"], 0, "{json}");
    let written = files(&folder.join("failures"));
    let file = written[0].display().to_string();
    let again = thunderhead(&folder, &["replay", &file]);
    assert!(
        again.code <= 1 && again.stdout.contains("the application comes to rest"),
        "{}{}",
        again.stdout,
        again.stderr
    );
    let shown = thunderhead(&folder, &["trace", &file]);
    assert!(
        shown.code == 0 && shown.stdout.contains("object.rpc"),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
}

#[test]
fn a_worker_that_cannot_be_run_is_refused_with_the_reason_and_2() {
    let refused = |folder: &Path, reason: &str| {
        for command in ["run", "explore"] {
            let done = thunderhead(folder, &[command, "."]);
            assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
            assert!(done.stderr.contains(reason), "{reason}: {}", done.stderr);
        }
    };
    refused(
        &worker("worker-syntax", "\"name\": \"a\"", "export default {\n  fetch( {}\n};", None),
        "index.js:3",
    );
    refused(&worker("worker-class", STUCK_CONFIG, HELLO, None), "`Thing`");
    refused(
        &worker("worker-storm", "\"name\": \"a\"", HELLO, Some("hello there\n")),
        "storm.http: line 1",
    );
    refused(&scratch("worker-empty"), "wrangler.jsonc");
}

#[test]
fn the_examples_answer_in_the_calm() {
    for folder in files(&root().join("examples/workers")) {
        let done = thunderhead(root(), &["run", &folder.display().to_string(), "--json"]);
        assert_eq!(done.code, 0, "{}: {}", folder.display(), done.stderr);
        let json = done.json();
        for answer in json["answers"].as_array().unwrap() {
            let status = answer["status"]
                .as_u64()
                .unwrap_or_else(|| panic!("{}: {answer}", folder.display()));
            assert!((200..300).contains(&status), "{}: {answer}", folder.display());
        }
    }
}
