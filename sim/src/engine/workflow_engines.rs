//! Workflow engines on their hosts. An engine runs the body of one instance of a workflow; when it crashes,
//! the workflow service starts another of a later generation, which runs the body from the top. The service
//! keeps the books (`services/workflow`); here its follow-ups are carried out.

use std::rc::Rc;

use crate::engine::agenda::Scheduled;
use crate::engine::env::Env;
use crate::engine::ids::{CallId, HostId, TaskId};
use crate::engine::services::Service;
use crate::engine::world::{State, World};
use crate::protocol::fault::Fault;
use crate::protocol::site::OpCode;
use crate::protocol::trace::EventKind;
use crate::services::workflow::{self, Engine, Follow};

impl State {
    /// Does what the service wants done besides answering.
    pub fn follow(&mut self, follow: Vec<Follow>) {
        for wish in follow {
            match wish {
                Follow::Start { engine } => {
                    let latency = self.latency(Service::Workflows.host(), OpCode::NONE);
                    let engine = Box::new(engine);
                    self.schedule(latency, Scheduled::StartWorkflow { engine });
                }
                Follow::Abort { engine, reason } => {
                    self.abort_workflow_engine(&engine, &reason.to_string());
                }
                // A running body waits for its own time; only another engine would have to be woken.
                Follow::WakeAt { .. } => {}
                Follow::Wake { engine } => self.wake_workflow_engine(&engine),
            }
        }
    }

    fn abort_workflow_engine(&mut self, engine: &Engine, reason: &str) {
        let Some(host) = self.hosts.named(&engine.host_name()) else { return };
        if self.host(host).workflow_engine.as_ref() == Some(engine) {
            self.record(host, EventKind::Abort { reason: reason.into() });
            self.kill_tasks(host);
            self.drop_ends(host);
            self.hosts[host].workflow_engine = None;
        }
    }

    fn wake_workflow_engine(&mut self, engine: &Engine) {
        let Some(host) = self.hosts.named(&engine.host_name()) else { return };
        let parked = self.tasks.alive_on(host).filter(|(_, task)| task.parked);
        let parked: Vec<TaskId> = parked.map(|(id, _)| id).collect();
        parked.into_iter().for_each(|task| self.wake(task));
    }

    /// Tells the service that an engine has crashed, so that it starts another.
    pub fn workflow_engine_crashed(&mut self, host: HostId) {
        // The host stays down until the next engine starts. In between nothing can crash there, and a
        // call of the old engine that was to crash it comes too late.
        let Some(engine) = self.hosts[host].workflow_engine.take() else { return };
        let evicted = self.services.workflows.apply(self.now, &workflow::Op::Evict { engine });
        self.follow(evicted.follow);
    }

    /// Applies a call of a workflow engine to its own journal: no message travels, but the engine can
    /// crash before or after.
    pub fn write_journal(&mut self, call: CallId, fault: Option<Fault>) {
        if fault == Some(Fault::CrashBefore) {
            return self.crash_caller(call, Fault::CrashBefore);
        }
        self.effect(call, true);
        if fault == Some(Fault::CrashAfter) {
            return self.crash_caller(call, Fault::CrashAfter);
        }
        self.calls[call].closed = true;
    }
}

impl World {
    /// Starts an engine on the host of its instance: the body runs from the top.
    pub fn start_workflow_engine(self: &Rc<World>, engine: Engine) {
        let mut state = self.state();
        let name = engine.host_name();
        let host = state.hosts.named(&name).unwrap_or_else(|| state.add_host(&name, true));
        let Some(body) = state.hosts.workflow_bodies.get(&engine.workflow).cloned() else { return };
        let slot = &mut state.hosts[host];
        // Start events may arrive out of order; one that is older than the running engine is ignored.
        let running = slot.workflow_engine.as_ref();
        if running.is_some_and(|running| running.generation > engine.generation) {
            return;
        }
        let life = slot.life;
        slot.life += 1;
        slot.up = true;
        slot.workflow_engine = Some(engine.clone());
        state.record(host, EventKind::Boot { life });
        drop(state);
        let env = Env::new(self.clone(), host);
        self.spawn(host, None, body(env, engine));
    }
}
