//! A cloud that runs on the wall clock: the same engine as in a simulation, driven from outside.
//!
//! Time, requests and randomness come in, answers and changes come out. Nothing here reads a clock, a disk or a
//! network: who drives the machine does. Nothing goes wrong in it but what goes wrong by itself.

use std::rc::Rc;

use crate::bindings::cloud::Cloud;
use crate::bindings::web_socket::WebSocket;
use crate::choices::Source;
use crate::choices::tape::Tape;
use crate::engine::changes::Changes;
use crate::engine::env::Env;
use crate::engine::host::Host;
use crate::engine::ids::{HostId, SocketId};
use crate::engine::inference::{Inference, Inferred};
use crate::engine::live::{Flaw, Live};
use crate::engine::outbound::{Arrived, Outbound};
use crate::engine::restore::RestoreError;
use crate::engine::world::World;
use crate::protocol::http::{Request, Response};
use crate::protocol::outcome::Error;
use crate::scenario::Scenario;
use crate::services::queue::PutAway;
use crate::services::sqlite::Whole;
use crate::values::backing_store::BackingStore;
use crate::values::body::Body;
use crate::values::time::Time;

/// How a machine is set up.
#[derive(Clone, Debug, Default)]
pub struct MachineConfig {
    /// From the operating system: what seeds `Env::random` and `Env::unique`. Another one for each start.
    pub entropy: u64,
    /// What SQL's `random()` derives from. The same one at each start: turns that are done again draw what they drew.
    pub salt: u64,
    /// Whether [`Changes::history`] has what happened.
    pub tells: bool,
    /// Whether pictures are given away by [`Machine::take_inferences`] instead of being looked at in the engine.
    pub gives_away: bool,
    /// Whether requests to hosts outside are given away by [`Machine::take_outbound`], and no such host is simulated.
    pub reaches: bool,
    /// A deliberate mistake, for tests.
    pub flaw: Option<Flaw>,
}

/// What the client of a WebSocket hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is connected; the number is that of its connection.
    Opened(u32),
    /// The object says something.
    Message(Body),
    /// There is no connection any more, or there never was.
    Closed,
}

/// A mounted system that is driven from outside.
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
///
/// use thunderhead_sim::{Body, Machine, MachineConfig, Request, Response, Time, r2};
///
/// let mount = |cloud: &mut thunderhead_sim::Cloud| {
///     cloud.bucket("photos", r2::BucketConfig::default());
///     cloud.worker("web").fetch(|env, request| async move {
///         let photos = env.bucket("photos");
///         if request.method == "PUT" {
///             photos.put(&request.path, request.body.clone()).execute().await?;
///         }
///         let found = photos.get(&request.path).execute().await?.and_then(|object| object.body);
///         Ok(Response::new(200, found.unwrap_or_else(Body::empty)))
///     });
/// };
/// let ask = |machine: &Machine, method: &str, body: &str| {
///     let answer = Rc::new(RefCell::new(None));
///     let place = answer.clone();
///     machine.request(Request::new(method, "/cat", body), move |given| *place.borrow_mut() = Some(given));
///     machine.advance(Time::from_ms(5), usize::MAX);
///     answer.take().expect("nothing takes time here").unwrap().body
/// };
///
/// let mut first = Machine::new(&MachineConfig::default(), &mount);
/// first.recover(Time::ZERO);
/// ask(&first, "PUT", "meow");
/// let changes = first.take_changes();
///
/// // Another process puts back what the first has written down.
/// let mut second = Machine::new(&MachineConfig::default(), &mount);
/// for row in changes.rows {
///     second.restore_row(row.kind, &row.key, &row.value.unwrap(), row.body).unwrap();
/// }
/// second.recover(Time::ZERO);
/// assert_eq!(ask(&second, "GET", "").text(), Some("meow"));
/// ```
pub struct Machine {
    world: Rc<World>,
    client: HostId,
    migrations: u64,
}

impl Machine {
    /// Mounts a system. What an earlier process has written down is put back next, and then comes
    /// [`Machine::recover`].
    pub fn new(config: &MachineConfig, mount: &dyn Fn(&mut Cloud)) -> Machine {
        let scenario = Scenario { salt: config.salt, ..Scenario::default() };
        let mut live = Live::new(config.entropy, config.tells, config.flaw);
        live.inferences = config.gives_away.then(Vec::new);
        live.outside = config.reaches.then(Vec::new);
        let world = World::live(&scenario, &Source::Tape(Tape::benign()), live);
        let mut cloud = Cloud { world: &world };
        mount(&mut cloud);
        let client = cloud.client_host("client");
        let mut state = world.state();
        let migrations = state.services.d1.forget_migrations();
        state.services.queues.keep_changes();
        state.services.workflows.keep_changes();
        state.services.kv.keep_changes();
        state.services.ai.forget_pictures();
        if config.flaw == Some(Flaw::LeaseCounts) {
            state.services.queues.count_leases();
        }
        state.trace.forget_events();
        drop(state);
        Machine { world, client, migrations }
    }

    /// A hash of the migrations of the system's databases. What was written with others cannot be put back.
    pub fn migrations(&self) -> u64 {
        self.migrations
    }

    /// Puts back a [`Row`](crate::Row).
    #[inline]
    pub fn restore_row(
        &mut self,
        kind: &str,
        key: &str,
        value: &str,
        body: Option<Body>,
    ) -> Result<(), RestoreError> {
        self.world.state().restore_row(kind, key, value, body)
    }

    /// From now on large bodies and ended instances of workflows are read back when they are asked for, and messages
    /// when they are due. This comes before anything is put back.
    pub fn read_with(&mut self, backing_store: &Rc<dyn BackingStore>) {
        let mut state = self.world.state();
        state.services.workflows.set_backing_store(backing_store);
        state.services.queues.set_backing_store(backing_store);
        state.services.r2.set_backing_store(backing_store.clone());
    }

    /// Says how many messages of a queue have a [`Row`](crate::Row) with a [`Later`](crate::Later), how many bytes they
    /// have together, and when the first is due. They are not put back, but read when they are due.
    pub fn restore_later(&mut self, queue: &str, count: u64, bytes: u64, next: Time) {
        self.world.state().services.queues.restore_later(queue, PutAway { count, bytes, next });
    }

    /// Puts back a [`Row`](crate::Row) whose bytes are in a file.
    #[inline]
    pub fn restore_filed(&mut self, key: &str, value: &str, file: u64) -> Result<(), RestoreError> {
        self.world.state().restore_filed(key, value, file)
    }

    /// Puts back an [`Image`](crate::Image), before the turns of its log.
    #[inline]
    pub fn restore_image(
        &mut self,
        log: &str,
        beside: &str,
        pages: &[u8],
    ) -> Result<(), RestoreError> {
        self.world.state().restore_image(log, beside, Whole::Pages(pages))
    }

    /// Puts back an [`Image`](crate::Image) whose pages are in a file.
    #[inline]
    pub fn restore_filed_image(
        &mut self,
        log: &str,
        beside: &str,
        file: u64,
    ) -> Result<(), RestoreError> {
        self.world.state().restore_filed_image(log, beside, file)
    }

    /// Puts back a [`Turn`](crate::Turn); those of one log in their order.
    #[inline]
    pub fn restore_turn(&mut self, log: &str, did: &str) -> Result<(), RestoreError> {
        self.world.state().restore_turn(log, did)
    }

    /// Begins to run, after everything is put back. Deliveries that were cut off are due again and have not failed,
    /// instances of workflows start anew and replay their journals, alarms are set. The time does not go back behind
    /// that of the last change.
    pub fn recover(&mut self, now: Time) {
        let mut state = self.world.state();
        state.now = state.now.max(now);
        state.recover();
        let hosts: Vec<HostId> = state.hosts.iter().map(Host::id).collect();
        drop(state);
        hosts.into_iter().for_each(|host| self.world.boot(host));
    }

    /// A request comes from outside, to the first worker that serves requests. What `done` is given may leave the
    /// process when the changes that are taken next are durable.
    pub fn request(&self, request: Request, done: impl FnOnce(Result<Response, Error>) + 'static) {
        let mut serving = self.world.state();
        let worker =
            serving.hosts.iter().find(|host| host.fetch.is_some()).map(|host| host.name.clone());
        let env = Env::within(&mut serving, &self.world, self.client);
        drop(serving);
        let work = async move {
            done(match worker {
                Some(worker) => match env.fetch(&worker, request).await {
                    Ok(response) => env.whole(response).await,
                    Err(error) => Err(error),
                },
                None => Err(Error::app("no worker serves requests")),
            });
        };
        self.world.spawn(self.client, None, Box::pin(work));
    }

    /// A client outside opens a WebSocket to the object of that name in a namespace. `hear` is told what comes of it;
    /// that may leave the process when the changes that are taken next are durable. When it was told that the
    /// connection is closed, it is told no more.
    pub fn connect(&self, namespace: &str, name: &str, hear: impl Fn(Heard) + 'static) {
        let mut state = self.world.state();
        let env = Env::within(&mut state, &self.world, self.client);
        drop(state);
        let stub = env.durable_object(namespace).get_by_name(name);
        let work = async move {
            if let Ok(socket) = stub.connect().await {
                hear(Heard::Opened(socket.id()));
                while let Some(message) = socket.recv().await {
                    hear(Heard::Message(message));
                }
            }
            hear(Heard::Closed);
        };
        self.world.spawn(self.client, None, Box::pin(work));
    }

    /// The client of a WebSocket says something.
    pub fn say(&self, socket: u32, message: Body) {
        self.client_end(socket).send(message);
    }

    /// The client of a WebSocket goes away.
    pub fn hang_up(&self, socket: u32) {
        self.client_end(socket).close();
    }

    fn client_end(&self, socket: u32) -> WebSocket {
        let mut state = self.world.state();
        WebSocket::new(Env::within(&mut state, &self.world, self.client), SocketId(socket))
    }

    /// Lets everything happen that is due at `now`, but at most `most` events. Returns when the next one is due: `now`
    /// when there were more.
    pub fn advance(&self, now: Time, most: usize) -> Option<Time> {
        self.world.advance(now, most)
    }

    /// Pictures that are to be looked at elsewhere, in the order in which they were asked about. Each needs its
    /// [`Machine::answer`]; everything else goes on meanwhile.
    pub fn take_inferences(&self) -> Vec<Inference> {
        let mut state = self.world.state();
        let waiting = state.live.as_mut().and_then(|live| live.inferences.as_mut());
        waiting.map(std::mem::take).unwrap_or_default()
    }

    /// A picture has been looked at. Who asked hears of it in the next [`Machine::advance`].
    pub fn answer(&self, done: Inferred) {
        self.world.state().inferred(done);
    }

    /// Requests that are to be sent to hosts outside, in the order in which they were made. Each needs its
    /// [`Machine::arrived`]; everything else goes on meanwhile.
    pub fn take_outbound(&self) -> Vec<Outbound> {
        let mut state = self.world.state();
        let waiting = state.live.as_mut().and_then(|live| live.outside.as_mut());
        waiting.map(std::mem::take).unwrap_or_default()
    }

    /// A host outside has answered, or will not. Who asked hears of it in the next [`Machine::advance`].
    pub fn arrived(&self, done: Arrived) {
        self.world.state().arrived(done);
    }

    /// What has changed since this was last asked.
    pub fn take_changes(&self) -> Changes {
        let mut state = self.world.state();
        let changes = state.take_changes();
        state.forget();
        changes
    }

    /// The changes up to [`Changes::number`] are on disk: what they have can be read back, and is not held any longer.
    pub fn written(&self, number: u64) {
        self.world.state().written(number);
    }

    /// The time of the machine, which never goes back.
    pub fn now(&self) -> Time {
        self.world.state().now
    }

    /// Whether nothing is left to do until another request comes.
    pub fn is_at_rest(&self) -> bool {
        self.world.state().is_at_rest()
    }

    /// How much the engine holds.
    pub fn size(&self) -> Size {
        let state = self.world.state();
        Size {
            calls: state.calls.len(),
            tasks: state.tasks.alive().count(),
            hosts: state.hosts.len(),
            instances: state.services.workflows.held(),
            messages: state.services.queues.held(),
            pictures: state.services.ai.remembered(),
        }
    }
}

/// How much the engine of a machine holds: what must not grow for as long as the process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Calls that are kept, most of them over.
    pub calls: usize,
    /// Tasks that have not ended.
    pub tasks: usize,
    /// Hosts, of workers, objects and instances of workflows.
    pub hosts: usize,
    /// Instances of workflows that are in memory.
    pub instances: usize,
    /// Messages of queues that are in memory.
    pub messages: usize,
    /// Pictures whose labels are remembered.
    pub pictures: usize,
}

impl Drop for Machine {
    /// Futures and objects hold the world and the world holds them, so they are dropped first.
    fn drop(&mut self) {
        self.world.take_apart();
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("size", &self.size()).finish()
    }
}
