//! A worker at work on a request.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::engine::env::Env;
use crate::engine::host::{Invocation, Work};
use crate::protocol::error::Error;
use crate::protocol::http::{Request, Response};
use crate::protocol::op::Op;
use crate::protocol::reply::Reply;

pin_project_lite::pin_project! {
    /// Calls the handler when it is first polled, and sends its answer when it is done. Every request of
    /// every run is one of these, and an `async` block would keep the request and the answer twice.
    pub(crate) struct Serve<H, F> {
        handler: Rc<H>,
        env: Env,
        invocation: Invocation,
        #[pin]
        work: Option<F>,
        // What is left to wait for when the handler is done: rare, hence not in line with the rest.
        rest: Option<Work<()>>,
    }
}

impl<H, F> Serve<H, F> {
    /// In a box of its own. The box comes first: made elsewhere and moved into it, all of this would be
    /// copied, and only a small part is filled yet.
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
        let Invocation { call, copy } = *this.invocation;
        if this.work.is_none() && this.rest.is_none() {
            let request = this.env.request(call);
            this.work.set(Some((this.handler)(this.env.clone(), request)));
        }
        if let Some(work) = this.work.as_mut().as_pin_mut() {
            let Poll::Ready(outcome) = work.poll(cx) else { return Poll::Pending };
            this.work.set(None);
            let mut state = this.env.world().state();
            if !state.waited.contains_key(&this.env.invocation()) {
                state.handled(call, copy, outcome.map(Reply::Fetch), None);
                return Poll::Ready(());
            }
            drop(state);
            *this.rest =
                Some(Box::pin(after_background(this.env.clone(), *this.invocation, outcome)));
        }
        this.rest.as_mut().expect("there is work until it is done").as_mut().poll(cx)
    }
}

/// The answer goes back when the background is done too, and fails with it.
async fn after_background(env: Env, of: Invocation, outcome: Result<Response, Error>) {
    let background = env.background().await;
    let outcome = outcome.and_then(|response| background.map(|()| Reply::Fetch(response)));
    env.world().state().handled(of.call, of.copy, outcome, None);
}

impl Env {
    /// What a worker is asked, for the handler to have.
    fn request(&self, call: u32) -> Request {
        match self.world().state().trace.op(call) {
            Op::Fetch { request, .. } => request.clone(),
            op => unreachable!("{op} is not served"),
        }
    }
}
