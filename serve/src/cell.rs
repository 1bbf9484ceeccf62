//! The thread that drives the engine, in ticks: take what has come in, let everything happen that is due, hand the
//! changes and the answers to the journal.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use thunderhead_sim::{Flaw, Machine, MachineConfig, Request};
use tokio::sync::{oneshot, watch};

use crate::data::{Data, DataError};
use crate::eyes::Eyes;
use crate::journal::{Answer, Batch, Journal};
use crate::metrics::Metrics;
use crate::{Commits, Config, Mistake, ServeError, Stop, clock, log};

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
    /// A picture has been looked at.
    Seen,
    Stop(Stop),
}

/// The thread, seen from outside.
pub struct Cell {
    inputs: SyncSender<Input>,
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
        let (inputs, taken) = mpsc::sync_channel(WAITING_MOST);
        let (failing, failed) = watch::channel(false);
        let (ready, restored) = mpsc::channel();
        let config = config.clone();
        let wake = {
            let inputs = inputs.clone();
            // When there is no room, the cell is awake.
            move || drop(inputs.try_send(Input::Seen))
        };
        let thread = std::thread::spawn(move || {
            let machine = restore(&config, &data);
            let machine = match machine {
                Ok(machine) => machine,
                Err(error) => return Err(ServeError::from(error)),
            };
            // The thread that started this has waited for it until now.
            let _ = ready.send(());
            let eyes = Eyes::open(wake);
            let ended = run(&config, machine, data, (&taken, &eyes), &metrics, &changed);
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
    pub fn inputs(&self) -> SyncSender<Input> {
        self.inputs.clone()
    }

    /// Becomes true when the thread has ended.
    pub fn failed(&self) -> watch::Receiver<bool> {
        self.failed.clone()
    }

    /// Ends the thread when everything is written down.
    pub fn end(self, stop: Stop) -> Result<(), ServeError> {
        // A thread that has ended already says why.
        drop(self.inputs.send(Input::Stop(stop)));
        drop(self.inputs);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(ServeError::Unwritten("the engine panicked".into())))
    }
}

/// A machine as it was when the last process ended.
fn restore(config: &Config, data: &Data) -> Result<Machine, DataError> {
    let mut entropy = [0; 8];
    getrandom::fill(&mut entropy).map_err(|error| DataError::Random(error.to_string()))?;
    let flaw = match config.mistake {
        Some(Mistake::NotifiesLater) => Some(Flaw::NotifiesLater),
        Some(Mistake::LeaseCounts) => Some(Flaw::LeaseCounts),
        Some(Mistake::AnswersEarly) | None => None,
    };
    let (entropy, salt, tells) = (u64::from_le_bytes(entropy), data.salt, config.tells);
    let settings = MachineConfig { entropy, salt, tells, gives_away: true, flaw };
    let mut machine = Machine::new(&settings, &|cloud| config.variant.mount(cloud));
    if let Some(namespace) = machine.unkept() {
        return Err(DataError::Unkept(namespace));
    }
    data.restore(&mut machine)?;
    machine.recover(clock::now());
    Ok(machine)
}

/// Drives the machine until it is stopped, with the journal on another thread.
fn run(
    config: &Config,
    machine: Machine,
    mut data: Data,
    (inputs, eyes): (&Receiver<Input>, &Eyes),
    metrics: &Metrics,
    changed: &watch::Sender<u64>,
) -> Result<(), ServeError> {
    // With one commit for each event nothing may wait, or the events behind would be cut off with it.
    let unwritten = if config.commits == Commits::EachEvent { 0 } else { UNWRITTEN_MOST };
    let (batches, written) = mpsc::sync_channel(unwritten);
    let db = &mut data.db;
    let at_rest = std::thread::scope(|scope| {
        let journal = scope.spawn(move || {
            let (commits, halt) = (config.commits, config.halt);
            Journal { db, commits, metrics, halt, changed }.run(&written)
        });
        let most = if config.commits == Commits::EachEvent { 1 } else { EVENTS_MOST };
        let answers_early = config.mistake == Some(Mistake::AnswersEarly);
        let ticks = Ticks { machine: &machine, eyes, most, batches, answers_early, metrics };
        let at_rest = ticks.run(inputs);
        drop(ticks);
        match journal.join() {
            Ok(Ok(())) => Ok(at_rest),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the journal panicked".into()),
        }
    });
    let at_rest = at_rest.map_err(ServeError::Unwritten)?;
    if at_rest {
        let sql = "insert or replace into meta values ('rest', 'yes')";
        data.db.execute(sql, []).map_err(|error| ServeError::Unwritten(error.to_string()))?;
    }
    log::say("info", "stopped", &serde_json::json!({ "atRest": at_rest }));
    Ok(())
}

struct Ticks<'a> {
    machine: &'a Machine,
    eyes: &'a Eyes,
    /// How many events a tick has at most.
    most: usize,
    batches: SyncSender<Batch>,
    /// The deliberate mistake.
    answers_early: bool,
    metrics: &'a Metrics,
}

impl Ticks<'_> {
    /// Runs until it is stopped, or until the journal cannot write. Returns whether all work is done.
    fn run(&self, inputs: &Receiver<Input>) -> bool {
        let answers = Rc::new(RefCell::new(Vec::new()));
        let (mut stop, mut looking) = (None, 0);
        // The time of the machine never goes back, though the wall clock may have.
        let mut ahead = self.machine.now() - clock::now();
        loop {
            let now = clock::now() + ahead;
            let next = self.machine.advance(now, self.most);
            for inference in self.machine.take_inferences() {
                self.eyes.look(inference);
                looking += 1;
            }
            let mut batch = Batch { changes: self.machine.take_changes(), answers: answers.take() };
            if self.answers_early {
                batch.release();
            }
            if !(batch.changes.is_empty() && batch.answers.is_empty())
                && self.batches.send(batch).is_err()
            {
                return false;
            }
            self.count(looking);
            match stop {
                Some(Stop::AtRest) if !self.machine.is_at_rest() => {}
                Some(_) => return self.machine.is_at_rest(),
                None => {}
            }
            // What is being looked at would seem to take all the time that is passed over.
            if let (Some(_), Some(at), 0) = (stop, next, looking) {
                ahead += at - now;
            }
            let wait = next.map_or(IDLE, |at| at - (clock::now() + ahead));
            let first = match inputs.recv_timeout(wait) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) if stop.is_some() => {
                    // Nobody is left who could send anything, so there is only the next event to wait for.
                    std::thread::sleep(wait);
                    None
                }
                Err(RecvTimeoutError::Disconnected) => return self.machine.is_at_rest(),
            };
            for input in first.into_iter().chain(inputs.try_iter().take(WAITING_MOST)) {
                match input {
                    Input::Seen => {}
                    Input::Stop(how) => stop = Some(how),
                    Input::Request(request, client) => {
                        let answers = answers.clone();
                        self.machine.request(request, move |answer| {
                            answers.borrow_mut().push((client, answer))
                        });
                    }
                }
            }
            for inferred in self.eyes.seen() {
                self.machine.answer(inferred);
                looking -= 1;
            }
        }
    }

    fn count(&self, looking: usize) {
        self.metrics.ticks.fetch_add(1, Relaxed);
        let size = self.machine.size();
        for (gauge, value) in [
            (&self.metrics.calls_kept, size.calls),
            (&self.metrics.tasks, size.tasks),
            (&self.metrics.hosts, size.hosts),
            (&self.metrics.looking, looking),
        ] {
            gauge.store(value as u64, Relaxed);
        }
    }
}
