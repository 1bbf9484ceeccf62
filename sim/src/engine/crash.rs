//! Death and return of hosts.

use std::time::Duration;

use crate::engine::agenda::Scheduled;
use crate::engine::host::Work;
use crate::engine::task::Task;
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::trace::EventKind;

impl State {
    /// A host dies: its futures are dropped, what the platform stores stays, and the calls it was
    /// handling fail. Requests it had sent are still on their way.
    pub fn crash(&mut self, host: u16, fault: Fault, call: Option<u32>) {
        self.crash_for(host, fault, call, None);
    }

    /// The same, with how long the host stays down when a script says so.
    pub fn crash_for(
        &mut self,
        host: u16,
        fault: Fault,
        call: Option<u32>,
        down: Option<Duration>,
    ) {
        if !self.host(host).up {
            return;
        }
        self.record(host, EventKind::Crash { fault, call });
        self.crashes += 1;
        self.hosts[usize::from(host)].up = false;
        for call in self.kill_tasks(host) {
            self.handler_died(call);
        }
        if self.is_engine(host) {
            return self.engine_died(host);
        }
        if self.host(host).object.is_some() {
            // An object needs no restart: the next call, alarm or message wakes it.
            return self.stop_object(host);
        }
        let down = down.unwrap_or_else(|| {
            self.storm.downtime(&mut self.choices, self.hosts[usize::from(host)].key)
        });
        self.schedule(down, Scheduled::Restart { host });
    }

    /// Drops every task of a host; the calls they were handling.
    pub fn kill_tasks(&mut self, host: u16) -> Vec<u32> {
        let mut orphaned = Vec::new();
        let theirs =
            |(_, task): &(&mut Option<Work<()>>, &mut Task)| task.host == host && task.alive;
        for (future, task) in self.futures.iter_mut().zip(&mut self.tasks).filter(theirs) {
            task.alive = false;
            self.deferred_drops.futures.extend(future.take());
            orphaned.extend(task.serves);
        }
        let tasks = &self.tasks;
        self.ready.retain(|task| tasks[*task as usize].alive);
        orphaned
    }

    /// A dead host comes back with an empty memory. Returns whether it was down.
    pub fn restart(&mut self, host: u16) -> bool {
        let slot = &mut self.hosts[usize::from(host)];
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

    /// The host that a call has pending_crash dies.
    pub fn settle_pending_crash(&mut self) {
        let Some(pending) = self.pending_crash.take() else { return };
        self.crash(pending.host, pending.fault, Some(pending.call));
        // A handler that had just finished is no longer a task that the crash would find.
        if self.calls[pending.call as usize].callee == Some(pending.host) {
            self.handler_died(pending.call);
        }
    }

    /// At the end of a run: everything of the application's goes to the deferred_drops. Whether there was anything.
    pub fn collect_drops(&mut self) -> bool {
        let drops = &mut self.deferred_drops;
        drops.futures.extend(self.futures.iter_mut().filter_map(Option::take));
        let objects = self.hosts.iter_mut().filter_map(|host| host.object.as_mut());
        drops.objects.extend(objects.filter_map(|object| object.instance.take()));
        drops.background.extend(std::mem::take(&mut self.waited).into_values().flatten());
        drops.wakers.extend(std::mem::take(&mut self.parts).into_values().flatten());
        !drops.is_empty()
    }
}
