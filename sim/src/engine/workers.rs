//! The future in which a worker serves one request.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::engine::env::Env;
use crate::engine::host::Invocation;
use crate::engine::ids::CallId;
use crate::engine::task::Work;
use crate::protocol::http::{Request, Response};
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};

pin_project_lite::pin_project! {
    /// Calls the handler when it is first polled, and answers when that is done. Every request of every run
    /// is one of these; an `async` block would hold the request and the answer twice.
    pub(crate) struct Serve<H, F> {
        handler: Rc<H>,
        env: Env,
        invocation: Invocation,
        #[pin]
        work: Option<F>,
        // The wait for background work when the request is answered. Boxed because it is rare.
        rest: Option<Work<()>>,
    }
}

impl<H, F> Serve<H, F> {
    /// Constructs the future in its box. `Box::pin` would construct it on the stack and copy all of it,
    /// though most of it is not initialised yet.
    pub fn boxed(handler: Rc<H>, env: Env, invocation: Invocation) -> Pin<Box<Self>> {
        let place = Box::new_uninit();
        Box::into_pin(Box::write(place, Serve { handler, env, invocation, work: None, rest: None }))
    }
}

impl<H, F> Future for Serve<H, F>
where
    H: Fn(Env, Request) -> F,
    F: Future<Output = Result<Response, Error>>,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.work.is_none() && this.rest.is_none() {
            let request = this.env.request(this.invocation.call);
            this.work.set(Some((this.handler)(this.env.clone(), request)));
        }
        if let Some(work) = this.work.as_mut().as_pin_mut() {
            let Poll::Ready(outcome) = work.poll(cx) else { return Poll::Pending };
            this.work.set(None);
            let mut state = this.env.world().state();
            state.handled(*this.invocation, outcome.map(Reply::Fetch), None);
            if !state.invocations.has_spawned(this.env.invocation()) {
                return Poll::Ready(());
            }
            // A crash from here on is nothing to the caller, who has the answer.
            let task = state.tasks.current.expect("polled by the engine");
            state.tasks[task].serves = None;
            drop(state);
            let env = this.env.clone();
            *this.rest = Some(Box::pin(async move { env.leave_after_answer().await }));
        }
        this.rest.as_mut().expect("there is work until it is done").as_mut().poll(cx)
    }
}

impl Env {
    /// A copy of the request, for the handler to own.
    fn request(&self, call: CallId) -> Request {
        match self.world().state().trace.op(call.0) {
            Op::Fetch { request, .. } => request.clone(),
            op => unreachable!("{op} is not served"),
        }
    }
}
