//! Alarms: each object has one, which is delivered at least once, retried with growing pauses, and dropped
//! after six retries.

use std::time::Duration;

use crate::choices::Odds;
use crate::engine::agenda::Scheduled;
use crate::engine::host::{Invocation, ObjectHost};
use crate::engine::ids::HostId;
use crate::engine::services::Service;
use crate::engine::world::{PendingCrash, State};
use crate::protocol::fault::Fault;
use crate::protocol::object::AlarmInfo;
use crate::protocol::op::Op;
use crate::protocol::outcome::Outcome;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::EventKind;
use crate::values::time::Time;

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// How often a failed alarm is tried again.
const RETRIES_MAX: u32 = 6;
/// How many lengths of a pause can be drawn; the longest is a quarter longer.
const JITTERS: u32 = 5;

impl State {
    /// Makes sure that an event is scheduled for the alarm that an object has set.
    pub fn schedule_alarm(&mut self, host: HostId) {
        self.note_alarm(host);
        let object = self.hosts.object_mut(host);
        let set = object.storage.kept_alarm();
        // An alarm that was deleted is not tried again. One that is set anew runs after the retry.
        if set.is_none() && object.alarm.retry.take().is_some() {
            object.alarm.failures = 0;
        }
        if set == object.alarm.scheduled || object.alarm.retry.is_some_and(|at| set != Some(at)) {
            return;
        }
        object.alarm.scheduled = set;
        if let Some(at) = set {
            self.agenda.schedule(at.max(self.now), Scheduled::Alarm { host, at });
        }
    }

    /// Sends an alarm to its object when its time has come.
    pub fn alarm_due(&mut self, host: HostId, at: Time) {
        self.note_alarm(host);
        let object = self.hosts.object_mut(host);
        if object.alarm.scheduled != Some(at) {
            return;
        }
        if object.alarm.running.is_some() {
            // Runs of the handler do not overlap. The one that is running takes the place of a retry; an alarm that
            // was set is scheduled again when the handler has ended.
            object.alarm.scheduled = None;
            return object.drop_retry();
        }
        if !object.gates.is_empty() {
            // An alarm that waits for a gate has not begun: it is still set.
            (object.alarm.scheduled, object.alarm.held) = (None, true);
            return;
        }
        (object.alarm.scheduled, object.alarm.retry) = (None, None);
        if object.storage.kept_alarm() == Some(at) {
            object.storage.set_kept_alarm(None);
        }
        let info = AlarmInfo { scheduled_time: at, retry_count: object.alarm.failures };
        // From here on the platform remembers the alarm, until the handler has ended.
        object.alarm.running = Some(info);
        object.storage.watch_alarm();
        let name = self.host(host).name.clone();
        self.request(Service::Cloud.host(), Some(host), None, Op::Alarm { object: name, info });
    }

    /// Sends an alarm that was due while a gate was closed.
    pub fn release_alarm(&mut self, host: HostId) {
        let alarm = &mut self.hosts.object_mut(host).alarm;
        if !std::mem::take(&mut alarm.held) {
            return;
        }
        match alarm.retry {
            None => self.schedule_alarm(host),
            Some(at) => {
                alarm.scheduled = Some(at);
                self.agenda.schedule(self.now, Scheduled::Alarm { host, at });
            }
        }
    }

    /// The handler of an alarm begins. An alarm that was sent twice begins twice.
    pub fn alarm_began(&mut self, host: HostId, info: AlarmInfo) {
        self.note_alarm(host);
        let object = self.hosts.object_mut(host);
        object.alarm.running = Some(info);
        object.storage.watch_alarm();
    }

    /// The handler of an alarm has returned.
    pub fn alarm_ended(&mut self, invocation: Invocation, outcome: Outcome) {
        let Invocation { call, copy } = invocation;
        let host = self.calls[call].callee.expect("an alarm has an object");
        let failed = outcome.is_err();
        let outcome = self.trace.keep(outcome);
        self.record(host, EventKind::End { call: call.0, outcome });
        self.over(call);
        match self.calls[call].fault {
            Some(Fault::CrashAfter) => {
                return self.pending_crash =
                    Some(PendingCrash { host, fault: Fault::CrashAfter, call });
            }
            // The platform did not hear that it went well.
            Some(Fault::LoseReply) if !copy => return self.alarm_failed(host),
            _ => {}
        }
        if failed {
            return self.alarm_failed(host);
        }
        let object = self.hosts.object_mut(host);
        (object.alarm.running, object.alarm.failures) = (None, 0);
        // The other copy of this delivery may have failed before. The alarm has run, so it is not tried again.
        object.drop_retry();
        self.schedule_alarm(host);
    }

    /// The handler threw or its host crashed: the alarm is retried later, unless the handler has set or
    /// deleted it.
    pub fn alarm_failed(&mut self, host: HostId) {
        self.note_alarm(host);
        let object = self.hosts.object_mut(host);
        if object.alarm.running.take().is_none() {
            return;
        }
        // An alarm that was set while the retry was waited for takes the place of another retry.
        if object.storage.alarm_touched() || object.storage.kept_alarm().is_some() {
            object.alarm.failures = 0;
            return self.schedule_alarm(host);
        }
        let failures = object.alarm.failures;
        if failures == RETRIES_MAX {
            object.alarm.failures = 0;
            return self.record(host, EventKind::AlarmDropped);
        }
        object.alarm.failures += 1;
        let pause = FIRST_PAUSE * (1 << failures);
        let (key, of) = (self.key(host), if self.storm.active() { JITTERS } else { 1 });
        let drawn = self.choices.choose(ChoiceKind::Jitter, key, OpCode::NONE, of, Odds::Even);
        let at = self.now + pause + pause / 4 / (JITTERS - 1) * drawn;
        let object = self.hosts.object_mut(host);
        object.storage.set_kept_alarm(Some(at));
        object.alarm.retry = Some(at);
        self.schedule_alarm(host);
    }
}

impl ObjectHost {
    /// The alarm is not tried again. One that the running handler has set stays, even if it is for the same time.
    fn drop_retry(&mut self) {
        let retry = self.alarm.retry.take();
        if retry.is_some() && self.storage.kept_alarm() == retry && !self.storage.alarm_touched() {
            self.storage.set_kept_alarm(None);
        }
    }
}
