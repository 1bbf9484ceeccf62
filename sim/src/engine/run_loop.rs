//! The run loop: polls every ready task, then lets the next event happen, until nothing is left to do.

use std::cell::RefMut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::choices::Odds;
use crate::engine::agenda::Scheduled;
use crate::engine::connections::Connections;
use crate::engine::env::Env;
use crate::engine::host::Host;
use crate::engine::ids::{CallId, HostId};
use crate::engine::run::{End, Run};
use crate::engine::services::Service;
use crate::engine::task::{Task, Waits};
use crate::engine::world::{State, World};
use crate::protocol::fault::Fault;
use crate::protocol::trace::EventKind;
use crate::scenario::{Timing, limits};
use crate::values::time::Time;

/// How far apart in time two deliveries may be and still swap places.
const ORDER_WINDOW: Duration = Duration::from_secs(1);
/// Among how many pending events an order is chosen.
const ORDER_MOST: usize = 8;
/// How many times what destructors leave behind is dropped. Some destructors always leave more.
const DROP_ROUNDS: u32 = 8;

impl World {
    pub(crate) fn play(self: &Rc<World>) -> End {
        loop {
            if let Some(end) = self.drain() {
                return end;
            }
            let mut state = self.state();
            let next = state.next_event().filter(|(at, _)| *at <= limits::LAST_MOMENT);
            let Some((at, event)) = next else { return state.quiet() };
            let State { repeats, agenda, .. } = &mut *state;
            if repeats.are_all(&event, agenda) {
                return state.quiet();
            }
            state.now = state.now.max(at);
            if state.step() {
                return state.livelock();
            }
            self.happen(state, event);
        }
    }

    /// Polls until no task is ready.
    #[inline(always)]
    fn drain(&self) -> Option<End> {
        let mut woken = Vec::new();
        let mut state = self.state();
        loop {
            if self.woken.any() {
                self.woken.drain(&mut woken);
                woken.drain(..).for_each(|task| state.wake(task));
            }
            if !state.deferred_drops.is_empty() {
                let drops = std::mem::take(&mut state.deferred_drops);
                drop(state);
                drop(drops);
                state = self.state();
                continue;
            }
            let Some(task) = state.next_ready() else {
                if state.wake_leaving() {
                    continue;
                }
                return None;
            };
            if state.step() {
                return Some(state.livelock());
            }
            let Some((mut future, waker)) = state.begin_poll(task) else { continue };
            drop(state);
            let mut context = Context::from_waker(waker.waker());
            // A panic is a bug of the application: it is reported with its trace and does not end the search.
            let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
            state = self.state();
            match polled {
                Ok(Poll::Pending) => state.suspend(task, future, waker),
                Ok(Poll::Ready(())) => {
                    state.finish_task(task, waker);
                    // The destructor of the future is application code, which may borrow the state.
                    drop(state);
                    drop(future);
                    state = self.state();
                }
                Err(panic) => {
                    state.tasks.current = None;
                    drop(state);
                    drop(future);
                    state = self.state();
                    let host = state.tasks[task].host;
                    state.record(host, EventKind::Panic { message: panic_message(&*panic) });
                    if !self.is_live {
                        return Some(End::Panic);
                    }
                    state.panicked(host);
                }
            }
        }
    }

    /// Lets everything happen that is due at `now`, but at most `most` events. Returns when the next one is due.
    pub(crate) fn advance(self: &Rc<World>, now: Time, most: usize) -> Option<Time> {
        let mut state = self.state();
        state.now = state.now.max(now);
        drop(state);
        for _ in 0..most {
            let end = self.drain();
            assert!(end.is_none(), "a live world does not end");
            let mut state = self.state();
            let now = state.now;
            match state.agenda.peek() {
                Some((at, _)) if at <= now => {}
                later => return later.map(|(at, _)| at),
            }
            let (_, event) = state.agenda.pop().expect("it was just looked at");
            self.happen(state, event);
        }
        Some(now)
    }

    #[inline(always)]
    fn happen(self: &Rc<World>, mut state: RefMut<'_, State>, event: Scheduled) {
        match event {
            Scheduled::Arrive { call, copy } => self.arrive(state, call, copy),
            Scheduled::Request { index } => self.send_request(state, index),
            Scheduled::StartWorkflow { engine } => {
                drop(state);
                self.start_workflow_engine(*engine);
            }
            Scheduled::Restart { host } => {
                if state.restart(host) {
                    drop(state);
                    self.boot(host);
                }
            }
            other => state.happen(other),
        }
    }

    /// Sends a request of the scenario from its client, with as many retries as it says.
    fn send_request(self: &Rc<World>, state: RefMut<'_, State>, index: usize) {
        let sent = state.scenario.requests[index].clone();
        let to = state.hosts.worker_for(&sent).expect("checked before the run began");
        let host = state.hosts.named(&sent.from).expect("added before the run began");
        drop(state);
        let env = Env::new(self.clone(), host);
        self.spawn(host, None, Box::pin(env.send_as_client(to, sent)));
    }

    /// Runs the boot handler of a host, if it has one.
    pub(crate) fn boot(self: &Rc<World>, host: HostId) {
        let Some(boot) = self.state().host(host).boot.clone() else { return };
        let work = boot(Env::new(self.clone(), host));
        self.spawn(host, None, work);
    }

    /// Takes the run apart. Futures and objects hold the world and the world holds them, so they are dropped
    /// first; otherwise nothing of the run would ever be freed.
    pub(crate) fn into_run(self: Rc<World>, end: End) -> Run {
        let mut state = self.state();
        state.agenda.clear();
        let run = Run {
            end,
            trace: std::mem::take(&mut state.trace),
            draws: state.choices.take_draws(),
            steps: state.steps,
            crashes: state.crashes,
            model: state.services.ai.name().cloned(),
        };
        drop(state);
        self.take_apart();
        run
    }

    /// Drops everything of the application's. Destructors may use the world, and may leave more to drop.
    pub(crate) fn take_apart(&self) {
        // Nobody is left to hear of an end.
        self.state().connections = Connections::default();
        for _ in 0..DROP_ROUNDS {
            let mut state = self.state();
            if !state.collect_drops() {
                break;
            }
            let drops = std::mem::take(&mut state.deferred_drops);
            drop(state);
            drop(drops);
        }
    }
}

impl State {
    /// The next event: the earliest one, or one that overtakes it on the way to the same target.
    fn next_event(&mut self) -> Option<(Time, Scheduled)> {
        if self.scenario.timing == Timing::Latency || !self.storm.reorders() {
            return self.agenda.pop();
        }
        let (at, head) = self.agenda.peek()?;
        let Some((target, _)) = self.calls.target(head) else { return self.agenda.pop() };
        let latest = at + ORDER_WINDOW;
        let State { agenda, choices, calls, hosts, .. } = self;
        let odds = Odds::Rare(choices.swarm().rate(Fault::Reorder));
        let like = |event: &Scheduled, at: Time| {
            at <= latest
                && calls.target(event).is_some_and(|(to, _)| to == target)
                && calls.in_order(event)
        };
        let key = hosts[target].key;
        agenda.pop_among(ORDER_MOST, like, |events| {
            let flows: Vec<u32> = events
                .iter()
                .map(|event| calls.target(event).map_or(0, |(_, flow)| flow))
                .collect();
            choices.order(key, &flows, odds) as usize
        })
    }

    #[inline(always)]
    fn happen(&mut self, event: Scheduled) {
        match event {
            Scheduled::Wake { task } => self.wake(task),
            Scheduled::Reply { call } => self.reply(call),
            Scheduled::GiveUp { call } => self.give_up(call),
            Scheduled::Finish { call, result } => self.finish_delivery(call, &result),
            Scheduled::Alarm { host, at } => self.alarm_due(host, at),
            Scheduled::Pump { queue } => self.pump(queue),
            Scheduled::Unclaimed { end } => self.unclaimed(end),
            Scheduled::Expire => {
                self.expire();
                self.schedule_pumps();
                self.schedule_expiry();
            }
            Scheduled::Kill { index } => {
                let kill = self.scenario.kills[index].clone();
                // An object or a workflow instance that does not exist yet has nothing to lose, nor has
                // an instance that has ended.
                if let Some(host) = self.hosts.named(&kill.host)
                    && (!self.hosts.is_workflow_instance(&kill.host) || self.is_busy(host))
                {
                    self.crash_for(host, Fault::Crash, None, kill.down);
                }
            }
            Scheduled::Calm => {
                self.storm.end();
                self.record(Service::Cloud.host(), EventKind::Calm);
                // Hosts that are down restart now, not at the end of the downtime that the storm drew.
                let down = self.hosts.iter().filter(|host| !host.up).map(Host::id);
                for host in down.collect::<Vec<HostId>>() {
                    self.agenda.schedule(self.now, Scheduled::Restart { host });
                }
            }
            Scheduled::Arrive { .. }
            | Scheduled::Request { .. }
            | Scheduled::StartWorkflow { .. }
            | Scheduled::Restart { .. } => {
                unreachable!("`World::happen` handles these, because they run application code")
            }
        }
    }

    pub(crate) fn reorder_odds(&self) -> Odds<'static> {
        Odds::Rare(self.choices.swarm().rate(Fault::Reorder))
    }

    /// Counts a step. Returns whether there have been too many of them, too many hosts or too large a history.
    #[inline(always)]
    fn step(&mut self) -> bool {
        self.steps = self.steps.wrapping_add(1);
        // A server goes on for ever.
        self.live.is_none() && (self.steps > self.scenario.max_steps || self.exceeded().is_some())
    }

    /// What there is too much of in this run.
    fn exceeded(&self) -> Option<String> {
        if !limits::HOSTS.allows(self.hosts.len()) {
            return Some(format!("a run has at most {} hosts", limits::HOSTS.most));
        }
        let words = || format!("a run changes at most {} bytes of rows", limits::ROWS.most);
        (!limits::ROWS.allows(self.row_bytes)).then(words)
    }

    /// Ends a run that does not come to rest; the host that made most calls is named.
    fn livelock(&mut self) -> End {
        if let Some(text) = self.exceeded() {
            self.record(Service::Cloud.host(), EventKind::Log { text: text.into() });
        }
        let mut calls = vec![0u32; self.hosts.len()];
        self.calls.iter().for_each(|flight| calls[flight.caller.index()] += 1);
        let busiest = (0..calls.len()).max_by_key(|&host| calls[host]).unwrap_or(0);
        let steps = self.steps.min(self.scenario.max_steps);
        self.record(HostId::at(busiest), EventKind::Livelock { steps });
        End::Livelock
    }

    /// Ends a run in which nothing is left to happen. Tasks that still wait will wait for ever.
    fn quiet(&mut self) -> End {
        let waiting = self.tasks.alive().filter(|(_, task)| !task.listens);
        let stuck: Vec<(HostId, EventKind)> =
            waiting.map(|(_, task)| (task.host, self.stuck(task))).collect();
        let end = if stuck.is_empty() { End::Quiet } else { End::Deadlock };
        stuck.into_iter().for_each(|(host, what)| self.record(host, what));
        end
    }

    fn stuck(&self, task: &Task) -> EventKind {
        let named = |call: CallId| format!("#{} {}", call.0, self.trace.op(call.0));
        let doing = match task.serves {
            Some(call) => format!("handling {}", named(call)),
            None => "in a task of its own".into(),
        };
        let waits = match task.waits {
            Waits::Call(call) => format!("the reply to {}", named(call)),
            Waits::Until(time) => format!("{time}"),
            Waits::Nothing | Waits::Elsewhere => {
                "another task, a channel or a lock that nobody will wake".into()
            }
        };
        EventKind::Stuck { doing: doing.into(), waits: waits.into() }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> Arc<str> {
    if let Some(text) = panic.downcast_ref::<&str>() {
        Arc::from(*text)
    } else if let Some(text) = panic.downcast_ref::<String>() {
        Arc::from(text.as_str())
    } else {
        Arc::from("a panic without a message")
    }
}
