//! What an instance remembers of its steps, which is all that a replay has to go by.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::config::{
    DEFAULT_EVENT_TIMEOUT, MAX_EVENT_TYPE_LEN, MAX_STEP_NAME_LEN, MAX_WAIT, Options, WorkflowConfig,
};
use super::duration::Millis;
use super::id::{StepKey, StepKind, is_valid_name};
use super::op::{AttemptResult, RestartFrom};
use super::reply::{Progress, StepEvent};
use super::step::{Policy, StepConfig};
use super::step_error::StepError;
use crate::values::body::Body;
use crate::values::pairs;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

/// A sleep is also known by its duration: a changed one is another sleep.
type Key = (StepKind, StepKey, Option<Millis>);

/// The steps of one instance.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    #[serde(with = "pairs")]
    entries: SortedMap<Key, Entry>,
    begun: u64,
    /// The results in the order of their success.
    outputs: Vec<StepKey>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// The order in which the steps began.
    order: u64,
    /// The life that asked last.
    asked_by: u64,
    state: State,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum State {
    Do(Attempts),
    Sleep { until: Time, absolute: bool, done: bool },
    Wait { event_type: Arc<str>, until: Time, outcome: Option<Result<StepEvent, StepError>> },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Attempts {
    policy: Policy,
    begun: u32,
    /// The life that runs the latest attempt, if that has not ended.
    running: Option<u64>,
    retry_at: Option<Time>,
    outcome: Option<Result<Body, StepError>>,
}

impl Journal {
    /// `step.do` asks what to do.
    pub fn begin_step(
        &mut self,
        now: Time,
        life: u64,
        (step, config): (&StepKey, StepConfig),
        settings: &WorkflowConfig,
    ) -> Progress {
        let key = (StepKind::Do, step.clone(), None);
        if !self.entries.contains_key(&key) {
            if self.steps() >= u64::from(settings.step_limit) {
                return Progress::Thrown(StepError::step_limit(settings.step_limit));
            }
            if let Err(error) = check(step, config) {
                return Progress::Thrown(error);
            }
        }
        let policy = config.resolve(settings.options.default_delay());
        let (running, retry_at, outcome) = (None, None, None);
        let attempts = Attempts { policy, begun: 0, running, retry_at, outcome };
        let State::Do(attempts) = self.entry(key, life, State::Do(attempts)) else {
            unreachable!("the key says which kind of step it is");
        };
        attempts.begin(now, life)
    }

    /// An attempt of `step.do` has ended.
    pub fn finish_step(
        &mut self,
        now: Time,
        life: u64,
        (step, attempt, result): (&StepKey, u32, &AttemptResult),
        options: Options,
    ) -> Progress {
        let key = (StepKind::Do, step.clone(), None);
        let Some(Entry { state: State::Do(attempts), .. }) = self.entries.get_mut(&key) else {
            return Progress::Ignored;
        };
        if attempts.running != Some(life) || attempts.begun != attempt {
            return Progress::Ignored;
        }
        let result = match result {
            AttemptResult::Ok(value) if options.fits(value.len()) => Ok(value.clone()),
            AttemptResult::Ok(_) => Err(StepError::too_large(step)),
            AttemptResult::Err(error) => Err(error.clone()),
            AttemptResult::TimedOut => Err(StepError::timed_out(attempts.policy.timeout)),
        };
        let progress = attempts.finish(now, result);
        if let Progress::Value(_) = progress {
            self.outputs.push(step.clone());
        }
        progress
    }

    /// `step.sleep` begins, or asks whether it is over.
    pub fn sleep(&mut self, now: Time, life: u64, step: &StepKey, duration: Millis) -> Progress {
        if duration.0 > MAX_WAIT {
            return Progress::Thrown(StepError::wait_too_long(&step.name));
        }
        let key = (StepKind::Sleep, step.clone(), Some(duration));
        let (until, absolute, done) = (now + duration.0, false, false);
        sleep_on(now, self.entry(key, life, State::Sleep { until, absolute, done }))
    }

    /// `step.sleepUntil` begins, or asks whether it is over.
    pub fn sleep_until(
        &mut self,
        now: Time,
        life: u64,
        (step, until): (&StepKey, Time),
        options: Options,
    ) -> Progress {
        let key = (StepKind::Sleep, step.clone(), None);
        let known = self.entries.get(&key);
        let known = match options.miniflare_sleep_until_fails_on_replay {
            true => known.is_some_and(|entry| entry.asked_by == life),
            false => known.is_some(),
        };
        if !known {
            if until < now {
                return Progress::Thrown(StepError::time_traveler());
            }
            if until - now > MAX_WAIT {
                return Progress::Thrown(StepError::wait_too_long(&step.name));
            }
        }
        let (absolute, done) = (true, false);
        sleep_on(now, self.entry(key, life, State::Sleep { until, absolute, done }))
    }

    /// `step.waitForEvent` begins, or asks whether the event has come; `take` looks for one that
    /// came before.
    pub fn wait_for_event(
        &mut self,
        now: Time,
        life: u64,
        (step, event_type, timeout): (&StepKey, &Arc<str>, Option<Millis>),
        take: impl FnOnce() -> Option<StepEvent>,
    ) -> Progress {
        let timeout = timeout.unwrap_or(DEFAULT_EVENT_TIMEOUT.into());
        if !is_valid_name(event_type, MAX_EVENT_TYPE_LEN) {
            return Progress::Thrown(StepError::invalid_event_type(event_type));
        }
        if timeout.0 > MAX_WAIT {
            return Progress::Thrown(StepError::wait_too_long(&step.name));
        }
        let key = (StepKind::WaitForEvent, step.clone(), None);
        let (event_type, until) = (Arc::clone(event_type), now + timeout.0);
        let fresh = State::Wait { event_type, until, outcome: None };
        let is_new = !self.entries.contains_key(&key);
        let State::Wait { until, outcome, .. } = self.entry(key, life, fresh) else {
            unreachable!("the key says which kind of step it is");
        };
        if outcome.is_none() {
            // A wait whose time has passed gets nothing more, even if an event came meanwhile.
            *outcome = match !is_new && now >= *until {
                true => Some(Err(StepError::timed_out(timeout).over_rpc())),
                false => take().map(Ok),
            };
        }
        match outcome {
            Some(Ok(event)) => Progress::Event(event.clone()),
            Some(Err(error)) => Progress::Thrown(error.clone()),
            None => Progress::Until(*until),
        }
    }

    /// Gives an event to the first wait of its type that is parked in this life.
    pub fn deliver(&mut self, now: Time, life: u64, event: &StepEvent) -> bool {
        let parked = self.entries.values_mut().filter(|entry| entry.asked_by == life);
        let parked = parked.filter_map(|entry| match &mut entry.state {
            State::Wait { event_type, until, outcome: outcome @ None }
                if *event_type == event.event_type && now < *until =>
            {
                Some((entry.order, outcome))
            }
            _ => None,
        });
        match parked.min_by_key(|(order, _)| *order) {
            Some((_, outcome)) => {
                *outcome = Some(Ok(event.clone()));
                true
            }
            None => false,
        }
    }

    /// Whether this life has an attempt in progress.
    pub fn is_running(&self, life: u64) -> bool {
        self.entries.values().any(
            |entry| matches!(&entry.state, State::Do(attempts) if attempts.running == Some(life)),
        )
    }

    /// Whether this life waits for time or for an event, and for nothing else.
    pub fn is_parked(&self, life: u64) -> bool {
        let waits = |entry: &&Entry| match &entry.state {
            State::Do(attempts) => attempts.retry_at.is_some(),
            State::Sleep { done, .. } => !done,
            State::Wait { outcome, .. } => outcome.is_none(),
        };
        let mut mine = self.entries.values().filter(|entry| entry.asked_by == life);
        !self.is_running(life) && mine.any(|entry| waits(&entry))
    }

    /// Everything that waits for a duration waits that much longer.
    pub fn shift(&mut self, by: Duration) {
        for entry in self.entries.values_mut() {
            match &mut entry.state {
                State::Do(Attempts { retry_at: Some(at), .. })
                | State::Sleep { until: at, absolute: false, done: false }
                | State::Wait { until: at, outcome: None, .. } => *at = *at + by,
                _ => {}
            }
        }
    }

    /// Forgets the step to restart from and all that began after it; whether there is such a step.
    pub fn rewind(&mut self, from: &RestartFrom) -> bool {
        let kind = from.kind.unwrap_or(StepKind::Do);
        let named = |(key, _): &(&Key, &Entry)| key.0 == kind && key.1.name == from.name;
        let mut orders: Vec<u64> =
            self.entries.iter().filter(named).map(|(_, entry)| entry.order).collect();
        orders.sort_unstable();
        let nth = usize::try_from(from.count.unwrap_or(1)).unwrap_or(usize::MAX);
        let Some(first) = nth.checked_sub(1).and_then(|nth| orders.get(nth)).copied() else {
            return false;
        };
        self.entries.retain(|_, entry| entry.order < first);
        for entry in self.entries.values_mut() {
            // The timers of what is kept are forgotten: it goes on at once.
            match &mut entry.state {
                State::Do(attempts) => attempts.retry_at = None,
                State::Sleep { done, .. } => *done = true,
                State::Wait { .. } => {}
            }
        }
        let kept = |step: &StepKey| self.entries.contains_key(&(StepKind::Do, step.clone(), None));
        self.outputs.retain(kept);
        true
    }

    /// The results of the steps in the order of their success.
    pub fn outputs(&self) -> Vec<Body> {
        let value = |step: &StepKey| match &self.entries[&(StepKind::Do, step.clone(), None)].state
        {
            State::Do(Attempts { outcome: Some(Ok(value)), .. }) => value.clone(),
            _ => unreachable!("only results that are stored are listed"),
        };
        self.outputs.iter().map(value).collect()
    }

    fn steps(&self) -> u64 {
        self.entries.keys().filter(|(kind, ..)| *kind == StepKind::Do).count() as u64
    }

    fn entry(&mut self, key: Key, life: u64, fresh: State) -> &mut State {
        let order = self.begun;
        let entry = self.entries.entry(key).or_insert_with(|| {
            self.begun += 1;
            Entry { order, asked_by: life, state: fresh }
        });
        entry.asked_by = life;
        &mut entry.state
    }
}

impl Attempts {
    fn begin(&mut self, now: Time, life: u64) -> Progress {
        match &self.outcome {
            Some(Ok(value)) => return Progress::Value(value.clone()),
            Some(Err(error)) => return Progress::Thrown(error.over_rpc()),
            None => {}
        }
        if let Some(at) = self.retry_at.filter(|at| now < *at) {
            return Progress::Until(at);
        }
        // An attempt of an earlier life is lost and has been counted. One of this life goes on:
        // the engine only asks again because it did not hear the answer.
        if self.running != Some(life) {
            self.begun += 1;
            self.running = Some(life);
            self.retry_at = None;
        }
        Progress::Run { attempt: self.begun, policy: self.policy }
    }

    fn finish(&mut self, now: Time, result: Result<Body, StepError>) -> Progress {
        self.running = None;
        match result {
            Ok(value) => {
                self.outcome = Some(Ok(value.clone()));
                Progress::Value(value)
            }
            Err(error) if !error.is_non_retryable() && self.begun <= self.policy.retries.limit => {
                let at = now + self.policy.delay(self.begun);
                self.retry_at = Some(at);
                Progress::Until(at)
            }
            Err(error) => {
                let thrown = error.over_rpc();
                self.outcome = Some(Err(error));
                Progress::Thrown(thrown)
            }
        }
    }
}

fn sleep_on(now: Time, state: &mut State) -> Progress {
    let State::Sleep { until, done, .. } = state else {
        unreachable!("the key says which kind of step it is");
    };
    *done = *done || *until <= now;
    if *done { Progress::Slept } else { Progress::Until(*until) }
}

fn check(step: &StepKey, config: StepConfig) -> Result<(), StepError> {
    let control = |c: char| c < ' ';
    if step.name.chars().count() > MAX_STEP_NAME_LEN || step.name.contains(control) {
        return Err(StepError::invalid_name(&step.name));
    }
    if !config.is_valid() {
        return Err(StepError::invalid_config(&step.name));
    }
    Ok(())
}
