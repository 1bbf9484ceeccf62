//! What `node:` modules export, and what the functions among it do that programs use most. The names are those that the
//! runtime gave (workerd 1.20260426, with `nodejs_compat`); so are the values.

use crate::support::{answers, load, play};

const NAMES: &str = include_str!("../probes/node_exports.txt");
const CONFIG: &str = r#""name": "web", "compatibility_flags": ["nodejs_compat"]"#;

/// The answer of a handler with these imports.
fn with(imports: &str, body: &str) -> String {
    let told = "const told = async (work) => { try { return await work(); } catch (error) { return String(error); } };";
    let source =
        format!("{imports}\n{told}\nexport default {{ async fetch(request, env) {{ {body} }} }};");
    let app = load(CONFIG, &source).unwrap_or_else(|why| panic!("{why}"));
    answers(&play(&app, &[("GET", "/", "")])).pop().unwrap()
}

#[test]
fn every_name_that_the_runtime_exports_can_be_imported_and_is_in_the_whole_module() {
    let mut imports = String::new();
    let mut wholes = String::new();
    for (at, line) in NAMES.lines().enumerate() {
        let (module, names) = line.split_once(' ').unwrap();
        let named = names.split(' ').enumerate().map(|(n, name)| format!("{name} as _{at}_{n}"));
        let named = named.collect::<Vec<_>>().join(", ");
        imports += &format!("import whole_{at}, {{ {named} }} from '{module}';\n");
        wholes += &format!("['{module}', whole_{at}, '{names}'],");
    }
    let body = format!(
        "const lacking = [{wholes}].flatMap(([module, whole, names]) => names.split(' ').filter((name) => !(name in whole)).map((name) => `${{module}} ${{name}}`));
         return Response.json(lacking);"
    );
    assert_eq!(with(&imports, &body), "200 []");
}

#[test]
fn what_is_lacking_in_a_module_says_so_by_its_name_when_it_is_called() {
    let said = with(
        "import crypto, { scryptSync } from 'node:crypto'; import util from 'node:util'; import path from 'node:path'; import zlib, { Z_BEST_SPEED } from 'node:zlib';",
        "return Response.json([await told(() => scryptSync('a', 'b', 32)), await told(() => crypto.createSign('sha256')), await told(() => util.parseArgs({})),
           await told(() => path.win32.join('a')), Z_BEST_SPEED, zlib.constants.Z_BEST_COMPRESSION, zlib.Z_SYNC_FLUSH]);",
    );
    let refused = [
        "node:crypto: scryptSync",
        "node:crypto: createSign",
        "node:util: parseArgs",
        "node:path: win32.join",
    ];
    let refused = refused.map(|name| format!("\"Error: {name} is not simulated.\",")).concat();
    assert_eq!(said, format!("200 [{refused}1,9,2]"));
}

#[test]
fn an_address_of_the_older_kind_is_taken_apart_and_put_together() {
    let said = with(
        "import url from 'node:url';",
        "const parts = ({ protocol, auth, host, port, hash, search, pathname, path, href }) => [protocol, auth, host, port, hash, search, pathname, path, href].join(' ');
         return Response.json([['http://u:p@H.com:80/p/a?q=1#f', '/a/b?x=y', '//h/p', 'mailto:a@b.c', 'a b', 'http://h'].map((text) => parts(url.parse(text))),
           url.parse('/a?b=c&b=d', true).query, url.parse('//h/p', false, true).host,
           [['/one/two/three', 'four'], ['http://example.com/one', '/two'], ['http://a.com/b/c', '../d'], ['/a', '?x'], ['http://a.com/b?c', '#d'], ['', 'x']].map((pair) => url.resolve(...pair)),
           [url.format({ protocol: 'http', host: 'a.com', pathname: '/x', query: { a: 1 } }), url.format({ protocol: 'https:', hostname: 'a.com', port: 8080, pathname: 'x', search: 'y=1', hash: 'z' }),
            url.format(new URL('http://u:p@a.com/x?y#z'), { auth: false, fragment: false, search: false }), url.format('http://a.com')]]);",
    );
    assert_eq!(
        said,
        concat!(
            r##"200 [["http: u:p h.com:80 80 #f ?q=1 /p/a /p/a?q=1 http://u:p@h.com:80/p/a?q=1#f","     ?x=y /a/b /a/b?x=y /a/b?x=y","      //h/p //h/p //h/p","##,
            r##""mailto: a b.c      mailto:a@b.c","      a%20b a%20b a%20b","http:  h    / / http://h/"],{"b":["c","d"]},"h","##,
            r##"["/one/two/four","http://example.com/two","http://a.com/d","/a?x","http://a.com/b?c#d","x"],"##,
            r##"["http://a.com/x?a=1","https://a.com:8080/x?y=1#z","http://a.com/x","http://a.com/"]]"##
        )
    );
}

#[test]
fn keys_and_digests_of_node_are_those_of_the_runtime() {
    let said = with(
        "import crypto from 'node:crypto'; import { promisify } from 'node:util';",
        "const key = crypto.createSecretKey('secret', 'utf8');
         const hash = crypto.createHash('sha256').update('a');
         const copied = hash.copy().update('b').digest('hex').slice(0, 8);
         return Response.json([Buffer.from(crypto.hkdfSync('sha256', 'key', 'salt', 'info', 20)).toString('hex'), key.type, key.symmetricKeySize, key.export().toString(), key.export({ format: 'jwk' }),
           key instanceof crypto.KeyObject, key.equals(crypto.createSecretKey(Buffer.from('secret'))), await told(() => new crypto.KeyObject('secret')),
           crypto.createHmac('sha256', key).update('a').digest('hex').slice(0, 8), copied, hash.digest('hex').slice(0, 8), await told(() => hash.update('c')), hash instanceof crypto.Hash,
           (await promisify(crypto.randomBytes)(4)).length, await told(() => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')))]);",
    );
    assert_eq!(
        said,
        concat!(
            r#"200 ["9ca0d662557439e3b83365f2da4626d35da195c6","secret",6,"secret",{"kty":"oct","ext":true,"k":"c2VjcmV0"},true,true,"Error: Illegal constructor","#,
            r#""4048c449","fb8e20fc","ca978112","Error: Digest already called",true,4,"TypeError: Input buffers must have the same byte length."]"#
        )
    );
}

#[test]
fn small_functions_of_node_do_what_they_do_in_the_runtime() {
    let said = with(
        "import assert from 'node:assert'; import buffer from 'node:buffer'; import events, { EventEmitter } from 'node:events'; import os from 'node:os'; import util from 'node:util';
         import types from 'node:util/types'; import zlib from 'node:zlib'; import { setInterval as every } from 'node:timers/promises';",
        "const ticks = []; for await (const value of every(5, 'tick')) if (ticks.push(value) === 2) break;
         return Response.json([[buffer.isUtf8(new Uint8Array([255])), buffer.isUtf8(Buffer.from('ä')), buffer.isAscii(Buffer.from('ä')), buffer.isAscii(Buffer.from('a'))],
           [Buffer('x').toString(), Buffer(3).length, new Buffer('aGk=', 'base64').toString(), Buffer.from('a') instanceof Buffer, Buffer.from('ab').subarray(1).constructor === Buffer, Buffer.from('ab').map((byte) => byte + 1).toString(), Buffer.from('garba', 'base64').length],
           [await told(() => assert.doesNotThrow(() => { throw new Error('x'); })), await told(() => assert.ifError(null)) ?? 'none', await told(() => assert.doesNotMatch('a', /a/)),
            (await told(() => assert.notDeepEqual([1], [1]))).split(':')[0], await told(() => assert.doesNotReject(Promise.reject(new Error('q')))), await told(() => assert.partialDeepStrictEqual({ a: 1, b: 2 }, { a: 1 })) ?? 'none'],
           [zlib.crc32('hello'), zlib.crc32(Buffer.from('hello'), 5)], [util.isArray([]), util._extend({ a: 1 }, { b: 2 }), util.styleText('red', 'x'), util.isString('a')],
           [types.isAsyncFunction(async () => {}), types.isGeneratorFunction(function* () {}), types.isBoxedPrimitive(Object(1)), types.isDate(new Date()), types.isNativeError({})],
           [os.EOL, os.constants.errno.ENOENT, os.constants.signals.SIGTERM, os.freemem()], events.getMaxListeners(new EventEmitter()), ticks]);",
    );
    assert_eq!(
        said,
        concat!(
            r#"200 [[false,true,false,true],["x",3,"hi",true,true,"bc",3],["AssertionError: Got unwanted exception.\nActual message: \"x\"","none","AssertionError: actual: \"a\" expected to not match: \"/a/\"","#,
            r#""AssertionError","AssertionError: Got unwanted exception.\nActual message: \"q\"","none"],[907060870,4277152246],[true,{"a":1,"b":2},"x",true],[true,true,true,true,false],["\n",2,15,0],10,["tick","tick"]]"#
        )
    );
}

#[test]
fn what_is_written_to_standard_output_is_in_the_history_and_variables_are_texts() {
    let source = "export default { fetch: () => { process.stdout.write('written\\n'); const { N, J, S, KV } = process.env; return Response.json([N, J, S, typeof KV, Object.keys(process.env)]); } };";
    let config = format!(
        r#"{CONFIG}, "vars": {{ "N": 5, "J": {{ "a": 1 }}, "S": "s" }}, "kv_namespaces": [{{ "binding": "KV", "id": "a" }}]"#
    );
    let run = play(&load(&config, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 ["5","{\"a\":1}","s","undefined",["J","N","S"]]"#]);
    assert!(run.trace.to_string().contains("written"), "{}", run.trace);
}
