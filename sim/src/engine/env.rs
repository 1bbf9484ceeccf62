//! What application code holds: its only way to the clock, to chance, and to the platform.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::choices::Odds;
use crate::engine::wait::{Call, Fetch, JoinHandle, Sleep, Timeout};
use crate::engine::world::{Line, State, World};
use crate::protocol::error::Error;
use crate::protocol::fault::Fault;
use crate::protocol::http::{Request, Response};
use crate::protocol::object::ObjectId;
use crate::protocol::op::Op;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::protocol::trace::EventKind;
use crate::values::body::Body;
use crate::values::hash::mix;
use crate::values::time::Time;

pub(crate) type Background = JoinHandle<Result<(), Error>>;

/// A host's view of the world, given to every handler.
#[derive(Clone)]
pub struct Env {
    world: Rc<World>,
    place: Place,
}

/// A host, and which of its invocations this is, for what it waits for in the background. In one word: an
/// environment of two is handed on in registers, and it is handed on a lot.
#[derive(Clone, Copy)]
struct Place(u64);

impl Place {
    fn new(host: u16, invocation: u32) -> Place {
        Place(u64::from(host) << 32 | u64::from(invocation))
    }

    fn host(self) -> u16 {
        (self.0 >> 32) as u16
    }

    fn invocation(self) -> u32 {
        self.0 as u32
    }
}

impl Env {
    pub(crate) fn new(world: Rc<World>, host: u16) -> Env {
        let place = Place::new(host, world.state().next_invocation());
        Env { world, place }
    }

    /// The same for who has the state in hand.
    pub(crate) fn within(state: &mut State, world: &Rc<World>, host: u16) -> Env {
        Env { world: world.clone(), place: Place::new(host, state.next_invocation()) }
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.world.state().now
    }

    /// Waits; other tasks run meanwhile.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        Sleep::new(self.world.clone(), duration)
    }

    /// Waits for `work`, but no longer than `duration`. Work that is given up is dropped, and its
    /// requests are still on their way.
    pub fn timeout<F: Future>(
        &self,
        duration: Duration,
        work: F,
    ) -> impl Future<Output = Option<F::Output>> + use<F> {
        Timeout::new(Sleep::new(self.world.clone(), duration), work)
    }

    /// Runs `work` beside the caller, on the same host; it dies with the host.
    pub fn spawn<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        let (handle, work) = JoinHandle::new(self.world.clone(), work);
        self.world.spawn(self.host(), None, Box::pin(work));
        handle
    }

    /// Keeps the invocation open until `work` is done; its failure is the invocation's failure.
    pub fn wait_until(&self, work: impl Future<Output = Result<(), Error>> + 'static) {
        let handle = self.spawn(work);
        self.world.state().waited.entry(self.invocation()).or_default().push(handle);
    }

    /// Waits for everything given to [`Env::wait_until`]; the first failure counts.
    pub(crate) async fn background(&self) -> Result<(), Error> {
        let mut result = Ok(());
        loop {
            let next = {
                let mut state = self.world.state();
                state.waited.get_mut(&self.invocation()).and_then(Vec::pop)
            };
            let Some(handle) = next else { return result };
            result = result.and(handle.await);
        }
    }

    /// The application's own randomness: a number in `0..n`, drawn from the tape.
    pub fn random(&self, n: u32) -> u32 {
        let mut state = self.world.state();
        let host = state.key(self.host());
        state.choices.choose(ChoiceKind::Random, host, OpCode::NONE, n, Odds::Even)
    }

    /// The mood of something outside the cloud, in `0..n`: 0 when there is no storm, and drawn
    /// evenly when there is.
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
        let (high, low) = (mix(state.unique), mix(state.unique ^ u64::MAX));
        format!("{high:016x}{low:016x}")
    }

    /// Writes a line to the trace.
    pub fn log(&self, text: impl Into<Arc<str>>) {
        self.world.state().record(self.host(), EventKind::Log { text: text.into() });
    }

    /// Sends a request to a worker.
    pub fn fetch(
        &self,
        worker: &str,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + 'static {
        // Not an `async fn`: the request would be a part of every future that waits for it.
        let mut state = self.world.state();
        let callee = state.host_named(worker).map(|host| state.host(host));
        let Some(callee) = callee.filter(|host| host.fetch.is_some()) else {
            let error = Error::app(format!("no worker called `{worker}` serves requests"));
            return Fetch(Err(Box::new(error)));
        };
        let (to, callee) = (callee.label.clone(), Some(callee.key.index));
        let call = state.prepare(self.host(), callee, None, Op::Fetch { to, request });
        Fetch(Ok(Call::new(self.world.clone(), call)))
    }

    /// Passes the doorway.
    pub(crate) fn call(&self, callee: Option<u16>, op: Op) -> Call {
        self.call_on(callee, None, op)
    }

    /// Passes the doorway through a stub.
    pub(crate) fn call_on(&self, callee: Option<u16>, line: Option<u32>, op: Op) -> Call {
        // An operation is large; in the world's keeping it does not make every future large too.
        let call = self.world.state().prepare(self.host(), callee, line, op);
        Call::new(self.world.clone(), call)
    }

    fn host(&self) -> u16 {
        self.place.host()
    }

    pub(crate) fn invocation(&self) -> u32 {
        self.place.invocation()
    }

    pub(crate) fn world(&self) -> &Rc<World> {
        &self.world
    }

    /// A new order of arrival, for a new stub.
    pub(crate) fn open_line(&self) -> u32 {
        let mut state = self.world.state();
        state.lines.push(Line::default());
        state.lines.len() as u32 - 1
    }

    pub(crate) fn host_name(&self, host: u16) -> Arc<str> {
        self.world.state().host(host).name.clone()
    }

    /// The host of an object, which comes to be when it is first called.
    pub(crate) fn object_host(&self, id: &ObjectId) -> Result<u16, Error> {
        let mut state = self.world.state();
        // By name is the usual way; an object that was first reached by its digits has another host.
        let known = id.name().and_then(|_| state.host_named(id.host()));
        if let Some(host) = known {
            return Ok(host);
        }
        let hex = id.hex();
        if let Some(host) = state.objects.get(&hex).copied() {
            // Now that its name is known, the object may know it too.
            if id.name().is_some() {
                state.host_index.add(id.host(), host);
                state.object_mut(host).id = id.clone();
            }
            return Ok(host);
        }
        let Some(class) = state.classes.get(id.namespace()).cloned() else {
            let message = format!("no class of durable objects is bound to `{}`", id.namespace());
            return Err(Error::app(message));
        };
        let host = state.add_object(id.clone(), class);
        state.objects.insert(hex, host);
        Ok(host)
    }

    /// Keeps other events of this object out until `work` is done.
    pub(crate) fn block_concurrency_while<T: 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + 'static,
    ) -> JoinHandle<Result<T, Error>> {
        let gate = self.world.state().close_gate(self.host());
        let env = self.clone();
        let handle = self.spawn(async move {
            match env.timeout(GATE_LIMIT, work).await {
                Some(Ok(value)) => {
                    env.world.state().open_gate(env.host(), gate);
                    return Ok(value);
                }
                Some(Err(error)) => env.abort(&error.to_string()),
                None => env.abort(GATE_TIMEOUT),
            }
            std::future::pending().await
        });
        let mut state = self.world.state();
        let task = state.tasks.len() as u32 - 1;
        state.give_pass(task, gate);
        drop(state);
        handle
    }

    /// Resets this object when the current poll is over.
    pub(crate) fn abort(&self, reason: &str) {
        self.world.state().aborted = Some(reason.into());
    }

    /// Waits until the gate of this object is open for the current task.
    pub(crate) async fn admitted(&self) {
        let mut asked = false;
        std::future::poll_fn(|cx| {
            let mut state = self.world.state();
            let task = state.waiting(cx);
            if !std::mem::replace(&mut asked, true) && state.held_back(task) {
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// The clients that are connected to this object.
    pub(crate) fn sockets(&self) -> Vec<u32> {
        self.world.state().sockets_of(self.host()).collect()
    }

    /// Sends to a connected client, with everything else that leaves this turn.
    pub(crate) fn push(&self, socket: u32, message: Body) {
        let mut state = self.world.state();
        let callee = None;
        state.request(self.host(), callee, None, Op::Push { socket, message });
    }
}

/// How long `block_concurrency_while` may take.
const GATE_LIMIT: Duration = Duration::from_secs(30);
const GATE_TIMEOUT: &str = "A call to blockConcurrencyWhile() in a Durable Object waited for too \
    long. The call was canceled and the Durable Object was reset.";

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Env(host {})", self.host())
    }
}
