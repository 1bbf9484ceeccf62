//! Web APIs and `node:` modules beyond requests and responses.

use crate::support::{fetch, load, play, value, values};

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
        ("new EventSource('https://x')", "EventSource is not simulated"),
        ("new Intl.Segmenter()", "Intl.Segmenter is not simulated"),
        ("new WebSocket('wss://x')", "not simulated"),
    ] {
        let said = fetch("\"name\": \"web\"", &format!("{use_}; return new Response('made');"));
        assert!(said.contains(name), "{use_}: {said}");
    }
    let why = load(NODE, "import 'node:gone'; export default { fetch() {} };").unwrap_err();
    assert!(why.contains("`node:gone` is not simulated"), "{why}");
}

#[test]
fn what_was_encrypted_is_decrypted_unless_it_was_changed() {
    let said = value(
        "(async () => {
           const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']);
           const iv = crypto.getRandomValues(new Uint8Array(12));
           const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, new TextEncoder().encode('session'));
           const text = new TextDecoder().decode(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed));
           new Uint8Array(sealed)[0] ^= 1;
           const failed = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed).catch(({ name }) => name);
           const other = await crypto.subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, key, sealed).catch(({ message }) => message);
           return [text, failed, other];
         })()",
    );
    assert_eq!(
        said,
        r#"["session","OperationError","Requested algorithm \"AES-CBC\" does not match this CryptoKey's algorithm \"AES-GCM\"."]"#
    );
}

/// The public key and the signature of appendix A.3 of RFC 7515.
#[test]
fn a_token_that_others_have_signed_is_verified() {
    let said = value(
        "(async () => {
           const jwk = { kty: 'EC', crv: 'P-256', x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0' };
           const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
           const key = await crypto.subtle.importKey('jwk', jwk, algorithm, true, ['verify']);
           const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
           const signature = bytes('DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q');
           const text = new TextEncoder().encode('eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ');
           const spki = await crypto.subtle.importKey('spki', await crypto.subtle.exportKey('spki', key), algorithm, false, ['verify']);
           const answers = [await crypto.subtle.verify(algorithm, key, signature, text), await crypto.subtle.verify(algorithm, spki, signature, text)];
           text[0] ^= 1;
           return [...answers, await crypto.subtle.verify(algorithm, key, signature, text)];
         })()",
    );
    assert_eq!(said, "[true,true,false]");
}

#[test]
fn what_is_signed_here_holds_and_two_runs_sign_alike() {
    let source = "(async () => {
           const answers = [];
           for (const algorithm of [{ name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }, { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' }, { name: 'Ed25519' }]) {
             const { publicKey, privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
             const copy = await crypto.subtle.importKey('pkcs8', await crypto.subtle.exportKey('pkcs8', privateKey), algorithm, true, ['sign']);
             const signature = await crypto.subtle.sign(algorithm, copy, new Uint8Array(9));
             const jwk = await crypto.subtle.exportKey('jwk', publicKey);
             const known = await crypto.subtle.importKey('jwk', jwk, algorithm, true, ['verify']);
             answers.push(await crypto.subtle.verify(algorithm, known, signature, new Uint8Array(9)), await crypto.subtle.verify(algorithm, known, signature, new Uint8Array(8)), [...new Uint8Array(signature)].slice(0, 4));
           }
           const [one, two] = await Promise.all([1, 2].map(() => crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, false, ['deriveBits'])));
           const shared = (mine, theirs) => crypto.subtle.deriveBits({ name: 'ECDH', public: theirs.publicKey }, mine.privateKey, 256);
           answers.push(String(new Uint8Array(await shared(one, two))) === String(new Uint8Array(await shared(two, one))));
           return answers;
         })()";
    let said = value(source);
    assert!(said.starts_with("[true,false,["), "{said}");
    assert_eq!(said.matches("true,false").count(), 3, "{said}");
    assert!(said.ends_with(",true]"), "{said}");
    assert_eq!(said, value(source));
}

/// The key and the signature are of another implementation; this padding depends on nothing but key and text.
#[test]
fn a_key_of_rsa_signs_as_others_do() {
    let said = value(
        "(async () => {
           const jwk = { kty: 'RSA', n: 'tRZlt6UmPRt0vkNER3uZ_NshErMsdiQwECwVD3jS4VkLH2l5EFvagd-GputQTQkFtodgNu0Fxi0qp1pnDQZclErXecwuX3xY0oXlDe9fOmrdsCOV9JLxj5cEM01czE52JV5h1GgKcLIhOAFmyfxGyJ7WSzT9qUwruxXc67qgVaf-8dXIfvJxC1Xox-fBVIhrAAW-IpqgVP1e-MmexfFnQ_Bs7n5IMBQXKFTb6QNMZch-kRzYLxCDMe69J9p6jq0BavTdq1m33qoVPhGNcEbZ8s194Z3X5o_8c_TSukroEdiIbDmGVfdO19CsrkCCCbg1WJUYVHBLHrrtIVUzY-2LoQ', e: 'AQAB',
             d: 'DsLYyhunXnjOpIm61vGE2l80YXVYgk2DMMufGzKX91rjn2JgxiFup4KEfou_m8qd_BnUkSBIsGBTJ0QlEqM6SF5CFUFnEE0vDQNxae2MFNN25wTnlCxRjjOwWcw3Fx0C4BtC8eZZ34ODALE140YcsP19mLDPnTgXzSQZl4o6x_CKpdtJTRxSoX0EQDPe4pTRU2FW_1zrIAUw-C6OwLdu95vQS-XjmHqcRJ11eBdFRPLdAuil6Wd7NM1Q0AbefrkNG4E63EX4EQj17lKw6-rbWw65swxuS3AUDzy3ltKQXgiQDBwTwprL1B5vce0iQ0eb8oCVvdAET19nGD9G9mdcrw',
             p: '7seAq_CkdefRAZxWf78_ItGoSsW6oOv-GxQIGH1CMbpJL6jdqjMQObceZSO01VNv6FMcwiv91yEDJAlpJAoIONUtoquvcJwfejmkkUiRvypZ-4XTj7O2yxLsW36dpi9h8VCa8Zoy5bwPGnPWnrHvk71VURNbTQqdUl2wfTaeQU8', q: 'wiXAT3fvirXEDxXmxjrRgDTyOeFY_WiM-ZlFjIxjKIRqncYkQ27CxNsrnScb6FZpM4dTxaFwlVJ5hH8jSkk2PyuDmNGzkxwwCYRDniVGK9bAauFazVxCBwKThArAHvpOnt7p_Yb0u9bnzw3X-gWAjDp-7xz2IC_4pry5mlu-yA8',
             dp: 'JYja4yxazeX45uXqev5XMGQArnBSnAU81ojZlO_rveFoq8NBxQVt4YS1lHR-cqJBDyYxeRxtNKoN0lZgXrfs_vIT0GRoma0RDaeOBQCBWKmRp4Yr8YTwkQ-Sc_d9VKhSHxrqoFv68D4VqbTX4e5amMDEbpA6Y-vtOwtbOPOjAOU', dq: 'I4TwmBljM8dpZTEmlWGxbnlBT6GQvFviXs_Rz5LnmUQQlWjovYWIEKfgZNIA4xLcEFdT1jZg-JCsNrdj53VZfVkirFTBO8rOZw9Rp58-JUsWzPcJu8SDN_Eat--XkpNMyvgRaxbDs5HvuwvXVaCoEf-ptWlhBiaAoVCpzDm4v7U', qi: 'XO9elKuGta8Sey9Qxu5ErR7SIo3h-ki8NyMOXs0eKjAAFTSssKz5takPXHBJGO_sbPKs8Z5G-aXx7jEN_JzF8DOs70qQGqxxDpdt3v0v3Ok16NYbnNm6rQyq-gruqViF2P8LGCnQ9wzHIT5QiegrHTZprq3A-35Jdnp9CkLinqg' };
           const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
           const key = await crypto.subtle.importKey('jwk', jwk, algorithm, true, ['sign']);
           const text = new TextEncoder().encode('signed');
           const signature = await crypto.subtle.sign(algorithm, key, text);
           const { n, e, kty } = await crypto.subtle.exportKey('jwk', key);
           const half = await crypto.subtle.importKey('jwk', { n, e, kty }, algorithm, true, ['verify']);
           return [[...new Uint8Array(signature)].slice(0, 4), await crypto.subtle.verify(algorithm, half, signature, text), half.algorithm.modulusLength];
         })()",
    );
    assert_eq!(said, "[[56,207,22,146],true,2048]");
}

#[test]
fn what_was_compressed_is_whole_again() {
    let said = value(
        "(async () => {
           const packed = new Blob(['words '.repeat(99)]).stream().pipeThrough(new CompressionStream('gzip'));
           const bytes = await new Response(packed).arrayBuffer();
           const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
           const wrong = await new Response(new Blob(['no']).stream().pipeThrough(new DecompressionStream('deflate'))).text().catch(({ message }) => message);
           return [bytes.byteLength < 99, text.length, wrong];
         })()",
    );
    assert_eq!(said, r#"[true,594,"Decompression failed."]"#);
}

#[test]
fn a_module_that_is_not_simulated_may_be_imported_and_says_so_when_it_is_used() {
    let said = with(
        "import fs, { readFileSync } from 'node:fs'; import * as net from 'net'; import { Agent, Server } from 'node:https';
         import { connect } from 'cloudflare:sockets'; import { gzipSync, gunzipSync } from 'node:zlib'; import { parse } from 'querystring';
         class Mine extends Server {} class Client extends Agent {}",
        "const told = (work) => { try { return work(); } catch (error) { return error.message; } };
         const later = await import('node:string_decoder');
         return Response.json([told(() => readFileSync('/a')), told(() => fs.statSync('/a')), told(() => net.connect(1)), told(() => new Mine()), new Client({ keepAlive: true }).options, told(() => connect('a:1')),
           gunzipSync(gzipSync('hi')).toString(), parse('a=1&a=2&b=%20').a, new later.StringDecoder().write(new Uint8Array([104, 105]))]);",
    );
    assert_eq!(
        said,
        r#"200 ["node:fs: readFileSync is not simulated.","node:fs: statSync is not simulated.","node:net: connect is not simulated.","node:https: Server is not simulated.",{"keepAlive":true},"cloudflare:sockets: connect is not simulated.","hi",["1","2"],"hi"]"#
    );
}

#[test]
fn a_worker_in_the_older_style_has_its_bindings_as_globals() {
    let source = "addEventListener('fetch', (event) => { event.respondWith(answer(event.request)); });
         async function answer(request) { return new Response(`${GREETING} ${new URL(request.url).pathname}`); }";
    let app = load(r#""name": "old", "vars": { "GREETING": "hello" }"#, source).unwrap();
    assert_eq!(crate::support::answers(&play(&app, &[("GET", "/ann", "")])), ["200 hello /ann"]);
}

#[test]
fn a_request_that_is_aborted_at_once_is_not_sent() {
    let said = value(
        "(async () => {
           const controller = new AbortController();
           const sent = fetch('https://outside.example/', { signal: controller.signal });
           controller.abort();
           return sent.then(() => 'answered', ({ name }) => name);
         })()",
    );
    assert_eq!(said, r#""AbortError""#);
}

#[test]
fn the_end_of_a_stream_is_told_and_other_encodings_are_read() {
    let said = value(
        "(async () => {
           const reader = new Blob(['abc']).stream().getReader();
           await reader.read();
           await reader.closed;
           const failed = new ReadableStream({ start: (controller) => controller.error(new Error('no')) }).getReader();
           const why = await failed.closed.catch(({ message }) => message);
           const { port1, port2 } = new MessageChannel();
           const heard = new Promise((resolve) => (port2.onmessage = ({ data }) => resolve(data)));
           port1.postMessage({ a: 1 });
           const digest = new crypto.DigestStream('SHA-256');
           await new Response('abc').body.pipeTo(digest);
           return [why, await heard, (await digest.digest).byteLength, new TextDecoder('latin1').decode(new Uint8Array([233, 128])), new TextDecoder('utf-16le').decode(new Uint8Array([65, 0]))];
         })()",
    );
    assert_eq!(said, r#"["no",{"a":1},32,"é€","A"]"#);
}

/// What the local runtime answered to the same expressions.
#[test]
fn addresses_that_cannot_be_loaded_and_requests_that_cannot_be_cached_are_refused() {
    let refused = |of: &str| {
        format!(
            "(async () => {{ try {{ return await {of}; }} catch (error) {{ return String(error); }} }})()"
        )
    };
    let cases = [
        (
            "fetch('ftp://example.com/x')",
            r#""TypeError: Fetch API cannot load: ftp://example.com/x""#,
        ),
        ("fetch('ws://x/')", r#""TypeError: Fetch API cannot load: ws://x/""#),
        (
            "caches.default.put(new Request('http://x/', { method: 'POST', body: 'a' }), new Response('x'))",
            r#""TypeError: Cannot cache response to non-GET request.""#,
        ),
        (
            "caches.default.put('http://x/', new Response('x')).then(() => request.redirect)",
            r#""manual""#,
        ),
    ];
    let cases = cases.map(|(of, told)| (refused(of), told));
    values(&cases.each_ref().map(|(of, told)| (&**of, *told)));
}
