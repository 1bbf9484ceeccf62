//! The language and the web APIs, as a handler meets them.

use crate::support::{answers, fetch, load, play, value, values};

#[test]
fn a_request_has_its_method_address_headers_and_body() {
    let said = fetch(
        "\"name\": \"web\"",
        "const { pathname, searchParams } = new URL(request.url);
         return new Response([request.method, pathname, searchParams.get('b'), await request.text()].join(' '), { status: 201 });",
    );
    assert_eq!(said, "201 POST /a c hello");
}

#[test]
fn the_clock_is_the_simulators_and_stands_at_zero_while_the_program_boots() {
    let source = "const booted = Date.now();
        export default { async fetch() {
          const before = Date.now();
          await new Promise((resolve) => setTimeout(resolve, 1500));
          return Response.json([booted, Date.now() - before, new Date(before).getTime() === before, new Date() instanceof Date]);
        } };";
    let app = load("\"name\": \"web\"", source).unwrap();
    let run = play(&app, &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 [0,1500,true,true]"]);
}

#[test]
fn random_numbers_differ_within_a_run_and_are_the_same_in_the_next() {
    let expression = "[Math.random() !== Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(20)).length]";
    let once = value(expression);
    assert!(once.starts_with("[true,\"") && once.ends_with(",20]"), "{once}");
    assert_eq!(value(expression), once);
}

#[test]
fn timers_fire_in_their_order_and_can_be_cancelled() {
    let said = value(
        "(async () => {
           const seen = [];
           setTimeout(() => seen.push('late'), 30);
           setTimeout((name) => seen.push(name), 10, 'early');
           const never = setTimeout(() => seen.push('never'), 20);
           clearTimeout(never);
           let ticks = 0;
           const interval = setInterval(() => { seen.push('tick'); if (++ticks === 2) clearInterval(interval); }, 12);
           await scheduler.wait(100);
           return seen;
         })()",
    );
    assert_eq!(said, r#"["early","tick","tick","late"]"#);
}

#[test]
fn addresses_texts_and_digests_are_those_of_the_web() {
    assert_eq!(
        value("new URL('../b?x=1#y', 'https://a.example:8443/c/d').href"),
        r#""https://a.example:8443/b?x=1#y""#
    );
    assert_eq!(
        value(
            "(() => { const url = new URL('https://a/?b=1'); url.searchParams.append('c', 'd e'); url.pathname = '/p'; return url.href; })()"
        ),
        r#""https://a/p?b=1&c=d+e""#
    );
    assert_eq!(
        value(
            "[btoa('hello'), atob('aGVsbG8='), new TextDecoder().decode(new TextEncoder().encode('é'))]"
        ),
        r#"["aGVsbG8=","hello","é"]"#
    );
    assert_eq!(
        value(
            "crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc')).then((b) => [...new Uint8Array(b)].slice(0, 3))"
        ),
        "[186,120,22]"
    );
}

#[test]
fn keys_are_derived_from_passwords_and_cross_as_json() {
    let said = value(
        "(async () => {
           const bytes = (text) => new TextEncoder().encode(text);
           const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
           const password = await crypto.subtle.importKey('raw', bytes('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
           const how = { name: 'PBKDF2', salt: bytes('salt'), iterations: 2, hash: 'SHA-256' };
           const code = await crypto.subtle.deriveKey(how, password, { name: 'HMAC', hash: 'SHA-256', length: 256 }, true, ['sign']);
           const jwk = await crypto.subtle.exportKey('jwk', code);
           const again = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
           const [one, two] = [await crypto.subtle.sign('HMAC', code, bytes('a')), await crypto.subtle.sign('HMAC', again, bytes('a'))];
           const refused = await crypto.subtle.encrypt({ name: 'AES-GCM' }, code, bytes('a')).catch((error) => error.message);
           return [hex(await crypto.subtle.deriveBits(how, password, 64)), hex(one) === hex(two), refused];
         })()",
    );
    let refused =
        r#"Requested algorithm \"AES-GCM\" does not match this CryptoKey's algorithm \"HMAC\"."#;
    assert_eq!(said, format!("[\"ae4d0c95af6b46d3\",true,\"{refused}\"]"));
}

#[test]
fn headers_are_sorted_joined_and_sent_back() {
    let source = "export default { async fetch(request) {
        return new Response(null, { status: 204, headers: { 'X-B': request.headers.get('x-a') + '!', 'x-a': '1' } }); } };";
    let app = load("\"name\": \"web\"", source).unwrap();
    let request = thunderhead_sim::ClientRequest::new(thunderhead_sim::Time::ZERO, "GET", "/", "")
        .with_header("X-A", "q");
    let scenario = thunderhead_sim::Scenario { requests: vec![request], ..Default::default() };
    let source = thunderhead_sim::Source::Tape(thunderhead_sim::Tape::benign());
    let run = thunderhead_sim::simulate(&scenario, &source, &|cloud| app.mount(cloud)).unwrap();
    let text = run.trace.to_string();
    assert!(text.contains(r#"204 [x-a: "1", x-b: "q!"]"#), "{text}");
}

#[test]
fn a_structured_clone_keeps_types_holes_and_cycles() {
    let said = value(
        "(() => {
           const given = { date: new Date(5), map: new Map([[1, new Set(['a'])]]), bytes: new Uint8Array([1, 2]), none: undefined, big: 7n, nan: NaN };
           given.self = given;
           const copy = structuredClone(given);
           return [copy.date.getTime(), [...copy.map.get(1)], [...copy.bytes], 'none' in copy, String(copy.big), Number.isNaN(copy.nan), copy.self === copy, copy !== given];
         })()",
    );
    assert_eq!(said, r#"[5,["a"],[1,2],true,"7",true,true,true]"#);
}

#[test]
fn a_copy_of_a_response_whose_body_is_a_stream_is_read_beside_it() {
    let read = "(async () => {
        const response = new Response(new Response('abc').body);
        const copy = response.clone();
        const reader = copy.body.getReader();
        const { value } = await reader.read();
        return [value.length, await response.text()];
    })()";
    assert_eq!(value(read), r#"[3,"abc"]"#);
}

#[test]
fn a_body_is_read_once_and_streams_through() {
    assert_eq!(
        value(
            "(async () => { const r = new Response('ab'); const c = r.clone(); return [await r.text(), await c.text(), r.bodyUsed]; })()"
        ),
        r#"["ab","ab",true]"#
    );
    assert_eq!(
        value(
            "(async () => { const r = new Response('a'); await r.text(); return r.text().catch((e) => e.message); })()"
        ),
        r#""Body has already been used. It can only be used once. Use tee() first if you need to read it twice.""#
    );
    assert_eq!(
        value(
            "new Response(new Response('a b').body.pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream())).text()"
        ),
        r#""a b""#
    );
}

#[test]
fn the_console_writes_into_the_history_with_values_that_can_be_read() {
    let source = "export default { async fetch() { console.log('n is', { n: [1, 'two'] }); return new Response(); } };";
    let app = load("\"name\": \"web\"", source).unwrap();
    let run = play(&app, &[("GET", "/", "")]);
    assert!(run.trace.to_string().contains("n is {n: [1, \"two\"]}"), "{}", run.trace);
}

#[test]
fn an_error_that_is_thrown_is_told_with_its_place() {
    let source = "export default {\n  async fetch() {\n    null.gone();\n  },\n};";
    let app = load("\"name\": \"web\"", source).unwrap();
    let run = play(&app, &[("GET", "/", "")]);
    let text = run.trace.to_string();
    assert!(text.contains("Uncaught TypeError") && text.contains("at index.js:3:"), "{text}");
    assert!(answers(&run)[0].starts_with("error: "), "{:?}", answers(&run));
}

#[test]
fn work_that_is_not_awaited_is_cancelled_and_told_but_wait_until_goes_on() {
    let source = "export default { async fetch(request, env, ctx) {
        if (request.url.endsWith('/kept')) ctx.waitUntil(env.B.put('kept', '1')); else env.B.put('lost', '1');
        return new Response('ok'); } };";
    let app = load(
        r#""name": "web", "r2_buckets": [{ "binding": "B", "bucket_name": "bucket" }]"#,
        source,
    )
    .unwrap();
    let run = play(&app, &[("GET", "/kept", ""), ("GET", "/lost", "")]);
    let text = run.trace.to_string();
    assert_eq!(answers(&run), ["200 ok", "200 ok"]);
    assert!(text.contains("effect") && text.contains("r2.put bucket/kept"), "{text}");
    assert!(text.contains("1 operation that was not awaited, cancelled"), "{text}");
}

#[test]
fn modules_with_require_and_exports_are_read_without_a_bundler() {
    let files = [
        (
            "index.js",
            "import greet, { loud } from 'greet';
             import * as all from './lib/tools.cjs';
             export default { fetch: () => new Response([greet('ann'), loud('bob'), all.two, all.default.one].join()) };",
        ),
        ("node_modules/greet/package.json", r#"{ "main": "main.js" }"#),
        (
            "node_modules/greet/main.js",
            "'use strict';\nconst { shout } = require('./shout');\nconst os = require('os');
             module.exports = function greet(name) { return 'hello ' + name; };
             module.exports.loud = (name) => shout(module.exports(name)) + typeof os.EOL;",
        ),
        ("node_modules/greet/shout.js", "exports.shout = (text) => text.toUpperCase();"),
        ("lib/tools.cjs", "module.exports = { one: 1, two: 2 };"),
    ];
    let files = files.map(|(name, text)| (name.to_string(), text.to_string()));
    let files = thunderhead_workers::Files::Memory(files.into());
    let config = r#"{ "main": "index.js", "name": "web" }"#;
    let config = thunderhead_workers::Config::parse("wrangler.json", config).unwrap();
    let app = std::sync::Arc::new(thunderhead_workers::App::new(config, files).unwrap());
    let run = play(&app, &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 hello ann,HELLO BOBstring,2,1"]);
}

#[test]
fn a_stack_begins_with_the_name_and_the_message_of_its_error() {
    values(&[
        (
            "(() => { class Mine extends Error { constructor(text) { super(text); this.name = 'Mine'; } } class Plain extends Error {}
               const made = [new Error('a\\nb'), new Mine('c'), new Plain('d'), new TypeError(), new DOMException('e', 'AbortError'), new AggregateError([], 'f')];
               try { null.x; } catch (error) { made.push(error); }
               const heads = made.map(({ stack }) => stack.slice(0, stack.indexOf('\\n    at ')));
               return [...heads.slice(0, -1), heads.at(-1).startsWith('TypeError: '), made.some(({ stack }) => stack.endsWith('\\n'))];
             })()",
            r#"["Error: a\nb","Mine: c","Error: d","TypeError","AbortError: e","AggregateError: f",true,false]"#,
        ),
        (
            "(() => { const captured = {}; function inner() { Error.captureStackTrace(captured, inner); } (function outer() { inner(); })();
               const plain = {}; (function maker() { Error.captureStackTrace(plain); })();
               return [captured, plain].map(({ stack }) => stack.split('\\n').slice(0, 2).map((line) => line.trim().split(' (')[0]).concat(Object.keys(captured)));
             })()",
            r#"[["Error","at outer"],["Error","at maker"]]"#,
        ),
    ]);
}

#[test]
fn a_weak_reference_finds_its_object() {
    values(&[
        (
            "[new WeakRef({ a: 1 }).deref(), Object.prototype.toString.call(new WeakRef({}))]",
            r#"[{"a":1},"[object WeakRef]"]"#,
        ),
        ("(async () => { const ref = new WeakRef([1]); await 0; return ref.deref(); })()", "[1]"),
        (
            "(() => { try { new WeakRef(1); } catch (error) { return String(error); } })()",
            r#""TypeError: WeakRef: invalid target""#,
        ),
    ]);
}
