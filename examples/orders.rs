//! Orders and payments: a shop takes orders, and a payment provider outside the cloud charges a card for each.
//!
//! `shop` starts a workflow for an order; the workflow asks the provider to charge the card, and then has the account of
//! the customer note it. Run it: `cargo run --example orders -- explore orders`. The draft charges twice when an answer
//! is lost; `--variant keyed` names each charge, so that the provider knows one that comes again.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet, rc::Rc};

use thunderhead::props::{Finding, Promise, System, Variant, history::served};
use thunderhead::sim::workflow::{CreateOptions, WorkflowConfig, WorkflowEvent};
use thunderhead::sim::*;

// Application: the shop.

async fn shop(env: Env, request: Request) -> Result<Response, Error> {
    let (order, charge) = (&request.path[1..], env.workflow("charge"));
    let started = charge.create(CreateOptions::new(order, request.body.clone())).await;
    match started.is_ok() || charge.get(order).await.is_ok() {
        true => Ok(Response::new(202, "")),
        false => Ok(Response::new(503, "try again")),
    }
}

async fn charge(env: Env, event: WorkflowEvent, step: Step, keyed: bool) -> Result<Body, Error> {
    let order = event.instance_id.clone();
    step.do_("charge", || {
        let (env, order, amount) = (env.clone(), order.clone(), event.payload.clone());
        async move {
            // The draft makes up a new name for each attempt.
            let key =
                if keyed { order.to_string() } else { format!("{order}-{}", env.random(1 << 30)) };
            let asked = Request::new("POST", &format!("/{key}"), amount);
            let answer = env.fetch("payments", asked).await?;
            if answer.status == 200 { Ok(answer.body) } else { Err(Error::app("not charged")) }
        }
    })
    .await?;
    step.do_("note", || {
        let (env, order) = (env.clone(), order.clone());
        async move { env.durable_object("ACCOUNT").get_by_name("all").rpc("note", &*order).await }
    })
    .await
}

struct Account(ObjectState);

impl DurableObject for Account {
    fn new(ctx: ObjectState, _env: Env) -> Account {
        let created = ctx.storage().exec("create table if not exists paid (name text unique)", &[]);
        created.expect("the statement is valid");
        Account(ctx)
    }

    async fn rpc(&self, _method: &str, order: Body) -> Result<Body, Error> {
        let order = order.text().unwrap_or_default();
        self.0.storage().exec("insert or ignore into paid values (?1)", &[order.into()])?;
        Ok(Body::empty())
    }
}

// Application: the provider, which charges once for each key.

fn payments(cloud: &mut Cloud) {
    let charged: Rc<RefCell<BTreeSet<String>>> = Rc::default();
    cloud.outside("payments", move |_env, request: Request| {
        let new = charged.borrow_mut().insert(request.path.to_string());
        async move { Ok(Response::new(200, if new { "charged" } else { "known" })) }
    });
}

fn mount(cloud: &mut Cloud, keyed: bool) {
    cloud.durable_object::<Account>("ACCOUNT");
    cloud.worker("shop").fetch(shop);
    let body = move |env, event, step| charge(env, event, step, keyed);
    cloud.workflow("charge", WorkflowConfig::default(), body);
    payments(cloud);
}

// Workload.

fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    let mut at = 0;
    let orders = (0..1 + rng.below(3)).map(|turn| {
        at += [0, 4, 900][rng.below(3) as usize];
        order(at, ["/ann-o1", "/ann-o2", "/bob-o1"][turn as usize])
    });
    orders.collect()
}

fn order(at_ms: u64, path: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "POST", path, "12.50").retried(1)
}

// Promises.

static ONCE: Promise = Promise::always(
    "no order is charged twice",
    "however often a charge is asked for, the provider takes the money once",
    |trace| {
        let mut times = BTreeMap::new();
        let twice = charges(trace).into_iter().find(|(_, order)| {
            let times = times.entry(order.clone()).or_insert(0);
            *times += 1;
            *times > 1
        });
        twice
            .map_or(Ok(()), |(at, order)| Err(Finding::at(at, format!("{order} is charged twice"))))
    },
);

static EVERY: Promise = Promise::eventually(
    "every accepted order is paid",
    "an order that was answered with 202 is charged when the storm is over",
    |trace| {
        let paid: BTreeSet<String> = charges(trace).into_iter().map(|(_, order)| order).collect();
        let accepted = served(trace, "shop").filter(|(_, _, response)| response.status == 202);
        let mut orders = accepted.map(|(_, request, _)| name(&request.path));
        let lost = orders.find(|order| !paid.contains(order));
        lost.map_or(Ok(()), |order| Err(Finding::missing(format!("{order} is not charged"))))
    },
);

/// The orders that the provider charged for, each with the event at which it did.
fn charges(trace: &Trace) -> Vec<(usize, String)> {
    let answers = served(trace, "payments");
    let charged = answers.filter(|(_, _, response)| response.body.text() == Some("charged"));
    charged.map(|(at, request, _)| (at, name(&request.path))).collect()
}

/// `ann-o1` of `/ann-o1` and of `/ann-o1-174`.
fn name(path: &str) -> String {
    path[1..].split('-').take(2).collect::<Vec<_>>().join("-")
}

// The rest.

fn system() -> System {
    let broken = &["no order is charged twice"];
    let draft = Variant::refuted("draft", "a new key for each attempt", broken, |cloud| {
        mount(cloud, false)
    });
    let keyed = Variant::holds("keyed", "the order is the key", |cloud| mount(cloud, true));
    System::new("orders", "a shop charges a card for each order", draft)
        .with_variant(keyed)
        .with_workload(workload)
        .with_smallest(|| vec![order(0, "/ann-o1")])
        .with_promises(&[&ONCE, &EVERY])
}

fn main() -> std::process::ExitCode {
    thunderhead::main(&[&system()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use thunderhead::props::{search::Sampling, storm};
    use thunderhead::{props::proptest::prelude::*, testing};

    #[test]
    fn the_draft_is_refuted_and_the_keyed_one_holds() {
        let system = system();
        let found = testing::refuted(&system, system.reference(), Sampling::Random, 400);
        assert_eq!(found.case.scenario.requests.len(), 1);
        let keyed = system.variant("keyed").expect("it is there");
        proptest!(ProptestConfig::with_cases(100), |(storm in storm(&system, keyed))| {
            testing::holds(&storm)?
        });
        testing::deterministic(&system, keyed, 20);
    }

    /// What a user writes only because of Thunderhead stays small.
    #[test]
    fn at_most_25_lines_are_neither_application_nor_workload_nor_promise() {
        let text = include_str!("orders.rs");
        let text = text.split("\n#[cfg(test)]").next().expect("there is a first part");
        let mut rest = true;
        let mut lines = 0;
        for line in text.lines() {
            match line.strip_prefix("// ") {
                Some(section) => rest = section == "The rest.",
                None if rest && !line.is_empty() && !line.starts_with("//") => lines += 1,
                None => {}
            }
        }
        assert!((1..=25).contains(&lines), "{lines} lines");
    }
}
