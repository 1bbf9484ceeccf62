//! How the requests of a failure are made simpler.

use std::sync::Arc;

use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::Case;
use thunderhead_workers::Worker;

use crate::support::load;

/// Without the member that a step needs, the workflow would fail in the calm as well.
#[test]
fn requests_are_not_made_simpler_until_they_break_a_promise_without_the_fault() {
    let source = "import { WorkflowEntrypoint } from 'cloudflare:workers';
        export class Order extends WorkflowEntrypoint { async run(event, step) {
          await step.do('save', { retries: { limit: 0, delay: 0 } }, async () => {
            if (!event.payload.by) throw new Error('who?');
            await this.env.KV.put(event.instanceId, event.payload.by);
          });
        } }
        export default { async fetch(request, env) {
          await env.ORDER.create({ params: await request.json() });
          return new Response('created');
        } };";
    let config = r#""name": "web", "kv_namespaces": [{ "binding": "KV", "id": "kv" }],
        "workflows": [{ "binding": "ORDER", "name": "order", "class_name": "Order" }]"#;
    let app = Arc::unwrap_or_clone(load(config, source).unwrap());
    let worker =
        Worker::new(app, Some("POST /\n\n{\"by\": \"ann\", \"item\": \"tea\"}\n")).unwrap();
    let (system, promise) = (worker.system("web".into(), ".".into()), "no workflow fails unheard");
    let variant = system.reference();
    let case = (0..150).find_map(|seed| {
        let (scenario, source) = search::of_seed(&system, seed, Sampling::Random, 3);
        let (run, broken) = search::check(&system, variant, &scenario, &source).unwrap();
        broken.iter().any(|one| one.promise == promise).then(|| Case { scenario, tape: run.tape() })
    });
    let shrunk = search::smallest(&system, variant, case.unwrap(), promise);
    let best = shrunk.best();
    assert!(!best.tape.is_empty());
    for sent in &best.scenario.requests {
        assert!(sent.request.body.text().is_some_and(|said| said.contains("by")), "{sent:?}");
    }
}
