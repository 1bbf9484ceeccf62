//! A call into an isolate as a future of the simulator. One poll runs all the JavaScript that can run, which for a
//! durable object is one turn.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use rquickjs::{ArrayBuffer, Function};
use thunderhead_sim::{Body, Env, Error};

use crate::failure::Thrown;
use crate::home::Home;
use crate::isolate::Isolate;
use crate::pump::Pump;

/// A handler, with what it is given.
pub struct Call {
    /// The name of the handler in the prelude.
    pub kind: &'static str,
    /// Its arguments.
    pub json: String,
    /// The bytes of a request.
    pub bytes: Body,
    /// The arguments of a call of an object, as its caller has written them.
    pub args: Option<Body>,
}

impl Call {
    /// Without bytes and arguments of a call.
    pub fn new(kind: &'static str, json: &serde_json::Value) -> Call {
        Call { kind, json: json.to_string(), bytes: Body::empty(), args: None }
    }
}

/// What becomes of operations that are not over when the handler has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unawaited {
    /// They are cancelled with the invocation, as in a Worker.
    Cancelled,
    /// They go on, as in a durable object.
    GoOn,
}

/// What a handler returned.
pub struct Returned {
    /// Its result.
    pub json: String,
    /// The bytes of a response.
    pub bytes: Option<Body>,
    /// What was given to `waitUntil`, and the rest of a response that is still being sent.
    pub background: Option<Background>,
    /// Whether the response is still being sent.
    pub open: bool,
}

/// A call and everything it waits for.
pub struct Invocation {
    isolate: Rc<Isolate>,
    pump: Rc<Pump>,
    id: u32,
    call: Option<Call>,
    unawaited: Unawaited,
}

const HUNG: &str = "The Workers runtime canceled this request because it detected that your Worker's code had hung \
    and would never generate a response.";

impl Invocation {
    /// A call that begins when it is first polled.
    pub fn new(
        isolate: Rc<Isolate>,
        env: Env,
        home: &Rc<Home>,
        call: Call,
        unawaited: Unawaited,
    ) -> Invocation {
        let id = isolate.host().next_invocation();
        let pump = Pump::new(env, id, home);
        if unawaited == Unawaited::Cancelled {
            pump.end_all();
        }
        Invocation { isolate, pump, id, call: Some(call), unawaited }
    }

    /// Its number, under which the isolate knows it.
    pub fn id(&self) -> u32 {
        self.id
    }

    fn start(&self, Call { kind, json, bytes, args }: Call) -> Result<(), Thrown> {
        let id = self.id;
        self.isolate.enter(&self.pump, |ctx, hooks| {
            let bytes = ArrayBuffer::new_copy(ctx.clone(), bytes.bytes())?;
            let args = args.as_ref().map(|args| args.text().unwrap_or_default());
            hooks.get::<_, Function>("start")?.call::<_, ()>((id, kind, json, bytes, args))
        })
    }

    /// What the handler has left behind goes on or is cancelled.
    fn leave(&self, background: Background) {
        if self.pump.is_empty() {
            return;
        }
        match self.unawaited {
            Unawaited::GoOn => drop(self.pump.env.spawn(background)),
            Unawaited::Cancelled => cancel_rest(&self.pump),
        }
    }
}

impl Future for Invocation {
    type Output = Result<Returned, Thrown>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(call) = self.call.take()
            && let Err(thrown) = self.start(call)
        {
            return Poll::Ready(Err(thrown));
        }
        self.pump.poll(&self.isolate, cx);
        let host = self.isolate.host();
        if let Some(reason) = host.condemned() {
            return Poll::Ready(Err(Thrown::new(reason)));
        }
        let ended = host.ended.borrow_mut().remove(&self.id);
        let Some(ended) = ended else {
            if self.unawaited == Unawaited::Cancelled && self.pump.is_empty() {
                return Poll::Ready(Err(Thrown::new(HUNG)));
            }
            host.wakers.borrow_mut().insert(self.id, cx.waker().clone());
            return Poll::Pending;
        };
        let waits = ended.goes_on.then_some(self.id);
        let background =
            Background { isolate: self.isolate.clone(), pump: self.pump.clone(), waits };
        let open = ended.open;
        let result = ended.result.map(|(json, bytes)| (json, bytes, waits.is_some()));
        Poll::Ready(match result {
            Ok((json, bytes, true)) => {
                Ok(Returned { json, bytes, background: Some(background), open })
            }
            Ok((json, bytes, false)) => {
                self.leave(background);
                Ok(Returned { json, bytes, background: None, open })
            }
            Err(thrown) => {
                self.leave(background);
                Err(thrown)
            }
        })
    }
}

/// Cancels what an invocation has begun and did not await, and tells of it.
fn cancel_rest(pump: &Pump) {
    let count = pump.cancel_all();
    if count > 0 {
        let what = if count == 1 { "operation that was" } else { "operations that were" };
        pump.env.log(format!("{count} {what} not awaited, cancelled"));
    }
}

/// What goes on when a handler has returned: `waitUntil`, or all that an object has begun.
pub struct Background {
    isolate: Rc<Isolate>,
    pump: Rc<Pump>,
    /// The invocation whose `waitUntil` this is; without one it ends with the operations.
    waits: Option<u32>,
}

impl Background {
    /// All that was begun with `pump` outside of a handler.
    pub fn rest(isolate: Rc<Isolate>, pump: Rc<Pump>) -> Background {
        Background { isolate, pump, waits: None }
    }
}

impl Future for Background {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.pump.poll(&self.isolate, cx);
        let host = self.isolate.host();
        if host.condemned().is_some() {
            return Poll::Ready(Ok(()));
        }
        let ended = self.waits.and_then(|id| host.waited.borrow_mut().remove(&id));
        if let Some(result) = ended {
            cancel_rest(&self.pump);
            return Poll::Ready(result.map_err(|thrown| thrown.uncaught(&self.pump.env)));
        }
        // A promise that nothing will settle is given up, as the platform does.
        if self.pump.is_empty() {
            if self.pump.listens() {
                self.pump.env.log(HUNG);
            }
            return Poll::Ready(Ok(()));
        }
        if let Some(id) = self.waits {
            host.wakers.borrow_mut().insert(id, cx.waker().clone());
        }
        Poll::Pending
    }
}
