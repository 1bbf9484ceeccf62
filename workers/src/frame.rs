//! The frame of what runs now: which stores of `AsyncLocalStorage` its code sees. The prelude numbers frames; 0 is the
//! one without stores.
//!
//! A microtask must run in the frame in which it was asked for. The prelude puts a microtask that enters the frame in
//! front of every reaction to a promise, which it can because `then` and `await` both ask the promise for its
//! constructor. Where they do not ask, the engine has just made or fulfilled a promise, and its hook does the same
//! here.
#![allow(
    unsafe_code,
    reason = "QuickJS is asked for a microtask that is not written in JavaScript"
)]

use std::cell::Cell;
use std::ffi::c_int;

use rquickjs::promise::PromiseHookType;
use rquickjs::{Ctx, Function, Object, Result, Runtime, qjs};

thread_local! {
    /// An isolate runs on one thread and lets no other run before it has no more microtasks.
    static CURRENT: Cell<i32> = const { Cell::new(0) };
}

/// Does `work`, which begins in the frame without stores.
pub fn outermost<R>(work: impl FnOnce() -> R) -> R {
    let before = CURRENT.replace(0);
    let done = work();
    CURRENT.set(before);
    done
}

/// Lets the microtasks that the prelude does not see run in the frame in which they were asked for.
pub fn follow(runtime: &Runtime) {
    runtime.set_promise_hook(Some(Box::new(|ctx, event, _, _| {
        if matches!(event, PromiseHookType::Init | PromiseHookType::Resolve) {
            enqueue(&ctx);
        }
    })));
}

/// Puts a microtask behind the others that enters the frame of now.
fn enqueue(ctx: &Ctx<'_>) {
    let mut frame = qjs::JS_MKVAL(qjs::JS_TAG_INT, CURRENT.get());
    // SAFETY: the context exists, and there is one argument, a number, which nobody has to free. Out of memory, nothing
    // is enqueued, and the isolate ends for that.
    unsafe { qjs::JS_EnqueueJob(ctx.as_raw().as_ptr(), Some(enter), 1, &raw mut frame) };
}

unsafe extern "C" fn enter(
    _: *mut qjs::JSContext,
    _: c_int,
    frame: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: `enqueue` gives one argument, and it is a number.
    CURRENT.set(unsafe { qjs::JS_VALUE_GET_INT(*frame) });
    qjs::JS_UNDEFINED
}

/// How the prelude asks for the frame and changes it.
pub fn install<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    natives.set("frame", Function::new(ctx.clone(), || CURRENT.get())?)?;
    natives.set("enterFrame", Function::new(ctx.clone(), |frame: i32| CURRENT.replace(frame))?)
}
