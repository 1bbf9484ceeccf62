//! A guestbook with a planted bug, two promises about it, and a search that finds the bug.
//!
//! `web` puts each name into a queue, `scribe` takes it out, and one durable object keeps the book. Queues
//! deliver at least once, so a name can reach the book twice. Run it: `cargo run --example guestbook`.

use std::collections::BTreeSet;
use std::time::Duration;

use thunderhead_props::{Finding, Promise, judge};
use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::{
    Body, Case, ClientRequest, Cloud, DurableObject, Env, Error, EventKind, FaultSet, ObjectState,
    Op, Reply, Response, Run, Scenario, Source, Swarm, Time, Trace, shrink, simulate,
};

/// The durable object that keeps the book.
struct Book(ObjectState);

impl DurableObject for Book {
    fn new(ctx: ObjectState, _env: Env) -> Book {
        let created = ctx.storage().exec("create table if not exists guest (name text)", &[]);
        created.expect("the statement is valid");
        Book(ctx)
    }

    async fn rpc(&self, method: &str, name: Body) -> Result<Body, Error> {
        let name = name.text().unwrap_or_default();
        let sql = match method {
            "sign" => "insert into guest select ?1", // the bug: a redelivered message signs again
            _ => "insert into guest select ?1 where ?1 not in (select name from guest)",
        };
        self.0.storage().exec(sql, &[name.into()])?;
        Ok(Body::empty())
    }
}

/// Mounts the guestbook; `method` is the call by which the scribe signs.
fn mount(cloud: &mut Cloud, method: &'static str) {
    cloud.queue("guests", QueueConfig::default());
    cloud.durable_object::<Book>("BOOK");
    cloud.worker("web").fetch(|env, request| async move {
        env.queue("guests").send(MessageBody::text(&request.path[1..])).await?;
        Ok(Response::new(201, ""))
    });
    // The retries outlast the storm, so that no name ends in a dead-letter queue.
    let retry_delay = Duration::from_secs(2);
    let consumer = ConsumerConfig { max_retries: 100, retry_delay, ..ConsumerConfig::default() };
    cloud.worker("scribe").queue(&[("guests", consumer)], move |env, batch| async move {
        for message in batch.messages() {
            let name = message.body().to_text().unwrap_or_default();
            env.durable_object("BOOK").get_by_name("hall").rpc(method, name).await?;
            message.ack();
        }
        Ok(())
    });
}

static PROMISES: [Promise; 2] = [
    Promise::always(
        "no name is in the book twice",
        "however often a message is delivered, its name is written once",
        |trace| {
            let mut seen = BTreeSet::new();
            let again = signed(trace).find(|(_, name)| !seen.insert(name.clone()));
            again.map_or(Ok(()), |(event, name)| {
                Err(Finding::at(event, format!("{name} is in the book twice")))
            })
        },
    ),
    Promise::eventually(
        "every name that was accepted is in the book",
        "a guest who was answered 201 can read the name when the storm is over",
        |trace| {
            let book: BTreeSet<String> = signed(trace).map(|(_, name)| name).collect();
            let lost = accepted(trace).find(|name| !book.contains(name));
            lost.map_or(Ok(()), |name| Err(Finding::missing(format!("{name} is not in the book"))))
        },
    ),
];

/// The names that were written into the book, each with the event that kept it.
fn signed(trace: &Trace) -> impl Iterator<Item = (usize, String)> {
    trace.events().iter().enumerate().flat_map(|(at, event)| {
        let EventKind::Rows { changes } = &event.kind else { return Vec::new() };
        let names = changes.iter().filter_map(|change| change.value_after("name"));
        names.map(|name| (at, name.to_string())).collect()
    })
}

/// The names for which a client was answered 201, quoted as a row shows them.
fn accepted(trace: &Trace) -> impl Iterator<Item = String> {
    trace.events().iter().filter_map(|event| {
        let EventKind::Return { call, outcome } = event.kind else { return None };
        let Op::Fetch { request, .. } = trace.op(call) else { return None };
        let Ok(Reply::Fetch(response)) = trace.outcome(outcome) else { return None };
        (response.status == 201).then(|| format!("'{}'", &request.path[1..]))
    })
}

/// The smallest run among `seeds` in which a promise is broken, with what is wrong.
fn search(method: &'static str, seeds: u64) -> Option<(Run, String)> {
    let play = |scenario: &Scenario, source: &Source| {
        simulate(scenario, source, &|cloud| mount(cloud, method)).expect("`web` serves requests")
    };
    let broken = |run: &Run| judge(PROMISES.iter(), run).into_iter().next();
    let guest = |path| ClientRequest::new(Time::ZERO, "POST", path, "");
    let scenario = Scenario {
        requests: vec![guest("/Ada"), guest("/Grace")],
        drawn_faults: FaultSet::explored(),
        ..Scenario::default()
    };
    (0..seeds).find_map(|seed| {
        let swarm = Swarm::of_seed(seed, scenario.drawn_faults);
        let run = play(&scenario, &Source::Random { seed, swarm });
        let promise = broken(&run)?.promise;
        let case = Case { scenario: scenario.clone(), tape: run.tape() };
        let smallest = shrink(case, |case| {
            let run = play(&case.scenario, &Source::Tape(case.tape.clone()));
            (broken(&run)?.promise == promise).then_some(run)
        });
        let case = smallest.best();
        let run = play(&case.scenario, &Source::Tape(case.tape.clone()));
        let found = broken(&run)?;
        Some((run, format!("seed {seed} breaks \"{promise}\": {}", found.finding.message)))
    })
}

fn main() {
    for method in ["sign", "sign_once"] {
        match search(method, 1_000) {
            Some((run, message)) => println!("{method}: {message}\n\n{}", run.trace),
            None => println!("{method}: 1,000 storms break no promise"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_planted_bug_is_found_and_shrunk_to_one_guest() {
        let (run, message) = search("sign", 1_000).expect("a storm breaks it");
        assert!(message.ends_with("is in the book twice"), "{message}");
        assert_eq!(accepted(&run.trace).count(), 1, "{}", run.trace);
    }

    #[test]
    fn signing_once_holds() {
        assert_eq!(search("sign_once", 200).map(|(_, message)| message), None);
    }
}
