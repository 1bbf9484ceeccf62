//! The run loop: poll what is ready, then let the next thing happen, until nothing is left to do.

use std::cell::RefMut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::choices::Odds;
use crate::engine::agenda::Scheduled;
use crate::engine::env::Env;
use crate::engine::run::{End, Run};
use crate::engine::task::{Task, Waits};
use crate::engine::world::{CLOUD, InFlight, Line, State, World};
use crate::protocol::fault::Fault;
use crate::protocol::trace::EventKind;
use crate::scenario::{ClientRequest, Timing};
use crate::values::time::Time;

/// How far apart in time two deliveries may be and still swap places.
const ORDER_WINDOW: Duration = Duration::from_secs(1);
/// Among how many pending events an order is chosen.
const ORDER_MOST: usize = 8;
/// How often what destructors leave behind is dropped too. Some always leave more.
const DROP_ROUNDS: u32 = 8;
/// How long a client waits before it tries again.
const CLIENT_BACKOFF: Duration = Duration::from_secs(1);

impl World {
    pub(crate) fn play(self: &Rc<World>) -> End {
        loop {
            if let Some(end) = self.drain() {
                return end;
            }
            let mut state = self.state();
            let Some((at, event)) = state.next_event() else { return state.quiet() };
            state.now = state.now.max(at);
            if state.step() {
                return state.livelock();
            }
            self.happen(state, event);
        }
    }

    /// Polls until no task is ready.
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
            let task = state.next_ready()?;
            if state.step() {
                return Some(state.livelock());
            }
            let Some((mut future, waker)) = state.take_up(task) else { continue };
            drop(state);
            let mut context = Context::from_waker(waker.waker());
            // A panic is the application's bug to report with its history, not the end of the search.
            let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
            state = self.state();
            match polled {
                Ok(Poll::Pending) => state.put_down(task, future, waker),
                Ok(Poll::Ready(())) => {
                    state.retire(task, waker);
                    // The destructor of the future is the application's own code.
                    drop(state);
                    drop(future);
                    state = self.state();
                }
                Err(panic) => {
                    state.current = None;
                    drop(state);
                    drop(future);
                    state = self.state();
                    let host = state.tasks[task as usize].host;
                    state.record(host, EventKind::Panic { message: panic_message(&*panic) });
                    return Some(End::Panic);
                }
            }
        }
    }

    #[inline(always)]
    fn happen(self: &Rc<World>, mut state: RefMut<'_, State>, event: Scheduled) {
        match event {
            Scheduled::Arrive { call, copy } => self.arrive(state, call, copy),
            Scheduled::Request { index } => self.send(state, index),
            Scheduled::Start { engine } => {
                drop(state);
                self.start_engine(*engine);
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

    /// A request from outside, tried again as often as its sender cares to.
    fn send(self: &Rc<World>, state: RefMut<'_, State>, index: usize) {
        let send = state.scenario.requests[index].clone();
        let to = state.worker_for(&send).expect("checked before the run began");
        let host = state.host_named(&send.from).expect("added before the run began");
        drop(state);
        let env = Env::new(self.clone(), host);
        let work = async move {
            for left in (0..=send.retries).rev() {
                match env.fetch(&to, send.request.clone()).await {
                    Ok(response) if response.status < 500 => return,
                    _ if left > 0 => env.sleep(CLIENT_BACKOFF).await,
                    _ => {}
                }
            }
        };
        self.spawn(host, None, Box::pin(work));
    }

    pub(crate) fn boot(self: &Rc<World>, host: u16) {
        let Some(boot) = self.state().host(host).boot.clone() else { return };
        let work = boot(Env::new(self.clone(), host));
        self.spawn(host, None, work);
    }

    /// Takes the run apart. Futures and objects hold the world and the world holds them; they go
    /// first, or nothing of the run would ever be freed.
    pub(crate) fn into_run(self: Rc<World>, end: End) -> Run {
        let mut state = self.state();
        state.agenda.clear();
        let run = Run {
            end,
            trace: std::mem::take(&mut state.trace),
            draws: state.choices.take_draws(),
            steps: state.steps,
            crashes: state.crashes,
        };
        // Their destructors may ask the world for something, or leave it something more to drop.
        for _ in 0..DROP_ROUNDS {
            if !state.collect_drops() {
                break;
            }
            let drops = std::mem::take(&mut state.deferred_drops);
            drop(state);
            drop(drops);
            state = self.state();
        }
        drop(state);
        run
    }
}

impl State {
    /// What happens next: the earliest event, or one that overtakes it on the way to one target.
    fn next_event(&mut self) -> Option<(Time, Scheduled)> {
        if self.scenario.timing == Timing::Latency || !self.storm.reorders() {
            return self.agenda.pop();
        }
        let (at, head) = self.agenda.peek()?;
        let Some((target, _)) = target_of(&self.calls, head) else { return self.agenda.pop() };
        let latest = at + ORDER_WINDOW;
        let State { agenda, choices, calls, hosts, lines, .. } = self;
        let odds = Odds::Rare(choices.swarm().rate(Fault::Reorder));
        let like = |event: &Scheduled, at: Time| {
            at <= latest
                && target_of(calls, event).is_some_and(|(to, _)| to == target)
                && in_turn(calls, lines, event)
        };
        let key = hosts[usize::from(target)].key;
        agenda.pop_among(ORDER_MOST, like, |events| {
            let flows: Vec<u32> = events
                .iter()
                .map(|event| target_of(calls, event).map_or(0, |(_, flow)| flow))
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
            Scheduled::Finish { call, result } => self.finish(call, &result),
            Scheduled::Alarm { host, at } => self.alarm_due(host, at),
            Scheduled::Pump { queue } => self.pump(queue),
            Scheduled::Expire => {
                self.expire();
                self.schedule_pumps();
                self.schedule_expiry();
            }
            Scheduled::Kill { index } => {
                let kill = self.scenario.kills[index].clone();
                // An object or an instance that is not there yet has nothing to lose, nor has an
                // instance that has ended.
                if let Some(host) = self.host_named(&kill.host)
                    && (!self.is_instance(&kill.host) || self.is_busy(host))
                {
                    self.crash_for(host, Fault::Crash, None, kill.down);
                }
            }
            Scheduled::Calm => {
                self.storm.end();
                self.record(CLOUD, EventKind::Calm);
                // Everything is healed: who is down comes back now, not when the storm had meant.
                let down = self.hosts.iter().filter(|host| !host.up).map(|host| host.key.index);
                for host in down.collect::<Vec<u16>>() {
                    self.agenda.schedule(self.now, Scheduled::Restart { host });
                }
            }
            Scheduled::Arrive { .. }
            | Scheduled::Request { .. }
            | Scheduled::Start { .. }
            | Scheduled::Restart { .. } => {
                unreachable!("these run application code and are the world's")
            }
        }
    }

    /// The name of the worker that a request from outside goes to: the one it names, or the first that
    /// serves requests.
    pub(crate) fn worker_for(&self, send: &ClientRequest) -> Option<Arc<str>> {
        let mut serving = self.hosts.iter().filter(|host| host.fetch.is_some());
        let worker = match &send.to {
            None => serving.next(),
            Some(to) => serving.find(|host| host.name == *to),
        };
        worker.map(|host| host.name.clone())
    }

    pub(crate) fn reorder_odds(&self) -> Odds<'static> {
        Odds::Rare(self.choices.swarm().rate(Fault::Reorder))
    }

    /// Whether there is such a host that can die, or can come to be: `ROOM:all` of a class of objects,
    /// `classify/42` of a workflow.
    pub(crate) fn may_crash(&self, name: &str) -> bool {
        if let Some(host) = self.host_named(name) {
            return self.host(host).can_crash;
        }
        let object =
            name.split_once(':').is_some_and(|(class, _)| self.classes.contains_key(class));
        object || self.is_instance(name)
    }

    fn is_instance(&self, name: &str) -> bool {
        name.split_once('/').is_some_and(|(body, _)| self.bodies.contains_key(body))
    }

    /// Counts a step; true when there have been too many.
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps > self.scenario.max_steps
    }

    fn livelock(&mut self) -> End {
        let mut calls = vec![0u32; self.hosts.len()];
        self.calls.iter().for_each(|flight| calls[usize::from(flight.caller)] += 1);
        let busiest = (0..calls.len()).max_by_key(|&host| calls[host]).unwrap_or(0);
        let steps = self.scenario.max_steps;
        self.record(busiest as u16, EventKind::Livelock { steps });
        End::Livelock
    }

    /// Nothing is left to happen: all is done, or those who wait will wait for ever.
    fn quiet(&mut self) -> End {
        let stuck: Vec<(u16, EventKind)> =
            (self.tasks.iter().filter(|task| task.alive && !task.listens))
                .map(|task| (task.host, self.stuck(task)))
                .collect();
        let end = if stuck.is_empty() { End::Quiet } else { End::Deadlock };
        stuck.into_iter().for_each(|(host, what)| self.record(host, what));
        end
    }

    fn stuck(&self, task: &Task) -> EventKind {
        let named = |call: u32| format!("#{call} {}", self.trace.op(call));
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

/// Whether no earlier call through the same stub is still on its way.
fn in_turn(calls: &[InFlight], lines: &[Line], event: &Scheduled) -> bool {
    let Scheduled::Arrive { call, .. } = event else { return true };
    let line = calls[*call as usize].line;
    line.is_none_or(|line| lines[line as usize].pending.front() == Some(call))
}

/// Where a message is going, and which flow of work it belongs to.
fn target_of(calls: &[InFlight], event: &Scheduled) -> Option<(u16, u32)> {
    let (call, replying) = match event {
        Scheduled::Arrive { call, .. } => (*call, false),
        Scheduled::Reply { call } => (*call, true),
        _ => return None,
    };
    let flight = &calls[call as usize];
    let target = if replying { flight.caller } else { flight.target };
    Some((target, flight.task.map_or(0, |task| task + 1)))
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
