//! A search plays millions of runs in one process: none of them may leave anything behind.

use std::time::Duration;

use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig};
use thunderhead_sim::{
    AlarmInfo, Body, Cloud, DurableObject, End, Env, Error, FaultSet, ObjectState, Scenario,
    Source, Swarm, simulate,
};

const RUNS: u64 = 100_000;
/// After so many runs every pool has what it will ever have.
const WARM_UP: u64 = 4_000;
const GROWTH_MAX: usize = 4 << 20;

/// An object with a row, an alarm and itself in memory.
struct Counter {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Counter {
    fn new(ctx: ObjectState, env: Env) -> Counter {
        let created = ctx.storage().exec("create table if not exists hit(n integer)", &[]);
        created.expect("the table can be created");
        Counter { ctx, env }
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        self.ctx.storage().exec("insert into hit values (1)", &[])?;
        self.ctx.storage().set_alarm(self.env.now() + Duration::from_secs(1))?;
        Ok(Body::empty())
    }

    async fn alarm(&self, _info: AlarmInfo) -> Result<(), Error> {
        self.ctx.storage().exec("delete from hit", &[]).map(|_| ())
    }
}

fn mount(cloud: &mut Cloud) {
    cloud.durable_object::<Counter>("COUNTER");
    cloud.workflow("count", WorkflowConfig::default(), |env, _, step| async move {
        let hit = || {
            let env = env.clone();
            async move { env.durable_object("COUNTER").get_by_name("one").rpc("hit", "").await }
        };
        step.do_("hit", move || {
            let hit = hit();
            async move { hit.await.map(|_| Body::from("1")) }
        })
        .await
    });
    cloud.client("client", |env| async move {
        // Whether it fails is the storm's business; what stays in memory is ours.
        let _ = env.workflow("count").create(CreateOptions::new("once", "{}")).await;
    });
}

fn play(seed: u64) {
    let faults = FaultSet::explored();
    let scenario = Scenario { drawn_faults: faults, ..Scenario::default() };
    let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
    let run = simulate(&scenario, &source, &mount).expect("the scenario fits");
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the kernel tells");
    let pages = text.split(' ').nth(1).and_then(|word| word.parse::<usize>().ok());
    pages.expect("the second word of statm is a number") * 4_096
}

#[test]
fn a_hundred_thousand_runs_leave_no_more_behind_than_four_thousand() {
    (0..WARM_UP).for_each(play);
    let before = resident();
    (WARM_UP..RUNS).for_each(play);
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{} KiB more after {RUNS} runs", grown >> 10);
}
