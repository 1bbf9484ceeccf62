//! What surprised us about the runtime, where only JavaScript can show that it is so here, or that storms come to it by
//! what they draw. `sim/tests/engine/storms/surprises.rs` has the rest, and `docs/platform.md` the list.

use std::sync::Arc;

use thunderhead_sim::{
    ChoiceKind, ClientRequest, EventKind, FaultSet, Op, Run, Scenario, Source, Swarm, Time,
    simulate,
};
use thunderhead_workers::App;

use crate::sockets::{CONFIG, HIBERNATES, received, room};
use crate::support::{answers, fetch, load, play};

/// How many storms there are at most, until something has been seen in one of them and not in another.
const SEEDS: u64 = 500;

/// Plays storms over one request until something was seen in one of them, and was not in another.
fn sometimes(app: &Arc<App>, request: ClientRequest, seen: impl Fn(&Run) -> bool) {
    let drawn_faults = FaultSet::explored();
    let scenario = Scenario { requests: vec![request], drawn_faults, ..Scenario::default() };
    let mut found = [false; 2];
    for seed in 0..SEEDS {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, drawn_faults) };
        let run = simulate(&scenario, &source, &|cloud| app.mount(cloud)).unwrap();
        found[usize::from(seen(&run))] = true;
        if found == [true; 2] {
            return;
        }
    }
    panic!("of {SEEDS} storms, some did not show it and some did: {found:?}");
}

#[test]
fn a_constructor_that_catches_what_its_gate_throws_in_a_storm_is_reset_all_the_same() {
    let config = r#""name": "web",
        "durable_objects": { "bindings": [{ "name": "O", "class_name": "Thing" }] },
        "r2_buckets": [{ "binding": "B", "bucket_name": "bucket" }]"#;
    let source = "import { DurableObject } from 'cloudflare:workers';
        export class Thing extends DurableObject {
          constructor(ctx, env) {
            super(ctx, env);
            ctx.blockConcurrencyWhile(async () => { await env.B.get('settings'); }).catch(() => {});
          }
          async serve() { return 'served'; }
        }
        export default { fetch: (request, env) => env.O.getByName('a').serve().then(
          (said) => new Response(said), (error) => new Response(`reset ${error.durableObjectReset}`)) };";
    let app = load(config, source).unwrap();
    let request = ClientRequest::new(Time::ZERO, "GET", "/", "");
    sometimes(&app, request, |run| answers(run).iter().any(|answer| answer == "200 reset true"));
}

/// Whether an object has died before the writes of a turn were kept.
fn lost_a_turn(run: &Run) -> bool {
    // With 1 of 3 they are kept, with 2 of 3 they are lost.
    run.draws.iter().any(|draw| draw.kind == ChoiceKind::Crash && (draw.value, draw.of) == (2, 3))
}

/// How many messages an object has begun to handle.
fn begun(run: &Run) -> usize {
    let messages = run.trace.events().iter().filter(|event| match event.kind {
        EventKind::Begin { call } => {
            matches!(run.trace.op(call), Op::Frame { frame, .. } if !frame.closes())
        }
        _ => false,
    });
    messages.count()
}

#[test]
fn a_message_that_is_sent_after_a_write_is_lost_with_it_in_a_storm_and_the_client_hears_1006() {
    let members = format!(
        "{HIBERNATES} async webSocketMessage(ws, m) {{ this.ctx.storage.put('last', m); ws.send(m); }}"
    );
    let app = load(CONFIG, &room(&members)).unwrap();
    let says = ["a", "b", "c", "d", "e", "f", "g", "h"].join("\n=== wait-for-server\n");
    let request = ClientRequest::new(Time::ZERO, "WEBSOCKET", "/ann", &*says);
    sometimes(&app, request, |run| {
        let heard = received(run);
        let echoes = heard.iter().filter(|line| line.starts_with('"')).count();
        let lost = lost_a_turn(run);
        assert!(!lost || echoes < begun(run), "{}", run.trace);
        lost && heard.last().is_some_and(|last| last.starts_with("1006"))
    });
}

#[test]
fn what_a_call_changes_of_the_properties_of_its_binding_the_next_does_not_see() {
    let config = r#""name": "web",
        "services": [{ "binding": "S", "service": "web", "entrypoint": "Store", "props": { "tenant": "ann" } }]"#;
    let source = "import { WorkerEntrypoint } from 'cloudflare:workers';
        export class Store extends WorkerEntrypoint {
          read() { return this.ctx.props.tenant; }
          change() { this.ctx.props.tenant = 'bob'; return this.read(); }
        }
        export default { fetch: async (request, env) => Response.json([await env.S.change(), await env.S.read()]) };";
    let run = play(&load(config, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 ["bob","ann"]"#], "{}", run.trace);
}

#[test]
fn parameters_with_a_function_are_refused_and_no_instance_is_made() {
    let config = r#""name": "web",
        "workflows": [{ "binding": "W", "name": "flow", "class_name": "Flow" }]"#;
    let source = "import { WorkflowEntrypoint } from 'cloudflare:workers';
        export class Flow extends WorkflowEntrypoint { async run() {} }
        export default { async fetch(request, env) {
          const refused = await env.W.create({ id: 'one', params: { work() {} } }).then(() => false, () => true);
          const made = await env.W.get('one').then(() => true, () => false);
          return Response.json([refused, made]);
        } };";
    let run = play(&load(config, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 [true,false]"], "{}", run.trace);
}

#[test]
fn the_clock_stands_still_while_a_worker_computes() {
    let said = fetch(
        "\"name\": \"web\"",
        "const before = Date.now();
         let sum = 0;
         for (let i = 0; i < 10000; i++) sum += i;
         return Response.json([sum, Date.now() - before]);",
    );
    assert_eq!(said, "200 [49995000,0]");
}
