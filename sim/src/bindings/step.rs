//! The steps of a workflow, as its body uses them.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::engine::agenda::Scheduled;
use crate::engine::env::Env;
use crate::engine::task::Waits;
use crate::engine::wait::JoinHandle;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::services::workflow::{
    self, AttemptResult, Engine, Millis, Progress, StepConfig, StepCounter, StepError, StepEvent,
    WorkflowEvent,
};
use crate::values::body::Body;
use crate::values::time::Time;

/// The durable steps of one instance. The journal keeps what a step has returned; everything outside of
/// steps happens again whenever another workflow engine runs the body.
#[derive(Clone, Debug)]
pub struct Step {
    env: Env,
    engine: Engine,
    counter: Rc<RefCell<StepCounter>>,
}

/// What the work of a step is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepContext {
    /// The name of the step.
    pub name: Arc<str>,
    /// Counts the steps of that name, from 1.
    pub count: u32,
    /// Counts the attempts, from 1. Those that a crash or a pause cut short count too.
    pub attempt: u32,
}

impl Step {
    pub(crate) fn new(env: Env, engine: Engine) -> Step {
        Step { env, engine, counter: Rc::default() }
    }

    /// Does `work` until it succeeds once or the retries of the policy are spent, and keeps the result.
    ///
    /// An attempt that takes too long is not cancelled: it goes on beside the next one.
    pub async fn do_with<F>(
        &self,
        name: &str,
        config: StepConfig,
        work: impl Fn() -> F,
    ) -> Result<Body, Error>
    where
        F: Future<Output = Result<Body, Error>> + 'static,
    {
        self.do_attempts(name, config, |_| work()).await
    }

    /// Like [`Step::do_with`], for work that is told which step and which attempt it is.
    pub async fn do_attempts<F>(
        &self,
        name: &str,
        config: StepConfig,
        work: impl Fn(StepContext) -> F,
    ) -> Result<Body, Error>
    where
        F: Future<Output = Result<Body, Error>> + 'static,
    {
        self.attempts(name, config, &|context| self.env.spawn(work(context))).await
    }

    // It is apart from the work, whose type is another in every step: it compiles to much code.
    async fn attempts(
        &self,
        name: &str,
        config: StepConfig,
        start: &dyn Fn(StepContext) -> JoinHandle<Result<Body, Error>>,
    ) -> Result<Body, Error> {
        let step = self.counter.borrow_mut().step(name);
        loop {
            let (engine, key) = (self.engine.clone(), step.clone());
            let begin = workflow::Op::BeginStep { engine, step: key, config };
            let (attempt, policy) = match self.ask(begin).await? {
                Progress::Run { attempt, policy } => (attempt, policy),
                Progress::Until(time) => {
                    self.park(time).await;
                    continue;
                }
                other => return value(other),
            };
            let context = StepContext { name: step.name.clone(), count: step.count, attempt };
            let running = start(context);
            let result = match self.env.timeout(policy.timeout.0, running).await {
                Some(Ok(value)) => AttemptResult::Ok(value),
                Some(Err(error)) => AttemptResult::Err(thrown(error)),
                None => AttemptResult::TimedOut,
            };
            let (engine, step) = (self.engine.clone(), step.clone());
            match self.ask(workflow::Op::FinishStep { engine, step, attempt, result }).await? {
                Progress::Until(time) => self.park(time).await,
                // Another attempt has ended the step; its result counts.
                Progress::Ignored => {}
                other => return value(other),
            }
        }
    }

    /// Like [`Step::do_with`] with the default policy: five retries, the first after ten seconds, and ten
    /// minutes for each attempt.
    pub async fn do_<F>(&self, name: &str, work: impl Fn() -> F) -> Result<Body, Error>
    where
        F: Future<Output = Result<Body, Error>> + 'static,
    {
        self.do_with(name, StepConfig::default(), work).await
    }

    /// Sleeps for `duration`, across crashes of the workflow engine.
    pub async fn sleep(&self, name: &str, duration: Duration) -> Result<(), Error> {
        let step = self.counter.borrow_mut().sleep(name, duration);
        self.wait(|engine| workflow::Op::sleep(engine, step.clone(), duration)).await.map(|_| ())
    }

    /// Sleeps until a time.
    pub async fn sleep_until(&self, name: &str, until: Time) -> Result<(), Error> {
        let step = self.counter.borrow_mut().sleep_until(name);
        let op = |engine| workflow::Op::SleepUntil { engine, step: step.clone(), until };
        self.wait(op).await.map(|_| ())
    }

    /// Waits for an event that is sent to this instance, for 24 hours when no time is given.
    pub async fn wait_for_event(
        &self,
        name: &str,
        event_type: &str,
        timeout: Option<Duration>,
    ) -> Result<StepEvent, Error> {
        let step = self.counter.borrow_mut().wait_for_event(name);
        let progress = self.wait(|engine| {
            let (step, timeout) = (step.clone(), timeout.map(Millis::from));
            let event_type = event_type.into();
            workflow::Op::WaitForEvent { engine, step, event_type, timeout }
        });
        match progress.await? {
            Progress::Event(event) => Ok(event),
            other => unreachable!("a wait ended with {other}"),
        }
    }

    /// Repeats a call of the workflow service until there is nothing left to wait for.
    async fn wait(&self, op: impl Fn(Engine) -> workflow::Op) -> Result<Progress, Error> {
        loop {
            match self.ask(op(self.engine.clone())).await? {
                Progress::Until(time) => self.park(time).await,
                Progress::Thrown(error) => return Err(Error::Step(error)),
                progress => return Ok(progress),
            }
        }
    }

    pub(crate) async fn begin(&self) -> Result<WorkflowEvent, Error> {
        match self.journal(workflow::Op::Begin { engine: self.engine.clone() }).await? {
            workflow::Reply::Begun(event) => Ok(event),
            other => unreachable!("a beginning was answered with {other}"),
        }
    }

    pub(crate) async fn finish(&self, result: Result<Body, Error>) {
        let (engine, result) = (self.engine.clone(), result.map_err(thrown));
        // A refusal means that a later engine has replaced this one, which then just ends.
        let _ = self.journal(workflow::Op::Finish { engine, result }).await;
    }

    async fn ask(&self, op: workflow::Op) -> Result<Progress, Error> {
        match self.journal(op).await? {
            workflow::Reply::Step(progress) => Ok(progress),
            other => unreachable!("a step was answered with {other}"),
        }
    }

    async fn journal(&self, op: workflow::Op) -> Result<workflow::Reply, Error> {
        match self.env.call(None, Op::Workflow(op)).await? {
            Reply::Workflow(reply) => Ok(reply),
            other => unreachable!("a workflow answered with {other}"),
        }
    }

    /// Waits until a time, or until the workflow service wakes this instance.
    async fn park(&self, until: Time) {
        let mut parked = false;
        std::future::poll_fn(|cx| {
            let mut state = self.env.world().state();
            let task = state.tasks.waiting(cx);
            if std::mem::replace(&mut parked, true) {
                state.tasks[task].parked = false;
                return Poll::Ready(());
            }
            state.agenda.schedule(until, Scheduled::Wake { task });
            state.tasks[task].waits = Waits::Until(until);
            state.tasks[task].parked = true;
            Poll::Pending
        })
        .await;
    }
}

fn value(progress: Progress) -> Result<Body, Error> {
    match progress {
        Progress::Value(value) => Ok(value),
        Progress::Thrown(error) => Err(Error::Step(error)),
        other => unreachable!("a step ended with {other}"),
    }
}

/// An error as the service keeps it.
fn thrown(error: Error) -> StepError {
    match error {
        Error::Step(error) => error,
        Error::NonRetryable(message) => StepError::non_retryable(message),
        other => StepError::error(other.to_string()),
    }
}
