//! This workspace's engine: workers behind the doorway, recorded choices, the trace as data.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::{
    Cloud, End, Env, FaultSet, Kill, Request, Response, Run, Scenario, Source, Swarm, Time,
    simulate,
};

use crate::protocol::{DOWN, Host, Message, Plan, Protocol, RPC_TIMEOUT, Reply, World};

#[derive(Clone)]
struct Simulated {
    env: Env,
    /// What the host has since it started. Work that is spawned here goes on when the request is answered, as it does
    /// in the other worlds.
    host: Env,
}

impl World for Simulated {
    async fn call(&self, to: Host, message: Message) -> Option<Reply> {
        let request = Request::new("POST", "/", &message.to_bytes()[..]);
        let response = self.env.timeout(RPC_TIMEOUT, self.env.fetch(to.name(), request)).await?;
        response.ok().map(|response| Reply::from_status(response.status))
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> {
        self.env.sleep(duration)
    }

    fn now(&self) -> Duration {
        self.env.now() - Time::ZERO
    }

    fn random(&self, n: u32) -> u32 {
        self.env.random(n)
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.host.spawn(work);
    }
}

/// One run, with its trace and its choices.
pub fn run(plan: &Plan, protocol: &Rc<Protocol>) -> Run {
    let at = Time::ZERO + plan.crash_at;
    let kill = Kill { at, host: plan.crash.name().into(), down: Some(DOWN) };
    let scenario = Scenario { kills: vec![kill], ..Scenario::default() };
    let source = Source::Random { seed: plan.seed, swarm: jitter() };
    let run = simulate(&scenario, &source, &|cloud| mount(cloud, protocol));
    let run = run.expect("the scenario kills a worker that is there");
    assert_eq!(run.end, End::Quiet, "seed {}", plan.seed);
    run
}

fn mount(cloud: &mut Cloud, protocol: &Rc<Protocol>) {
    for host in Host::ALL {
        let (serving, booting) = (protocol.clone(), protocol.clone());
        let started: Rc<RefCell<Option<Env>>> = Rc::default();
        let starting = started.clone();
        let worker = cloud.worker(host.name()).fetch(move |env, request| {
            let (protocol, host) = (serving.clone(), started.borrow().clone());
            let host = host.expect("a host starts before it serves");
            async move {
                let message = Message::from_bytes(request.body.bytes());
                let reply = protocol.serve(Simulated { env, host }, message).await;
                Ok(Response::new(reply.status(), ""))
            }
        });
        worker.boot(move |env| {
            *starting.borrow_mut() = Some(env.clone());
            booting.boot(&Simulated { env: env.clone(), host: env }, host);
            std::future::ready(())
        });
    }
    cloud
        .client("client", |env| protocol.clone().client(Simulated { env: env.clone(), host: env }));
}

/// Weather in which nothing goes wrong and latency varies.
fn jitter() -> Swarm {
    let mut swarms = (0..).map(|seed| Swarm::of_seed(seed, FaultSet::NONE));
    swarms.find(Swarm::latency).expect("three seeds in four have it")
}
