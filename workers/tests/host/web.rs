//! Web APIs and `node:` modules beyond requests and responses.

use crate::support::{fetch, load, play, value};

const NODE: &str = r#""name": "web", "compatibility_flags": ["nodejs_compat"]"#;

/// The answer of a handler with these imports.
fn with(imports: &str, body: &str) -> String {
    let source =
        format!("{imports}\nexport default {{ async fetch(request, env, ctx) {{ {body} }} }};");
    let app = load(NODE, &source).unwrap_or_else(|why| panic!("{why}"));
    crate::support::answers(&play(&app, &[("GET", "/", "")])).pop().unwrap()
}

#[test]
fn a_pattern_of_addresses_finds_names_wildcards_and_optional_parts() {
    let cases = [
        (
            "new URLPattern({ pathname: '/books/:id' }).exec('http://x/books/7').pathname.groups",
            r#"{"id":"7"}"#,
        ),
        ("new URLPattern({ pathname: '/a/:b?' }).test('http://x/a')", "true"),
        (
            "new URLPattern({ pathname: '/a/*' }).exec('http://x/a/b/c').pathname.groups",
            r#"{"0":"b/c"}"#,
        ),
        (r"new URLPattern({ pathname: '/:n(\\d+)' }).test('http://x/12')", "true"),
        (r"new URLPattern({ pathname: '/:n(\\d+)' }).test('http://x/no')", "false"),
        ("new URLPattern('/x/:y', 'https://a.b').test('https://a.b/x/1')", "true"),
        ("new URLPattern('https://*.example.com/*').test('https://www.example.com/a')", "true"),
        ("new URLPattern({ hostname: 'a.b' }).test('http://c.d/')", "false"),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn a_form_with_files_is_written_and_read_in_parts() {
    let said = fetch(
        "\"name\": \"web\"",
        "const form = new FormData();
         form.append('name', 'A \"B\"'); form.append('file', new File(['hé\\r\\n--', new Uint8Array([0, 255])], 'a.bin', { type: 'image/x' }));
         const sent = new Request('http://x/', { method: 'POST', body: form });
         const got = await sent.formData();
         const file = got.get('file');
         return Response.json([got.get('name'), file.name, file.type, [...new Uint8Array(await file.arrayBuffer())].slice(-3)]);",
    );
    assert_eq!(said, r#"200 ["A \"B\"","a.bin","image/x",[45,0,255]]"#);
}

#[test]
fn both_ends_of_a_socket_in_one_isolate_talk() {
    let said = fetch(
        "\"name\": \"web\"",
        "const { 0: client, 1: server } = new WebSocketPair();
         server.accept(); client.accept();
         const heard = new Promise((resolve) => client.addEventListener('message', ({ data }) => resolve(data)));
         server.addEventListener('message', ({ data }) => server.send(data + '!'));
         client.send('hi');
         return new Response(await heard);",
    );
    assert_eq!(said, "200 hi!");
}

#[test]
fn node_modules_that_programs_commonly_import_are_there() {
    let said = with(
        "import { createHash, createHmac, randomUUID } from 'node:crypto';
         import { EventEmitter } from 'node:events'; import path from 'path'; import assert from 'node:assert';
         import { promisify, format } from 'node:util'; import { AsyncLocalStorage } from 'node:async_hooks';
         import { EOL } from 'node:os'; import { EmailMessage } from 'cloudflare:email'; import { exports } from 'cloudflare:workers';
         const storage = new AsyncLocalStorage();",
        "const heard = []; const emitter = new EventEmitter(); emitter.once('a', (x) => heard.push(x)); emitter.emit('a', 1); emitter.emit('a', 2);
         const stored = await storage.run({ user: 'ann' }, async () => { await scheduler.wait(5); return storage.getStore().user; });
         let failed; try { assert.deepStrictEqual({ a: [1] }, { a: [2] }); } catch (error) { failed = error.code; }
         return Response.json([createHash('sha256').update('a').digest('hex').slice(0, 8), createHmac('sha1', 'k').update('a').digest('base64').length,
           randomUUID().length, heard, path.join('/a', '../b', 'c.js'), failed, await promisify((x, done) => done(null, x + 1))(1), format('%s is %d', 'a', 5), stored, storage.getStore() === undefined,
           Buffer.from('aGk', 'base64url').toString(), Buffer.concat([Buffer.from('a'), Buffer.from('b')]).toString('hex'), typeof process.env, process.platform, EOL, new EmailMessage('a', 'b', 'c').to, typeof exports.default.fetch]);",
    );
    assert_eq!(
        said,
        r#"200 ["ca978112",28,36,[1],"/b/c.js","ERR_ASSERTION",2,"a is 5","ann",true,"hi","6162","object","linux","\n","b","function"]"#
    );
}

#[test]
fn what_is_missing_says_so_by_its_name() {
    for (use_, name) in [
        ("new HTMLRewriter()", "HTMLRewriter is not simulated"),
        ("new CompressionStream('gzip')", "CompressionStream is not simulated"),
        ("new Intl.Segmenter()", "Intl.Segmenter is not simulated"),
        ("new WebSocket('wss://x')", "not simulated"),
    ] {
        let said = fetch("\"name\": \"web\"", &format!("{use_}; return new Response('made');"));
        assert!(said.contains(name), "{use_}: {said}");
    }
    let why = load(NODE, "import 'node:fs'; export default { fetch() {} };").unwrap_err();
    assert!(why.contains("`node:fs` is not simulated"), "{why}");
}
