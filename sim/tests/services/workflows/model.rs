//! Thousands of arbitrary histories, each compared with a model that only remembers promises.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thunderhead_sim::workflow::{
    Applied, AttemptResult, Backoff, Engine, Error, Follow, Op, Progress, Reply, StepConfig,
    StepError, StepKey, WorkflowConfig, Workflows,
};
use thunderhead_sim::{Body, Time};

const IDS: [&str; 3] = ["a", "b", "c"];
const RETENTION: Duration = Duration::from_secs(20);

/// A generator that is the same everywhere, so that a failing number can be run again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// An attempt that was begun and may end at any time, or never.
type Attempt = (Engine, StepKey, u32);

struct History {
    workflows: Workflows,
    now: Time,
    dice: Dice,
    values: u32,
    /// The one life of each instance that may speak.
    live: BTreeMap<String, Engine>,
    newest: u64,
    dead: Vec<Engine>,
    attempts: Vec<Attempt>,
    /// Those of them that have not ended, by the life that began them.
    open: BTreeSet<(u64, StepKey, u32)>,
    stored: BTreeMap<(String, StepKey), Body>,
    /// When each instance ended, or that it has not.
    known: BTreeMap<String, Option<Time>>,
    /// What the run met, to prove that it met anything.
    met: BTreeMap<&'static str, u32>,
}

impl History {
    fn new(seed: u64) -> History {
        let mut dice = Dice(seed);
        let mut workflows = Workflows::default();
        let concurrency = 1 + dice.below(3);
        let config =
            WorkflowConfig { retention: RETENTION, concurrency, ..WorkflowConfig::default() };
        workflows.define("wf", config).unwrap();
        History {
            workflows,
            now: Time::ZERO,
            dice,
            values: 0,
            live: BTreeMap::new(),
            newest: 0,
            dead: Vec::new(),
            attempts: Vec::new(),
            open: BTreeSet::new(),
            stored: BTreeMap::new(),
            known: BTreeMap::new(),
            met: BTreeMap::new(),
        }
    }

    fn meet(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    fn apply(&mut self, op: &Op) -> Result<Reply, Error> {
        let Applied { reply, follow } = self.workflows.apply(self.now, op);
        for follow in follow {
            let engine = follow.engine().clone();
            match follow {
                Follow::Start { .. } => {
                    assert!(engine.generation > self.newest, "{op}: a life is never reused");
                    self.newest = engine.generation;
                    let old = self.live.insert(engine.id.to_string(), engine);
                    assert_eq!(old, None, "{op}: two lives at once");
                }
                Follow::Abort { .. } => {
                    self.meet("abort");
                    assert_eq!(self.live.remove(&*engine.id).as_ref(), Some(&engine), "{op}");
                    self.dead.push(engine);
                }
                Follow::WakeAt { at, .. } => {
                    assert!(at > self.now && self.live[&*engine.id] == engine, "{op}");
                }
                Follow::Wake { .. } => assert_eq!(self.live[&*engine.id], engine, "{op}"),
            }
        }
        reply
    }

    fn step(&mut self) {
        let id = IDS[usize::try_from(self.dice.below(3)).unwrap()];
        match self.dice.below(20) {
            0..=1 => self.create(id),
            2..=8 => self.begin_step(id),
            9..=12 => self.finish_step(),
            13 => self.crash(id),
            14..=15 => self.control(id),
            16 => self.finish(id),
            17 => self.speak_for_the_dead(),
            _ => self.now = self.now + Duration::from_millis(self.dice.below(8_000).into()),
        }
    }

    fn create(&mut self, id: &str) {
        let taken = self
            .known
            .get(id)
            .is_some_and(|ended| ended.is_none_or(|ended| ended + RETENTION > self.now));
        let created = self.apply(&Op::create("wf", id, "{}"));
        assert_eq!(created.is_ok(), !taken, "an id is given once within retention");
        if taken {
            return self.meet("refused");
        }
        if self.known.insert(id.to_owned(), None).is_some() {
            self.meet("id free again");
        }
        self.forget_steps(id);
    }

    fn forget_steps(&mut self, id: &str) {
        self.stored.retain(|(of, _), _| of != id);
    }

    fn begin_step(&mut self, id: &str) {
        let Some(engine) = self.live.get(id).cloned() else { return };
        match self.apply(&Op::Begin { engine: engine.clone() }) {
            Ok(Reply::Begun(_)) => {}
            Err(Error::Aborted(_)) => return assert!(!self.live.contains_key(id)),
            other => panic!("{other:?}"),
        }
        let step = StepKey::new(["x", "y"][self.dice.below(2) as usize], 1);
        let config = StepConfig::retries(1, Duration::from_millis(500), Backoff::Linear);
        let begin = Op::BeginStep { engine: engine.clone(), step: step.clone(), config };
        let reply = self.apply(&begin).unwrap();
        let stored = self.stored.get(&(id.to_owned(), step.clone())).cloned();
        match (reply, stored) {
            (Reply::Step(Progress::Value(value)), Some(stored)) => {
                self.meet("cached");
                assert_eq!(value, stored, "a stored result changed");
            }
            (Reply::Step(Progress::Run { attempt, .. }), None) => {
                if self.open.insert((engine.generation, step.clone(), attempt)) {
                    self.attempts.push((engine, step, attempt));
                }
            }
            (Reply::Step(Progress::Until(_)), None) => self.meet("retry"),
            (Reply::Step(Progress::Thrown(_)), None) => self.meet("failed for good"),
            (reply, stored) => panic!("{begin}: {reply} but stored is {stored:?}"),
        }
    }

    /// Ends some attempt, which may be long forgotten.
    fn finish_step(&mut self) {
        let Ok(count @ 1..) = u32::try_from(self.attempts.len()) else { return };
        let index = usize::try_from(self.dice.below(count)).unwrap();
        let (engine, step, attempt) = self.attempts[index].clone();
        self.values += 1;
        let result = match self.dice.below(6) {
            0 => AttemptResult::Err(StepError::error("no")),
            1 => AttemptResult::TimedOut,
            _ => AttemptResult::Ok(self.values.to_string().into()),
        };
        let live = self.live.get(&*engine.id) == Some(&engine);
        let open = self.open.remove(&(engine.generation, step.clone(), attempt));
        let (id, value) = (engine.id.to_string(), result.clone());
        let finish = Op::FinishStep { engine, step: step.clone(), attempt, result };
        match self.apply(&finish) {
            Ok(Reply::Step(Progress::Value(value))) => {
                assert!(live && open);
                let old = self.stored.insert((id, step), value);
                assert_eq!(old, None, "{finish}: a result was stored twice");
            }
            Ok(Reply::Step(Progress::Ignored)) => {
                self.meet("ignored");
                assert!(!open, "{finish}: an attempt that is awaited was ignored");
            }
            Ok(Reply::Step(_)) => assert!(live && open && !matches!(value, AttemptResult::Ok(_))),
            // A pause takes hold after the result was stored, and only a replay will see it.
            Err(Error::Aborted(_)) if live => {
                self.meet("paused after a step");
                if let (true, AttemptResult::Ok(value)) = (open, value) {
                    assert_eq!(self.stored.insert((id, step), value), None, "{finish}");
                }
            }
            Err(Error::Aborted(_)) => self.meet("not heard"),
            other => panic!("{finish}: {other:?}"),
        }
    }

    fn crash(&mut self, id: &str) {
        let Some(engine) = self.live.remove(id) else { return };
        self.dead.push(engine.clone());
        self.apply(&Op::Evict { engine }).unwrap();
        self.meet("crash");
    }

    fn control(&mut self, id: &str) {
        let (workflow, id) = ("wf".into(), id.into());
        let op = match self.dice.below(12) {
            0..=3 => Op::Pause { workflow, id },
            4..=8 => Op::Resume { workflow, id },
            9 => Op::Terminate { workflow, id },
            10 => Op::Restart { workflow, id, from: None },
            _ => Op::Delete { workflow, id },
        };
        let reply = self.apply(&op);
        let id = op.instance().unwrap();
        match (&op, reply) {
            (_, Err(_)) => {}
            (Op::Terminate { .. }, _) => {
                self.known.insert(id.to_owned(), Some(self.now));
            }
            (Op::Restart { .. }, _) => {
                self.known.insert(id.to_owned(), None);
                self.forget_steps(id);
            }
            (Op::Delete { .. }, _) => {
                self.known.remove(id);
                self.forget_steps(id);
            }
            _ => {}
        }
    }

    fn finish(&mut self, id: &str) {
        let Some(engine) = self.live.remove(id) else { return };
        self.dead.push(engine.clone());
        self.apply(&Op::Finish { engine, result: Ok("1".into()) }).unwrap();
        self.known.insert(id.to_owned(), Some(self.now));
    }

    fn speak_for_the_dead(&mut self) {
        let Ok(count @ 1..) = u32::try_from(self.dead.len()) else { return };
        let engine = self.dead[usize::try_from(self.dice.below(count)).unwrap()].clone();
        let op = match self.dice.below(3) {
            0 => Op::Begin { engine },
            1 => Op::Evict { engine },
            _ => Op::Finish { engine, result: Ok("from the grave".into()) },
        };
        let reply = self.apply(&op);
        assert!(matches!(reply, Err(Error::Aborted(_))), "{op}: {reply:?}");
    }
}

#[test]
fn whatever_happens_results_are_kept_lives_are_single_and_ids_are_given_once() {
    let mut met = BTreeMap::new();
    for seed in 0..3_000 {
        let mut history = History::new(seed);
        for _ in 0..150 {
            history.step();
        }
        for (what, count) in history.met {
            *met.entry(what).or_insert(0) += count;
        }
    }
    let expected = [
        "abort",
        "cached",
        "crash",
        "failed for good",
        "id free again",
        "ignored",
        "not heard",
        "paused after a step",
        "refused",
        "retry",
    ];
    assert_eq!(met.keys().copied().collect::<Vec<_>>(), expected);
    assert!(met.values().all(|count| *count >= 100), "{met:?}");
}
