//! Tokio's current-thread runtime with paused time. Messages are structs that arrive after a sleep;
//! a crash aborts the tasks of a host.
#![expect(clippy::disallowed_methods, reason = "this world runs on tokio's clock")]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::Rng;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep, timeout};

use crate::protocol::{DOWN, Host, Message, Plan, Protocol, RPC_TIMEOUT, Reply, World};

struct Network {
    protocol: Rc<Protocol>,
    started: Instant,
    rng: RefCell<Rng>,
    hosts: [Machine; Host::ALL.len()],
}

#[derive(Default)]
struct Machine {
    down: Cell<bool>,
    tasks: RefCell<JoinSet<()>>,
}

/// The client is on no machine: it neither serves nor spawns.
#[derive(Clone)]
struct Paused {
    network: Rc<Network>,
    host: Option<Host>,
}

impl Network {
    fn machine(&self, host: Host) -> &Machine {
        &self.hosts[host as usize]
    }

    fn latency(&self) -> Duration {
        Duration::from_millis(u64::from(1 + self.rng.borrow_mut().below(20)))
    }

    fn on(self: &Rc<Self>, host: Host) -> Paused {
        Paused { network: self.clone(), host: Some(host) }
    }

    /// A request arrives. Nobody answers when the host is down.
    fn deliver(self: &Rc<Self>, to: Host, message: Message) -> Option<oneshot::Receiver<Reply>> {
        let machine = self.machine(to);
        if machine.down.get() {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let served = self.protocol.clone().serve(self.on(to), message);
        machine.tasks.borrow_mut().spawn_local(async move {
            // A caller that has given up does not hear it.
            let _ = answer.send(served.await);
        });
        Some(answered)
    }

    async fn crash(self: Rc<Self>, host: Host, at: Duration) {
        sleep(at).await;
        let machine = self.machine(host);
        machine.down.set(true);
        machine.tasks.take().abort_all();
        sleep(DOWN).await;
        machine.down.set(false);
        self.protocol.boot(&self.on(host), host);
    }
}

impl World for Paused {
    async fn call(&self, to: Host, message: Message) -> Option<Reply> {
        let exchange = async {
            sleep(self.network.latency()).await;
            let reply = self.network.deliver(to, message)?.await.ok()?;
            sleep(self.network.latency()).await;
            Some(reply)
        };
        timeout(RPC_TIMEOUT, exchange).await.ok().flatten()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> {
        sleep(duration)
    }

    fn now(&self) -> Duration {
        self.network.started.elapsed()
    }

    fn random(&self, n: u32) -> u32 {
        self.network.rng.borrow_mut().below(n)
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        let host = self.host.expect("only hosts spawn");
        self.network.machine(host).tasks.borrow_mut().spawn_local(work);
    }
}

/// One run, on a runtime of its own.
pub fn run(plan: &Plan, protocol: &Rc<Protocol>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("it needs no resource");
    let play = async {
        let network = Rc::new(Network {
            protocol: protocol.clone(),
            started: Instant::now(),
            rng: RefCell::new(Rng::new(plan.seed)),
            hosts: Default::default(),
        });
        Host::ALL.into_iter().for_each(|host| protocol.boot(&network.on(host), host));
        tokio::task::spawn_local(network.clone().crash(plan.crash, plan.crash_at));
        protocol.clone().client(Paused { network: network.clone(), host: None }).await;
        // Tasks hold the network and the network holds them.
        network.hosts.iter().for_each(|machine| drop(machine.tasks.take()));
    };
    LocalSet::new().block_on(&runtime, play);
}
