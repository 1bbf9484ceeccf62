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
