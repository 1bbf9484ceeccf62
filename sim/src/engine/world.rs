//! All state of a run, in parts.
//!
//! Hosts and handles reach it through an `Rc<World>`; nothing is global, so runs do not affect each other.
//! A method that needs one part belongs to that part; what needs several is an `impl State` in the file of
//! its subject, such as `doorway`, `crash` or `delivery`.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::choices::{Choices, HostKey, Source};
use crate::engine::agenda::{Agenda, Scheduled};
use crate::engine::answers::ClientAnswers;
use crate::engine::calls::Calls;
use crate::engine::connections::Connections;
use crate::engine::host::{Alarm, Handlers, Host, Instance, ObjectClass, ObjectHost};
use crate::engine::hosts::Hosts;
use crate::engine::ids::{CallId, HostId, TaskId};
use crate::engine::invocations::{Background, Invocations};
use crate::engine::live::Live;
use crate::engine::objects::Objects;
use crate::engine::objects::storage::ObjectStorage;
use crate::engine::queueing::Queueing;
use crate::engine::recurring_alarms::Repeats;
use crate::engine::services::{Service, Services};
use crate::engine::storm::Storm;
use crate::engine::task::{Woken, Work};
use crate::engine::tasks::Tasks;
use crate::engine::variables::Variables;
use crate::protocol::fault::Fault;
use crate::protocol::object::ObjectId;
use crate::protocol::trace::{EventKind, Trace};
use crate::scenario::Scenario;
use crate::services::sqlite::RowChange;
use crate::values::time::Time;

pub(crate) struct World {
    state: RefCell<State>,
    pub woken: Arc<Woken>,
    /// Whether it runs on the wall clock. Beside the state, because a call asks when it is dropped.
    pub is_live: bool,
}

impl World {
    pub fn new(scenario: &Scenario, source: &Source) -> Rc<World> {
        let mut state = State::new(scenario, source);
        for service in Service::ALL {
            let host = state.add_host(service.name(), false);
            assert_eq!(host, service.host(), "`Service::ALL` is in the order of the enum");
        }
        Rc::new(World { state: RefCell::new(state), woken: Arc::default(), is_live: false })
    }

    /// A world that runs on the wall clock. Nothing goes wrong in it but what goes wrong by itself.
    pub fn live(scenario: &Scenario, source: &Source, live: Live) -> Rc<World> {
        let world = World::new(scenario, source);
        let mut world = Rc::into_inner(world).expect("it has just been made");
        world.is_live = true;
        let state = world.state.get_mut();
        state.storm.end();
        state.tasks.reuses = true;
        state.services.d1.keep_changes();
        state.live = Some(Box::new(live));
        Rc::new(world)
    }

    /// The state, for as long as no application code runs.
    pub fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// The state, unless it is borrowed.
    pub fn idle_state(&self) -> Option<RefMut<'_, State>> {
        self.state.try_borrow_mut().ok()
    }

    /// Puts a task on a host; it is ready at once.
    pub fn spawn(&self, host: HostId, serves: Option<CallId>, future: Work<()>) -> TaskId {
        self.state().spawn(&self.woken, host, serves, future)
    }
}

pub(crate) struct State {
    pub now: Time,
    pub scenario: Rc<Scenario>,
    pub choices: Choices,
    pub storm: Storm,
    pub trace: Trace,
    pub agenda: Agenda,
    pub tasks: Tasks,
    pub calls: Calls,
    pub hosts: Hosts,
    pub objects: Objects,
    pub connections: Connections,
    pub queueing: Queueing,
    pub repeats: Repeats,
    pub services: Services,
    pub invocations: Invocations,
    pub variables: Variables,
    pub pending_crash: Option<PendingCrash>,
    pub deferred_drops: DeferredDrops,
    pub steps: u32,
    /// How many bytes the changed rows of the history hold.
    pub row_bytes: usize,
    pub answers: ClientAnswers,
    pub crashes: u32,
    /// How many unique names have been given out.
    pub unique: u64,
    /// None in a simulation.
    pub live: Option<Box<Live>>,
}

impl State {
    fn new(scenario: &Scenario, source: &Source) -> State {
        let choices = Choices::new(source);
        State {
            now: Time::ZERO,
            scenario: Rc::new(scenario.clone()),
            storm: Storm::new(scenario, &choices),
            choices,
            trace: Trace::with_room(),
            agenda: Agenda::default(),
            tasks: Tasks::default(),
            calls: Calls::default(),
            hosts: Hosts::default(),
            objects: Objects::default(),
            connections: Connections::default(),
            queueing: Queueing::default(),
            repeats: Repeats::default(),
            services: Services::default(),
            invocations: Invocations::default(),
            variables: Variables::default(),
            pending_crash: None,
            deferred_drops: DeferredDrops::default(),
            steps: 0,
            row_bytes: 0,
            answers: ClientAnswers::new(scenario),
            crashes: 0,
            unique: scenario.salt,
            live: None,
        }
    }

    /// Like [`World::spawn`], for callers that already hold the state.
    pub fn spawn(
        &mut self,
        woken: &Arc<Woken>,
        host: HostId,
        serves: Option<CallId>,
        future: Work<()>,
    ) -> TaskId {
        let task = self.tasks.add(woken, host, serves, future);
        self.admit(task);
        task
    }

    /// Makes a waiting task ready.
    pub fn wake(&mut self, task: TaskId) {
        if self.tasks.make_ready(task) {
            self.admit(task);
        }
    }

    /// Adds a host, which is also an actor of the trace under the same number.
    pub fn add_host(&mut self, name: &str, can_crash: bool) -> HostId {
        let host = self.hosts.add(name, can_crash);
        self.trace.name_actor(host.0, self.hosts[host].name.clone());
        host
    }

    /// Adds the host of an object, with an empty storage of its own. `hex` are the digits of its id.
    pub fn add_object(&mut self, id: ObjectId, hex: Arc<str>, class: Rc<ObjectClass>) -> HostId {
        let host = self.add_host(id.host(), true);
        let seed = self.key(host).hash.wrapping_add(self.scenario.salt);
        let object = ObjectHost {
            id,
            storage: ObjectStorage::new(seed, class.alarms, self.live.is_some()),
            class,
            instance: None,
            gates: Vec::new(),
            last_busy: self.now,
            alarm: Alarm::default(),
            resets: (0, "".into()),
        };
        self.hosts.set_object(host, hex, object);
        host
    }

    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id]
    }

    pub fn key(&self, host: HostId) -> HostKey {
        self.hosts[host].key
    }

    #[inline(always)]
    pub fn record(&mut self, actor: HostId, what: EventKind) {
        self.trace.record(self.now, actor.0, what);
        self.choices.happened();
    }

    /// Records the rows that were changed, if there are any.
    pub fn record_rows(&mut self, actor: HostId, changes: Vec<RowChange>) {
        if changes.is_empty() {
            return;
        }
        self.row_bytes += changes.iter().map(RowChange::bytes).sum::<usize>();
        self.record(actor, EventKind::Rows { changes: changes.into() });
    }

    pub fn schedule(&mut self, after: Duration, event: Scheduled) {
        self.agenda.schedule(self.now + after, event);
    }
}

/// A host that crashes as soon as the current poll is over, because of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCrash {
    pub host: HostId,
    pub fault: Fault,
    pub call: CallId,
}

/// What crashed hosts leave behind. Destructors are application code, which may use the world, so these
/// are dropped while the state is not borrowed.
#[derive(Default)]
pub(crate) struct DeferredDrops {
    pub futures: Vec<Work<()>>,
    pub objects: Vec<Rc<dyn Instance>>,
    pub background: Vec<Background>,
    pub wakers: Vec<Waker>,
    pub handlers: Vec<Handlers>,
}

impl DeferredDrops {
    pub fn is_empty(&self) -> bool {
        self.futures.is_empty()
            && self.objects.is_empty()
            && self.background.is_empty()
            && self.wakers.is_empty()
            && self.handlers.is_empty()
    }
}
