//! One run: the server that ships on turmoil's network, clients that try again, a storm, and then calm.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use thunderhead::systems;
use thunderhead_serve::{
    Commits, Config, Data, Environment, Identity, Mistake, Outside, Stop, judge, serve_simulated,
};
use thunderhead_sim::{EPOCH_MS, Rng, StableHasher};
use tokio::sync::watch;
use tokio::time::timeout;
use turmoil::Sim;
use turmoil::net::TcpListener;

use super::audit::{self, Shown};
use super::http::{Connection, Manner, PORT, SERVER};
use super::kinds::{self, Kind};
use super::log::{SharedLog, Try};
use super::person::{Person, listen};
use super::plan::{CLIENTS, Fault, Plan, STORM, Trouble};

/// Hosts are run for so long at a time, so a crash falls at a multiple of it.
const TICK: Duration = Duration::from_millis(20);
/// The longest way of a packet while nothing is wrong.
const LATENCY: Duration = Duration::from_millis(30);
/// How long ago a request was sent that arrives or has just arrived.
const ARRIVING: Range<Duration> = Duration::from_millis(20)..Duration::from_millis(120);
/// No run takes so long; it only turns a hang into a failure.
const LONGEST: Duration = Duration::from_secs(300);

/// What came of a run.
pub struct Outcome {
    pub wrong: Vec<String>,
    pub seen: BTreeSet<&'static str>,
    pub kinds: BTreeSet<Kind>,
    pub answered: usize,
    /// Everything that the clients saw and the server wrote down, in one number.
    pub hash: u64,
}

thread_local! {
    /// What the server draws, and how long its disk takes. A run has a thread to itself.
    static RANDOM: RefCell<Rng> = RefCell::new(Rng::new(0));
    static DISK: RefCell<(Rng, Commits)> = RefCell::new((Rng::new(0), Commits::Together));
}

/// Those of the simulation.
const SURROUNDINGS: Environment = Environment {
    unix_ms: || {
        let since = turmoil::since_epoch().expect("the server runs on one of turmoil's hosts");
        u64::try_from(since.as_millis()).expect("a run is short")
    },
    random: || Ok(RANDOM.with_borrow_mut(Rng::bits)),
    disk: || {
        DISK.with_borrow_mut(|(rng, commits)| {
            let most = match commits {
                // A disk is fast as a rule, and sometimes it is not.
                Commits::Together if rng.below(16) == 0 => 300,
                Commits::Together => 8,
                // Each event waits for the one before, so a crash has time to come between the two.
                Commits::EachEvent => 24,
            };
            [(); 2].map(|()| Duration::from_millis(rng.below(most).into()))
        })
    },
    // Its threads would be others than those of the simulation.
    has_threads: false,
    say: |_, _, _| (),
};

/// Takes numbers of tasks until the next one is divisible by 64. When a host crashes, tokio drops its tasks in an order
/// that depends on their numbers modulo a small power of two, and numbers count on through the life of a process.
fn number_tasks_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let number = || runtime.spawn(async {}).id().to_string().parse::<u64>().unwrap();
    while number() % 64 != 63 {}
}

/// Plays the run of a seed in a new directory below `folder`.
pub fn play(folder: &Path, seed: u64, mistake: Option<Mistake>) -> Outcome {
    number_tasks_alike();
    let plan = Plan::of_seed(seed);
    let root = Rng::new(seed);
    RANDOM.set(root.fork("random"));
    DISK.set((root.fork("disk"), plan.commits));
    let data = folder.join(format!("seed-{seed}"));
    create(&data, root.fork("salt").bits() >> 1);
    let log = SharedLog::default();
    let shown = run(&plan, &config(&plan, &data, mistake), &log);
    let judged = judge(&data, systems::find).expect("the server has written a history");
    drop(std::fs::remove_dir_all(&data));
    let mut log = Rc::try_unwrap(log).expect("the clients are gone").into_inner();
    let mut wrong = std::mem::take(&mut log.wrong);
    match &shown {
        Some(shown) => wrong.extend(audit::audit(&mut log, shown, &judged)),
        None if wrong.is_empty() => wrong.push("nothing is shown in the end".into()),
        None => {}
    }
    let kinds = kinds::of_tries(&log.tries, &judged.trace);
    let answered = log.tries.iter().filter(|tried| tried.answered().is_some()).count();
    let hash = StableHasher::of(&(&log.tries, &shown, judged.trace.hash(), &wrong));
    Outcome { wrong, seen: log.seen, kinds, answered, hash }
}

/// A directory whose `random()` in SQL is that of the seed.
fn create(path: &Path, salt: u64) {
    drop(std::fs::remove_dir_all(path));
    let identity = Identity { system: "uploads".into(), variant: "reference".into() };
    drop(Data::open(path, &identity).unwrap());
    let db = rusqlite::Connection::open(path.join("cloud.db")).unwrap();
    db.execute("update meta set value = ? where key = 'salt'", [salt.to_string()]).unwrap();
}

fn config(plan: &Plan, data: &Path, mistake: Option<Mistake>) -> Config {
    let system = systems::find("uploads").unwrap();
    Config {
        system: system.clone(),
        variant: system.reference().clone(),
        data: PathBuf::from(data),
        // What the edge believes: its clients call it `localhost`.
        listen: (Ipv4Addr::LOCALHOST, PORT).into(),
        user: Some("ann@acme".parse().unwrap()),
        tells: true,
        outside: Outside::REAL,
        commits: plan.commits,
        mistake,
        halt: None,
    }
}

/// Storm and calm. Returns what the server shows in the end, after another start.
fn run(plan: &Plan, config: &Config, log: &SharedLog) -> Option<Shown> {
    let mut sim = turmoil::Builder::new()
        .tick_duration(TICK)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(LATENCY)
        .simulation_duration(LONGEST)
        .epoch(SystemTime::UNIX_EPOCH + Duration::from_millis(EPOCH_MS))
        .tcp_capacity(32)
        .enable_random_order()
        .rng_seed(plan.seed)
        .build();
    let (stop, stopped) = watch::channel(false);
    let (calming, calm) = watch::channel(false);
    let (config, stopped_at) = (config.clone(), stopped.clone());
    sim.host(SERVER, move || serve(config.clone(), stopped_at.clone()));
    let root = Rng::new(plan.seed);
    for number in 0..CLIENTS {
        let rng = root.fork(&name(number));
        let (log, calm) = (log.clone(), calm.clone());
        sim.client(name(number), Person { number, rng, log, calm, connection: None }.run());
    }
    sim.client(name(CLIENTS), listen(log.clone(), calm));
    let mut storm = Storm { plan, log, sim, calming };
    if let Err(error) = storm.pass(&stop) {
        log.borrow_mut().wrong.push(format!("the run ended: {error}"));
        return None;
    }
    let mut sim = storm.sim;
    let shown = Rc::new(RefCell::new(None));
    stop.send_replace(false);
    sim.bounce(SERVER);
    sim.client("auditor", show(log.clone(), shown.clone()));
    let ended = sim.run().and_then(|()| rest(&mut sim, &stop));
    if let Err(error) = ended {
        log.borrow_mut().wrong.push(format!("the audit ended: {error}"));
    }
    drop(sim);
    shown.take()
}

fn name(client: usize) -> String {
    format!("client-{client}")
}

async fn serve(config: Config, mut stopped: watch::Receiver<bool>) -> turmoil::Result {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    let accept = async move || Ok(listener.accept().await?.0);
    let stop = async move {
        // One who can no longer say so wants it to stop, too.
        drop(stopped.wait_for(|stopped| *stopped).await);
        Stop::AtRest
    };
    Ok(serve_simulated(config, SURROUNDINGS, accept, stop).await?)
}

/// Lets the server do what is left, and waits for it.
fn rest(sim: &mut Sim<'_>, stop: &watch::Sender<bool>) -> turmoil::Result {
    stop.send_replace(true);
    while sim.is_host_running(SERVER) {
        sim.step()?;
    }
    Ok(())
}

struct Storm<'a> {
    plan: &'a Plan,
    log: &'a SharedLog,
    sim: Sim<'a>,
    calming: watch::Sender<bool>,
}

impl Storm<'_> {
    /// Everything that goes wrong; then the calm, until the clients are done; then the server comes to rest.
    fn pass(&mut self, stop: &watch::Sender<bool>) -> turmoil::Result {
        let mut moments: BTreeMap<Duration, Vec<(&Trouble, bool)>> = BTreeMap::new();
        for trouble in &self.plan.troubles {
            moments.entry(trouble.from).or_default().push((trouble, true));
            moments.entry(trouble.until).or_default().push((trouble, false));
        }
        loop {
            let done = self.sim.step()?;
            let now = self.sim.elapsed();
            let later = moments.split_off(&(now + Duration::from_nanos(1)));
            for (trouble, begins) in std::mem::replace(&mut moments, later).into_values().flatten()
            {
                match trouble.fault {
                    _ if !begins => self.end(trouble),
                    Fault::Bounce { waits: true } if !self.is_asked() => {
                        let next = now + TICK;
                        if next < trouble.until {
                            moments.entry(next).or_default().push((trouble, true));
                        }
                    }
                    _ => self.begin(trouble),
                }
            }
            if now >= STORM && !*self.calming.borrow() {
                self.calming.send_replace(true);
            }
            if done {
                return rest(&mut self.sim, stop);
            }
        }
    }

    /// Whether a put is about to arrive, or has just arrived.
    fn is_asked(&self) -> bool {
        let under_way = |tried: &Try| {
            let age = self.sim.elapsed().saturating_sub(tried.when[0]);
            tried.method == "PUT" && tried.is_open && ARRIVING.contains(&age)
        };
        self.log.borrow().tries.iter().any(under_way)
    }

    fn begin(&mut self, trouble: &Trouble) {
        let (client, sim) = (name(trouble.client), &mut self.sim);
        let mut log = self.log.borrow_mut();
        match trouble.fault {
            Fault::Partition => sim.partition(client, SERVER),
            Fault::Deaf => sim.partition_oneway(client, SERVER),
            Fault::Mute => sim.partition_oneway(SERVER, client),
            Fault::Hold => sim.hold(client, SERVER),
            Fault::Late(by) => sim.set_link_latency(client, SERVER, by),
            Fault::Bounce { .. } => {
                log.crashes.push(sim.elapsed());
                drop(log);
                return sim.crash(SERVER);
            }
        }
        log.troubled[trouble.client] = true;
        log.troubles[trouble.client] += 1;
    }

    fn end(&mut self, trouble: &Trouble) {
        let (client, sim) = (name(trouble.client), &mut self.sim);
        match trouble.fault {
            Fault::Partition | Fault::Deaf | Fault::Mute => sim.repair(client, SERVER),
            Fault::Hold => sim.release(client, SERVER),
            Fault::Late(_) => sim.set_link_latency(client, SERVER, LATENCY),
            Fault::Bounce { .. } => {
                // One that runs, because nobody asked or because it is back from another crash, crashes now.
                self.log.borrow_mut().crashes.push(sim.elapsed());
                return sim.bounce(SERVER);
            }
        }
        self.log.borrow_mut().troubled[trouble.client] = false;
    }
}

/// Reads the list, and every picture that a client has ever named.
async fn show(log: SharedLog, shown: Rc<RefCell<Option<Shown>>>) -> turmoil::Result {
    let names: BTreeSet<String> =
        log.borrow().tries.iter().map(|tried| tried.name.clone()).collect();
    let ask = async {
        let mut connection = Connection::open(0).await?;
        connection.send("GET", "/acme", b"", Manner::AtOnce).await?;
        let list = connection.answer().await?;
        let mut pictures = BTreeMap::new();
        for name in names {
            connection.send("GET", &format!("/acme/{name}"), b"", Manner::AtOnce).await?;
            let (status, body) = connection.answer().await?;
            pictures.insert(name, (status == 200).then_some(body));
        }
        Ok::<_, std::io::Error>(Shown { list, pictures })
    };
    *shown.borrow_mut() = Some(timeout(Duration::from_secs(20), ask).await??);
    Ok(())
}
