//! The environment of application code: its only access to the clock, to randomness and to the platform.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::choices::Odds;
use crate::engine::ids::{CallId, HostId, StubId, TaskId};
use crate::engine::wait::{Call, Fetch, JoinHandle, Sleep, Timeout};
use crate::engine::world::{State, World};
use crate::protocol::fault::Fault;
use crate::protocol::http::{Request, Response, STREAM};
use crate::protocol::object::{ObjectError, ObjectId};
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Outcome};
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::EventKind;
use crate::values::body::Body;
use crate::values::hash::mix;
use crate::values::time::Time;

/// A host's view of the world, given to every handler.
#[derive(Clone)]
pub struct Env {
    world: Rc<World>,
    at: HostInvocation,
}

/// A host and the number of one of its invocations, packed into one word: an environment of two words is
/// passed in registers, and it is passed around a lot.
#[derive(Clone, Copy)]
struct HostInvocation(u64);

impl HostInvocation {
    fn new(host: HostId, invocation: u32) -> HostInvocation {
        HostInvocation(u64::from(host.0) << 32 | u64::from(invocation))
    }

    fn host(self) -> HostId {
        HostId((self.0 >> 32) as u16)
    }

    fn invocation(self) -> u32 {
        self.0 as u32
    }
}

impl Env {
    pub(crate) fn new(world: Rc<World>, host: HostId) -> Env {
        let at = HostInvocation::new(host, world.state().invocations.begin());
        Env { world, at }
    }

    /// Like `new`, for callers that already hold the state.
    pub(crate) fn within(state: &mut State, world: &Rc<World>, host: HostId) -> Env {
        Env { world: world.clone(), at: HostInvocation::new(host, state.invocations.begin()) }
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.world.state().now
    }

    /// Waits for `duration` while other tasks run.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        Sleep::new(self.world.clone(), duration)
    }

    /// Waits for `work`, but no longer than `duration`. Work that is given up is dropped; requests that it
    /// has made are still on their way.
    pub fn timeout<F: Future>(
        &self,
        duration: Duration,
        work: F,
    ) -> impl Future<Output = Option<F::Output>> + use<F> {
        Timeout::new(Sleep::new(self.world.clone(), duration), work)
    }

    /// Runs `work` beside the caller, on the same host; it ends if the host crashes. In a Worker it also ends
    /// with the invocation, if that does not await it and [`Env::wait_until`] does not keep it.
    pub fn spawn<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        self.spawn_task(work).0
    }

    fn spawn_task<T: 'static>(
        &self,
        work: impl Future<Output = T> + 'static,
    ) -> (JoinHandle<T>, TaskId) {
        let (handle, work) = JoinHandle::new(self.world.clone(), work);
        let task = self.world.spawn(self.host(), None, Box::pin(work));
        self.world.state().spawned(task, self.invocation());
        (handle, task)
    }

    /// Randomness for the application: a number in `0..n`, drawn from the tape.
    pub fn random(&self, n: u32) -> u32 {
        let mut state = self.world.state();
        if let Some(live) = &mut state.live {
            return live.rng.below(n);
        }
        let host = state.key(self.host());
        state.choices.choose(ChoiceKind::Random, host, OpCode::NONE, n, Odds::Even)
    }

    /// The mood of something outside the cloud, in `0..n`: 0 after the storm, and drawn during it.
    pub fn mood(&self, n: u32) -> u32 {
        let mut state = self.world.state();
        if !state.storm.moody() {
            return 0;
        }
        let host = state.key(self.host());
        let odds = Odds::Rare(state.choices.swarm().rate(Fault::Mood));
        state.choices.choose(ChoiceKind::Mood, host, OpCode::NONE, n, odds)
    }

    /// A name that nothing else in this run has: 32 hex digits, as `crypto.randomUUID` is used for.
    pub fn unique(&self) -> String {
        let mut state = self.world.state();
        state.unique += 1;
        let unique = state.unique;
        let (high, low) = match &mut state.live {
            None => (mix(unique), mix(unique ^ u64::MAX)),
            Some(live) => (live.rng.bits(), live.rng.bits()),
        };
        format!("{high:016x}{low:016x}")
    }

    /// Adds a line of text to the trace.
    pub fn log(&self, text: impl Into<Arc<str>>) {
        self.world.state().record(self.host(), EventKind::Log { text: text.into() });
    }

    /// Whether there is a worker of that name that serves requests.
    pub fn serves(&self, worker: &str) -> bool {
        let state = self.world.state();
        state.hosts.named(worker).is_some_and(|host| state.host(host).fetch.is_some())
    }

    /// Sends a request to a worker.
    pub fn fetch(
        &self,
        worker: &str,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + 'static {
        self.fetch_from(worker, request, false)
    }

    /// Sends a request to a worker through a service binding. It reaches the worker at most once: no network is between
    /// them that could repeat it.
    pub fn fetch_bound(
        &self,
        worker: &str,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + 'static {
        self.fetch_from(worker, request, true)
    }

    /// Sends a request to a host outside the cloud and waits for the response. In a simulation it is the host of that
    /// name; a process that [reaches outside](crate::MachineConfig::reaches) gives the request away, to be sent over a
    /// connection that is encrypted if it is to be secure.
    pub fn fetch_outside(
        &self,
        host: &str,
        is_secure: bool,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + 'static {
        let mut state = self.world.state();
        if !state.reaches_outside() || state.hosts.named(host).is_some() {
            drop(state);
            return self.fetch_from(host, request, false);
        }
        let call = state.prepare(self.host(), None, None, Op::Fetch { to: host.into(), request });
        if is_secure && let Some(live) = &mut state.live {
            live.secure.insert(call);
        }
        Fetch(Ok(Call::new(self.world.clone(), call)))
    }

    // Not an `async fn`: the request would be part of every future that waits for the response.
    #[inline(always)]
    pub(crate) fn fetch_from(&self, worker: &str, request: Request, once: bool) -> Fetch {
        let mut state = self.world.state();
        let callee = state.hosts.named(worker).map(|host| state.host(host));
        let Some(callee) = callee.filter(|host| host.fetch.is_some()) else {
            let error = Error::app(format!("no worker called `{worker}` serves requests"));
            return Fetch(Err(Box::new(error)));
        };
        let (to, callee) = (callee.label.clone(), Some(callee.id()));
        // A body that is streamed can be read once.
        let once = once || !request.headers.is_empty() && request.headers.get(STREAM).is_some();
        let call = state.prepare(self.host(), callee, None, Op::Fetch { to, request });
        state.calls[call].once = once;
        Fetch(Ok(Call::new(self.world.clone(), call)))
    }

    /// Asks anything of a service as plain data: how a host for another language calls the platform.
    ///
    /// ```
    /// use thunderhead_sim::{ClientRequest, Op, Response, Scenario, Source, Tape, Time, r2, simulate};
    ///
    /// let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    /// let scenario = Scenario { requests, ..Scenario::default() };
    /// let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
    ///     cloud.bucket("photos", r2::BucketConfig::default());
    ///     cloud.worker("web").fetch(|env, _request| async move {
    ///         let reply = env.ask(Op::R2(r2::Op::head("photos", "cat.jpg"))).await?;
    ///         Ok(Response::new(200, reply.to_string()))
    ///     });
    /// });
    /// assert!(run.unwrap().trace.to_string().contains(r#"200 "not found""#));
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the service. D1 repeats no write by itself, so `duplicate` does not strike one that is asked for here.
    /// An operation on a worker or an object is refused: those are called with
    /// [`Env::fetch`] and through a stub.
    pub fn ask(&self, op: Op) -> impl Future<Output = Outcome> + use<> + 'static {
        let asked = match op {
            Op::R2(_) | Op::Queue(_) | Op::Ai(_) | Op::D1(_) | Op::Kv(_) | Op::Workflow(_) => {
                let once = matches!(&op, Op::D1(op) if !op.only_reads());
                let call = self.call(None, op);
                self.world.state().calls[call.id()].once = once;
                Ok(call)
            }
            other => Err(Error::app(format!("no service is asked for `{other}`"))),
        };
        async move { asked?.await }
    }

    /// Which life of its host this is, counting from 1.
    pub fn life(&self) -> u32 {
        self.world.state().host(self.host()).life
    }

    /// Calls a host, or a service when there is no `callee`.
    pub(crate) fn call(&self, callee: Option<HostId>, op: Op) -> Call {
        self.call_through(None, callee, op)
    }

    /// Calls an object through a stub, whose calls arrive in order.
    pub(crate) fn call_object(&self, stub: StubId, object: HostId, op: Op) -> Call {
        self.call_through(Some(stub), Some(object), op)
    }

    fn call_through(&self, stub: Option<StubId>, callee: Option<HostId>, op: Op) -> Call {
        // With no latency, calls arrive in the order in which they leave, through whichever stub.
        let stub = stub.filter(|_| !self.world.is_live);
        let call: CallId = self.world.state().prepare(self.host(), callee, stub, op);
        Call::new(self.world.clone(), call)
    }

    pub(crate) fn host(&self) -> HostId {
        self.at.host()
    }

    pub(crate) fn invocation(&self) -> u32 {
        self.at.invocation()
    }

    pub(crate) fn world(&self) -> &Rc<World> {
        &self.world
    }

    pub(crate) fn open_stub(&self) -> StubId {
        match self.world.is_live {
            true => StubId(0),
            false => self.world.state().calls.open_stub(),
        }
    }

    pub(crate) fn host_name(&self, host: HostId) -> Arc<str> {
        self.world.state().host(host).name.clone()
    }

    /// The host of an object, which is added when the object is first called.
    pub(crate) fn object_host(&self, id: &ObjectId) -> Result<HostId, Error> {
        let mut state = self.world.state();
        let hex = match state.hosts.find_object(id) {
            Ok(host) => return Ok(host),
            Err(hex) => hex,
        };
        let Some(class) = state.hosts.classes.get(id.namespace()).cloned() else {
            let message = format!("no class of durable objects is bound to `{}`", id.namespace());
            return Err(Error::app(message));
        };
        Ok(state.add_object(id.clone(), hex, class))
    }

    /// Keeps other events of this object out until `work` is done.
    pub(crate) fn block_concurrency_while<T: 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + 'static,
    ) -> JoinHandle<Result<T, Error>> {
        let gate = self.world.state().close_gate(self.host());
        let env = self.clone();
        let (handle, task) = self.spawn_task(async move {
            match env.timeout(GATE_LIMIT, work).await {
                Some(Ok(value)) => {
                    env.world.state().leave_gate(env.host(), gate);
                    return Ok(value);
                }
                Some(Err(error)) => env.abort(&error.to_string()),
                None => env.abort(ObjectError::GATE_TIMEOUT),
            }
            std::future::pending().await
        });
        self.world.state().give_pass(task, gate);
        handle.behind(gate)
    }

    /// Resets this object when the current poll is over.
    pub(crate) fn abort(&self, reason: &str) {
        self.world.state().objects.aborted = Some(reason.into());
    }

    /// Waits until the gate of this object is open for the current task.
    pub(crate) async fn admitted(&self) {
        let mut asked = false;
        std::future::poll_fn(|cx| {
            let mut state = self.world.state();
            let task = state.tasks.waiting(cx);
            if !std::mem::replace(&mut asked, true) && state.hold_back(task) {
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// The clients that are connected to this object.
    pub(crate) fn sockets(&self) -> Vec<u32> {
        let state = self.world.state();
        state.objects.sockets.of_object(self.host()).map(|socket| socket.0).collect()
    }

    /// Sends to a connected client when the turn ends, with everything else that leaves then.
    pub(crate) fn push(&self, socket: u32, message: Body) {
        let op = Op::Push { socket, message };
        self.world.state().request(self.host(), None, None, op);
    }
}

/// How long `block_concurrency_while` may take.
const GATE_LIMIT: Duration = Duration::from_secs(30);

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Env(host {})", self.host().0)
    }
}
