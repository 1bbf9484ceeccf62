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
        // The wait for background work when the handler is done. Boxed because it is rare.
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
            if !state.invocations.has_background(this.env.invocation()) {
                state.handled(*this.invocation, outcome.map(Reply::Fetch), None);
                return Poll::Ready(());
            }
            drop(state);
            *this.rest =
                Some(Box::pin(after_background(this.env.clone(), *this.invocation, outcome)));
        }
        this.rest.as_mut().expect("there is work until it is done").as_mut().poll(cx)
    }
}

/// Answers when the background work is done too. If that fails, the request fails.
async fn after_background(env: Env, of: Invocation, outcome: Result<Response, Error>) {
    let background = env.background().await;
    let outcome = outcome.and_then(|response| background.map(|()| Reply::Fetch(response)));
    env.world().state().handled(of, outcome, None);
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
