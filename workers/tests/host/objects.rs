//! Durable objects whose classes are JavaScript.

use thunderhead_sim::{End, Run};

use crate::support::{answers, load, play};

const CONFIG: &str = r#""name": "web",
    "durable_objects": { "bindings": [{ "name": "O", "class_name": "Thing" }] },
    "r2_buckets": [{ "binding": "B", "bucket_name": "bucket" }]"#;

/// Plays requests on a class with these members and a handler with this body.
fn run(members: &str, body: &str, requests: usize) -> Run {
    let source = format!(
        "import {{ DurableObject }} from 'cloudflare:workers';
         export class Thing extends DurableObject {{ {members} }}
         export default {{ async fetch(request, env) {{ {body} }} }};"
    );
    let app = load(CONFIG, &source).unwrap_or_else(|why| panic!("{why}"));
    play(&app, &vec![("GET", "/", ""); requests])
}

fn said(members: &str, body: &str) -> String {
    let run = run(members, body, 1);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    answers(&run).pop().unwrap()
}

#[test]
fn keys_and_values_are_kept_and_memory_is_kept_while_the_object_lives() {
    let run = run(
        "n = 0;
         async add() { this.n += 1; const kept = ((await this.ctx.storage.get('kept')) ?? 0) + 1; await this.ctx.storage.put('kept', kept); return { n: this.n, kept }; }",
        "return Response.json(await env.O.getByName('a').add());",
        2,
    );
    assert_eq!(answers(&run)[0], r#"200 {"n":1,"kept":1}"#);
    assert!(answers(&run)[1].ends_with(r#""kept":2}"#), "{:?}", answers(&run));
}

#[test]
fn sql_has_cursors_transactions_and_errors() {
    let said = said(
        "async test() {
           const { sql } = this.ctx.storage;
           sql.exec('create table t (a text, b real, c blob)');
           sql.exec('insert into t values (?, ?, ?), (?, null, null)', 'x', 1.5, new Uint8Array([7]), 'y');
           const rows = sql.exec('select a, b from t order by a').toArray();
           const one = sql.exec('select count(*) as n from t').one().n;
           let undone;
           try { this.ctx.storage.transactionSync(() => { sql.exec('delete from t'); throw new Error('no'); }); } catch (e) { undone = e.message; }
           let wrong; try { sql.exec('select * from gone'); } catch (e) { wrong = e.message; }
           return [rows, one, undone, [...sql.exec('select a from t').raw()].length, wrong, [...new Uint8Array(sql.exec('select c from t').toArray()[0].c)]];
         }",
        "return Response.json(await env.O.getByName('a').test());",
    );
    assert_eq!(
        said,
        r#"200 [[{"a":"x","b":1.5},{"a":"y","b":null}],2,"no",2,"no such table: gone: SQLITE_ERROR",[7]]"#
    );
}

#[test]
fn arguments_and_results_cross_as_structured_clones_and_errors_keep_their_class() {
    let said = said(
        "async echo(value) { return value; } async call(work) { return work(21); } async fail() { throw new RangeError('too far'); } hidden = () => 1;",
        "const stub = env.O.get(env.O.idFromName('a'));
         const map = await stub.echo(new Map([[1, new Date(5)]]));
         const error = await stub.fail().catch((e) => [e instanceof RangeError, e.message, e.remote]);
         const gone = await stub.gone().catch((e) => e.message);
         const hidden = await stub.hidden().catch((e) => e.message);
         const bad = await stub.echo(new (class Own {})()).catch((e) => e.name);
         const twice = await stub.call((n) => 2 * n);
         return Response.json([map.get(1).getTime(), error, gone, hidden, bad, twice]);",
    );
    assert_eq!(
        said,
        r#"200 [5,[true,"too far",true],"The RPC receiver does not implement the method \"gone\".","The RPC receiver does not implement the method \"hidden\".","DataCloneError",42]"#
    );
}

#[test]
fn an_object_is_fetched_and_ids_are_the_platforms() {
    let said = said(
        "async fetch(request) { return new Response(request.method + ' ' + new URL(request.url).pathname + ' ' + (await request.text()), { status: 202 }); }",
        "const id = env.O.idFromName('a');
         const response = await env.O.get(env.O.idFromString(id.toString())).fetch('http://x/y', { method: 'POST', body: 'hi' });
         return Response.json([response.status, await response.text(), id.toString().length, id.name, env.O.newUniqueId().equals(id)]);",
    );
    assert_eq!(said, r#"200 [202,"POST /y hi",64,"a",false]"#);
}

#[test]
fn an_alarm_goes_off_and_is_retried_when_it_throws() {
    let run = run(
        "async arm() { await this.ctx.storage.setAlarm(Date.now() + 5000); return (await this.ctx.storage.getAlarm()) - Date.now(); }
         async alarm({ retryCount, isRetry }) { console.log('alarm', retryCount, isRetry); if (!isRetry) throw new Error('not yet'); }",
        "return Response.json(await env.O.getByName('a').arm());",
        1,
    );
    let text = run.trace.to_string();
    assert_eq!(answers(&run), ["200 5000"]);
    assert!(text.contains("alarm 0 false") && text.contains("alarm 1 true"), "{text}");
}

#[test]
fn without_an_alarm_handler_no_alarm_can_be_set() {
    let said = said(
        "async arm() { await this.ctx.storage.setAlarm(Date.now() + 5000); }",
        "return new Response(await env.O.getByName('a').arm().catch((e) => e.message));",
    );
    assert!(said.contains("must have an alarm() handler"), "{said}");
}

#[test]
fn a_constructor_may_block_until_it_is_ready() {
    let said = said(
        "constructor(ctx, env) { super(ctx, env); ctx.blockConcurrencyWhile(async () => { await env.B.put('ready', '1'); this.ready = true; }); }
         async test() { return this.ready; }",
        "return Response.json(await env.O.getByName('a').test());",
    );
    assert_eq!(said, "200 true");
}

#[test]
fn a_constructor_that_throws_fails_each_call_and_is_tried_again() {
    let run = run(
        "constructor(ctx, env) { super(ctx, env); throw new Error('no config'); } async test() {}",
        "return new Response(await env.O.getByName('a').test().catch((e) => e.message));",
        2,
    );
    let answers = answers(&run);
    assert!(
        answers.len() == 2 && answers.iter().all(|answer| answer.contains("no config")),
        "{answers:?}\n{}",
        run.trace
    );
}

#[test]
fn a_transaction_is_kept_or_undone_as_one() {
    let said = said(
        "async test() {
           const { storage } = this.ctx;
           await storage.transaction(async (txn) => { await txn.put('a', 1); });
           await storage.transaction(async (txn) => { await txn.put('a', 2); txn.rollback(); });
           const error = await storage.transaction(async (txn) => { await txn.put('a', 3); throw new TypeError('no'); }).catch((e) => e.name);
           return [await storage.get('a'), error];
         }",
        "return Response.json(await env.O.getByName('a').test());",
    );
    assert_eq!(said, r#"200 [1,"TypeError"]"#);
}

#[test]
fn abort_resets_the_object_and_what_its_turn_has_written() {
    let run = run(
        "async test() { await this.ctx.storage.put('a', 1); this.ctx.abort('on purpose'); }
         async look() { return (await this.ctx.storage.get('a')) ?? null; }",
        "const error = await env.O.getByName('a').test().catch((e) => e.message);
         return Response.json([error, await env.O.getByName('a').look()]);",
        1,
    );
    assert_eq!(answers(&run), [r#"200 ["on purpose",null]"#], "{}", run.trace);
}

#[test]
fn a_stub_by_name_has_the_id_of_that_name_and_half_a_surrogate_is_no_member() {
    let said = said(
        "async test() {}",
        "const { id } = env.O.getByName('a'), other = env.O.idFromName('a');
         const error = await env.O.getByName('a')['\\ud800']().catch((e) => e.message);
         return Response.json([id.equals(other), other.equals(id), id.toString() === other.toString(), id.name, error]);",
    );
    assert_eq!(
        said,
        "200 [true,true,true,\"a\",\"The RPC receiver does not implement the method \\\"\u{fffd}\\\".\"]"
    );
}

/// What is thrown across isolates, as the runtime told of it with these compatibility dates.
#[test]
fn an_error_of_an_object_keeps_its_name_only_with_newer_compatibility_dates() {
    let source = "import { DurableObject } from 'cloudflare:workers';
        class Short extends Error { constructor(message) { super(message); this.name = 'Short'; this.code = 5; } }
        const all = [new Short('m1'), Object.assign(new TypeError('m2'), { x: 1 }), new Error('m3', { cause: 1 }), 'text', { a: 1 },
          new DOMException('m4', 'AbortError'), Object.assign(new TypeError('m5'), { name: 'Odd' }), new Short(''), Object.assign(new Error('m6'), { name: '' })];
        export class Obj extends DurableObject { fail(at) { throw all[at]; } }
        export default { async fetch(request, env) {
          const told = [];
          for (const at of all.keys()) await env.OBJ.get(env.OBJ.idFromName('a')).fail(at).catch((error) =>
            told.push(error instanceof Error ? [error.constructor.name, String(error), error.code ?? error.x ?? error.cause ?? null] : error.a));
          return Response.json(told);
        } };";
    let said = |compatibility: &str| {
        let config = format!(
            r#""name": "web", {compatibility}, "durable_objects": {{ "bindings": [{{ "name": "OBJ", "class_name": "Obj" }}] }},
                "migrations": [{{ "tag": "v1", "new_sqlite_classes": ["Obj"] }}]"#
        );
        answers(&play(&load(&config, source).unwrap(), &[("GET", "/", "")])).remove(0)
    };
    let kept = r#"200 [["Error","Short: m1",5],["TypeError","TypeError: m2",1],["Error","Error: m3",1],["Error","Error: text",null],1,["DOMException","AbortError: m4",20],["Error","Odd: m5",null],["Error","Short",5],["Error","m6",null]]"#;
    let text = r##"200 [["Error","Error: Short: m1",null],["TypeError","TypeError: m2",null],["Error","Error: m3",null],["Error","Error: text",null],["Error","Error: #<Object>",null],["DOMException","AbortError: m4",20],["Error","Error: Odd: m5",null],["Error","Error: Short",null],["Error","Error: m6",null]]"##;
    let flag = |flag: &str, date: &str| {
        format!(r#""compatibility_date": "{date}", "compatibility_flags": ["{flag}"]"#)
    };
    assert_eq!(said(r#""compatibility_date": "2026-04-21""#), kept);
    assert_eq!(said(r#""compatibility_date": "2026-04-20""#), text);
    assert_eq!(said(&flag("enhanced_error_serialization", "2026-01-01")), kept);
    assert_eq!(said(&flag("legacy_error_serialization", "2026-05-01")), text);
}

#[test]
fn a_stub_has_every_member_and_a_key_without_a_value_is_not_stored() {
    let members = "async keys() { await this.ctx.storage.put({ a: undefined, b: 1 }); return [...(await this.ctx.storage.list()).keys()]; }";
    let body = "const stub = env.O.get(env.O.idFromName('a'));
        return Response.json([['keys', 'nope', 'then', 'fetch', 'id'].map((name) => name in stub), await stub.keys()]);";
    let said = answers(&run(members, body, 1));
    assert_eq!(said, [r#"200 [[true,true,false,true,true],["b"]]"#]);
}
