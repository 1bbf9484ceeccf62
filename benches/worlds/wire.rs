//! Turmoil: every call is a TCP connection between simulated hosts, and time goes in ticks.
#![expect(clippy::disallowed_methods, reason = "this world runs on tokio's clock")]
#![expect(clippy::disallowed_types, reason = "turmoil's calendar begins at a constant")]

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use thunderhead_sim::Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use turmoil::net::{TcpListener, TcpStream};

use crate::protocol::{DOWN, Host, Message, Plan, Protocol, RPC_TIMEOUT, Reply, World};

const PORT: u16 = 80;

#[derive(Clone)]
struct Wire(Rc<RefCell<Rng>>);

impl World for Wire {
    async fn call(&self, to: Host, message: Message) -> Option<Reply> {
        timeout(RPC_TIMEOUT, exchange(to, message)).await.ok()?.ok()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> {
        sleep(duration)
    }

    fn now(&self) -> Duration {
        turmoil::elapsed()
    }

    fn random(&self, n: u32) -> u32 {
        self.0.borrow_mut().below(n)
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        spawn_local(work);
    }
}

async fn exchange(to: Host, message: Message) -> io::Result<Reply> {
    let mut stream = TcpStream::connect((to.name(), PORT)).await?;
    stream.write_all(&message.to_bytes()).await?;
    stream.read_u16().await.map(Reply::from_status)
}

async fn listen(host: Host, world: Wire, protocol: Rc<Protocol>) -> turmoil::Result {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    protocol.boot(&world, host);
    loop {
        let (stream, _) = listener.accept().await?;
        let (world, protocol) = (world.clone(), protocol.clone());
        // A connection that breaks is its caller's to notice.
        spawn_local(async move { answer(stream, world, protocol).await.ok() });
    }
}

async fn answer(mut stream: TcpStream, world: Wire, protocol: Rc<Protocol>) -> io::Result<()> {
    let mut frame = [0; Message::BYTES];
    stream.read_exact(&mut frame).await?;
    let reply = protocol.serve(world, Message::from_bytes(&frame)).await;
    stream.write_u16(reply.status()).await
}

/// One run, in ticks of `tick`.
pub fn run(plan: &Plan, protocol: &Rc<Protocol>, tick: Duration) {
    let mut sim = turmoil::Builder::new()
        .tick_duration(tick)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(20))
        .simulation_duration(Duration::from_secs(120))
        .epoch(SystemTime::UNIX_EPOCH)
        .rng_seed(plan.seed)
        .build();
    let world = Wire(Rc::new(RefCell::new(Rng::new(plan.seed))));
    for host in Host::ALL {
        let (world, protocol) = (world.clone(), protocol.clone());
        sim.host(host.name(), move || listen(host, world.clone(), protocol.clone()));
    }
    let client = protocol.clone().client(world);
    sim.client("client", async move {
        client.await;
        Ok(())
    });
    let (mut crashed, mut back) = (false, false);
    while !sim.step().expect("no host fails, and the client gives up in time") {
        if !crashed && sim.elapsed() >= plan.crash_at {
            sim.crash(plan.crash.name());
            crashed = true;
        }
        if crashed && !back && sim.elapsed() >= plan.crash_at + DOWN {
            sim.bounce(plan.crash.name());
            back = true;
        }
    }
}
