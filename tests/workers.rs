//! The folder of a Worker on the command line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::os::unix::fs::PermissionsExt;
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
fn run_prints_all_of_a_body_that_is_streamed() {
    let folder = root().join("examples/workers/streams-an-import").display().to_string();
    let done = thunderhead(root(), &["run", &folder]);
    let expected = r"200 imported tea\nimported milk\nimported bread";
    assert!(done.stdout.contains(expected), "{}", done.stdout);
    let source = "export default { fetch() { return new Response(new ReadableStream({
        start(c) { c.enqueue(new TextEncoder().encode('half')); }, pull(c) { c.error(new Error('no paper')); } })); } };";
    let folder = worker("worker-breaks-off", "\"name\": \"printer\"", source, None);
    let done = thunderhead(&folder, &["run", "."]);
    assert!(done.stdout.contains("200 half (broken off)"), "{}", done.stdout);
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
            let opened = status == 101 && answer["said"].is_array();
            assert!(opened || (200..300).contains(&status), "{}: {answer}", folder.display());
        }
    }
}

#[test]
fn files_of_assets_are_served_and_what_is_bound_nearby_is_played_too() {
    let config = r#""name": "site", "assets": { "directory": "public", "binding": "FILES" },
        "services": [{ "binding": "GONE", "service": "gone" }]"#;
    let source = "export default { fetch: (request, env) => env.FILES.fetch('http://x/about') };";
    let folder = worker("worker-assets", config, source, Some("GET /\n###\nGET /api\n"));
    std::fs::create_dir(folder.join("public")).unwrap();
    for name in ["index", "about"] {
        std::fs::write(folder.join(format!("public/{name}.html")), name).unwrap();
    }
    let done = thunderhead(&folder, &["run", "."]);
    assert!(done.stdout.contains("GET /\n  200 index\nGET /api\n  200 about\n"), "{}", done.stdout);
    assert!(done.stderr.contains("no Worker `gone` in the folders nearby"), "{}", done.stderr);
    let done = thunderhead(root(), &["run", "examples/workers/two-workers/shop"]);
    assert!(done.stderr.contains("the Worker `stock` is played with it"), "{}", done.stderr);
}

#[test]
fn files_without_a_program_are_a_worker_too() {
    let folder = scratch("worker-files-alone");
    let config = r#"{ "name": "site", "assets": { "directory": "public" } }"#;
    std::fs::write(folder.join("wrangler.jsonc"), config).unwrap();
    std::fs::create_dir(folder.join("public")).unwrap();
    std::fs::write(folder.join("public/index.html"), "index").unwrap();
    std::fs::write(folder.join("storm.http"), "GET /\n###\nGET /gone\n").unwrap();
    let done = thunderhead(&folder, &["run", "."]);
    assert!(done.stdout.contains("GET /\n  200 index\nGET /gone\n  404\n"), "{}", done.stdout);
    assert_eq!(thunderhead(&folder, &["explore", ".", "--runs", "20"]).code, 0);
}

/// It deletes a file and then its row. When it fails between the two, the next firing deletes the row.
#[test]
fn a_cron_trigger_may_leave_to_its_next_firing_what_it_could_not_finish() {
    let config = r#""name": "sweep", "triggers": { "crons": ["0 * * * *"] },
        "r2_buckets": [{ "binding": "FILES", "bucket_name": "files" }],
        "d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "db" }]"#;
    let source = |last: &str| {
        format!(
            "export default {{
               async fetch(request, env) {{
                 await env.DB.exec('CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY)');
                 await env.DB.exec(\"INSERT OR IGNORE INTO files VALUES ('a')\");
                 await env.FILES.put('a', 'text');
                 return new Response('stored');
               }},
               async scheduled(event, env) {{
                 await env.DB.exec('CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY)');
                 {last}
               }},
             }};"
        )
    };
    let storm = "PUT /\n### after 10s\nSCHEDULED 0 * * * *\n";
    let files = "await env.FILES.delete('a');";
    let rows = "await env.DB.exec('DELETE FROM files');";
    let rightly = worker("worker-sweep", config, &source(&format!("{files} {rows}")), Some(storm));
    let done = thunderhead(&rightly, &["explore", ".", "--runs", "1500", "--jobs", "1"]);
    assert_eq!(done.code, 0, "{}", done.stdout);
    // The other way round, the next firing no longer knows of the file.
    let known = "const { results } = await env.DB.prepare('SELECT id FROM files').all();";
    let found = "for (const { id } of results) await env.FILES.delete(id);";
    let orphans = source(&format!("{known} {rows} {found}"));
    let wrongly = worker("worker-sweep-orphans", config, &orphans, Some(storm));
    let done = thunderhead(&wrongly, &["explore", ".", "--runs", "600", "--jobs", "1"]);
    assert_eq!(done.code, 1, "{}", done.stdout);
}

#[test]
fn a_message_that_is_accepted_before_it_is_kept_is_lost_in_a_storm() {
    let config = r#""name": "desk",
        "d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "db" }]"#;
    let source = |keep: &str| {
        format!(
            "export default {{ async email(message, env, ctx) {{
               await env.DB.exec('CREATE TABLE IF NOT EXISTS tickets (id TEXT PRIMARY KEY, subject TEXT)');
               const {{ headers }} = message;
               const kept = env.DB.prepare('INSERT OR IGNORE INTO tickets VALUES (?, ?)')
                 .bind(headers.get('message-id'), headers.get('subject')).run();
               {keep};
             }} }};"
        )
    };
    let storm = "EMAIL ann@example.com desk@b.example\nSubject: help\n\nIt does not work.\n";
    let explore = ["explore", ".", "--runs", "300", "--jobs", "1"];
    let naive = worker("worker-mail-lost", config, &source("ctx.waitUntil(kept)"), Some(storm));
    let done = thunderhead(&naive, &explore);
    assert_eq!(done.code, 1, "{}", done.stdout);
    assert!(done.stdout.contains("EMAIL"), "{}", done.stdout);
    let right = worker("worker-mail-kept", config, &source("await kept"), Some(storm));
    let done = thunderhead(&right, &explore);
    assert_eq!(done.code, 0, "{}", done.stdout);
    let done = thunderhead(&right, &["run", "."]);
    assert!(done.stdout.contains("EMAIL ann@example.com desk@b.example\n  200"), "{}", done.stdout);
}

#[test]
fn several_configurations_in_one_folder_are_several_workers() {
    let config =
        r#""name": "web", "queues": { "producers": [{ "queue": "jobs", "binding": "JOBS" }] }"#;
    let source = "export default { async fetch(request, env) { await env.JOBS.send('a'); return new Response('sent'); } };";
    let folder = worker("worker-two-configurations", config, source, None);
    let consumer = r#"{ "name": "works", "main": "works.js", "queues": { "consumers": [{ "queue": "jobs" }] } }"#;
    std::fs::write(folder.join("wrangler.works.jsonc"), consumer).unwrap();
    let works = "export default { async queue(batch) { console.log('got ' + batch.messages[0].body); }, fetch() { return new Response('works'); } };";
    std::fs::write(folder.join("works.js"), works).unwrap();
    let done = thunderhead(&folder, &["run", "."]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("200 sent") && done.stdout.contains("got a"), "{}", done.stdout);
    for (command, expected) in [("run", "200 works"), ("explore", "works worker")] {
        let done = thunderhead(&folder, &[command, "wrangler.works.jsonc"]);
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stdout.contains(expected), "{}", done.stdout);
    }
    // Without one that wrangler finds by itself, the folder is that of all of them.
    std::fs::rename(folder.join("wrangler.jsonc"), folder.join("wrangler.web.jsonc")).unwrap();
    let done = thunderhead(&folder, &["run", "."]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let both = format!("{}{}", done.stdout, done.stderr);
    assert!(both.contains("is played with it"), "{both}");
}

#[test]
fn without_a_file_of_requests_the_cron_trigger_is_fired_too() {
    let config = r#""name": "hello", "triggers": { "crons": ["5 4 * * *"] }"#;
    let source = "export default { fetch: () => new Response('hi'), scheduled: ({ cron }) => console.log('fired ' + cron) };";
    let folder = worker("worker-usual-cron", config, source, None);
    let done = thunderhead(&folder, &["run", "."]);
    assert!(done.stdout.contains("SCHEDULED 5 4 * * *\n  200\n"), "{}", done.stdout);
    assert!(done.stdout.contains("fired 5 4 * * *"), "{}", done.stdout);
}

#[test]
fn a_storm_ts_is_judged_by_its_promises_and_has_types() {
    let config = r#""name": "echo""#;
    let folder = worker("worker-storm-ts", config, HELLO, None);
    let storm = "import { storm } from 'thunderhead';
        export default storm({
          workload({ rng, client }) { client.get('/' + rng.pick(['a', 'b'])); },
          eventually: { 'b is never asked for': ({ requests }) => requests.every((one) => one.path !== '/b') },
        });";
    std::fs::write(folder.join("storm.ts"), storm).unwrap();
    let done = thunderhead(&folder, &["explore", ".", "--runs", "30", "--json"]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert_eq!(done.json()["violations"][0]["promise"], "b is never asked for");
    assert_eq!(thunderhead(&folder, &["types"]).code, 0);
    let types = std::fs::read_to_string(folder.join("thunderhead.d.ts")).unwrap();
    assert!(types.contains("declare module \"thunderhead\""), "{types}");
    let wrong = "export default {\n  workload() {\n    nothing();\n  },\n};";
    std::fs::write(folder.join("storm.ts"), wrong).unwrap();
    let done = thunderhead(&folder, &["explore", "."]);
    assert_eq!(done.code, 2, "{}", done.stdout);
    assert!(done.stderr.contains("storm.ts:3:"), "{}", done.stderr);
    // What only some seeds meet is told when the search is over.
    let rarely = "export default {\n  workload({ rng, client }) {\n    client.get('/');\n    \
        if (rng.int(1, 9) === 9) nothing();\n  },\n};";
    std::fs::write(folder.join("storm.ts"), rarely).unwrap();
    let done = thunderhead(&folder, &["explore", ".", "--runs", "50"]);
    assert_eq!((done.code, &*done.stdout), (2, ""), "{}", done.stderr);
    assert!(done.stderr.contains("storm.ts:4:"), "{}", done.stderr);
}

#[test]
fn run_shows_what_a_client_of_a_websocket_has_said_and_received() {
    let done = thunderhead(root(), &["run", "examples/workers/chat-in-storage"]);
    let ben = "WEBSOCKET /room?name=ben\n  101\n  > \"hello, ann\"\n  < \
        {\"number\":2,\"from\":\"ben\",\"text\":\"hello, ann\"}\n  > close 1000\n  < close 1000 \"bye\"\n";
    assert!(done.stdout.contains(ben), "{}", done.stdout);
}

#[test]
fn trace_says_of_a_folder_how_its_history_is_shown() {
    let done = thunderhead(root(), &["trace", "examples/workers/chat-in-storage"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("`run DIR --wide`"), "{}", done.stderr);
}

/// A Worker with the plainest mistake: a message that comes twice is counted twice.
const COUNTS: &str = "export default { async fetch(request, env) {
    await env.SEEN.send(new URL(request.url).pathname);
    return new Response('counted', { status: 201 }); },
  async queue(batch, env) {
    for (const message of batch.messages)
      await env.DB.prepare('INSERT INTO visits (who) VALUES (?)').bind(message.body).run(); } };";
const COUNTS_CONFIG: &str = r#""name": "visits", "d1_databases": [{ "binding": "DB", "database_name": "visits" }],
    "queues": { "producers": [{ "binding": "SEEN", "queue": "seen" }],
      "consumers": [{ "queue": "seen", "max_retries": 90, "retry_delay": 2 }] }"#;

/// The folder of that Worker, whose table is made by migrations.
fn counts(name: &str, storm: &str) -> PathBuf {
    let folder = worker(name, COUNTS_CONFIG, COUNTS, Some(storm));
    let migrations = folder.join("migrations");
    std::fs::create_dir_all(&migrations).unwrap();
    std::fs::write(migrations.join("0002_who.sql"), "ALTER TABLE visits ADD COLUMN who TEXT;")
        .unwrap();
    let first = "-- visits; all of them\nCREATE TABLE visits (at INTEGER);\n";
    std::fs::write(migrations.join("0001_visits.sql"), first).unwrap();
    folder
}

#[test]
fn a_worker_whose_every_request_fails_in_the_calm_is_refused() {
    let failing = "export default { async fetch(request) { if (new URL(request.url).pathname === '/ok') return new Response('ok');
        throw new Error('no such table'); } };";
    let folder = worker("worker-fails", "\"name\": \"a\"", failing, Some("GET /a\n###\nGET /b\n"));
    for command in ["explore", "check"] {
        let done = thunderhead(&folder, &[command, "."]);
        assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
        assert!(done.stderr.contains("every request fails in the calm"), "{}", done.stderr);
        assert!(done.stderr.contains("GET /b: error: no such table"), "{}", done.stderr);
    }
    std::fs::write(folder.join("storm.http"), "GET /a\n###\nGET /ok\n").unwrap();
    let done = thunderhead(&folder, &["explore", ".", "--runs", "5"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("note: fails in the calm: GET /a"), "{}", done.stderr);
}

#[test]
fn a_request_that_finds_nothing_to_use_in_an_answer_is_told() {
    let storm = "# @name a\nPOST /\n###\nGET /{{a.response.body.id}}\n###\nGET /{{a.response.body.token}}\n";
    let source = "export default { fetch: () => Response.json({ id: 1 }) };";
    let folder = worker("worker-answers", "\"name\": \"a\"", source, Some(storm));
    let done = thunderhead(&folder, &["run", "."]);
    let missing = "not sent: the answer has nothing that could be put in the place of `{{a.response.body.token}}`";
    let expected =
        format!("GET /1\n  200 {{\"id\":1}}\nGET /{{{{a.response.body.token}}}}\n  {missing}\n");
    assert!(done.stdout.contains(&expected), "{}", done.stdout);
    let done = thunderhead(&folder, &["explore", ".", "--runs", "5"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("note: fails in the calm: GET /{{a"), "{}", done.stderr);
}

#[test]
fn an_endless_loop_is_refused_within_seconds() {
    let folder = worker(
        "worker-loops",
        "\"name\": \"a\"",
        "export default { fetch() { for (;;); } };",
        None,
    );
    let done = thunderhead(&folder, &["explore", "."]);
    assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("uses up all processor time"), "{}", done.stderr);
}

#[test]
fn a_failure_is_named_after_the_worker_replays_from_anywhere_and_says_when_the_worker_has_changed()
{
    let folder = counts("worker-elsewhere", "POST /ann\n");
    let found = thunderhead(&folder, &["explore", ".", "--runs", "200"]);
    assert_eq!(found.code, 1, "{}{}", found.stdout, found.stderr);
    assert!(found.stdout.contains("`### ignore visits.*`"), "{}", found.stdout);
    assert!(found.stdout.contains("twice, and the calm once"), "{}", found.stdout);
    let written = files(&folder.join("failures"));
    let name = written[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("visits-worker-the-storm-leaves-no-trace"), "{name}");
    let file = written[0].display().to_string();
    let again = thunderhead(root(), &["replay", &file]);
    assert_eq!(again.code, 1, "{}{}", again.stdout, again.stderr);
    let page = thunderhead(root(), &["trace", &file, "--format", "html"]);
    assert!(
        page.stdout.contains("<strong>eventually the storm leaves no trace</strong> "),
        "{}",
        page.stdout
    );
    let mended = COUNTS.replace("VALUES (?)", "SELECT ? WHERE NOT EXISTS (SELECT 1 FROM visits)");
    std::fs::write(folder.join("index.js"), mended).unwrap();
    let changed = thunderhead(root(), &["replay", &file]);
    assert_eq!(changed.code, 3, "{}{}", changed.stdout, changed.stderr);
    assert!(changed.stdout.contains("the Worker has changed since"), "{}", changed.stdout);
    assert!(changed.stdout.contains("holds now"), "{}", changed.stdout);
}

#[test]
fn what_storm_http_ignores_is_not_held_against_the_worker_and_is_listed() {
    let folder = counts("worker-ignores", "### ignore visits.*\nPOST /ann\n");
    let done = thunderhead(&folder, &["explore", ".", "--runs", "200"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let list = thunderhead(&folder, &["list", "."]);
    assert!(list.stdout.contains("eventually the storm leaves no trace"), "{}", list.stdout);
    assert!(
        list.stdout.contains("not compared: visits.*") && !list.stdout.contains("holds"),
        "{}",
        list.stdout
    );
    let folder = counts("worker-ignores-wrongly", "### ignore no mesage is given up\nPOST /ann\n");
    let done = thunderhead(&folder, &["explore", "."]);
    assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
    assert!(
        done.stderr.contains("line 1") && done.stderr.contains("no message is given up"),
        "{}",
        done.stderr
    );
}

#[test]
fn check_takes_the_folder_of_a_worker() {
    let folder = counts("worker-check", "POST /ann\n");
    let done = thunderhead(&folder, &["check", ".", "--runs", "100"]);
    assert_eq!(done.code, 1, "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("visits"), "{}", done.stdout);
    assert!(!done.stdout.contains("relay"), "{}", done.stdout);
}

#[test]
fn an_environment_is_chosen_and_said_and_unknown_keys_are_told() {
    let source = "export default { async fetch(request, env) { return new Response(`${env.WHERE} ${env.SECRET}`); } };";
    let config = r#""name": "a", "kv_namespace": [], "vars": { "WHERE": "here" }, "env": { "staging": { "vars": { "WHERE": "there" } } }"#;
    let folder = worker("worker-env", config, source, None);
    std::fs::write(folder.join(".dev.vars"), "SECRET=one\n").unwrap();
    std::fs::write(folder.join(".dev.vars.staging"), "SECRET='two'\n").unwrap();
    let done = thunderhead(&folder, &["run", "."]);
    assert!(done.stdout.contains("200 here one"), "{}", done.stdout);
    assert!(done.stderr.contains("`kv_namespace` is not understood"), "{}", done.stderr);
    let done = thunderhead(&folder, &["run", ".", "--env", "staging"]);
    assert!(done.stdout.contains("200 there two"), "{}", done.stdout);
    assert!(done.stderr.contains("the environment `staging` is used"), "{}", done.stderr);
    let done = thunderhead(&folder, &["explore", ".", "--env", "production"]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(done.stderr.contains("staging"), "{}", done.stderr);
}

#[test]
fn an_installed_esbuild_bundles_the_worker_and_its_map_names_the_places() {
    let folder = worker("worker-esbuild", "\"name\": \"a\"", "import 'never-read';", None);
    let installed = folder.join("node_modules/.bin");
    std::fs::create_dir_all(&installed).unwrap();
    // It stands for the bundler: two lines, the second of which comes from line 42 of another file.
    let stand_in = r#"#!/bin/sh
for argument; do case "$argument" in --outdir=*) out="${argument#--outdir=}";; esac; done
mkdir -p "$out"
echo '// bundled' > "$out/index.js"
echo 'export default { async fetch() { throw new Error("bundled"); } };' >> "$out/index.js"
echo "{ \"sources\": [\"$PWD/src/deep.ts\"], \"mappings\": \";AAyCA\" }" > "$out/index.js.map"
"#;
    let esbuild = installed.join("esbuild");
    std::fs::write(&esbuild, stand_in).unwrap();
    std::fs::set_permissions(&esbuild, std::fs::Permissions::from_mode(0o755)).unwrap();
    let done = thunderhead(&folder, &["run", "."]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("Uncaught Error: bundled at src/deep.ts:42:"), "{}", done.stdout);
    let failing = "#!/bin/sh\necho '✘ [ERROR] Could not resolve \"x\"' >&2\necho >&2\necho '    src/a.ts:3:7:' >&2\nexit 1\n";
    std::fs::write(&esbuild, failing).unwrap();
    let done = thunderhead(&folder, &["run", "."]);
    assert_eq!(done.code, 2, "{}", done.stdout);
    assert!(done.stderr.contains("src/a.ts:3:7: Could not resolve \"x\""), "{}", done.stderr);
}

#[test]
fn every_alarm_offers_the_line_that_ignores_it() {
    let (folder, out) = (root().join("examples/workers/uploads-plan"), scratch("worker-offers"));
    let (folder, out) = (folder.display().to_string(), out.display().to_string());
    let done =
        thunderhead(root(), &["explore", &folder, "--seed", "60", "--runs", "20", "--out", &out]);
    assert_eq!(done.code, 1, "{}{}", done.stdout, done.stderr);
    let alarms = done.stdout.matches("BROKEN").count();
    assert!(alarms > 1 && done.stdout.matches("`### ignore ").count() == alarms, "{}", done.stdout);
    assert!(done.stdout.contains("`### ignore no message is given up`"), "{}", done.stdout);
}
