//! Requests of `storm.http` that use the answers to others.

use std::sync::Arc;

use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::{Rng, Run, Scenario, Source, Tape, answers as references, simulate};
use thunderhead_workers::Worker;

use crate::support::{answers, load};

/// Orders have random numbers. One that is paid has a row in two tables, which these statements write.
fn orders(pay: &str) -> Worker {
    let source = format!(
        "export default {{ async fetch(request, env) {{
           await env.DB.exec('CREATE TABLE IF NOT EXISTS paid (id TEXT PRIMARY KEY); CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY)');
           const [, , id] = new URL(request.url).pathname.split('/');
           if (request.method === 'POST') return Response.json({{ id: crypto.randomUUID() }}, {{ status: 201 }});
           const paid = env.DB.prepare('INSERT OR IGNORE INTO paid VALUES (?)').bind(id);
           const sent = env.DB.prepare('INSERT OR IGNORE INTO sent VALUES (?)').bind(id);
           const known = await env.DB.prepare('SELECT 1 FROM paid WHERE id = ?').bind(id).first();
           if (!known) {{ {pay} }}
           return new Response(`paid ${{id.length}} ${{request.headers.get('x-of')}}`);
         }} }};"
    );
    let config = r#""name": "web", "d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "1" }]"#;
    let app = Arc::unwrap_or_clone(load(config, &source).unwrap());
    Worker::new(app, Some(STORM)).unwrap()
}

const STORM: &str = "# @name order
POST /orders

###

PUT /orders/{{order.response.body.id}}/paid
x-of: {{order.response.headers.content-type}}
";

/// A crash between the two leaves an order that is paid and never sent.
const CARELESS: &str = "await paid.run(); await sent.run();";
const CAREFUL: &str = "await env.DB.batch([paid, sent]);";

fn calm(worker: &Worker) -> Run {
    let scenario = Scenario { requests: worker.one_by_one(), ..Scenario::default() };
    simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| worker.mount(cloud)).unwrap()
}

#[test]
fn a_request_is_sent_with_what_it_takes_from_an_answer() {
    let answered = answers(&calm(&orders(CAREFUL)));
    let [created, paid] = &answered[..] else { panic!("{answered:?}") };
    assert!(created.starts_with("201 {\"id\":\""), "{created}");
    assert_eq!(paid, "200 paid 36 application/json");
}

/// Every request that is drawn comes after those whose answers it uses, and each has a name of its own.
#[test]
fn drawn_requests_refer_to_requests_before_them() {
    let worker = orders(CAREFUL);
    let system = worker.system("orders".into(), ".".into());
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let requests = system.workload(&mut Rng::new(seed));
        let mut names: Vec<&str> = Vec::new();
        for sent in &requests {
            for used in references::names(&sent.request) {
                assert!(names.contains(&&*used), "seed {seed}: {requests:?}");
                seen.insert(used);
            }
            if let Some(name) = &sent.name {
                assert!(!names.contains(&&**name), "seed {seed}: {requests:?}");
                names.push(name);
            }
        }
    }
    assert!(seen.len() >= 3, "only {seen:?} were used");
}

#[test]
fn an_order_that_is_paid_and_never_sent_is_found_and_one_that_is_paid_at_once_holds() {
    for (pay, broken) in [(CARELESS, true), (CAREFUL, false)] {
        let system = orders(pay).system("orders".into(), ".".into());
        let found = (0..300).any(|seed| {
            let (scenario, source) = search::of_seed(&system, seed, Sampling::Random, 3);
            let checked = search::check(&system, system.reference(), &scenario, &source);
            !checked.unwrap().1.is_empty()
        });
        assert_eq!(found, broken, "{pay}");
    }
}
