//! An object whose handlers await at any place, under crashes at any place, against a model of what is kept.
//!
//! Every handler logs what it does, and what it finds when it begins. The model reads the history: what a
//! turn did counts when its rows are recorded, and is forgotten when the object dies. It has one platform
//! part, the alarm: it is sent if and only if it was kept, and again until its handler has ended.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod model;
mod program;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use model::Model;
use program::{Program, Scripted};
use thunderhead_sim::*;

/// What one run does: programs for the requests and for the alarm.
struct Plan {
    requests: Vec<(u64, Program)>,
    alarm: Program,
}

impl Plan {
    fn of_seed(seed: u64) -> Plan {
        let mut rng = Rng::new(seed).fork("plan");
        let requests = (0..1 + rng.below(3))
            .map(|_| (u64::from(rng.below(4)) * 15, Program::drawn(&mut rng, true)))
            .collect();
        Plan { requests, alarm: Program::drawn(&mut rng, true) }
    }
}

fn play(plan: &Rc<Plan>, source: &Source) -> Run {
    let scenario = Scenario {
        drawn_faults: FaultSet::crashes(),
        max_crashes: 4,
        storm_ends_at: Time::from_ms(20_000),
        ..Scenario::default()
    };
    let plan = plan.clone();
    let run = simulate(&scenario, source, &move |cloud| {
        cloud.bucket("shelf", r2::BucketConfig::default());
        let (alarm, rings) = (plan.alarm.clone(), Rc::new(Cell::new(0)));
        cloud.durable_object_with("OBJECT", move |ctx, env| {
            Scripted::new(ctx, env, alarm.clone(), rings.clone())
        });
        cloud.client("listener", |env| async move {
            let Ok(socket) = env.durable_object("OBJECT").get_by_name("one").connect().await else {
                return;
            };
            while let Some(message) = socket.recv().await {
                env.log(format!("heard {}", message.text().unwrap()));
            }
        });
        for (number, (at, program)) in plan.requests.iter().cloned().enumerate() {
            cloud.client(&format!("client-{number}"), move |env| {
                let program = program.clone();
                async move {
                    env.sleep(Duration::from_millis(at)).await;
                    let object = || env.durable_object("OBJECT").get_by_name("one");
                    if let Ok(turn) = object().rpc("do", program.text()).await {
                        env.log(format!("told {}", turn.text().unwrap()));
                    }
                    env.sleep(Duration::from_secs(300)).await;
                    object().rpc("do", "").await.unwrap();
                }
            });
        }
    });
    run.unwrap()
}

#[test]
fn an_object_keeps_what_a_model_keeps_wherever_its_handlers_await_and_it_dies() {
    let (mut lost, mut retried, mut rolled_back) = (0, 0, 0);
    for seed in 0..3_000 {
        let plan = Rc::new(Plan::of_seed(seed));
        let swarm =
            FaultSet::crashes().iter().fold(Swarm::calm(), |swarm, fault| swarm.with(fault, 80));
        let run = play(&plan, &Source::Random { seed, swarm });
        assert_eq!(run.end, End::Quiet, "seed {seed}\n{}", run.trace);
        let model = Model::of(&run.trace).unwrap_or_else(|wrong| {
            panic!("seed {seed}: {wrong}\n{}", run.trace);
        });
        lost += model.lost;
        retried += model.retried;
        rolled_back += model.rolled_back;
    }
    assert!(lost > 300, "{lost} turns with writes were lost");
    assert!(retried > 300, "{retried} alarms were retried");
    assert!(rolled_back > 100, "{rolled_back} transactions were rolled back");
}
