//! A reduced enumeration shows everything that the full one shows.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

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

/// What a run shows: the writes in their order, and what the client was answered.
fn shown(run: &Run) -> Vec<String> {
    let trace = &run.trace;
    let told = trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Effect { call, .. } if trace.op(call).code().name() == "r2.put" => {
            Some(format!("{} is written", trace.op(call).target()))
        }
        EventKind::Return { outcome, .. } if trace.actor(event) == "client" => {
            Some(format!("{:?}", trace.outcome(outcome)))
        }
        _ => None,
    });
    told.collect()
}

fn all_shown(scenario: &Scenario, mut tapes: Enumerate) -> (BTreeSet<Vec<String>>, u64) {
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
        let requests = vec![request(0), request(3)];
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
