//! KV in a storm: what is read may be old, and a run that shows it can be played again.

use std::sync::Arc;

use thunderhead_sim::{
    ClientRequest, EventKind, Fault, FaultSet, Op, Run, Scenario, ScriptedFault, Source, Swarm,
    Tape, Time, kv, simulate,
};
use thunderhead_workers::App;

use crate::support::{answers, load};

const CONFIG: &str = r#""name": "web", "kv_namespaces": [{ "binding": "KV", "id": "settings" }]"#;

fn app() -> Arc<App> {
    let source = "export default { async fetch(request, env) {
        const key = new URL(request.url).pathname.slice(1);
        if (request.method === 'PUT') await env.KV.put(key, await request.text());
        if (request.method === 'DELETE') await env.KV.delete(key);
        const { keys } = await env.KV.list();
        return Response.json([await env.KV.get(key), keys.map(({ name }) => name)]);
      } };";
    load(CONFIG, source).unwrap()
}

/// Requests at these seconds.
fn scenario(requests: &[(u64, &str, &str)], faults: Vec<ScriptedFault>) -> Scenario {
    let requests = requests.iter().map(|(at, method, body)| {
        ClientRequest::new(Time::from_ms(1000 * at), method, "/theme", *body)
    });
    Scenario { requests: requests.collect(), faults, ..Scenario::default() }
}

fn play(scenario: &Scenario, source: &Source) -> Run {
    let app = app();
    simulate(scenario, source, &|cloud| app.mount(cloud)).unwrap()
}

fn calm(scenario: &Scenario) -> Vec<String> {
    answers(&play(scenario, &Source::Tape(Tape::benign())))
}

fn stale(on: &str, skip: u32) -> ScriptedFault {
    ScriptedFault { skip, code: Some(1), ..ScriptedFault::once(Fault::StaleRead, on) }
}

#[test]
fn a_stale_read_is_answered_with_what_the_key_was_before_the_latest_write() {
    let requests = [(0, "PUT", "light"), (5, "PUT", "dark"), (10, "GET", "")];
    let fresh = r#"200 ["dark",["theme"]]"#;
    assert_eq!(calm(&scenario(&requests, vec![]))[2], fresh);
    let old = calm(&scenario(&requests, vec![stale("kv.get settings/theme", 2)]));
    assert_eq!(old[2], r#"200 ["light",["theme"]]"#);
    // Long after the write no location believes the old value.
    let late = [(0, "PUT", "light"), (5, "PUT", "dark"), (100, "GET", "")];
    assert_eq!(calm(&scenario(&late, vec![stale("kv.get settings/theme", 2)]))[2], fresh);
}

#[test]
fn a_new_key_may_be_missing_only_where_somebody_has_looked_for_it() {
    let stale_get = || vec![stale("kv.get settings/theme", 2)];
    let looked = [(0, "GET", ""), (5, "PUT", "light"), (10, "GET", "")];
    assert_eq!(calm(&scenario(&looked, stale_get()))[2], r#"200 [null,["theme"]]"#);
    let unknown = [(0, "PUT", "light"), (5, "GET", ""), (10, "GET", "")];
    assert_eq!(calm(&scenario(&unknown, stale_get()))[2], r#"200 ["light",["theme"]]"#);
}

#[test]
fn a_stale_list_lacks_the_latest_write_and_a_deleted_key_may_still_be_there() {
    let requests = [(0, "GET", ""), (5, "PUT", "light"), (10, "GET", "")];
    let listed = calm(&scenario(&requests, vec![stale("kv.list settings", 2)]));
    assert_eq!(listed[2], r#"200 ["light",[]]"#);
    let deleted = [(0, "PUT", "light"), (5, "DELETE", ""), (10, "GET", "")];
    let read = calm(&scenario(&deleted, vec![stale("kv.get settings/theme", 2)]));
    assert_eq!(read[2], r#"200 ["light",[]]"#);
}

#[test]
fn a_worker_may_not_see_what_it_has_just_written() {
    let requests = [(0, "PUT", "light"), (5, "PUT", "dark")];
    let read = calm(&scenario(&requests, vec![stale("kv.get settings/theme", 1)]));
    assert_eq!(read[1], r#"200 ["light",["theme"]]"#);
}

#[test]
fn a_write_to_a_namespace_may_take_effect_twice() {
    let twice = ScriptedFault::once(Fault::Duplicate, "kv.put settings/theme");
    let scenario = scenario(&[(0, "PUT", "light")], vec![twice]);
    let run = play(&scenario, &Source::Tape(Tape::benign()));
    let writes = run.trace.effects().filter(|(_, op, _)| matches!(op, Op::Kv(kv::Op::Put { .. })));
    assert_eq!(writes.count(), 2, "{}", run.trace);
}

#[test]
fn a_write_is_refused_with_429_when_a_script_says_so_and_nothing_counts_writes() {
    let app = load(
        CONFIG,
        "export default { async fetch(request, env) {
           const put = (value) => env.KV.put('k', value).then(() => 'ok', (error) => error.message);
           return Response.json([await put('a'), await put('b'), await put('c'), await env.KV.get('k')]);
         } };",
    );
    let app = app.unwrap();
    let fails = ScriptedFault::once(Fault::Fail, "kv.put settings/k");
    let refused = ScriptedFault { skip: 1, code: Some(429), ..fails };
    let scenario = scenario(&[(0, "GET", "")], vec![refused]);
    let tape = Source::Tape(Tape::benign());
    let run = simulate(&scenario, &tape, &|cloud| app.mount(cloud)).unwrap();
    assert_eq!(answers(&run), [r#"200 ["ok","KV PUT failed: 429 Too Many Requests","ok","c"]"#]);
}

#[test]
fn a_drawn_stale_read_is_played_again_by_its_tape() {
    let drawn_faults = FaultSet::explored();
    let requests = [(0, "PUT", "light"), (1, "PUT", "dark"), (2, "GET", "")];
    let scenario = Scenario { drawn_faults, ..scenario(&requests, vec![]) };
    let struck = |run: &Run| {
        run.trace
            .events()
            .iter()
            .any(|event| matches!(event.kind, EventKind::Fault { fault: Fault::StaleRead, .. }))
    };
    let found = (0..200).find_map(|seed| {
        let swarm = Swarm::of_seed(seed, drawn_faults);
        Some(play(&scenario, &Source::Random { seed, swarm })).filter(struck)
    });
    let run = found.expect("some seed draws a stale read");
    let again = play(&scenario, &Source::Tape(run.tape()));
    assert_eq!(again.trace.to_string(), run.trace.to_string());
}

#[test]
fn a_write_beyond_the_limits_is_refused_in_the_platforms_words() {
    let app = load(
        CONFIG,
        "const say = (work) => work.then(() => 'ok', (error) => error.message);
         export default { async fetch(request, env) {
           return Response.json([await say(env.KV.put('k'.repeat(513), 'v')), await say(env.KV.put('k', 'v', { expirationTtl: 5 }))]);
         } };",
    );
    let run = crate::support::play(&app.unwrap(), &[("GET", "/", "")]);
    assert_eq!(
        answers(&run),
        [
            r#"200 ["KV PUT failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512.","KV PUT failed: 400 Invalid expiration_ttl of 5. Expiration TTL must be at least 60."]"#
        ]
    );
}

#[test]
fn a_value_that_expires_is_not_left_behind() {
    let app = load(
        CONFIG,
        "export default { async fetch(request, env) {
           for (const key of ['kept', 'session', 'replaced']) await env.KV.put(key, 'v');
           await env.KV.put('session', 'v', { expirationTtl: 60 });
           await env.KV.put('replaced', 'v', { expirationTtl: 60 });
           await env.KV.put('replaced', 'w');
           return new Response('ok');
         } };",
    );
    let run = crate::support::play(&app.unwrap(), &[("GET", "/", "")]);
    let left = thunderhead_props::history::namespaces(&run.trace);
    let keys: Vec<&str> = left.keys().map(|(_, key)| *key).collect();
    assert_eq!(keys, ["kept", "replaced"]);
}
