//! Sleeping and waiting with a limit.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::{End, Response, Scenario, Source, Tape, simulate};

fn steps_of(calls: u32) -> u32 {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.worker("web").fetch(|_, _| async { Ok(Response::new(200, "")) });
        cloud.client("caller", |env| async move {
            for _ in 0..calls {
                let request = thunderhead_sim::Request::new("GET", "/", "");
                let answer = env.timeout(Duration::from_secs(1), env.fetch("web", request)).await;
                assert!(answer.is_some());
                env.sleep(Duration::from_secs(3)).await;
            }
        });
    });
    run.expect("nothing in the scenario can be wrong").steps
}

#[test]
fn a_limit_that_was_not_reached_costs_one_wake_up_and_no_more() {
    let per_call = steps_of(2) - steps_of(1);
    assert_eq!(steps_of(50) - steps_of(49), per_call);
}

#[test]
fn work_that_is_given_up_is_dropped_while_its_limit_is_kept() {
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        cloud.client("caller", |env| async move {
            let held = Rc::new(());
            let work = {
                let held = held.clone();
                async move {
                    std::future::pending::<()>().await;
                    drop(held);
                }
            };
            let mut limit = pin!(env.timeout(Duration::from_secs(1), work));
            assert!(limit.as_mut().await.is_none());
            assert_eq!(Rc::strong_count(&held), 1);
        });
    });
    assert_eq!(run.expect("nothing in the scenario can be wrong").end, End::Quiet);
}
