//! What becomes of each construct of TypeScript. That the result does what it should is shown where there is an engine,
//! in `workers/tests/host/typescript.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead_typescript::{lower_using, strip};

/// The JavaScript with its runs of spaces made one.
fn plain(source: &str) -> String {
    let stripped = strip(source, false).unwrap_or_else(|error| panic!("{error}: {source}"));
    assert_eq!(stripped.lines().count(), source.lines().count(), "a line has moved: {source}");
    stripped.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn types_become_spaces_and_nothing_moves() {
    let typed =
        "function add<T extends number>(a: T, b?: Map<string, T[]>): T { return (a as any)!; }";
    let expected =
        "function add                  (a   , b                   )    { return (a       ) ; }";
    assert_eq!(strip(typed, false).unwrap(), expected);
}

#[test]
fn each_construct_becomes_the_javascript_that_it_stands_for() {
    let table = [
        ("let x = <any>y;", "let x = y;"),
        ("let x = { a: 1 } satisfies Y;", "let x = { a: 1 } ;"),
        ("let v!: string;", "let v ;"),
        ("call<A, B>(1); new Map<string, number>();", "call (1); new Map ();"),
        ("const f = async <T,>(x: T): Promise<void> => {};", "const f = async (x ) => {};"),
        ("function f(this: Window, a: number) {}", "function f( a ) {}"),
        ("try {} catch (e: unknown) {}", "try {} catch (e ) {}"),
        ("function f(a: string): void;\nfunction f(a: any) {}", "; function f(a ) {}"),
        (
            "type A = string\ninterface B { a: 1 }\ndeclare const C: 1\ndeclare global { var x: 1 }",
            "; ; ; ;",
        ),
        ("declare module 'x' { export const a: 1 }", ";"),
        ("export type A = 1; export interface B {}", "; ;"),
        ("export default interface A {}", ";"),
        ("for (const x of y as string[]) {}", "for (const x of y ) {}"),
        ("import A = B.C;", "const A = B.C;"),
        ("abstract class A<T> extends B<T> implements C, D<T> { }", "class A extends B { }"),
        (
            "class A { private readonly a?: string = 'x'; static b: 1; c!: 2; }",
            "class A { a = 'x'; static b; ; c ; ; }",
        ),
        (
            "class A { declare a: 1; abstract b: 2; [key: string]: any; c(): void; c() {} }",
            "class A { ; ; ; ; c() {} }",
        ),
        (
            "class A { public async *m<T>(x: T): any {} protected get g(): 1 { return 1 } }",
            "class A { ; async *m (x ) {} get g() { return 1 } }",
        ),
        ("class A { readonly = 1; 'quoted'?: number }", "class A { readonly = 1; 'quoted' ; }"),
        (
            "class A { constructor(private a: string, readonly b = 2, c?: number) { f(); } }",
            "class A { constructor( a , b = 2, c ) { this.a = a; this.b = b; f(); } }",
        ),
        (
            "class A extends B { constructor(public a: string) { super(a); g(); } }",
            "class A extends B { constructor( a ) { super(a);; this.a = a; g(); } }",
        ),
    ];
    for (typed, expected) in table {
        assert_eq!(plain(typed), expected, "{typed}");
    }
}

#[test]
fn a_line_without_a_semicolon_ends_where_it_did() {
    let table = [
        ("class A {\n  get: string\n  constructor() {}\n}", "class A { get; constructor() {} }"),
        ("class A {\n  a = 1\n  private [b] = 2\n}", "class A { a = 1 ; [b] = 2 }"),
        ("class A {\n  a = 1\n  public *b() {}\n}", "class A { a = 1 ; *b() {} }"),
        ("let a = b as any\n(c as any).d()", "let a = b ; (c ).d()"),
        ("let a = b as number\n  + 1", "let a = b + 1"),
        ("let a = b\ntype T = 1\n(c)", "let a = b ; (c)"),
    ];
    for (typed, expected) in table {
        assert_eq!(plain(typed), expected, "{typed}");
    }
}

#[test]
fn imports_of_types_are_left_out() {
    let table = [
        ("import type { A } from 'a';", ";"),
        ("import { type A, b } from 'a'; b();", "import { b } from 'a'; b();"),
        ("import { A, b } from 'a'; let x: A = b;", "import { b } from 'a'; let x = b;"),
        ("import { A } from 'a'; let x: typeof A;", "; let x ;"),
        ("import D, { A } from 'a'; D;", "import D, { } from 'a'; D;"),
        ("import D, * as N from 'a'; D; let x: N.T;", "import D from 'a'; D; let x ;"),
        ("import * as N from 'a'; N.f();", "import * as N from 'a'; N.f();"),
        ("import 'a';", "import 'a';"),
        (
            "import { A } from 'a'; class B extends A {}",
            "import { A } from 'a'; class B extends A {}",
        ),
        ("import { A } from 'a'; class B implements A {}", "; class B {}"),
        ("import { A } from 'a'; export { A };", "import { A } from 'a'; export { A };"),
        ("interface A {} export { A, b }; const b = 1;", "; export { b }; const b = 1;"),
        ("export { type A, b } from 'a';", "export { b } from 'a';"),
        ("export type { A } from 'a'; export type * from 'b';", "; ;"),
    ];
    for (typed, expected) in table {
        assert_eq!(plain(typed), expected, "{typed}");
    }
}

#[test]
fn the_type_of_an_arrow_may_go_over_several_lines() {
    assert_eq!(plain("const f = (a: string): {\n  b: string\n} => a;"), "const f = (a ) => a;");
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let refused = |source: &str, tsx: bool| strip(source, tsx).unwrap_err().to_string();
    assert!(
        refused("\n  @sealed class A {}", false).starts_with("2:3: decorators are not understood")
    );
    assert!(refused("const a = <b>c</b>;", true).starts_with("1:11: JSX"));
    assert!(refused("const a = 1;\nlet let = 2 2;", false).starts_with("2:"));
    assert!(refused("namespace A.B { export const c = 1 }", false).contains("dot"));
    assert!(refused("import a = require('a');", false).contains("import x from"));
}

#[test]
fn what_is_behind_a_using_goes_into_a_try_that_disposes_of_the_value() {
    let typed = "{\n  using a: A = f() as A;\n  g(a);\n}";
    let expected = "{\n  const a    = f()     ; if (a != null && typeof a[Symbol.dispose] !== \"function\") \
                    throw new TypeError(\"a has no method [Symbol.dispose]\"); try {\n  g(a);\n\
                    } finally { a?.[Symbol.dispose](); } }";
    assert_eq!(strip(typed, false).unwrap(), expected);

    let typed = "async () => {\n  await using a = f()\n  await g(a)\n}";
    let expected = "async () => {\n  const       a = f(); if (a != null && \
                    typeof (a[Symbol.asyncDispose] ?? a[Symbol.dispose]) !== \"function\") \
                    throw new TypeError(\"a has no method [Symbol.asyncDispose]\"); try {\n  await g(a)\n\
                    } finally { await (a?.[Symbol.asyncDispose] ?? a?.[Symbol.dispose])?.call(a); } }";
    assert_eq!(strip(typed, false).unwrap(), expected);

    // A type ends the statement before a bracket on the next line.
    let typed = "{ using a = b as any\n(c as any).d() }";
    assert_eq!(plain(typed), lowered("{ const a = b ;; ?a try { (c ).d() } finally { !a } }"));
}

/// The expected JavaScript, in which `?a` stands for the check that `a` can be disposed of, and `!a` for its disposal;
/// `?*a` and `!*a` are those of `await using`.
fn lowered(short: &str) -> String {
    let mut text = short.to_string();
    for name in ["a", "b", "c"] {
        let check = format!(
            "if ({name} != null && typeof {name}[Symbol.dispose] !== \"function\") \
             throw new TypeError(\"{name} has no method [Symbol.dispose]\");"
        );
        let awaited_check = format!(
            "if ({name} != null && typeof ({name}[Symbol.asyncDispose] ?? {name}[Symbol.dispose]) !== \"function\") \
             throw new TypeError(\"{name} has no method [Symbol.asyncDispose]\");"
        );
        let awaited_dispose = format!(
            "await ({name}?.[Symbol.asyncDispose] ?? {name}?.[Symbol.dispose])?.call({name});"
        );
        let dispose = format!("{name}?.[Symbol.dispose]();");
        text = text
            .replace(&format!("?*{name}"), &awaited_check)
            .replace(&format!("!*{name}"), &awaited_dispose)
            .replace(&format!("?{name}"), &check)
            .replace(&format!("!{name}"), &dispose);
    }
    text
}

#[test]
fn using_is_lowered_wherever_it_may_stand() {
    let table = [
        (
            "{ using a = f(), b = g(); h(); }",
            "{ const a = f(); ?a try { const b = g(); ?b try { h(); } finally { !b } } finally { !a } }",
        ),
        (
            "{ using a = f(); h(); using b = g(); }",
            "{ const a = f(); ?a try { h(); const b = g(); ?b try { } finally { !b } } finally { !a } }",
        ),
        (
            "function f() { 'use strict'; using a = g() }",
            "function f() { 'use strict'; const a = g(); ?a try { } finally { !a } }",
        ),
        (
            "class A { static { using a = g(); h(); } }",
            "class A { static { const a = g(); ?a try { h(); } finally { !a } } }",
        ),
        (
            "switch (x) { case 1: { using a = g(); break; } }",
            "switch (x) { case 1: { const a = g(); ?a try { break; } finally { !a } } }",
        ),
        ("for (using a of x) h(a);", "for (const a of x) { ?a try { h(a); } finally { !a } }"),
        (
            "for (using a of x) for (using b of a) { using c = b; }",
            "for (const a of x) { ?a try { for (const b of a) { ?b try { { const c = b; ?c try { \
             } finally { !c } } } finally { !b } } } finally { !a } }",
        ),
        (
            "{ using a = f(); for (using b of a) g()}",
            "{ const a = f(); ?a try { for (const b of a) { ?b try { g() } finally { !b } }} \
             finally { !a } }",
        ),
        (
            "async () => { for await (using a of x) {} }",
            "async () => { for await (const a of x) { ?a try { {} } finally { !a } } }",
        ),
        (
            "async () => { for (await using a of x) h(a); }",
            "async () => { for (const a of x) { ?*a try { h(a); } finally { !*a } } }",
        ),
        (
            "async () => { using a = () => { using b = g(); }; }",
            "async () => { const a = () => { const b = g(); ?b try { } finally { !b } }; ?a try { \
             } finally { !a } }",
        ),
    ];
    for (source, expected) in table {
        assert_eq!(plain(source), lowered(expected), "{source}");
        let lowered_alone = lower_using(source).unwrap().unwrap();
        assert_eq!(
            lowered_alone.split_whitespace().collect::<Vec<_>>().join(" "),
            lowered(expected),
            "as plain JavaScript: {source}"
        );
    }
}

#[test]
fn the_lines_of_a_using_stay_where_they_are() {
    let source = "{\n  using a = f(), // first\n    b = g() // second\n  h();\n  // last\n}\nk();";
    let out = lower_using(source).unwrap().unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), source.lines().count(), "{out}");
    assert!(
        lines[1].starts_with("  const a = f(); if (a ")
            && lines[1].ends_with("try { const // first"),
        "{out}"
    );
    assert!(
        lines[2].starts_with("    b = g(); if (b ") && lines[2].ends_with("try { // second"),
        "{out}"
    );
    assert_eq!(lines[3..5], ["  h();", "  // last"]);
    assert_eq!(lines[5], lowered("} finally { !b } } finally { !a } }"));
    assert_eq!(lines[6], "k();");
}

#[test]
fn using_is_a_name_where_it_declares_nothing() {
    let table = [
        "const using = 1; using;",
        "using(x); using.foo = using[x]; (using) => using;",
        "let a = using\nb = 1;",
        "for (using of x) {}",
        "for (const using of x) {}",
        "// using x = y;\n'using x = y';",
        "class A { using = 1; }",
    ];
    for source in table {
        assert_eq!(strip(source, false).as_deref(), Ok(source));
        assert_eq!(lower_using(source), Ok(None), "{source}");
    }
}

#[test]
fn a_using_that_cannot_be_lowered_is_refused_with_its_place() {
    let refused = |source: &str| strip(source, false).unwrap_err().to_string();
    let at_the_top = "2:1: `using` at the top level of a module is not simulated; ";
    assert!(refused("export const a = 1;\nusing b = f();").starts_with(at_the_top));
    assert!(refused("export const a = 1;\nawait using b = f();").starts_with(at_the_top));
    let plain = lower_using("export const a = 1;\nusing b = f();").unwrap_err().to_string();
    assert!(plain.starts_with(at_the_top), "{plain}");
    assert!(
        refused("namespace A {\n  using b = f(); }").starts_with("2:3: `using` in a namespace")
    );
    assert!(refused("for (using a = f(); a.next();) {}").starts_with("1:6: `using` in the head"));
    assert!(refused("switch (x) { case 1: using a = f(); }").contains("bare case"));
}

#[test]
fn javascript_that_the_parser_cannot_read_is_left_as_it_is() {
    assert_eq!(lower_using("{ using a = f(); let let = 2 2; }"), Ok(None));
    assert_eq!(lower_using("{ using a: A = f(); }"), Ok(None));
    // The parser goes on behind this mistake.
    let source = "{ using a = f(); switch (x) { case 1: using b = g(); } }";
    assert_eq!(lower_using(source), Ok(None));
}
