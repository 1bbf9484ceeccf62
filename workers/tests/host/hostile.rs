//! Workers that misbehave: each ends with a clear verdict, and the next request is served by a new isolate.

use thunderhead_sim::End;

use crate::support::{answers, load, play};

/// The answers to a request at a handler with this body, and to a harmless one after it.
fn said(body: &str) -> Vec<String> {
    let source = format!(
        "export default {{ async fetch(request) {{
           if (request.url.endsWith('/fine')) return new Response('fine');
           {body}
         }} }};"
    );
    let app = load("\"name\": \"web\"", &source).unwrap_or_else(|why| panic!("{why}"));
    let run = play(&app, &[("GET", "/", ""), ("GET", "/fine", "")]);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    answers(&run)
}

#[test]
fn each_ends_with_a_verdict_of_its_own_and_harms_nothing_else() {
    let verdicts = [
        ("for (;;) {}", "exceeded CPU time limit"),
        ("try { for (;;) {} } catch { return new Response('caught'); }", "exceeded CPU time limit"),
        ("await null; for (;;) {}", "exceeded CPU time limit"),
        // Each promise of the first chain keeps the one before it, so memory ends before time.
        ("const spin = () => Promise.resolve().then(spin); await spin();", "exceeded memory limit"),
        (
            "const spin = () => void Promise.resolve().then(spin); spin(); await new Promise(() => {});",
            "exceeded CPU time limit",
        ),
        ("let text = 'x'; for (;;) text += text;", "string too long"),
        (
            "const texts = []; for (let n = 0; ; n++) texts.push('x'.repeat(1 << 20) + n);",
            "exceeded memory limit",
        ),
        ("const all = []; for (;;) all.push(new Uint8Array(1 << 20));", "exceeded memory limit"),
        ("const deep = () => deep() + 1; deep();", "call stack size exceeded"),
        ("await new Promise(() => {});", "had hung"),
        ("return 'no response';", "did not resolve to 'Response'"),
        ("throw { get message() { throw new Error('twice'); } };", "something that has no text"),
        ("throw undefined;", "undefined"),
        ("eval('1');", "eval"),
        ("new Function('return 1')();", "error"),
    ];
    for (body, verdict) in verdicts {
        let said = said(body);
        assert!(said[0].contains(verdict), "{body}: {said:?}");
        assert_eq!(said[1], "200 fine", "{body}");
    }
}

#[test]
fn a_program_that_changes_the_language_under_the_prelude_harms_only_itself() {
    let tricks = [
        "JSON.stringify = () => 'no'; JSON.parse = () => ({});",
        "Array.prototype[Symbol.iterator] = undefined;",
        "Promise.prototype.then = undefined;",
        "Map.prototype.get = () => ({});",
        "Object.prototype.toJSON = () => 'gone';",
        "globalThis.Response = undefined; globalThis.Promise = undefined;",
        "Object.assign = undefined; Object.entries = undefined;",
    ];
    for trick in tricks {
        let said = said(&format!("{trick} return new Response('done');"));
        assert_eq!(said.len(), 2, "{trick}: {said:?}");
    }
}

#[test]
fn a_program_that_cannot_boot_says_why_and_where() {
    let why = |source: &str| load("\"name\": \"web\"", source).err().unwrap_or_default();
    assert!(why("export default {").contains("index.js:1"), "{}", why("export default {"));
    assert!(
        why("\nthrow new Error('no');").contains("index.js:2"),
        "{}",
        why("\nthrow new Error('no');")
    );
    assert!(why("for (;;) {}").contains("while it boots"));
    assert!(why("crypto.randomUUID();").contains("not allowed within global scope"));
    assert!(why("export const a = 1;").contains("no handler"));
    assert!(why("import 'hono';").contains("install it first"));
    assert!(why("import gone from 'node:gone';").contains("not simulated"));
}

#[test]
fn what_the_configuration_names_and_the_program_lacks_is_refused() {
    let source = "export class Counter {} export default { fetch() {} };";
    let why = |config: &str| load(config, source).err().unwrap_or_default();
    let said =
        why(r#""durable_objects": { "bindings": [{ "name": "C", "class_name": "Couter" }] }"#);
    assert!(said.contains("`Couter`") && said.contains("did you mean `Counter`?"), "{said}");
    let said = why(r#""workflows": [{ "binding": "W", "name": "w", "class_name": "Counter" }]"#);
    assert!(said.contains("no method `run`"), "{said}");
    let said = why(r#""queues": { "consumers": [{ "queue": "q" }] }"#);
    assert!(said.contains("no `queue` handler"), "{said}");
    let said = why(r#""r2_buckets": [{ "binding": "B", "bucket_name": "Not_A_Name" }]"#);
    assert!(said.contains("invalid bucket name"), "{said}");
}

#[test]
fn an_object_that_exceeds_a_limit_is_reset_and_serves_again() {
    let source = "import { DurableObject } from 'cloudflare:workers';
        export class Thing extends DurableObject {
          async spin() { await this.ctx.storage.put('a', 1); for (;;) {} }
          async look() { return (await this.ctx.storage.get('a')) ?? null; }
        }
        export default { async fetch(request, env) {
          const error = await env.O.getByName('a').spin().catch((e) => e.message);
          return Response.json([error, await env.O.getByName('a').look()]);
        } };";
    let config = r#""name": "web", "durable_objects": { "bindings": [{ "name": "O", "class_name": "Thing" }] }"#;
    let run = play(&load(config, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 ["Worker exceeded CPU time limit.",null]"#], "{}", run.trace);
}
