//! Crashes and restarts of hosts.

use std::time::Duration;

use crate::engine::agenda::Scheduled;
use crate::engine::host::Host;
use crate::engine::ids::{CallId, HostId};
use crate::engine::objects::Outgoing;
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::trace::EventKind;

impl State {
    /// Crashes a host: its futures are dropped, what the platform stores stays, and the calls it was
    /// handling fail. Requests it had sent are still on their way.
    pub fn crash(&mut self, host: HostId, fault: Fault, call: Option<CallId>) {
        self.crash_for(host, fault, call, None);
    }

    /// Crashes a host; `down` overrides the drawn downtime.
    pub fn crash_for(
        &mut self,
        host: HostId,
        fault: Fault,
        call: Option<CallId>,
        down: Option<Duration>,
    ) {
        if !self.host(host).up {
            return;
        }
        self.record(host, EventKind::Crash { fault, call: call.map(|call| call.0) });
        self.crashes += 1;
        self.hosts[host].up = false;
        let orphaned = self.kill_tasks(host);
        if let Some(object) = &self.host(host).object {
            // The turn is lost before anybody asks what the object has stored.
            object.storage.reset();
        }
        for call in orphaned {
            self.handler_died(call);
        }
        if self.host(host).object.is_some() {
            // An object needs no restart: the next call, alarm or message wakes it.
            return self.stop_object(host);
        }
        self.drop_ends(host);
        if self.host(host).workflow_engine.is_some() {
            return self.workflow_engine_crashed(host);
        }
        let key = self.key(host);
        let down = down.unwrap_or_else(|| self.storm.downtime(&mut self.choices, key));
        self.schedule(down, Scheduled::Restart { host });
    }

    /// Every host that can crash and has something to lose crashes.
    pub fn blackout(&mut self, call: CallId) {
        let has_memory = |host: &&Host| match &host.object {
            Some(object) => object.instance.is_some(),
            // An instance of a workflow that has ended is no task any more.
            None => !self.hosts.is_workflow_instance(&host.name) || self.is_busy(host.id()),
        };
        let up = self.hosts.iter().filter(|host| host.can_crash && host.up).filter(has_memory);
        for host in up.map(Host::id).collect::<Vec<HostId>>() {
            self.crash(host, Fault::Blackout, Some(call));
        }
    }

    /// The application panicked on a host that has to go on: the host crashes, and what it was about to send is lost.
    pub fn panicked(&mut self, host: HostId) {
        self.objects.aborted = None;
        self.pending_crash = None;
        let unsent = std::mem::take(&mut self.objects.outbox);
        self.crash(host, Fault::Crash, None);
        for outgoing in unsent {
            match outgoing {
                Outgoing::Call(call) => self.over(call),
                Outgoing::Answer { call, .. } => self.handler_died(call),
            }
        }
    }

    /// Ends every task of a host. Returns the calls they were handling.
    pub fn kill_tasks(&mut self, host: HostId) -> Vec<CallId> {
        self.tasks.kill(host, &mut self.deferred_drops.futures)
    }

    /// Restarts a crashed host with an empty memory. Returns whether it was down.
    pub fn restart(&mut self, host: HostId) -> bool {
        let slot = &mut self.hosts[host];
        if slot.up {
            return false;
        }
        slot.up = true;
        slot.life += 1;
        let life = slot.life;
        self.record(host, EventKind::Boot { life });
        self.schedule_pumps();
        true
    }

    /// Crashes the host that a call has condemned.
    pub fn settle_pending_crash(&mut self) {
        let Some(pending) = self.pending_crash.take() else { return };
        self.crash(pending.host, pending.fault, Some(pending.call));
        // A handler that had just finished is no longer a task that the crash would find.
        if self.calls[pending.call].callee == Some(pending.host) {
            self.handler_died(pending.call);
        }
    }

    /// Moves everything of the application's to the deferred drops, at the end of a run. Returns whether
    /// there is anything to drop.
    pub fn collect_drops(&mut self) -> bool {
        let drops = &mut self.deferred_drops;
        self.tasks.take_all(&mut drops.futures, &mut drops.wakers);
        let objects = self.hosts.iter_mut().filter_map(|host| host.object.as_mut());
        drops.objects.extend(objects.filter_map(|object| object.instance.take()));
        drops.background.extend(self.invocations.take_all());
        // A handler may hold an environment, which holds this world: they would keep each other alive.
        drops.handlers.extend(self.hosts.iter_mut().filter_map(Host::take_handlers));
        !drops.is_empty()
    }
}
