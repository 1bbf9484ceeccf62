//! What application code waits for: time, replies, and its own spawned work.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::engine::agenda::{Scheduled, TimerId};
use crate::engine::ids::{CallId, GateId, TaskId};
use crate::engine::task::Waits;
use crate::engine::world::World;
use crate::protocol::http::Response;
use crate::protocol::outcome::{Error, Outcome, Reply};
use crate::values::time::Time;

/// Waits for a time to pass.
pub(crate) struct Sleep {
    world: Rc<World>,
    end: End,
    /// The task that will be woken, and the event that does it.
    timer: Option<(TaskId, TimerId)>,
}

/// When a sleep ends. The time is known after the first poll.
#[derive(Clone, Copy)]
enum End {
    After(Duration),
    At(Time),
}

impl Sleep {
    pub fn new(world: Rc<World>, duration: Duration) -> Sleep {
        Sleep { world, end: End::After(duration), timer: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Sleep { world, end, timer } = self.get_mut();
        let mut state = world.state();
        let until = match *end {
            End::After(duration) => state.now + duration,
            End::At(time) => time,
        };
        *end = End::At(until);
        if state.now >= until {
            *timer = None;
            return Poll::Ready(());
        }
        let task = state.tasks.waiting(cx);
        match *timer {
            // A task that is polled for another reason sleeps on: one wake-up is enough.
            Some((sleeper, _)) if sleeper == task => {}
            moved => {
                moved.into_iter().for_each(|(_, id)| state.agenda.cancel(until, id));
                *timer = Some((task, state.agenda.schedule(until, Scheduled::Wake { task })));
            }
        }
        state.tasks[task].waits = Waits::Until(until);
        Poll::Pending
    }
}

impl Drop for Sleep {
    /// Cancels the wake-up, which would poll the task for nothing.
    fn drop(&mut self) {
        let (Some((_, timer)), End::At(until)) = (self.timer, self.end) else { return };
        // If the state is borrowed, the event stays and wakes the task for nothing.
        if let Some(mut state) = self.world.idle_state() {
            state.agenda.cancel(until, timer);
        }
    }
}

pin_project_lite::pin_project! {
    /// Work with a time limit. An `async fn` would hold the work twice, as its argument and where it is
    /// polled, and every future around it would be larger by that.
    pub(crate) struct Timeout<F> {
        #[pin]
        sleep: Option<Sleep>,
        #[pin]
        work: Option<F>,
    }
}

impl<F> Timeout<F> {
    pub fn new(sleep: Sleep, work: F) -> Timeout<F> {
        Timeout { sleep: Some(sleep), work: Some(work) }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let mut this = self.project();
        let (work, sleep) = (this.work.as_mut().as_pin_mut(), this.sleep.as_mut().as_pin_mut());
        let (Some(work), Some(sleep)) = (work, sleep) else {
            panic!("a time limit was polled after it had ended");
        };
        let ended = match work.poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => match sleep.poll(cx) {
                Poll::Ready(()) => None,
                Poll::Pending => return Poll::Pending,
            },
        };
        // Work that is given up is dropped now, however long this future is kept.
        this.sleep.set(None);
        this.work.set(None);
        Poll::Ready(ended)
    }
}

/// A call that is being made. Its operation is in the trace, so that it does not enlarge every future.
pub(crate) struct Call {
    world: Rc<World>,
    call: CallId,
    submitted: bool,
}

impl Call {
    /// A call that is prepared; the first poll submits it.
    pub fn new(world: Rc<World>, call: CallId) -> Call {
        Call { world, call, submitted: false }
    }

    /// Its number.
    pub fn id(&self) -> CallId {
        self.call
    }

    /// Polls for the answer, and gives it to `take` when it is there.
    fn poll_with<T>(&mut self, cx: &Context<'_>, take: impl FnOnce(&Outcome) -> T) -> Poll<T> {
        let Call { world, call, submitted } = self;
        let (mut state, call) = (world.state(), *call);
        if !*submitted {
            // A host that is about to crash sends nothing more.
            if state.pending_crash.is_some() {
                return Poll::Pending;
            }
            state.submit(call);
            *submitted = true;
        }
        let flight = &state.calls[call];
        if flight.closed {
            let outcome = flight.outcome.expect("a closed call has its outcome");
            return Poll::Ready(take(state.trace.outcome(outcome)));
        }
        let task = state.tasks.waiting(cx);
        state.calls[call].task = Some(task);
        state.tasks[task].waits = Waits::Call(call);
        Poll::Pending
    }
}

impl Drop for Call {
    /// In a live world, lets the call be forgotten when it is over.
    #[inline]
    fn drop(&mut self) {
        if self.world.is_live
            && let Some(mut state) = self.world.idle_state()
        {
            let flight = &mut state.calls[self.call];
            flight.dropped = true;
            flight.closed |= !self.submitted;
            flight.task = None;
            state.live.iter_mut().for_each(|live| live.over.push(self.call));
        }
    }
}

impl Future for Call {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        self.get_mut().poll_with(cx, Outcome::clone)
    }
}

/// A request to a worker that is being made; an error when there is no such worker.
pub(crate) struct Fetch(pub Result<Call, Box<Error>>);

impl Future for Fetch {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        match &mut self.0 {
            // Only the response is cloned, not the whole outcome.
            Ok(call) => call.poll_with(cx, |outcome| match outcome {
                Ok(Reply::Fetch(response)) => Ok(response.clone()),
                Ok(other) => unreachable!("a fetch was answered with {other}"),
                Err(error) => Err(error.clone()),
            }),
            Err(error) => Poll::Ready(Err((**error).clone())),
        }
    }
}

struct JoinState<T> {
    output: Option<T>,
    waker: Option<Waker>,
}

pin_project_lite::pin_project! {
    /// Spawned work, which gives its result to a handle. An `async` block would hold the work twice.
    pub(crate) struct Spawned<F: Future> {
        #[pin]
        work: Option<F>,
        join: Rc<RefCell<JoinState<F::Output>>>,
    }
}

impl<F: Future> Future for Spawned<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let work = this.work.as_mut().as_pin_mut().expect("work that has ended is not polled");
        let Poll::Ready(output) = work.poll(cx) else { return Poll::Pending };
        this.work.set(None);
        let waker = {
            let mut join = this.join.borrow_mut();
            join.output = Some(output);
            join.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Poll::Ready(())
    }
}

/// Waits for the result of spawned work.
pub struct JoinHandle<T> {
    world: Rc<World>,
    join: Rc<RefCell<JoinState<T>>>,
    /// The gate that the work keeps closed.
    gate: Option<GateId>,
}

impl<T: 'static> JoinHandle<T> {
    /// A handle, and the work that will give it its result.
    pub(crate) fn new<F: Future<Output = T>>(
        world: Rc<World>,
        work: F,
    ) -> (JoinHandle<T>, Spawned<F>) {
        let join = Rc::new(RefCell::new(JoinState { output: None, waker: None }));
        let handle = JoinHandle { world, join: join.clone(), gate: None };
        (handle, Spawned { work: Some(work), join })
    }

    /// The same handle, of work that keeps a gate closed.
    pub(crate) fn behind(self, gate: GateId) -> JoinHandle<T> {
        JoinHandle { gate: Some(gate), ..self }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut join = self.join.borrow_mut();
        if let Some(output) = join.output.take() {
            return Poll::Ready(output);
        }
        join.waker = Some(cx.waker().clone());
        let mut state = self.world.state();
        let task = state.tasks.current.expect("polled by the engine");
        state.tasks[task].waits = Waits::Elsewhere;
        if let Some(gate) = self.gate {
            state.await_gate(task, gate);
        }
        Poll::Pending
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinHandle")
    }
}
