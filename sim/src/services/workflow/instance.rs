//! One instance: where it is in its life, and which life of its engine may speak for it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{Options, WorkflowConfig};
use super::error::{Abort, Code, Error};
use super::events::Events;
use super::id::Engine;
use super::journal::Journal;
use super::op::{Op, RestartFrom, Retention};
use super::reply::{Follow, InstanceStatus, Progress, Reply, Status, StepEvent, WorkflowEvent};
use super::step_error::StepError;
use crate::values::body::Body;
use crate::values::time::Time;

/// All that is stored of one instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Instance {
    workflow: Arc<str>,
    id: Arc<str>,
    params: Body,
    created: Time,
    retention: Retention,
    status: Status,
    /// The life that may speak for the instance.
    life: Option<u64>,
    /// The last life whose body began.
    begun: Option<u64>,
    /// Why the life before this one ended, for late operations of that life.
    retired: Abort,
    paused: Time,
    ended: Time,
    result: Option<Result<Body, StepError>>,
    journal: Journal,
    events: Events,
}

impl Instance {
    pub fn new(
        now: Time,
        (workflow, id): (&Arc<str>, &Arc<str>),
        params: Body,
        retention: Retention,
    ) -> Instance {
        Instance {
            workflow: Arc::clone(workflow),
            id: Arc::clone(id),
            params,
            created: now,
            retention,
            status: Status::Queued,
            life: None,
            begun: None,
            retired: Abort::Superseded,
            paused: Time::ZERO,
            ended: Time::ZERO,
            result: None,
            journal: Journal::default(),
            events: Events::default(),
        }
    }

    /// Whether some body of it has ever begun.
    pub fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether its life is over, unless it is restarted.
    pub fn has_ended(&self) -> bool {
        self.status.is_final()
    }

    /// Whether it waits for its turn.
    pub fn needs_life(&self) -> bool {
        self.status == Status::Queued && self.life.is_none()
    }

    /// Whether it counts against the number of instances that may run at once.
    pub fn occupies(&self) -> bool {
        self.life.is_some_and(|life| !self.journal.is_parked(life))
    }

    /// Until when it is kept.
    pub fn expires(&self, settings: &WorkflowConfig) -> Time {
        if !self.status.is_final() || settings.options.miniflare_ids_are_kept_for_ever {
            return Time::NEVER;
        }
        let own = match self.status {
            Status::Complete => self.retention.success_retention,
            _ => self.retention.error_retention,
        };
        self.ended + own.map_or(settings.retention, |own| own.0)
    }

    pub fn status(&self, options: Options) -> InstanceStatus {
        let parked = self.life.is_some_and(|life| self.journal.is_parked(life));
        let status = match self.status {
            Status::Running if parked && options.parked_is_waiting => Status::Waiting,
            status => status,
        };
        let (output, error) = match &self.result {
            Some(Ok(output)) => (Some(output.clone()).filter(|output| !output.is_empty()), None),
            Some(Err(error)) => (None, Some(error.clone())),
            None => (None, None),
        };
        let tell = options.miniflare_status_has_step_outputs;
        let step_outputs = tell.then(|| self.journal.outputs());
        InstanceStatus { status, output, error, step_outputs }
    }

    pub fn start(&mut self, life: u64, follow: &mut Vec<Follow>) {
        self.life = Some(life);
        follow.extend(self.engine().map(|engine| Follow::Start { engine }));
    }

    pub fn pause(&mut self, now: Time, follow: &mut Vec<Follow>) {
        if self.status != Status::Running {
            return;
        }
        self.status = Status::WaitingForPause;
        if self.life.is_some_and(|life| self.journal.is_parked(life)) {
            self.pause_if_idle(now, follow);
        }
    }

    pub fn resume(&mut self, now: Time, options: Options) -> Result<(), Error> {
        match self.status {
            Status::Paused => {
                self.journal.shift(now - self.paused);
                self.status = Status::Queued;
            }
            Status::WaitingForPause => self.status = Status::Running,
            Status::Running if !options.miniflare_resume_never_throws => {
                return Err(Error::refused(Code::CannotResume, &self.id, options));
            }
            _ => {}
        }
        Ok(())
    }

    pub fn terminate(
        &mut self,
        now: Time,
        options: Options,
        follow: &mut Vec<Follow>,
    ) -> Result<(), Error> {
        if self.status.is_final() {
            return Err(Error::refused(Code::CannotTerminate, &self.id, options));
        }
        self.status = Status::Terminated;
        self.ended = now;
        self.retire(Abort::Terminate, follow);
        Ok(())
    }

    pub fn restart(
        &mut self,
        from: Option<&RestartFrom>,
        options: Options,
        follow: &mut Vec<Follow>,
    ) -> Result<(), Error> {
        match from {
            None => self.journal = Journal::default(),
            Some(from) if self.journal.rewind(from) => {}
            Some(from) => return Err(Error::refused(Code::CannotRestart, &from.name, options)),
        }
        self.events = Events::default();
        self.result = None;
        self.status = Status::Queued;
        self.retire(Abort::Restart, follow);
        Ok(())
    }

    pub fn send_event(
        &mut self,
        event: StepEvent,
        options: Options,
        follow: &mut Vec<Follow>,
    ) -> Result<(), Error> {
        if self.status.is_final() {
            return match options.miniflare_finished_instance_takes_events {
                true => Ok(()),
                false => Err(Error::refused(Code::CannotSendEvent, &self.id, options)),
            };
        }
        let now = event.timestamp;
        let taken = self.life.is_some_and(|life| self.journal.deliver(now, life, &event));
        self.events.arrive(event, taken);
        if taken {
            follow.extend(self.engine().map(|engine| Follow::Wake { engine }));
        }
        Ok(())
    }

    /// Drops the body that runs, if one does.
    pub fn retire(&mut self, reason: Abort, follow: &mut Vec<Follow>) {
        follow.extend(self.engine().map(|engine| Follow::Abort { engine, reason }));
        self.life = None;
        self.retired = reason;
    }

    /// Carries out what the engine asks; `next_life` is used if it needs another life.
    pub fn engine_op(
        &mut self,
        now: Time,
        (op, life): (&Op, u64),
        settings: &WorkflowConfig,
        next_life: &mut u64,
        follow: &mut Vec<Follow>,
    ) -> Result<Reply, Error> {
        if self.life != Some(life) {
            return Err(Error::Aborted(self.retired));
        }
        let ends = matches!(op, Op::FinishStep { .. } | Op::Finish { .. } | Op::Evict { .. });
        if !ends && self.pause_if_idle(now, follow) {
            return Err(Error::Aborted(Abort::Pause));
        }
        match op {
            Op::Begin { engine } => return Ok(self.begin(engine, settings.options)),
            Op::Finish { result, .. } => return Ok(self.finish(now, result, settings.options)),
            Op::Evict { .. } => return Ok(self.evict(now, next_life, follow)),
            _ => {}
        }
        let progress = self.step_op(now, (op, life), settings);
        if ends && self.pause_if_idle(now, follow) {
            return Err(Error::Aborted(Abort::Pause));
        }
        if let Progress::Until(at) = progress {
            follow.extend(self.engine().map(|engine| Follow::WakeAt { engine, at }));
        }
        Ok(Reply::Step(progress))
    }

    fn step_op(
        &mut self,
        now: Time,
        (op, life): (&Op, u64),
        settings: &WorkflowConfig,
    ) -> Progress {
        let (journal, options) = (&mut self.journal, settings.options);
        match op {
            Op::BeginStep { step, config, .. } => {
                journal.begin_step(now, life, (step, *config), settings)
            }
            Op::FinishStep { step, attempt, result, .. } => {
                journal.finish_step(now, life, (step, *attempt, result), options)
            }
            Op::Sleep { step, duration, .. } => journal.sleep(now, life, step, *duration),
            Op::SleepUntil { step, until, .. } => {
                journal.sleep_until(now, life, (step, *until), options)
            }
            Op::WaitForEvent { step, event_type, timeout, .. } => {
                let take = || self.events.take(event_type);
                journal.wait_for_event(now, life, (step, event_type, *timeout), take)
            }
            _ => unreachable!("{op} is not about a step"),
        }
    }

    fn begin(&mut self, engine: &Engine, options: Options) -> Reply {
        // Asked twice, or by a new life: neither may undo a pause that is due.
        if self.status == Status::Queued {
            self.status = Status::Running;
        }
        if self.begun != Some(engine.generation) {
            self.begun = Some(engine.generation);
            if options.miniflare_events_come_again {
                self.events.read_back();
            }
        }
        Reply::Begun(WorkflowEvent {
            payload: self.params.clone(),
            timestamp: self.created,
            instance_id: Arc::clone(&self.id),
            workflow_name: Arc::clone(&engine.workflow),
        })
    }

    fn finish(&mut self, now: Time, result: &Result<Body, StepError>, options: Options) -> Reply {
        self.status = if result.is_ok() { Status::Complete } else { Status::Errored };
        self.result = Some(result.clone().map_err(|error| error.as_status(options)));
        self.ended = now;
        // No engine is told to abort: a closure that was not awaited runs on, and its result is ignored.
        self.life = None;
        self.retired = Abort::Finished;
        Reply::Done
    }

    fn evict(&mut self, now: Time, next_life: &mut u64, follow: &mut Vec<Follow>) -> Reply {
        self.life = None;
        self.retired = Abort::Superseded;
        if self.status == Status::WaitingForPause {
            self.status = Status::Paused;
            self.paused = now;
        } else {
            *next_life += 1;
            self.start(*next_life, follow);
        }
        Reply::Done
    }

    /// Pauses an instance that was asked to pause and has no step in progress.
    fn pause_if_idle(&mut self, now: Time, follow: &mut Vec<Follow>) -> bool {
        if self.status != Status::WaitingForPause
            || self.life.is_some_and(|life| self.journal.is_running(life))
        {
            return false;
        }
        self.status = Status::Paused;
        self.paused = now;
        self.retire(Abort::Pause, follow);
        true
    }

    pub fn engine(&self) -> Option<Engine> {
        let (workflow, id) = (Arc::clone(&self.workflow), Arc::clone(&self.id));
        self.life.map(|generation| Engine { workflow, id, generation })
    }
}
