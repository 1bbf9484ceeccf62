//! What application code waits for: time, replies, and its own spawned work.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::engine::agenda::{Scheduled, TimerId};
use crate::engine::task::Waits;
use crate::engine::world::World;
use crate::protocol::error::Error;
use crate::protocol::http::Response;
use crate::protocol::reply::{Outcome, Reply};
use crate::values::time::Time;

/// Waits for a time to pass.
pub(crate) struct Sleep {
    world: Rc<World>,
    end: End,
    /// The task that will be woken then, and by what.
    timer: Option<(u32, TimerId)>,
}

/// When a sleep ends: known once it has begun.
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
        let task = state.waiting(cx);
        match *timer {
            // A task that is polled for another reason sleeps on: one wake-up is enough.
            Some((sleeper, _)) if sleeper == task => {}
            moved => {
                moved.into_iter().for_each(|(_, id)| state.agenda.cancel(until, id));
                *timer = Some((task, state.agenda.schedule(until, Scheduled::Wake { task })));
            }
        }
        state.tasks[task as usize].waits = Waits::Until(until);
        Poll::Pending
    }
}

impl Drop for Sleep {
    /// Nobody waits any more: a wake-up would poll the task for nothing.
    fn drop(&mut self) {
        let (Some((_, timer)), End::At(until)) = (self.timer, self.end) else { return };
        // An object that holds a sleep is dropped by the world itself; then it wakes for nothing.
        if let Some(mut state) = self.world.idle_state() {
            state.agenda.cancel(until, timer);
        }
    }
}

pin_project_lite::pin_project! {
    /// Work, and how long it may take. An `async fn` would keep the work twice, as its argument and
    /// where it is polled, and every future around it would be that much larger.
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
        // Work that is given up is dropped now, however long the limit itself is kept.
        this.sleep.set(None);
        this.work.set(None);
        Poll::Ready(ended)
    }
}

/// A call that is being made.
pub(crate) struct Call {
    world: Rc<World>,
    call: u32,
    submitted: bool,
}

impl Call {
    /// A call that has its number and waits to be made.
    pub fn new(world: Rc<World>, call: u32) -> Call {
        Call { world, call, submitted: false }
    }

    /// What `take` makes of the answer, when there is one.
    fn poll_with<T>(&mut self, cx: &Context<'_>, take: impl FnOnce(&Outcome) -> T) -> Poll<T> {
        let Call { world, call, submitted } = self;
        let (mut state, call) = (world.state(), *call);
        if !*submitted {
            // A host that is about to die sends nothing more.
            if state.pending_crash.is_some() {
                return Poll::Pending;
            }
            state.submit(call);
            *submitted = true;
        }
        let flight = &state.calls[call as usize];
        if flight.closed {
            let outcome = flight.outcome.expect("a closed call has its outcome");
            return Poll::Ready(take(state.trace.outcome(outcome)));
        }
        let task = state.waiting(cx);
        state.calls[call as usize].task = Some(task);
        state.tasks[task as usize].waits = Waits::Call(call);
        Poll::Pending
    }
}

impl Future for Call {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        self.get_mut().poll_with(cx, Outcome::clone)
    }
}

/// A request to a worker that is being made, unless there is no such worker.
pub(crate) struct Fetch(pub Result<Call, Box<Error>>);

impl Future for Fetch {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        match &mut self.0 {
            // Out of all the answers there are, only a response is worth a copy.
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
    /// Spawned work, which gives its result to a handle. An `async` block would keep the work twice.
    pub(crate) struct Spawned<F: Future> {
        #[pin]
        work: Option<F>,
        joint: Rc<RefCell<JoinState<F::Output>>>,
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
            let mut joint = this.joint.borrow_mut();
            joint.output = Some(output);
            joint.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Poll::Ready(())
    }
}

/// The result to come of spawned work.
pub struct JoinHandle<T> {
    world: Rc<World>,
    joint: Rc<RefCell<JoinState<T>>>,
}

impl<T: 'static> JoinHandle<T> {
    /// A handle, and the work that will give it its result.
    pub(crate) fn new<F: Future<Output = T>>(
        world: Rc<World>,
        work: F,
    ) -> (JoinHandle<T>, Spawned<F>) {
        let joint = Rc::new(RefCell::new(JoinState { output: None, waker: None }));
        let handle = JoinHandle { world, joint: joint.clone() };
        (handle, Spawned { work: Some(work), joint })
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut joint = self.joint.borrow_mut();
        if let Some(output) = joint.output.take() {
            return Poll::Ready(output);
        }
        joint.waker = Some(cx.waker().clone());
        let mut state = self.world.state();
        let task = state.current.expect("polled by the engine");
        state.tasks[task as usize].waits = Waits::Elsewhere;
        Poll::Pending
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinHandle")
    }
}
