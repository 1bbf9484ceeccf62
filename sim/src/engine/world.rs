//! All the state of a run, in one struct. Hosts and handles reach it through an `Rc`; nothing is
//! global, so runs never meet.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use crate::choices::{Choices, HostKey, Odds, Source};
use crate::engine::agenda::{Agenda, Scheduled};
use crate::engine::env::Background;
use crate::engine::host::{self, Alarm, Host, ObjectHost, Work, WorkflowBody};
use crate::engine::host_index::HostIndex;
use crate::engine::objects::instance::Instance;
use crate::engine::objects::sockets::Socket;
use crate::engine::objects::storage::ObjectStorage;
use crate::engine::storm::Storm;
use crate::engine::task::{Task, TaskWaker, Waits, Woken};
use crate::engine::verdict::Verdict;
use crate::protocol::error::Error;
use crate::protocol::fault::Fault;
use crate::protocol::object::ObjectId;
use crate::protocol::op::Op;
use crate::protocol::reply::Outcome;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::{EventKind, OutcomeId, Trace};
use crate::scenario::{Scenario, Timing};
use crate::services::ai::Ai;
use crate::services::d1::D1;
use crate::services::queue::{QueueId, Queues};
use crate::services::r2::R2;
use crate::services::workflow::Workflows;
use crate::values::call::CallClass;
use crate::values::push_in_place::push_in_place;
use crate::values::time::Time;

/// The actors that are not hosts of the application.
pub(crate) const CLOUD: u16 = 0;
pub(crate) const R2_ACTOR: u16 = 1;
pub(crate) const QUEUES_ACTOR: u16 = 2;
pub(crate) const AI_ACTOR: u16 = 3;
pub(crate) const WORKFLOWS_ACTOR: u16 = 4;
pub(crate) const D1_ACTOR: u16 = 5;

/// How long an ordinary message travels.
const LATENCIES: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(15),
    Duration::from_millis(30),
];

/// A call on its way.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub caller: u16,
    /// Who awaits the reply; none when a service made the call.
    pub task: Option<u32>,
    /// The host that handles it; none when a service does.
    pub callee: Option<u16>,
    /// Where it arrives: at that host, or at a service.
    pub target: u16,
    /// The stub it goes through.
    pub line: Option<u32>,
    pub code: OpCode,
    pub class: CallClass,
    /// The fault that strikes it.
    pub fault: Option<Fault>,
    /// What that fault does. It is boxed because it is rare and large.
    pub verdict: Option<Box<Verdict>>,
    /// The reply, once there is one.
    pub outcome: Option<OutcomeId>,
    /// Whether the caller has its answer, so that later ones are discarded.
    pub closed: bool,
}

/// A host that dies as soon as the current poll is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCrash {
    pub host: u16,
    pub fault: Fault,
    pub call: u32,
}

/// What an object has sent during a turn.
pub(crate) enum Outgoing {
    Call(u32),
    Answer { call: u32, copy: bool, outcome: Outcome },
}

/// The calls through one stub, which arrive in their order.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub pending: VecDeque<u32>,
    pub last: Time,
}

/// A queue's consumer and the pump that is already scheduled for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consumer {
    pub host: u16,
    pub scheduled: Time,
}

/// What the dead leave behind, to be dropped while nothing is borrowed: destructors are the application's
/// own code.
#[derive(Default)]
pub(crate) struct DeferredDrops {
    pub futures: Vec<Work<()>>,
    pub objects: Vec<Rc<dyn Instance>>,
    pub background: Vec<Background>,
    pub wakers: Vec<Waker>,
}

impl DeferredDrops {
    pub fn is_empty(&self) -> bool {
        self.futures.is_empty()
            && self.objects.is_empty()
            && self.background.is_empty()
            && self.wakers.is_empty()
    }
}

pub(crate) struct State {
    pub now: Time,
    pub scenario: Rc<Scenario>,
    pub choices: Choices,
    pub storm: Storm,
    pub trace: Trace,
    pub agenda: Agenda,
    pub tasks: Vec<Task>,
    /// The future of each task. Gone while it is polled, and for good when it has finished or died.
    pub futures: Vec<Option<Work<()>>>,
    /// The waker of each task, gone like its future.
    pub wakers: Vec<Option<Box<TaskWaker>>>,
    /// Others to wake with a task: combinators that poll a part of it with a waker of their own.
    pub parts: BTreeMap<u32, Vec<Waker>>,
    pub ready: VecDeque<u32>,
    #[expect(clippy::vec_box, reason = "they move from list to poll and back, one word each")]
    pub spare_wakers: Vec<Box<TaskWaker>>,
    /// The task being polled.
    pub current: Option<u32>,
    /// The address of its waker.
    pub polling: usize,
    pub hosts: Vec<Host>,
    /// The hosts by name.
    pub host_index: HostIndex,
    /// The hosts of objects by the digits of their ids.
    pub objects: BTreeMap<Arc<str>, u16>,
    pub calls: Vec<InFlight>,
    pub r2: R2,
    pub queues: Queues,
    pub ai: Ai,
    pub d1: D1,
    pub workflows: Workflows,
    pub bodies: BTreeMap<Arc<str>, WorkflowBody>,
    pub consumers: BTreeMap<QueueId, Consumer>,
    pub expiry_scheduled: Time,
    pub pending_crash: Option<PendingCrash>,
    /// What the object being polled sends; it leaves when the turn's writes are kept.
    pub outbox: Vec<Outgoing>,
    /// The reason why the object being polled resets itself.
    pub aborted: Option<Arc<str>>,
    pub sockets: Vec<Socket>,
    pub lines: Vec<Line>,
    pub gates: u32,
    pub classes: BTreeMap<Arc<str>, Rc<host::ObjectClass>>,
    pub deferred_drops: DeferredDrops,
    pub steps: u32,
    pub crashes: u32,
    pub unique: u64,
    /// What invocations wait for in the background, by invocation.
    pub waited: BTreeMap<u32, Vec<Background>>,
    pub invocations: u32,
}

pub(crate) struct World {
    state: RefCell<State>,
    pub woken: Arc<Woken>,
}

impl World {
    pub fn new(scenario: &Scenario, source: &Source) -> Rc<World> {
        let choices = Choices::new(source);
        let storm = Storm::new(scenario, &choices);
        let mut state = State {
            now: Time::ZERO,
            scenario: Rc::new(scenario.clone()),
            choices,
            storm,
            trace: Trace::with_room(),
            agenda: Agenda::default(),
            tasks: Vec::with_capacity(192),
            futures: Vec::with_capacity(192),
            wakers: Vec::with_capacity(192),
            parts: BTreeMap::new(),
            ready: VecDeque::new(),
            spare_wakers: Vec::new(),
            current: None,
            polling: 0,
            hosts: Vec::with_capacity(32),
            host_index: HostIndex::default(),
            objects: BTreeMap::new(),
            calls: Vec::with_capacity(256),
            r2: R2::default(),
            queues: Queues::default(),
            ai: Ai::default(),
            d1: D1::default(),
            workflows: Workflows::default(),
            bodies: BTreeMap::new(),
            consumers: BTreeMap::new(),
            expiry_scheduled: Time::NEVER,
            pending_crash: None,
            outbox: Vec::with_capacity(4),
            aborted: None,
            sockets: Vec::new(),
            lines: Vec::new(),
            gates: 0,
            classes: BTreeMap::new(),
            deferred_drops: DeferredDrops::default(),
            steps: 0,
            crashes: 0,
            unique: 0,
            waited: BTreeMap::new(),
            invocations: 0,
        };
        for service in ["cloud", "r2", "queues", "ai", "workflows", "d1"] {
            state.add_host(service, false);
        }
        Rc::new(World { state: RefCell::new(state), woken: Arc::default() })
    }

    /// The state, for as long as no application code runs.
    pub fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// The state, unless somebody is working on it.
    pub fn idle_state(&self) -> Option<RefMut<'_, State>> {
        self.state.try_borrow_mut().ok()
    }

    /// Puts a task on a host; it is ready at once.
    pub fn spawn(&self, host: u16, serves: Option<u32>, future: Work<()>) -> u32 {
        self.state().spawn(&self.woken, host, serves, future)
    }
}

impl State {
    /// The same for who has the state in hand.
    pub fn spawn(
        &mut self,
        woken: &Arc<Woken>,
        host: u16,
        serves: Option<u32>,
        future: Work<()>,
    ) -> u32 {
        let id = self.tasks.len() as u32;
        let parent = self.current.map(|task| &self.tasks[task as usize]);
        let pass = parent.filter(|parent| parent.host == host).and_then(|parent| parent.pass);
        let waker = self.spare_wakers.pop().unwrap_or_else(|| Box::new(TaskWaker::new(id, woken)));
        waker.retarget(id);
        let task = Task {
            host,
            serves,
            waits: Waits::Nothing,
            ready: true,
            alive: true,
            pass,
            listens: false,
            parked: false,
        };
        push_in_place(&mut self.tasks, task);
        push_in_place(&mut self.futures, Some(future));
        push_in_place(&mut self.wakers, Some(waker));
        self.admit(id);
        id
    }

    pub fn add_host(&mut self, name: &str, can_crash: bool) -> u16 {
        let index = u16::try_from(self.hosts.len()).expect("a run has fewer than 65,536 hosts");
        let host = Host::new(name, index, can_crash);
        self.trace.add_actor(host.name.clone());
        self.host_index.add(&host.name, index);
        self.hosts.push(host);
        index
    }

    /// The host of an object, with an empty storage of its own.
    pub fn add_object(&mut self, id: ObjectId, class: Rc<host::ObjectClass>) -> u16 {
        let host = self.add_host(id.host(), true);
        let storage = ObjectStorage::new(self.key(host).hash, class.alarms);
        let (now, alarm) = (self.now, Alarm::default());
        self.hosts[usize::from(host)].object = Some(ObjectHost {
            id,
            class,
            instance: None,
            storage,
            gates: Vec::new(),
            last_busy: now,
            alarm,
        });
        host
    }

    pub fn next_invocation(&mut self) -> u32 {
        self.invocations += 1;
        self.invocations
    }

    pub fn host_named(&self, name: &str) -> Option<u16> {
        self.host_index.get(name)
    }

    pub fn host(&self, index: u16) -> &Host {
        &self.hosts[usize::from(index)]
    }

    pub fn key(&self, host: u16) -> HostKey {
        self.host(host).key
    }

    #[inline(always)]
    pub fn record(&mut self, actor: u16, what: EventKind) {
        self.trace.record(self.now, actor, what);
    }

    pub fn schedule(&mut self, after: Duration, event: Scheduled) {
        self.agenda.schedule(self.now + after, event);
    }

    /// How long the next message of this call travels.
    // Kept apart: it is long, and drawn from in several places.
    #[inline(never)]
    pub fn latency(&mut self, host: u16, op: OpCode) -> Duration {
        let of = match self.scenario.timing {
            Timing::Latency if self.storm.active() => LATENCIES.len() as u32,
            Timing::Latency | Timing::Order => 1,
        };
        let odds = if self.choices.swarm().latency() { Odds::Even } else { Odds::Rare(0) };
        let drawn = self.choices.choose_here(ChoiceKind::Latency, self.key(host), op, of, odds);
        LATENCIES[drawn as usize]
    }

    /// The task that waits for what is being polled. When it is a part of the task that is polled,
    /// with a waker of its own, that is woken too.
    #[inline]
    pub fn waiting(&mut self, cx: &Context<'_>) -> u32 {
        let task = self.current.expect("polled by the engine");
        if cx.waker().data().addr() != self.polling {
            self.parts.entry(task).or_default().push(cx.waker().clone());
        }
        task
    }

    /// Makes a task ready, once.
    pub fn wake(&mut self, task: u32) {
        if !self.parts.is_empty() {
            self.parts.remove(&task).into_iter().flatten().for_each(Waker::wake);
        }
        let slot = &mut self.tasks[task as usize];
        if slot.alive && !slot.ready {
            slot.ready = true;
            slot.waits = Waits::Nothing;
            slot.listens = false;
            self.admit(task);
        }
    }

    /// Gives a caller its answer, unless it has one or is dead.
    pub fn answer(&mut self, call: u32, outcome: OutcomeId) {
        let flight = &mut self.calls[call as usize];
        if flight.closed {
            return;
        }
        flight.closed = true;
        flight.outcome = Some(outcome);
        let (caller, task) = (flight.caller, flight.task);
        let Some(task) = task.filter(|task| self.tasks[*task as usize].alive) else { return };
        self.record(caller, EventKind::Return { call, outcome });
        self.wake(task);
    }

    /// A reply reaches its caller, who may have given up before.
    pub fn reply(&mut self, call: u32) {
        let outcome = self.calls[call as usize].outcome;
        self.answer(call, outcome.expect("a reply on its way has an outcome"));
    }

    /// A caller that has heard nothing concludes that the connection is gone.
    pub fn give_up(&mut self, call: u32) {
        if !self.calls[call as usize].closed {
            let lost = self.trace.keep(Err(Error::NetworkLost));
            self.answer(call, lost);
        }
    }
}

/// The service that a call goes to when no host handles it.
pub(crate) fn service(op: &Op) -> u16 {
    match op {
        Op::R2(_) => R2_ACTOR,
        Op::Ai(_) => AI_ACTOR,
        Op::Workflow(_) => WORKFLOWS_ACTOR,
        Op::D1(_) => D1_ACTOR,
        Op::Queue(_) | Op::Notify { .. } => QUEUES_ACTOR,
        _ => CLOUD,
    }
}
