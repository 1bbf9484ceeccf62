//! Workers in TypeScript, read without a bundler.

use std::collections::BTreeMap;
use std::sync::Arc;

use thunderhead_workers::{App, Config, Files};

use crate::support::{answers, play};

fn load(config: &str, files: &[(&str, &str)]) -> Result<Arc<App>, String> {
    let config =
        Config::parse("wrangler.json", &format!("{{ \"main\": \"{}\", {config} }}", files[0].0))?;
    let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    App::new(config, Files::Memory(files)).map(Arc::new)
}

const NAMED: &str = "\"name\": \"web\"";

#[test]
fn a_worker_in_typescript_does_what_its_author_wrote() {
    let index = r#"
        import { DurableObject } from "cloudflare:workers";
        import type { Shape } from "./shapes";
        import { Size, area as areaOf, type Square } from "./shapes.js";
        import { Named } from "@/named";
        import notes from "./notes.md";

        export interface Env { COUNTER: DurableObjectNamespace<Counter> }

        export class Counter extends DurableObject<Env> {
          private count: number = 0;
          constructor(ctx: DurableObjectState, protected override readonly env: Env, public step = 2) {
            super(ctx, env);
          }
          async add<T extends number>(by?: T): Promise<number> { return (this.count += by ?? this.step); }
        }

        abstract class Greeter { abstract name(): string; greet() { return `hello ${this.name()}`; } }
        class Plain extends Greeter implements Named { override name(): string { return "ann"; } }

        namespace Units { export const METRE = 1; export function twice(n: number): number { return 2 * n; } }
        const enum Flag { None, Read = 1 << 0, Write = 1 << 1, Both = Read | Write }

        const handler = {
          async fetch(request: Request, env: Env): Promise<Response> {
            const square = { side: 3 } satisfies Square;
            const stub = env.COUNTER.getByName("c") as unknown as Counter;
            await stub.add(40);
            return Response.json([
              areaOf(square!), Size[Size.Large], Size.Large, <string>Size.Named, new Plain().greet(), Units.twice(Units.METRE),
              Flag.Both, await stub.add(), notes,
            ]);
          },
        };
        export default handler satisfies ExportedHandler<Env>;
    "#;
    let shapes = r#"
        export type Shape = Square;
        export interface Square { side: number }
        export enum Size { Small, Large = Small + 7, Named = "named" }
        export function area(of: Square): number;
        export function area(of: any) { return of.side ** 2; }
    "#;
    let config = r#""name": "web", "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
        "rules": [{ "type": "Text", "globs": ["**/*.md"] }]"#;
    let files = [
        ("src/index.ts", index),
        ("src/shapes.ts", shapes),
        ("src/named.ts", "export interface Named { name(): string }"),
        ("src/notes.md", "# notes"),
        ("tsconfig.json", r#"{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }"#),
    ];
    let app = load(config, &files).unwrap_or_else(|why| panic!("{why}"));
    let said = answers(&play(&app, &[("GET", "/", "")]));
    assert_eq!(said, [r##"200 [9,"Large",7,"named","hello ann",2,3,42,"# notes"]"##]);
}

#[test]
fn what_is_thrown_is_told_with_the_line_of_the_file() {
    let source = "interface Env {\n  A: string;\n}\nexport default {\n  async fetch(request: Request, env: Env) {\n    throw new Error('no');\n  },\n};";
    let app = load(NAMED, &[("src/index.ts", source)]).unwrap();
    let trace = play(&app, &[("GET", "/", "")]).trace.to_string();
    assert!(trace.contains("Uncaught Error: no at src/index.ts:6:"), "{trace}");
}

#[test]
fn mistakes_are_told_with_file_and_line() {
    let refused = |source: &str| load(NAMED, &[("src/index.ts", source)]).unwrap_err();
    assert!(refused("let a = 1;\nlet b: = 2;").starts_with("src/index.ts:2:8: SyntaxError"));
    assert!(
        refused("\n\nimport { a } from './gone';\na();")
            .starts_with("src/index.ts:3: `./gone` cannot be imported")
    );
    assert!(refused("import { a } from 'hono';\na();").contains("install it first"));
    assert!(refused("\n@sealed class A {}").starts_with("src/index.ts:2:1: decorators"));
}

#[test]
fn variables_keep_their_types() {
    let source = "export default { async fetch(request: Request, env: any) { return Response.json(env.V); } };";
    let config = r#""name": "web", "vars": { "V": { "a": [1, true, null, "x"] } }"#;
    let app = load(config, &[("index.ts", source)]).unwrap();
    assert_eq!(answers(&play(&app, &[("GET", "/", "")])), [r#"200 {"a":[1,true,null,"x"]}"#]);
}

#[test]
fn files_of_bytes_are_buffers() {
    let source = "import data from './a.bin';\nexport default { async fetch() {
        return Response.json([data instanceof ArrayBuffer, new TextDecoder().decode(data)]); } };";
    let files = BTreeMap::from([("index.ts", source), ("a.bin", "hi")]);
    let files: Vec<(&str, &str)> = files.into_iter().rev().collect();
    let app = load(NAMED, &files).unwrap();
    assert_eq!(answers(&play(&app, &[("GET", "/", "")])), [r#"200 [true,"hi"]"#]);
}

/// What a Worker writes down that calls `body` of a module with values that can be disposed of: `now("a")` writes `-a`
/// when that happens, and `later("a")`, for `await using`, writes `~a` when it begins and `-a` when it is done.
fn written(main: &str, body: &str) -> String {
    let source = format!(
        r#"
        const log = [];
        const now = (name) => ({{ name, [Symbol.dispose]() {{ log.push("-" + name); }} }});
        const later = (name) => ({{
          name,
          async [Symbol.asyncDispose]() {{ log.push("~" + name); await null; log.push("-" + name); }},
        }});
        const fail = () => {{ throw new Error("no"); }};
        async function run() {{ {body} }}
        export default {{
          async fetch() {{
            const result = await run().catch((error) => `${{error.name}}: ${{error.message}}`);
            if (result !== undefined) log.push(result);
            return new Response(log.join(" "));
          }},
        }};"#
    );
    let app = load(NAMED, &[(main, &source)]).unwrap_or_else(|why| panic!("{why}"));
    answers(&play(&app, &[("GET", "/", "")])).pop().unwrap_or_default()
}

/// Bodies, and what is written down.
const DISPOSALS: [(&str, &str); 15] = [
    (
        "{ using a = now('a'), b = now('b'); log.push('in'); using c = now('c'); } log.push('behind');",
        "in -c -b -a behind",
    ),
    ("using a = now('a'); throw new Error('no');", "-a Error: no"),
    ("using a = now('a'); if (a) return 'early'; log.push('never');", "-a early"),
    ("using a = now('a'), b = fail();", "-a Error: no"),
    ("using a = null, b = undefined; log.push('in');", "in"),
    (
        "using a = now('a'); using b = {}; log.push('never');",
        "-a TypeError: b has no method [Symbol.dispose]",
    ),
    (
        "using a = now('a'); using b = { [Symbol.dispose]: fail }; throw new Error('other');",
        "-a Error: no",
    ),
    (
        "{ await using a = later('a'); await using b = now('b'); using c = now('c'); \
         await using d = null; log.push('in'); } log.push('behind');",
        "in -c -b ~a -a behind",
    ),
    ("await using a = later('a'); throw new Error('no');", "~a -a Error: no"),
    ("await using a = later('a'); return 'early';", "~a -a early"),
    (
        "await using a = later('a'); await using b = {}; log.push('never');",
        "~a -a TypeError: b has no method [Symbol.asyncDispose]",
    ),
    (
        "for (using a of ['1', '2', '3', '4'].map(now)) { \
         if (a.name === '1') continue; if (a.name === '3') break; log.push(a.name); }",
        "-1 2 -2 -3",
    ),
    ("for (await using a of ['1', '2'].map(later)) log.push(a.name);", "1 ~1 -1 2 ~2 -2"),
    (
        "async function* all() { yield now('1'); yield now('2'); } \
         for await (using a of all()) { using b = now('b'); log.push(a.name); }",
        "1 -b -1 2 -b -2",
    ),
    (
        "function* all() { using a = now('a'); yield 1; yield 2; } \
         for (const one of all()) { log.push(one); break; } \
         class A { static { using b = now('b'); log.push('static'); } }",
        "1 -a static -b",
    ),
];

#[test]
fn values_are_disposed_of_in_reverse_order_however_their_block_is_left() {
    for (body, expected) in DISPOSALS {
        assert_eq!(written("src/index.ts", body), format!("200 {expected}"), "{body}");
    }
}

#[test]
fn using_is_understood_in_javascript_too() {
    for (body, expected) in DISPOSALS {
        assert_eq!(written("src/index.js", body), format!("200 {expected}"), "{body}");
    }
    let index = "import old from './old.js';\nimport { log } from './log.mjs';\n\
        export default { async fetch() { { using a = log; } return Response.json([log.n, old()]); } };";
    let log = "export const log = { n: 0, [Symbol.dispose]() { { using one = { [Symbol.dispose]: () => log.n++ }; } } };";
    let old = "module.exports = () => { const said = []; { using a = { [Symbol.dispose]: () => said.push('old') }; } return said; };";
    let app = load(NAMED, &[("index.js", index), ("log.mjs", log), ("old.js", old)]).unwrap();
    assert_eq!(answers(&play(&app, &[("GET", "/", "")])), [r#"200 [1,["old"]]"#]);
}

#[test]
fn a_using_leaves_the_lines_where_they_are() {
    for main in ["src/index.ts", "src/index.js"] {
        let source = "export default {\n  async fetch() {\n    using a = null,\n      b = null;\n    throw new Error('no');\n  },\n};";
        let app = load(NAMED, &[(main, source)]).unwrap();
        let trace = play(&app, &[("GET", "/", "")]).trace.to_string();
        assert!(trace.contains(&format!("Uncaught Error: no at {main}:5:")), "{trace}");
        let refused = load(NAMED, &[(main, "export default {};\nusing a = null;")]).unwrap_err();
        assert!(refused.starts_with(&format!("{main}:2:1: `using` at the top level")), "{refused}");
    }
}
