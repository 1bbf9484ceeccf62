//! Workflows whose bodies are JavaScript.

use thunderhead_sim::{
    ClientRequest, End, Fault, Scenario, ScriptedFault, Source, Tape, Time, simulate,
};

use crate::support::{answers, load, play};

const CONFIG: &str = r#""name": "web",
    "workflows": [{ "binding": "W", "name": "flow", "class_name": "Flow" }],
    "r2_buckets": [{ "binding": "B", "bucket_name": "bucket" }]"#;

/// The history of a workflow with this body that is created once.
fn history(body: &str) -> String {
    let source = format!(
        "import {{ WorkflowEntrypoint }} from 'cloudflare:workers';
         import {{ NonRetryableError }} from 'cloudflare:workflows';
         export class Flow extends WorkflowEntrypoint {{ async run(event, step) {{ {body} }} }}
         export default {{ async fetch(request, env) {{
           const instance = await env.W.create({{ id: 'one', params: {{ n: 2 }} }});
           await instance.sendEvent({{ type: 'go', payload: {{ now: true }} }}).catch(() => {{}});
           await scheduler.wait(40000);
           const status = await instance.status();
           return Response.json([status.status, status.output ?? null, status.error ?? null]);
         }} }};"
    );
    let app = load(CONFIG, &source).unwrap_or_else(|why| panic!("{why}"));
    let run = play(&app, &[("GET", "/", "")]);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    format!("{}\n{}", answers(&run)[0], run.trace)
}

#[test]
fn steps_run_sleep_wait_and_return_what_they_stored() {
    let said = history(
        "const twice = await step.do('double', async () => event.payload.n * 2);
         await step.sleep('nap', '10 seconds');
         const { payload } = await step.waitForEvent('word', { type: 'go', timeout: '1 minute' });
         await step.do('store', async () => { await this.env.B.put(event.instanceId, String(twice)); });
         return { twice, payload };",
    );
    assert!(
        said.starts_with(r#"200 ["complete",{"twice":4,"payload":{"now":true}},null]"#),
        "{said}"
    );
    assert!(said.contains("r2.put bucket/one 4"), "{said}");
}

#[test]
fn a_step_that_fails_is_tried_again_and_knows_its_attempt() {
    let said = history(
        "return await step.do('try', { retries: { limit: 3, delay: '1 second', backoff: 'constant' } }, async ({ attempt }) => {
           if (attempt < 3) throw new Error('not yet'); return attempt; });",
    );
    assert!(said.starts_with(r#"200 ["complete",3,null]"#), "{said}");
}

#[test]
fn an_error_that_is_not_to_be_retried_ends_the_workflow() {
    let said =
        history("await step.do('try', async () => { throw new NonRetryableError('never'); });");
    assert!(said.starts_with(r#"200 ["errored",null,"#) && said.contains("never"), "{said}");
}

#[test]
fn an_instance_that_is_said_to_exist_is_there_in_the_end() {
    let source = "import { WorkflowEntrypoint } from 'cloudflare:workers';
        export class Flow extends WorkflowEntrypoint { async run() { await this.env.B.put('ran', 'yes'); } }
        export default { fetch: (request, env) => env.W.create({ id: 'one' }).then(
          () => new Response('created'), (error) => new Response(error.message)) };";
    let app = load(CONFIG, source).unwrap();
    for code in [0, 1] {
        let once = ScriptedFault::once(Fault::FalseExists, "workflow.create");
        let faults = vec![ScriptedFault { code: Some(code), ..once }];
        let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
        let scenario = Scenario { requests, faults, ..Scenario::default() };
        let source = Source::Tape(Tape::benign());
        let run = simulate(&scenario, &source, &|cloud| app.mount(cloud)).unwrap();
        assert!(answers(&run)[0].contains("already_exists"), "{}", run.trace);
        assert!(run.trace.to_string().contains("r2.put bucket/ran"), "{}", run.trace);
    }
}
