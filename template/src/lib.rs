//! Orders go through a queue and a workflow into a ledger, which must book each of them once.
//!
//! `web` accepts an order, `desk` takes it off the queue and starts a workflow, and the workflow has the ledger book it.

use std::collections::BTreeSet;
use std::time::Duration;

use thunderhead::props::{Finding, Promise, System, Variant, history};
use thunderhead::sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead::sim::workflow::{CreateOptions, WorkflowConfig, WorkflowEvent};
use thunderhead::sim::{
    Body, ClientRequest, Cloud, DurableObject, Env, Error, MessageBatch, ObjectState, Request, Response,
    Rng, Step, Time, Trace,
};

// The application.

/// The worker that clients talk to: `POST /NAME` orders something.
async fn accept(env: Env, request: Request) -> Result<Response, Error> {
    env.queue("orders").send(MessageBody::text(&request.path[1..])).await?;
    Ok(Response::new(202, ""))
}

/// The worker that takes orders off the queue and starts a workflow for each.
async fn start(env: Env, batch: MessageBatch) -> Result<(), Error> {
    let book = env.workflow("book");
    for message in batch.messages() {
        let order = message.body().to_text().unwrap_or_default();
        let created = book.create(CreateOptions::new(&order, "")).await;
        // A message may come twice. The second time there is an instance already, which is just as good.
        match created.is_ok() || book.get(&order).await.is_ok() {
            true => message.ack(),
            false => message.retry(),
        }
    }
    Ok(())
}

/// The workflow: one step, which is tried again until the ledger has answered.
async fn book(env: Env, event: WorkflowEvent, step: Step, method: &'static str) -> Result<Body, Error> {
    step.do_("book", || {
        let (env, order) = (env.clone(), event.instance_id.clone());
        async move { env.durable_object("LEDGER").get_by_name("all").rpc(method, &*order).await }
    })
    .await
}

/// The durable object that keeps the ledger.
struct Ledger(ObjectState);

impl DurableObject for Ledger {
    fn new(ctx: ObjectState, _env: Env) -> Ledger {
        let created = ctx.storage().exec("create table if not exists booking (name text)", &[]);
        created.expect("the statement is valid");
        Ledger(ctx)
    }

    async fn rpc(&self, method: &str, order: Body) -> Result<Body, Error> {
        let order = order.text().unwrap_or_default();
        let sql = match method {
            // The bug: a step that was not heard of comes again.
            "book" => "insert into booking select ?1",
            _ => "insert into booking select ?1 where ?1 not in (select name from booking)",
        };
        self.0.storage().exec(sql, &[order.into()])?;
        Ok(Body::empty())
    }
}

/// Puts the application on a cloud; `method` is the call by which the workflow books.
fn mount(cloud: &mut Cloud, method: &'static str) {
    cloud.queue("orders", QueueConfig::default());
    cloud.durable_object::<Ledger>("LEDGER");
    cloud.workflow("book", WorkflowConfig::default(), move |env, event, step| {
        book(env, event, step, method)
    });
    cloud.worker("web").fetch(accept);
    // The retries outlast the storm, so that no order ends in a dead-letter queue.
    let retry_delay = Duration::from_secs(2);
    let consumer = ConsumerConfig { max_retries: 100, retry_delay, ..ConsumerConfig::default() };
    cloud.worker("desk").queue(&[("orders", consumer)], start);
}

// The workload.

/// Up to four orders, some of them close together.
fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    let mut at = 0;
    let orders = (0..1 + rng.below(4)).map(|turn| {
        at += [0, 5, 1_000][rng.below(3) as usize];
        order(at, ["/tea", "/milk", "/salt", "/rice"][turn as usize])
    });
    orders.collect()
}

fn order(at_ms: u64, path: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "POST", path, "").retried(1)
}

// The promises: functions of the history, which cannot ask the application.

static ONCE: Promise = Promise::always(
    "no order is booked twice",
    "however often a step or a message comes, its order is in the ledger once",
    |trace| {
        let mut seen = BTreeSet::new();
        let again = booked(trace).find(|(_, order)| !seen.insert(*order));
        again.map_or(Ok(()), |(event, order)| {
            Err(Finding::at(event, format!("{order} is booked twice")))
        })
    },
);

static EVERY: Promise = Promise::eventually(
    "every accepted order is booked",
    "an order that was answered with 202 is in the ledger when the storm is over",
    |trace| {
        let booked: BTreeSet<&str> = booked(trace).map(|(_, order)| order).collect();
        let lost = accepted(trace).find(|order| !booked.contains(order));
        lost.map_or(Ok(()), |order| Err(Finding::missing(format!("{order} is not booked"))))
    },
);

/// The bookings, each with the event that kept it.
fn booked(trace: &Trace) -> impl Iterator<Item = (usize, &str)> {
    let changes = history::changes(trace, "booking");
    changes.filter_map(|(at, change)| Some((at, change.value_after("name")?.as_str()?)))
}

/// The orders for which a client was answered 202.
fn accepted(trace: &Trace) -> impl Iterator<Item = &str> {
    let answered = history::exchanges(trace).filter(|exchange| exchange.is_ok());
    answered.map(|exchange| &exchange.request.path[1..])
}

// The system: its variants, what it is sent, and what it promises.

/// The draft, which a search refutes, and the repaired one.
pub fn system() -> System {
    let draft = Variant::refuted(
        "draft",
        "books whenever it is asked",
        &["no order is booked twice"],
        |cloud| mount(cloud, "book"),
    );
    let fixed =
        Variant::holds("fixed", "books every order once", |cloud| mount(cloud, "book_once"));
    System::new("{{name}}", "orders go through a queue and a workflow into a ledger", draft)
        .with_variant(fixed)
        .with_workload(workload)
        .with_smallest(|| vec![order(0, "/tea")])
        .with_promises(&[&ONCE, &EVERY])
}
