//! A few lines of virtual time around the workflow service, so that a test reads as the body of a
//! workflow and what became of it.
//!
//! A body is a plain function that is run again from the top whenever something has changed, which
//! is what replay is. Whatever it must wait for leaves it by [`Stop`].

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use thunderhead_sim::workflow::{
    Anomaly, Applied, AttemptResult, Engine, Error, Follow, InstanceStatus, Op, Progress, Reply,
    Status, StepConfig, StepCounter, StepError, StepEvent, StepKey, WorkflowConfig, Workflows,
};
use thunderhead_sim::{Body, Time};

/// Why a body does not go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The body waits for something that has not happened.
    Parked,
    /// It was aborted.
    Aborted,
    /// The body returned an error.
    Throw(StepError),
}

impl From<StepError> for Stop {
    fn from(error: StepError) -> Stop {
        Stop::Throw(error)
    }
}

pub type Run = Rc<dyn Fn(&mut Replay<'_>) -> Result<Value, Stop>>;

/// One workflow service, the engines that run its bodies, and a clock that jumps.
pub struct Driver {
    pub workflows: Workflows,
    pub now: Time,
    /// What bodies and closures did, in order, as `id: what`.
    pub log: Vec<(String, String)>,
    /// Everything the service wanted done.
    pub follows: Vec<String>,
    run: Run,
    starts: Vec<Engine>,
    lives: BTreeMap<String, Life>,
    wakes: Vec<(Time, Engine)>,
    closures: Vec<Closure>,
}

#[derive(Clone)]
struct Life {
    engine: Engine,
    /// How much the body itself has logged, so that running it again does not repeat it.
    logged: usize,
}

/// A closure in progress.
#[derive(Clone)]
struct Closure {
    ends: Time,
    engine: Engine,
    step: StepKey,
    attempt: u32,
    result: AttemptResult,
    /// What it logs at its end; none for the timer that gives it up.
    says: Option<String>,
}

impl Driver {
    pub fn new(
        config: WorkflowConfig,
        run: impl Fn(&mut Replay<'_>) -> Result<Value, Stop> + 'static,
    ) -> Driver {
        let mut workflows = Workflows::default();
        workflows.define("wf", config).unwrap();
        Driver {
            workflows,
            now: Time::ZERO,
            log: Vec::new(),
            follows: Vec::new(),
            run: Rc::new(run),
            starts: Vec::new(),
            lives: BTreeMap::new(),
            wakes: Vec::new(),
            closures: Vec::new(),
        }
    }

    pub fn emulator(run: impl Fn(&mut Replay<'_>) -> Result<Value, Stop> + 'static) -> Driver {
        Driver::new(WorkflowConfig::miniflare(), run)
    }

    pub fn production(run: impl Fn(&mut Replay<'_>) -> Result<Value, Stop> + 'static) -> Driver {
        Driver::new(WorkflowConfig::default(), run)
    }

    pub fn apply(&mut self, op: &Op) -> Result<Reply, Error> {
        self.apply_with(op, None)
    }

    pub fn apply_with(&mut self, op: &Op, anomaly: Option<Anomaly>) -> Result<Reply, Error> {
        let Applied { reply, follow } = self.workflows.apply_with(self.now, op, anomaly);
        for follow in follow {
            self.follows.push(follow.to_string());
            match follow {
                Follow::Start { engine } => self.starts.push(engine),
                Follow::WakeAt { engine, at } => self.wakes.push((at, engine)),
                Follow::Wake { engine } => self.wakes.push((self.now, engine)),
                Follow::Abort { engine, .. } => self.forget(&engine),
            }
        }
        reply
    }

    fn forget(&mut self, engine: &Engine) {
        self.starts.retain(|start| start != engine);
        self.lives.retain(|_, life| life.engine != *engine);
        self.closures.retain(|closure| closure.engine != *engine);
    }

    pub fn create(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::create("wf", id, "{}"))
    }

    /// Creates an instance and lets everything happen that will.
    pub fn go(&mut self, id: &str) -> InstanceStatus {
        self.create(id).unwrap();
        self.run();
        self.status(id)
    }

    pub fn send(&mut self, id: &str, event_type: &str, payload: Value) -> Result<Reply, Error> {
        self.apply(&Op::send_event("wf", id, event_type, payload.to_string()))
    }

    pub fn pause(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::Pause { workflow: "wf".into(), id: id.into() })
    }

    pub fn resume(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::Resume { workflow: "wf".into(), id: id.into() })
    }

    pub fn restart(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::Restart { workflow: "wf".into(), id: id.into(), from: None })
    }

    pub fn terminate(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::Terminate { workflow: "wf".into(), id: id.into() })
    }

    pub fn delete(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::Delete { workflow: "wf".into(), id: id.into() })
    }

    pub fn get(&mut self, id: &str) -> Result<Reply, Error> {
        self.apply(&Op::Get { workflow: "wf".into(), id: id.into() })
    }

    pub fn status(&mut self, id: &str) -> InstanceStatus {
        match self.apply(&Op::Status { workflow: "wf".into(), id: id.into() }) {
            Ok(Reply::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    pub fn state(&mut self, id: &str) -> Status {
        self.status(id).status
    }

    /// What an instance did, one word after another.
    pub fn trace(&self, id: &str) -> String {
        let words = self.log.iter().filter(|(of, _)| of == id).map(|(_, what)| what.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    /// The life of an instance's engine that runs, or is about to.
    pub fn engine(&self, id: &str) -> Engine {
        let starting = self.starts.iter().find(|engine| &*engine.id == id);
        starting.unwrap_or_else(|| &self.lives[id].engine).clone()
    }

    /// The engine of an instance dies, with all that it had in memory.
    pub fn crash(&mut self, id: &str) {
        let engine = self.engine(id);
        self.forget(&engine);
        self.apply(&Op::Evict { engine }).unwrap();
    }

    /// Lets time pass until nothing is left that could happen.
    pub fn run(&mut self) {
        self.run_until(Time::NEVER);
    }

    pub fn run_for(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        self.run_until(end);
        self.now = end;
    }

    fn run_until(&mut self, end: Time) {
        for _ in 0..100_000 {
            if !self.starts.is_empty() {
                let engine = self.starts.remove(0);
                self.start(engine);
                continue;
            }
            let closure = self.closures.iter().map(|closure| closure.ends).min();
            let wake = self.wakes.iter().map(|(at, _)| *at).min();
            let next = closure.into_iter().chain(wake).min();
            let Some(next) = next.filter(|next| *next <= end && *next != Time::NEVER) else {
                return;
            };
            self.now = self.now.max(next);
            match wake == Some(next) {
                true => {
                    let first = self.wakes.iter().position(|(at, _)| *at == next).unwrap();
                    let (_, engine) = self.wakes.remove(first);
                    self.play(&engine);
                }
                false => self.end_closure(next),
            }
        }
        panic!("it never ends: {:?}", self.log.last());
    }

    fn start(&mut self, engine: Engine) {
        match self.apply(&Op::Begin { engine: engine.clone() }) {
            Ok(Reply::Begun(_)) => {
                let life = Life { engine: engine.clone(), logged: 0 };
                self.lives.insert(engine.id.to_string(), life);
                self.play(&engine);
            }
            Err(Error::Aborted(_)) => {}
            other => panic!("{other:?}"),
        }
    }

    fn end_closure(&mut self, at: Time) {
        let first = self.closures.iter().position(|closure| closure.ends == at).unwrap();
        let Closure { engine, step, attempt, result, says, .. } = self.closures.remove(first);
        self.log.extend(says.map(|says| (engine.id.to_string(), says)));
        let finish = Op::FinishStep { engine: engine.clone(), step, attempt, result };
        match self.apply(&finish) {
            Ok(Reply::Step(Progress::Ignored)) | Err(Error::Aborted(_)) => {}
            Ok(_) => self.play(&engine),
            other => panic!("{other:?}"),
        }
    }

    /// Runs the body from the top, as far as it gets.
    fn play(&mut self, engine: &Engine) {
        let live = self.lives.get(&*engine.id).is_some_and(|life| life.engine == *engine);
        if !live {
            return;
        }
        let run = Rc::clone(&self.run);
        let counter = StepCounter::default();
        let mut replay = Replay { driver: self, engine: engine.clone(), counter, said: 0 };
        let result = match run(&mut replay) {
            Ok(value) => Ok(Body::from(value.to_string())),
            Err(Stop::Throw(error)) => Err(error),
            Err(Stop::Parked) => return,
            Err(Stop::Aborted) => return self.forget(engine),
        };
        self.apply(&Op::Finish { engine: engine.clone(), result }).unwrap();
        self.lives.remove(&*engine.id);
    }
}

/// What a body holds: `event` and `step` in one.
pub struct Replay<'a> {
    driver: &'a mut Driver,
    engine: Engine,
    counter: StepCounter,
    said: usize,
}

impl Replay<'_> {
    pub fn now(&self) -> Time {
        self.driver.now
    }

    /// Says something outside of all steps: once in every life.
    pub fn log(&mut self, what: &str) {
        self.said += 1;
        let life = self.driver.lives.get_mut(&*self.engine.id).unwrap();
        if self.said > life.logged {
            life.logged = self.said;
            self.driver.log.push((self.engine.id.to_string(), what.to_owned()));
        }
    }

    /// `step.do` with a closure that takes no time and says its step's name.
    pub fn step(&mut self, name: &str, value: impl Into<Value>) -> Result<Value, Stop> {
        let value = value.into();
        self.step_with(name, StepConfig::default(), move |_| Ok(value))
    }

    /// `step.do` with a closure that takes no time; it is told which attempt it is.
    pub fn step_with(
        &mut self,
        name: &str,
        config: StepConfig,
        closure: impl FnOnce(u32) -> Result<Value, StepError>,
    ) -> Result<Value, Stop> {
        self.slow_step(name, config, Duration::ZERO, (name, ""), closure)
    }

    /// `step.do` with a closure that takes a while, and what it says at its start and its end.
    pub fn slow_step(
        &mut self,
        name: &str,
        config: StepConfig,
        takes: Duration,
        (first, last): (&str, &str),
        closure: impl FnOnce(u32) -> Result<Value, StepError>,
    ) -> Result<Value, Stop> {
        let (engine, step) = (self.engine.clone(), self.counter.step(name));
        let begin = Op::BeginStep { engine: engine.clone(), step: step.clone(), config };
        let (attempt, policy) = match self.ask(&begin)? {
            Progress::Run { attempt, policy } => (attempt, policy),
            progress => return value(progress),
        };
        let mine = |closure: &&Closure| closure.engine == engine && closure.step == step;
        if self.driver.closures.iter().filter(mine).any(|closure| closure.attempt == attempt) {
            return Err(Stop::Parked);
        }
        self.driver.log.push((engine.id.to_string(), first.to_owned()));
        let result = match closure(attempt) {
            Ok(value) => AttemptResult::Ok(Body::from(value.to_string())),
            Err(error) => AttemptResult::Err(error),
        };
        if takes.is_zero() {
            let finish = Op::FinishStep { engine, step, attempt, result };
            return value(self.ask(&finish)?);
        }
        let ends = self.driver.now + takes;
        let says = Some(last.to_owned()).filter(|last| !last.is_empty());
        if takes > policy.timeout.0 {
            let (ends, result) = (self.driver.now + policy.timeout.0, AttemptResult::TimedOut);
            let (engine, step) = (engine.clone(), step.clone());
            let timer = Closure { ends, engine, step, attempt, result, says: None };
            self.driver.closures.push(timer);
        }
        self.driver.closures.push(Closure { ends, engine, step, attempt, result, says });
        Err(Stop::Parked)
    }

    pub fn sleep(&mut self, name: &str, ms: u64) -> Result<(), Stop> {
        let duration = Duration::from_millis(ms);
        let step = self.counter.sleep(name, duration);
        let progress = self.ask(&Op::sleep(self.engine.clone(), step, duration))?;
        value(progress).map(|_| ())
    }

    pub fn sleep_until(&mut self, name: &str, until: Time) -> Result<(), Stop> {
        let step = self.counter.sleep_until(name);
        let progress = self.ask(&Op::SleepUntil { engine: self.engine.clone(), step, until })?;
        value(progress).map(|_| ())
    }

    pub fn wait_for_event(
        &mut self,
        name: &str,
        event_type: &str,
        timeout: Option<Duration>,
    ) -> Result<StepEvent, Stop> {
        let (engine, step) = (self.engine.clone(), self.counter.wait_for_event(name));
        let (event_type, timeout) = (event_type.into(), timeout.map(Into::into));
        match self.ask(&Op::WaitForEvent { engine, step, event_type, timeout })? {
            Progress::Event(event) => Ok(event),
            progress => Err(value(progress).unwrap_err()),
        }
    }

    /// Waits for an event with the default timeout, and gives its payload.
    pub fn payload(&mut self, name: &str, event_type: &str) -> Result<Value, Stop> {
        let event = self.wait_for_event(name, event_type, None)?;
        Ok(serde_json::from_slice(event.payload.bytes()).unwrap())
    }

    fn ask(&mut self, op: &Op) -> Result<Progress, Stop> {
        match self.driver.apply(op) {
            Ok(Reply::Step(progress)) => Ok(progress),
            Err(Error::Aborted(_)) => Err(Stop::Aborted),
            other => panic!("{op}: {other:?}"),
        }
    }
}

fn value(progress: Progress) -> Result<Value, Stop> {
    match progress {
        Progress::Value(value) => Ok(serde_json::from_slice(value.bytes()).unwrap()),
        Progress::Slept => Ok(Value::Null),
        Progress::Thrown(error) => Err(Stop::Throw(error)),
        Progress::Until(_) => Err(Stop::Parked),
        other => panic!("no step goes on with {other}"),
    }
}

/// What a body catches; a body that is parked or aborted has nothing to catch.
pub fn caught<T>(result: Result<T, Stop>) -> Result<Result<T, StepError>, Stop> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Stop::Throw(error)) => Ok(Err(error)),
        Err(stop) => Err(stop),
    }
}

/// A step, a sleep of `ms`, another step.
pub fn hold(ms: u64) -> impl Fn(&mut Replay<'_>) -> Result<Value, Stop> {
    move |replay| {
        replay.log("run");
        replay.step("a", 1)?;
        replay.sleep("hold", ms)?;
        replay.step("b", 2)?;
        Ok("done".into())
    }
}

/// A body of one step.
pub fn ok(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    replay.log("run");
    let a = replay.step("a", 1)?;
    Ok(serde_json::json!({ "a": a }))
}

/// A body that throws at once.
pub fn fail(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    replay.log("run");
    Err(StepError::error("fails").into())
}

/// A step of 800 ms, then another.
pub fn slow(replay: &mut Replay<'_>) -> Result<Value, Stop> {
    replay.log("run");
    let takes = Duration::from_millis(800);
    replay.slow_step("slow", StepConfig::default(), takes, ("slow>", "slow<"), |_| Ok(1.into()))?;
    replay.step("next", 2)?;
    Ok("done".into())
}

/// `status output error [step outputs]`, on one line.
pub fn line(status: &InstanceStatus) -> String {
    let mut text = status.status.to_string();
    let show = |body: &Body| body.text().map_or("?".to_owned(), str::to_owned);
    text.extend(status.output.iter().map(|output| format!(" {}", show(output))));
    text.extend(status.error.iter().map(|error| format!(" {error}")));
    if let Some(outputs) = &status.step_outputs {
        let outputs: Vec<String> = outputs.iter().map(show).collect();
        text.push_str(&format!(" [{}]", outputs.join(",")));
    }
    text
}

pub fn message(result: &Result<Reply, Error>) -> String {
    match result {
        Ok(reply) => format!("ok {reply}"),
        Err(error) => error.to_string(),
    }
}
