//! Objects that go on by themselves: a run comes to its end all the same.

use thunderhead_sim::{End, Run};

use crate::support::{answers, load, play};

const CONFIG: &str = r#""name": "web", "durable_objects": { "bindings": [{ "name": "O", "class_name": "Clock" }] },
    "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Clock"] }]"#;

/// A run of a Worker that asks its one object, whose class has these members.
fn run(members: &str) -> Run {
    let source = format!(
        "import {{ DurableObject }} from 'cloudflare:workers';
         export class Clock extends DurableObject {{ {members} }}
         export default {{ async fetch(request, env) {{
           return new Response(await env.O.getByName('a').ask());
         }} }};"
    );
    let run = play(&load(CONFIG, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 asked"]);
    run
}

#[test]
fn an_alarm_that_sets_itself_again_ends_after_a_hundred_times() {
    let run = run("async ask() { await this.ctx.storage.setAlarm(Date.now() + 1000); return 'asked'; }
        async alarm() { console.log('rang'); await this.ctx.storage.setAlarm(Date.now() + 86_400_000); }");
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    // The first goes off when the end of the storm is still to come.
    assert_eq!(run.trace.to_string().matches("rang").count(), 1 + 100);
}

#[test]
fn the_timers_of_an_object_end_when_nobody_asks_it() {
    let run = run(
        "constructor(ctx, env) { super(ctx, env); setInterval(() => console.log('tick'), 1000);
          const again = () => { console.log('tock'); setTimeout(again, 10_000); }; again(); }
        async ask() { return 'asked'; }",
    );
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let history = run.trace.to_string();
    assert_eq!(history.matches("tick").count(), 140, "{history}");
    assert_eq!(history.matches("tock").count(), 15);
}

#[test]
fn a_deadline_that_nobody_waits_for_is_no_operation_that_was_not_awaited() {
    let source = "export default { async fetch() {
        AbortSignal.timeout(5000);
        const late = await fetch('https://slow.example/', { signal: AbortSignal.timeout(5000) }).then(() => 'answered', (error) => error.name);
        return new Response(late);
    } };";
    let run = play(&load("\"name\": \"web\"", source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(run.end, End::Quiet);
    assert!(!run.trace.to_string().contains("not awaited"), "{}", run.trace);
}
