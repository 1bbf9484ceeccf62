//! Workflow instances on their hosts: starting, crashing, replaying. The bookkeeping is the service's
//! (`workflow.rs`); here its wishes are carried out.

use std::rc::Rc;

use crate::engine::agenda::Scheduled;
use crate::engine::env::Env;
use crate::engine::world::{State, WORKFLOWS_ACTOR, World};
use crate::protocol::fault::Fault;
use crate::protocol::trace::EventKind;
use crate::services::workflow::{self, Engine, Follow};

impl State {
    /// Does what the service wants done besides answering.
    pub fn follow(&mut self, follow: Vec<Follow>) {
        for wish in follow {
            match wish {
                Follow::Start { engine } => {
                    let code = crate::protocol::site::OpCode::NONE;
                    let latency = self.latency(WORKFLOWS_ACTOR, code);
                    self.schedule(latency, Scheduled::Start { engine: Box::new(engine) });
                }
                Follow::Abort { engine, reason } => self.abort_engine(&engine, &reason.to_string()),
                // A running body waits for its own time; only another life needs to be woken.
                Follow::WakeAt { .. } => {}
                Follow::Wake { engine } => self.wake_engine(&engine),
            }
        }
    }

    fn abort_engine(&mut self, engine: &Engine, reason: &str) {
        let Some(host) = self.host_named(&host_name(engine)) else { return };
        if self.host(host).engine.as_ref() == Some(engine) {
            self.record(host, EventKind::Abort { reason: reason.into() });
            self.kill_tasks(host);
            self.hosts[usize::from(host)].engine = None;
        }
    }

    fn wake_engine(&mut self, engine: &Engine) {
        let Some(host) = self.host_named(&host_name(engine)) else { return };
        let waiting: Vec<u32> = (self.tasks.iter().enumerate())
            .filter(|(_, task)| task.host == host && task.alive && task.parked)
            .map(|(id, _)| id as u32)
            .collect();
        waiting.into_iter().for_each(|task| self.wake(task));
    }

    /// A dead engine needs another life: the service is told and starts one.
    pub fn engine_died(&mut self, host: u16) {
        // It stays down until its next life starts: between two lives there is nobody to die, and a
        // call of the old life that was to kill it comes too late.
        let Some(engine) = self.hosts[usize::from(host)].engine.take() else { return };
        let evicted = self.workflows.apply(self.now, &workflow::Op::Evict { engine });
        self.follow(evicted.follow);
    }
}

impl World {
    /// A life of an instance begins: its body runs from the top.
    pub fn start_engine(self: &Rc<World>, engine: Engine) {
        let mut state = self.state();
        let name = host_name(&engine);
        let host = state.host_named(&name).unwrap_or_else(|| state.add_host(&name, true));
        let Some(body) = state.bodies.get(&engine.workflow).cloned() else { return };
        let slot = &mut state.hosts[usize::from(host)];
        // The word to start a life can be overtaken by that for a later one, which it must not end.
        if slot.engine.as_ref().is_some_and(|current| current.generation > engine.generation) {
            return;
        }
        let life = slot.life;
        slot.life += 1;
        slot.up = true;
        slot.engine = Some(engine.clone());
        state.record(host, EventKind::Boot { life });
        drop(state);
        let env = Env::new(self.clone(), host);
        self.spawn(host, None, body(env, engine));
    }
}

/// The host on which an instance runs.
fn host_name(engine: &Engine) -> String {
    format!("{}/{}", engine.workflow, engine.id)
}

impl State {
    /// Whether a crash of this host is an engine's, which the service answers with another life.
    pub fn is_engine(&self, host: u16) -> bool {
        self.host(host).engine.is_some()
    }

    /// An engine keeps its journal itself: no message travels, but it can die before or after.
    pub fn write_journal(&mut self, call: u32, fault: Option<Fault>) {
        if fault == Some(Fault::CrashBefore) {
            return self.crash_caller(call, Fault::CrashBefore);
        }
        self.effect(call, true);
        if fault == Some(Fault::CrashAfter) {
            return self.crash_caller(call, Fault::CrashAfter);
        }
        let flight = &mut self.calls[call as usize];
        flight.closed = true;
    }
}
