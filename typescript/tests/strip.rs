//! What becomes of each construct of TypeScript. That the result does what it should is shown where there is an engine,
//! in `workers/tests/host/typescript.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead_typescript::strip;

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
