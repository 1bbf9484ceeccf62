//! What drives the engine, in ticks: take what has come in, let everything happen that is due, hand the changes and the
//! answers to the journal. It has a thread of its own, or it is a task where everything is simulated.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use thunderhead_sim::{BackingStore, Body, Flaw, Machine, MachineConfig, Request};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::backing_store::Disk;
use crate::classifiers::Classifiers;
use crate::data::{Data, DataError};
use crate::journal::{Answer, Batch, Journal, Leaving, WriteError};
use crate::metrics::Metrics;
use crate::outbound::OutboundRequests;
use crate::socket::Caller;
use crate::{Commits, Config, Environment, Mistake, ServeError, Stop};

/// How many requests may wait for the cell. More are refused, so that a crowd does not fill the memory.
const WAITING_MOST: usize = 1_024;
/// How many ticks may wait for the disk. Then the cell waits too.
const UNWRITTEN_MOST: usize = 64;
/// How many events one tick has at most: a system that never comes to rest is written down all the same.
const EVENTS_MOST: usize = 10_000;
/// How long the cell sleeps when nothing is planned.
const IDLE: Duration = Duration::from_secs(60);

/// What the cell is given.
pub enum Input {
    /// A request and who waits for its answer.
    Request(Request, oneshot::Sender<Answer>),
    /// A client wants to talk with an object, by its namespace and name.
    Connect {
        object: &'static str,
        name: String,
        caller: Caller,
    },
    /// The client of that connection says something.
    Said(u32, Body),
    /// It is gone.
    HungUp(u32),
    /// Something has come of what others were given to do.
    Done,
    Stop(Stop),
}

/// The thread, seen from outside.
pub struct Cell {
    inputs: Sender<Input>,
    thread: JoinHandle<Result<(), ServeError>>,
    failed: watch::Receiver<bool>,
}

impl Cell {
    /// Starts the thread. It has put back what is in the directory when this returns.
    pub fn start(
        config: &Config,
        data: Data,
        metrics: Arc<Metrics>,
        changed: watch::Sender<u64>,
    ) -> Result<Cell, ServeError> {
        let (inputs, taken) = channel();
        let (failing, failed) = watch::channel(false);
        let (ready, restored) = std::sync::mpsc::channel();
        let config = config.clone();
        let wake = {
            let inputs = inputs.clone();
            // When there is no room, the cell is awake.
            move || drop(inputs.try_send(Input::Done))
        };
        let thread = std::thread::spawn(move || {
            let outbound =
                OutboundRequests::open(config.outside, wake.clone()).map_err(unwritten)?;
            let helpers = Helpers { classifiers: Classifiers::open(wake), outbound };
            let node = Node::new(config, Environment::REAL, Some(helpers), data, metrics, changed)?;
            // The thread that started this has waited for it until now.
            let _ = ready.send(());
            let ended = node.on_threads(taken);
            failing.send_replace(true);
            ended
        });
        if restored.recv().is_err() {
            return Err(match thread.join() {
                Ok(Err(error)) => error,
                _ => ServeError::Unwritten("the engine ended while it started".into()),
            });
        }
        Ok(Cell { inputs, thread, failed })
    }

    /// Where requests go in.
    pub fn inputs(&self) -> Sender<Input> {
        self.inputs.clone()
    }

    /// Becomes true when the thread has ended.
    pub fn failed(&self) -> watch::Receiver<bool> {
        self.failed.clone()
    }

    /// Ends the thread when everything is written down.
    pub fn end(self, stop: Stop) -> Result<(), ServeError> {
        // A thread that has ended already says why.
        drop(self.inputs.blocking_send(Input::Stop(stop)));
        drop(self.inputs);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(ServeError::Unwritten("the engine panicked".into())))
    }
}

/// A channel for what the cell is given.
pub fn channel() -> (Sender<Input>, Receiver<Input>) {
    mpsc::channel(WAITING_MOST)
}

/// Those who are given what takes time, so that the engine goes on meanwhile.
pub struct Helpers {
    classifiers: Classifiers,
    outbound: OutboundRequests,
}

/// An engine with its directory.
pub struct Node {
    config: Config,
    environment: Environment,
    /// None when the engine does everything itself, and the world outside is a simulated one.
    helpers: Option<Helpers>,
    machine: Machine,
    data: Data,
    /// The number of the last changes that the journal has written.
    on_disk: AtomicU64,
    metrics: Arc<Metrics>,
    changed: watch::Sender<u64>,
}

impl Node {
    /// The engine as it was when the last process ended.
    pub fn new(
        config: Config,
        environment: Environment,
        helpers: Option<Helpers>,
        data: Data,
        metrics: Arc<Metrics>,
        changed: watch::Sender<u64>,
    ) -> Result<Node, DataError> {
        let flaw = match config.mistake {
            Some(Mistake::NotifiesLater) => Some(Flaw::NotifiesLater),
            Some(Mistake::LeaseCounts) => Some(Flaw::LeaseCounts),
            Some(Mistake::AnswersEarly) | None => None,
        };
        let (entropy, salt, tells) = (environment.entropy()?, data.salt, config.tells);
        let (gives_away, reaches) = (helpers.is_some(), helpers.is_some());
        let settings = MachineConfig { entropy, salt, tells, gives_away, reaches, flaw };
        let mut machine = Machine::new(&settings, &|cloud| config.variant.mount(cloud));
        let disk: Rc<dyn BackingStore> =
            Rc::new(Disk { files: data.files.clone(), db: data.reader()? });
        machine.read_with(&disk);
        data.restore(&mut machine)?;
        machine.recover(environment.now());
        let on_disk = AtomicU64::new(0);
        Ok(Node { config, environment, helpers, machine, data, on_disk, metrics, changed })
    }

    /// Drives the engine until it is stopped, with the journal on another thread.
    fn on_threads(mut self, inputs: Receiver<Input>) -> Result<(), ServeError> {
        let (ticks, journal) = self.parts();
        let at_rest = std::thread::scope(|scope| {
            let journal = scope.spawn(move || runtime()?.block_on(journal).map_err(unwritten));
            let at_rest = runtime()?.block_on(ticks.run(inputs));
            let ended = journal.join();
            ended.unwrap_or_else(|_| Err(unwritten("the journal panicked"))).map(|()| at_rest)
        })?;
        self.end(at_rest)
    }

    /// Drives the engine until it is stopped, with the journal in the same task: for a runtime with a simulated clock.
    pub async fn in_one_task(mut self, inputs: Receiver<Input>) -> Result<(), ServeError> {
        let (ticks, journal) = self.parts();
        let (at_rest, written) = tokio::join!(ticks.run(inputs), journal);
        written.map_err(unwritten)?;
        self.end(at_rest)
    }

    /// What drives the engine, and what writes.
    fn parts(&mut self) -> (Ticks<'_>, impl Future<Output = Result<(), WriteError>> + Send) {
        let each = self.config.commits == Commits::EachEvent;
        // With one commit for each event as little as possible waits: what does is cut off by a crash as well.
        let (batches, written) = mpsc::channel(if each { 1 } else { UNWRITTEN_MOST });
        let journal = Journal {
            db: &mut self.data.db,
            files: &self.data.files,
            written: &self.on_disk,
            commits: self.config.commits,
            metrics: &self.metrics,
            halt: self.config.halt,
            changed: &self.changed,
            disk: self.environment.disk,
        };
        let ticks = Ticks {
            machine: &self.machine,
            environment: self.environment,
            helpers: self.helpers.as_ref(),
            most: if each { 1 } else { EVENTS_MOST },
            batches,
            on_disk: &self.on_disk,
            answers_early: self.config.mistake == Some(Mistake::AnswersEarly),
            metrics: &self.metrics,
        };
        (ticks, journal.run(written))
    }

    /// Writes down whether all work is done.
    fn end(self, at_rest: bool) -> Result<(), ServeError> {
        if at_rest {
            let sql = "insert or replace into meta values ('rest', 'yes')";
            self.data.db.execute(sql, []).map_err(unwritten)?;
        }
        (self.environment.say)("info", "stopped", &serde_json::json!({ "atRest": at_rest }));
        Ok(())
    }
}

/// What waits on a thread.
fn runtime() -> Result<Runtime, ServeError> {
    Builder::new_current_thread().enable_time().build().map_err(unwritten)
}

fn unwritten(why: impl ToString) -> ServeError {
    ServeError::Unwritten(why.to_string())
}

struct Ticks<'a> {
    machine: &'a Machine,
    environment: Environment,
    /// None when the engine does everything itself.
    helpers: Option<&'a Helpers>,
    /// How many events a tick has at most.
    most: usize,
    batches: Sender<Batch>,
    /// The number of the last changes that the journal has written.
    on_disk: &'a AtomicU64,
    /// The deliberate mistake.
    answers_early: bool,
    metrics: &'a Metrics,
}

impl Ticks<'_> {
    /// Runs until it is stopped, or until the journal cannot write. Returns whether all work is done.
    async fn run(self, mut inputs: Receiver<Input>) -> bool {
        let leaving = Rc::new(RefCell::new(Vec::new()));
        let (mut stop, mut classifying, mut asking) = (None, 0, 0);
        // The time of the machine never goes back, though the wall clock may have.
        let mut ahead = self.machine.now() - self.environment.now();
        loop {
            self.machine.written(self.on_disk.load(Acquire));
            let now = self.environment.now() + ahead;
            let next = self.machine.advance(now, self.most);
            if let Some(Helpers { classifiers, outbound }) = self.helpers {
                let (pictures, requests) =
                    (self.machine.take_inferences(), self.machine.take_outbound());
                classifying += pictures.len();
                asking += requests.len();
                pictures.into_iter().for_each(|picture| classifiers.classify(picture));
                requests.into_iter().for_each(|request| outbound.send(request));
            }
            let mut batch = Batch { changes: self.machine.take_changes(), leaving: leaving.take() };
            if self.answers_early {
                batch.release();
            }
            if !(batch.changes.is_empty() && batch.leaving.is_empty())
                && self.batches.send(batch).await.is_err()
            {
                return false;
            }
            self.count(classifying);
            match stop {
                Some(Stop::AtRest) if !self.machine.is_at_rest() => {}
                Some(_) => return self.machine.is_at_rest(),
                None => {}
            }
            // What others are doing would seem to take all the time that is passed over.
            if let (Some(_), Some(at), 0) = (stop, next, classifying + asking) {
                ahead += at - now;
            }
            let wait = next.map_or(IDLE, |at| at - (self.environment.now() + ahead));
            let first = if wait.is_zero() {
                // A timer would take a millisecond.
                None
            } else {
                match timeout(wait, inputs.recv()).await {
                    Ok(Some(input)) => Some(input),
                    Err(_) => None,
                    Ok(None) if stop.is_some() => {
                        // Nobody is left who could send anything, so there is only the next event to wait for.
                        sleep(wait).await;
                        None
                    }
                    Ok(None) => return self.machine.is_at_rest(),
                }
            };
            let more = std::iter::from_fn(|| inputs.try_recv().ok()).take(WAITING_MOST);
            for input in first.into_iter().chain(more) {
                match input {
                    Input::Stop(how) => stop = Some(how),
                    other => self.take(other, &leaving),
                }
            }
            if let Some(Helpers { classifiers, outbound }) = self.helpers {
                for inferred in classifiers.classified() {
                    self.machine.answer(inferred);
                    classifying -= 1;
                }
                for arrived in outbound.done() {
                    self.machine.arrived(arrived);
                    asking -= 1;
                }
            }
        }
    }

    /// Gives the machine what has come in. What comes of it is left in `leaving`.
    fn take(&self, input: Input, leaving: &Rc<RefCell<Vec<Leaving>>>) {
        let leaving = leaving.clone();
        match input {
            Input::Done | Input::Stop(_) => {}
            Input::Request(request, client) => self.machine.request(request, move |answer| {
                leaving.borrow_mut().push(Leaving::Answer(client, answer));
            }),
            Input::Connect { object, name, caller } => {
                self.machine.connect(object, &name, move |heard| {
                    leaving.borrow_mut().push(Leaving::Heard(caller.clone(), heard));
                });
            }
            Input::Said(socket, message) => self.machine.say(socket, message),
            Input::HungUp(socket) => self.machine.hang_up(socket),
        }
    }

    fn count(&self, classifying: usize) {
        self.metrics.ticks.fetch_add(1, Relaxed);
        let size = self.machine.size();
        for (gauge, value) in [
            (&self.metrics.calls_kept, size.calls),
            (&self.metrics.tasks, size.tasks),
            (&self.metrics.hosts, size.hosts),
            (&self.metrics.instances, size.instances),
            (&self.metrics.messages, size.messages),
            (&self.metrics.classifying, classifying),
        ] {
            gauge.store(value as u64, Relaxed);
        }
    }
}
