//! A reduced enumeration shows what the full one shows of requests that follow each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_sim::r2::BucketConfig;
use thunderhead_sim::*;

/// A read, a write, a read and a write.
fn two_notes(cloud: &mut Cloud) {
    cloud.bucket("notes", BucketConfig::default());
    cloud.worker("web").fetch(|env, request| async move {
        let notes = env.bucket("notes");
        for name in ["first", "second"] {
            if notes.head(name).await?.is_none() {
                notes.put(name, request.body.clone()).execute().await?;
            }
        }
        Ok(Response::new(201, ""))
    });
}

/// What a run shows: how often each note is written, and what the client is answered, each in its own order.
type Shown = (BTreeMap<String, u32>, Vec<String>);

fn shown(run: &Run) -> Shown {
    let trace = &run.trace;
    let (mut written, mut answers) = (BTreeMap::new(), Vec::new());
    for event in trace.events() {
        match event.kind {
            EventKind::Effect { call, .. } if trace.op(call).code().name() == "r2.put" => {
                *written.entry(trace.op(call).target()).or_default() += 1;
            }
            EventKind::Return { outcome, .. } if trace.actor(event) == "client" => {
                answers.push(format!("{:?}", trace.outcome(outcome)));
            }
            _ => {}
        }
    }
    (written, answers)
}

fn all_shown(scenario: &Scenario, mut tapes: Enumerate) -> (BTreeSet<Shown>, u64) {
    let mut all = BTreeSet::new();
    while let Some(tape) = tapes.next_tape() {
        let run = simulate(scenario, &Source::Tape(tape), &two_notes).unwrap();
        all.insert(shown(&run));
        tapes.tell(&run);
    }
    (all, tapes.visited())
}

#[test]
fn a_reduced_enumeration_shows_everything_in_a_third_of_the_runs() {
    let request = |at| ClientRequest::new(Time::from_ms(at), "PUT", "/", "a").retried(1);
    for drawn_faults in [FaultSet::crashes(), FaultSet::explored()] {
        let requests = vec![request(0), request(20_000)];
        let (timing, max_crashes) = (Timing::Order, 2);
        let scenario =
            Scenario { requests, drawn_faults, timing, max_crashes, ..Scenario::default() };
        let (full, runs) = all_shown(&scenario, Enumerate::new(2));
        let (reduced, fewer) = all_shown(&scenario, Enumerate::reduced(2, &scenario));
        println!("{fewer} of {runs} runs show {} of {}", reduced.len(), full.len());
        let missing: Vec<_> = full.difference(&reduced).collect();
        assert!(missing.is_empty(), "{missing:#?}");
        assert!(3 * fewer < runs, "{fewer} of {runs} runs");
    }
}
