//! Messages that come to a queue from outside of the Worker.

use std::sync::Arc;

use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::{Run, Scenario, Source, Tape, simulate};
use thunderhead_workers::Worker;

use crate::support::{answers, load};

const CONFIG: &str = r#""name": "web", "queues": { "consumers": [{ "queue": "orders", "max_retries": 90, "retry_delay": 2 }] },
    "d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "1" }]"#;

/// A Worker that does nothing but consume a queue.
fn consumer(body: &str, storm: Option<&str>) -> Result<Worker, String> {
    let source = format!(
        "export default {{ async queue(batch, env) {{
           await env.DB.exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER, n INTEGER)');
           for (const message of batch.messages) {{ {body} }}
         }} }};"
    );
    Worker::new(Arc::unwrap_or_clone(load(CONFIG, &source)?), storm)
}

fn calm(worker: &Worker) -> Run {
    let scenario = Scenario { requests: worker.one_by_one(), ..Scenario::default() };
    simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| worker.mount(cloud)).unwrap()
}

#[test]
fn a_worker_that_only_consumes_gets_documents_and_texts() {
    let storm = "QUEUE orders\n\n{\"id\": 7}\n###\nQUEUE orders\ncontent-type: text/plain\n\ntea\n";
    let body = "console.log(typeof message.body, JSON.stringify(message.body), batch.queue);";
    let run = calm(&consumer(body, Some(storm)).unwrap());
    assert_eq!(answers(&run), ["202 ", "202 "]);
    let history = run.trace.wide().to_string();
    assert!(history.contains("object {\"id\":7} orders"), "{history}");
    assert!(history.contains("string \"tea\" orders"), "{history}");
}

#[test]
fn a_consumer_that_counts_deliveries_is_refuted_and_one_that_counts_orders_holds() {
    let storm = "QUEUE orders\n\n{\"id\": 7}\n";
    let counts =
        "await env.DB.prepare('INSERT INTO orders VALUES (?, 1)').bind(message.body.id).run();";
    let once = "await env.DB.prepare('INSERT INTO orders SELECT ?1, 1 WHERE NOT EXISTS (SELECT 1 FROM orders WHERE id = ?1)').bind(message.body.id).run();";
    for (body, broken) in [(counts, true), (once, false)] {
        let system = consumer(body, Some(storm)).unwrap().system("orders".into(), ".".into());
        let found = (0..300).any(|seed| {
            let (scenario, source) = search::of_seed(&system, seed, Sampling::Random, 3);
            let checked = search::check(&system, system.reference(), &scenario, &source);
            !checked.unwrap().1.is_empty()
        });
        assert_eq!(found, broken, "{body}");
    }
}

#[test]
fn a_queue_that_is_not_consumed_and_a_worker_to_which_nothing_is_sent_are_told() {
    let said = consumer("", Some("QUEUE order\n\n1\n")).unwrap_err();
    assert_eq!(
        said,
        "line 1: the Worker does not consume the queue `order`; did you mean `orders`? Known are: orders"
    );
    let said = consumer("", None).unwrap_err();
    assert!(
        said.contains("write `QUEUE orders`, an empty line and a message into storm.http"),
        "{said}"
    );
}
