//! Service bindings to the Worker itself, and cron triggers in a storm.

use std::sync::Arc;

use thunderhead_sim::{
    ClientRequest, Fault, FaultSet, Kill, Run, Scenario, ScriptedFault, Source, Swarm, Tape, Time,
    simulate,
};
use thunderhead_workers::Worker;

use crate::support::{answers, load, play};

const CONFIG: &str = r#""name": "web",
    "services": [
        { "binding": "SELF", "service": "web" },
        { "binding": "STORE", "service": "web", "entrypoint": "Store", "props": { "tenant": "ann" } }
    ],
    "ratelimits": [{ "name": "LIMIT", "namespace_id": "1", "simple": { "limit": 2, "period": 60 } }],
    "analytics_engine_datasets": [{ "binding": "STATS", "dataset": "visits" }],
    "version_metadata": { "binding": "VERSION" }"#;

fn said(source: &str) -> String {
    let app = load(CONFIG, source).unwrap_or_else(|why| panic!("{why}"));
    let run = play(&app, &[("GET", "/", "")]);
    answers(&run).pop().unwrap_or_else(|| panic!("{}", run.trace))
}

const STORE: &str = "import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
    class Cart extends RpcTarget {
      #items = [];
      add(item) { this.#items.push(item); return this.#items.length; }
      get size() { return this.#items.length; }
    }
    export class Store extends WorkerEntrypoint {
      async fetch(request) { return new Response(this.ctx.props.tenant + new URL(request.url).pathname); }
      cart() { return new Cart(); }
      async each(items, work) { const all = []; for (const item of items) all.push(await work(item)); return all; }
      fail() { throw Object.assign(new RangeError('no stock', { cause: new Error('sold') }), { code: 7 }); }
    }";

#[test]
fn an_entrypoint_is_called_with_targets_functions_and_errors_that_keep_their_properties() {
    let said = said(&format!(
        "{STORE}
         export default {{ async fetch(request, env, ctx) {{
           if (request.url.endsWith('/inner')) return new Response('inner');
           const cart = await env.STORE.cart();
           await cart.add('tea');
           const twice = await env.STORE.each([1, 2], (n) => 2 * n);
           const error = await env.STORE.fail().catch((e) => [e instanceof RangeError, e.message, e.code, e.cause.message, e.remote]);
           const piped = await env.STORE.cart().add('milk');
           const fetched = await (await env.STORE.fetch('http://x/y')).text();
           const inner = await (await env.SELF.fetch('http://x/inner')).text();
           const mine = await (await ctx.exports.Store({{ props: {{ tenant: 'bob' }} }}).fetch('http://x/')).text();
           return Response.json([await cart.size, twice, error, piped, fetched, inner, mine]);
         }} }};"
    ));
    let expected = r#"200 [1,[2,4],[true,"no stock",7,"sold",true],1,"ann/y","inner","bob/"]"#;
    assert_eq!(said, expected);
}

#[test]
fn small_bindings_do_what_the_local_runtime_does() {
    let said = said(
        "export default { async fetch(request, env) {
           const all = [];
           for (const key of ['a', 'a', 'a', 'b']) all.push((await env.LIMIT.limit({ key })).success);
           return Response.json([all, env.STATS.writeDataPoint({ blobs: ['x'] }) === undefined, typeof env.VERSION.id]);
         } };",
    );
    assert_eq!(said, r#"200 [[true,true,false,true],true,"string"]"#);
}

/// When the handler of a cron trigger that is due at the beginning has begun, in milliseconds.
fn ticks(run: &Run) -> Vec<u64> {
    let lines = run.trace.to_string();
    let told = lines.lines().filter_map(|line| line.split_once("tick at "));
    told.map(|(_, at)| at.trim_end_matches('"').parse().unwrap()).collect()
}

#[test]
fn a_cron_trigger_comes_late_twice_or_not_at_all_in_some_storm() {
    let source = "export default { async scheduled(event) {
        console.log(`tick at ${Date.now() - Date.UTC(2026, 0, 1)}`);
      } };";
    let app = Arc::unwrap_or_clone(load(r#""name": "web""#, source).unwrap());
    let worker = Worker::new(app, Some("SCHEDULED 0 * * * *")).unwrap();
    let drawn_faults = FaultSet::explored();
    let scenario = Scenario { requests: worker.one_by_one(), drawn_faults, ..Scenario::default() };
    let runs: Vec<Vec<u64>> = (0..150)
        .map(|seed| {
            let swarm = Swarm::of_seed(seed, drawn_faults);
            let source = Source::Random { seed, swarm };
            ticks(&simulate(&scenario, &source, &|cloud| worker.mount(cloud)).unwrap())
        })
        .collect();
    assert!(runs.iter().any(|ticks| ticks.len() == 1 && ticks[0] < 1_000), "on time");
    assert!(runs.iter().any(|ticks| ticks.iter().any(|at| *at >= 1_000)), "late");
    assert!(runs.iter().any(|ticks| ticks.len() == 2), "twice");
    assert!(runs.iter().any(Vec::is_empty), "not at all");
}

/// An object that keeps what it is given, and a Worker that calls it later.
const KEEPER: &str = "import { DurableObject, RpcTarget } from 'cloudflare:workers';
    class Bell extends RpcTarget {
      constructor(log) { super(); this.log = log; }
      ring() { this.log.push('rung'); return 'ding'; }
      [Symbol.dispose]() { this.log.push('gone'); }
    }
    export class Room extends DurableObject {
      keep(bell, doubled) { this.bell = doubled ? bell.dup() : bell; }
      async ring() { try { return await this.bell.ring(); } catch (error) { return error.message; } }
      drop() { this.bell[Symbol.dispose](); }
    }";

#[test]
fn a_stub_among_the_arguments_is_gone_after_the_call_unless_it_was_doubled() {
    let source = format!(
        "{KEEPER} export default {{ async fetch(request, env) {{
           const room = env.ROOM.getByName('all');
           const [log, said] = [[], []];
           for (const doubled of [false, true]) {{
             await room.keep(new Bell(log), doubled);
             said.push(await room.ring());
           }}
           return Response.json(said);
         }} }};"
    );
    let run = play(&load(crate::sockets::CONFIG, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(
        answers(&run),
        [r#"200 ["RPC stub used after being disposed.","ding"]"#],
        "{}",
        run.trace
    );
}

#[test]
fn a_target_hears_that_its_last_stub_is_gone() {
    let source = format!(
        "{KEEPER} export default {{ async fetch(request, env) {{
           const room = env.ROOM.getByName('all');
           const log = [];
           await room.keep(new Bell(log), false);
           await scheduler.wait(100);
           log.push('next');
           await room.keep(new Bell(log), true);
           await room.ring();
           await scheduler.wait(100);
           log.push('kept');
           await room.drop();
           await scheduler.wait(100);
           return Response.json(log);
         }} }};"
    );
    let run = play(&load(crate::sockets::CONFIG, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 ["gone","next","rung","kept","gone"]"#], "{}", run.trace);
}

/// Every call to another Worker in a storm of duplicates: those of a service binding, and the others.
#[test]
fn a_call_through_a_service_binding_is_never_repeated_by_the_network() {
    let source = "export default { async fetch(request, env) {
        if (!request.url.endsWith('/')) { console.log(new URL(request.url).pathname); return new Response('inner'); }
        await env.SELF.fetch('http://x/bound');
        return fetch('http://web/named');
      } };";
    let app = load(CONFIG, source).unwrap();
    let fault = |on: &str| ScriptedFault::once(Fault::Duplicate, on);
    let faults = ["fetch web/bound", "fetch web/named"].map(fault);
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { requests, faults: faults.into(), ..Scenario::default() };
    let run =
        simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| app.mount(cloud)).unwrap();
    let told = run.trace.to_string();
    assert_eq!(told.matches("log    /bound").count(), 1, "{told}");
    assert_eq!(told.matches("log    /named").count(), 2, "{told}");
}

/// The target of the first life is lost with it, and the second keeps another one.
#[test]
fn a_stub_of_a_life_that_is_over_finds_nothing_in_the_next_one() {
    let source = "import { DurableObject, RpcTarget } from 'cloudflare:workers';
        class Target extends RpcTarget { constructor(name) { super(); this.name = name; } whose() { return this.name; } }
        export class Room extends DurableObject { target(name) { return new Target(name); } }
        export default { async fetch(request, env) {
          const room = () => env.ROOM.get(env.ROOM.idFromName('all'));
          using first = await room().target('first');
          await scheduler.wait(10_000);
          using second = await room().target('second');
          return new Response([await first.whose().catch((error) => error.message), await second.whose()].join(', '));
        } };";
    let config = r#""name": "web", "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
        "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }]"#;
    let app = load(config, source).unwrap();
    let kills = vec![Kill { at: Time::from_ms(5_000), host: "ROOM:all".into(), down: None }];
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { requests, kills, ..Scenario::default() };
    let run =
        simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| app.mount(cloud)).unwrap();
    let gone = "The destination object for this RPC no longer exists.";
    assert_eq!(answers(&run), [format!("200 {gone}, second")], "{}", run.trace);
}
