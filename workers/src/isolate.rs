//! One QuickJS runtime with a program in it. It boots from bytecode once; for every other life of a host, the image of
//! its heap takes it back to the moment after the boot. Rust holds one object of the JavaScript heap, which is older
//! than the image, and refers to everything else by number: that is what makes it sound to replace the heap.
#![allow(unsafe_code, reason = "the heap of an engine that is written in C is replaced")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::context::intrinsic;
use rquickjs::{ArrayBuffer, Context, Ctx, Function, Object, Persistent, Runtime, qjs};
use thunderhead_sim::SortedMap;

use crate::arena::{Arena, ArenaAllocator};
use crate::code::{self, Booter, Code};
use crate::failure::Thrown;
use crate::frame;
use crate::host::Host;
use crate::image::Image;
use crate::natives;
use crate::pump::{Answer, Pump, Told};

/// How often the interpreter may ask whether to go on before an invocation lets others run; it asks once in some
/// 10,000 calls and jumps backwards. The platform's limit is 30 seconds of processor time; this is less than one.
const MAX_CHECKS: u32 = 4_000;
/// How many microtasks may run before an invocation lets others run.
const MAX_JOBS: u32 = 2_000_000;
/// How deep the calls may nest, in bytes of stack. Threads of a search have two megabytes.
const MAX_STACK: usize = 512 << 10;

const EXCEEDED_CPU: &str = "Worker exceeded CPU time limit.";
const EXCEEDED_MEMORY: &str = "Worker exceeded memory limit.";

/// All that the language has, without `eval` and the clock.
type Language = (
    intrinsic::Date,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
    intrinsic::DOMException,
);

/// An isolate in use. When it is dropped, its runtime goes back to the pool of its thread.
pub struct Isolate {
    core: Option<Core>,
}

/// A runtime that is used again and again.
struct Core {
    hooks: Option<Persistent<Object<'static>>>,
    context: Context,
    host: Rc<Host>,
    arena: Arena,
    image: Image,
    code: Arc<Code>,
}

thread_local! {
    /// Runtimes that wait to be used again, by the address of their program, which they keep alive.
    static POOL: RefCell<SortedMap<usize, Vec<Core>>> = const { RefCell::new(SortedMap::new()) };
    static ANEW: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` with isolates that boot from bytecode whenever one is needed, and not from images. It takes longer and
/// makes no other difference, which is what it is for: to show that.
pub fn booting_anew<R>(work: impl FnOnce() -> R) -> R {
    let before = ANEW.replace(true);
    let done = work();
    ANEW.set(before);
    done
}

impl Isolate {
    /// An isolate in which the program has booted and done nothing else.
    pub fn new(code: &Arc<Code>) -> Result<Rc<Isolate>, String> {
        let take = |pool: &RefCell<SortedMap<usize, Vec<Core>>>| {
            pool.borrow_mut().get_mut(&address(code)).and_then(Vec::pop)
        };
        let pooled = if ANEW.get() { None } else { POOL.with(take) };
        let core = match pooled {
            // Now, and not when it was put there: what is copied is in the cache when the JavaScript begins.
            Some(core) => {
                core.restore();
                core
            }
            None => Core::boot(code)?,
        };
        let isolate = Rc::new(Isolate { core: Some(core) });
        *isolate.host().isolate.borrow_mut() = Rc::downgrade(&isolate);
        Ok(isolate)
    }

    fn core(&self) -> &Core {
        self.core.as_ref().expect("an isolate in use has a core")
    }

    /// Its Rust side.
    pub fn host(&self) -> &Rc<Host> {
        &self.core().host
    }

    /// How many bytes the image of its heap has.
    pub fn image_size(&self) -> usize {
        self.core().image.len()
    }

    /// Runs JavaScript on behalf of `pump`, and then every microtask.
    pub fn enter<R>(
        &self,
        pump: &Rc<Pump>,
        work: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> rquickjs::Result<R>,
    ) -> Result<R, Thrown> {
        let host = self.host();
        if let Some(reason) = host.condemned() {
            return Err(Thrown::new(reason));
        }
        let before = host.running.replace(Some(pump.clone()));
        host.checks.set(0);
        let entered = || {
            self.core().with(|ctx, hooks| {
                let result = work(ctx, hooks);
                let result =
                    result.map_err(|error| Thrown::new(self.core().code.describe(ctx, error)));
                drain(ctx, host);
                result
            })
        };
        let result = frame::outermost(entered);
        if self.core().arena.is_exhausted() {
            host.condemn(EXCEEDED_MEMORY);
        }
        for (_, reason) in host.rejections.take() {
            pump.env.log(format!("Uncaught (in promise) {reason}"));
        }
        host.running.replace(before);
        match host.condemned() {
            Some(reason) => Err(Thrown::new(reason)),
            None => result,
        }
    }

    /// Gives an operation its answer.
    pub fn settle(&self, pump: &Rc<Pump>, id: u32, answer: Answer) {
        let settled = self.enter(pump, |ctx, hooks| {
            let settle: Function = hooks.get("settle")?;
            match answer {
                Ok((told, bytes)) => {
                    let (json, text) = match &told {
                        Told::Nothing => (None, None),
                        Told::Json(json) => (Some(&**json), None),
                        Told::Text(text) => (None, Some(text.text().unwrap_or_default())),
                    };
                    let bytes =
                        bytes.map(|bytes| ArrayBuffer::new_copy(ctx.clone(), bytes.bytes()));
                    settle.call::<_, ()>((id, true, json, bytes.transpose()?, text))
                }
                Err(error) => settle.call((id, false, error.to_string())),
            }
        });
        if let Err(thrown) = settled {
            let _: thunderhead_sim::Error = thrown.uncaught(&pump.env);
        }
    }

    /// Asks `storm.ts` a question, whose answer may wait for nothing but microtasks.
    pub fn ask(&self, kind: &str, json: &str) -> Result<String, String> {
        let (host, code) = (self.host(), &self.core().code);
        host.checks.set(0);
        let answer = self.core().with(|ctx, hooks| {
            let told = |error| code.describe(ctx, error);
            let ask: Function = hooks.get("ask").map_err(told)?;
            let holder: Object = ask.call((kind, json)).map_err(told)?;
            drain(ctx, host);
            if let Some(error) = holder.get::<_, Option<String>>("error").map_err(told)? {
                let stack: String = holder.get("stack").map_err(told)?;
                let place =
                    code.place(&stack, &error).map_or(String::new(), |place| format!("{place}: "));
                return Err(format!("{place}{error}"));
            }
            holder.get::<_, Option<String>>("answer").map_err(told)
        });
        if let Some(reason) = host.condemned() {
            return Err(reason);
        }
        answer?.ok_or_else(|| {
            "it waits for something that never comes; only what is there at once can be awaited"
                .into()
        })
    }

    /// What the program exports, as the prelude describes it.
    pub fn describe(&self) -> Result<String, String> {
        self.core().with(|ctx, hooks| {
            let said = hooks.get::<_, Function>("describe").and_then(|describe| describe.call(()));
            said.map_err(|error| self.core().code.describe(ctx, error))
        })
    }
}

fn address(code: &Arc<Code>) -> usize {
    Arc::as_ptr(code).addr()
}

fn drain(ctx: &Ctx<'_>, host: &Host) {
    let mut jobs = 0;
    while host.condemned().is_none() && ctx.execute_pending_job() {
        jobs += 1;
        if jobs > MAX_JOBS {
            host.condemn(EXCEEDED_CPU);
        }
    }
}

impl Drop for Isolate {
    fn drop(&mut self) {
        let Some(core) = self.core.take() else { return };
        core.host.clear();
        if ANEW.get() {
            return;
        }
        core.give_back();
        // When the thread ends there is no pool any more.
        let _ = POOL.try_with(|pool| {
            pool.borrow_mut().entry(address(&core.code)).or_default().push(core);
        });
    }
}

impl Core {
    fn boot(code: &Arc<Code>) -> Result<Core, String> {
        let allocator =
            ArenaAllocator::new().ok_or("there is no address space for another isolate")?;
        let arena = allocator.arena();
        let runtime = Runtime::new_with_alloc(allocator).map_err(|error| error.to_string())?;
        // When a collector runs would depend on how much memory was used, and finalizers would tell. Cycles are freed
        // when the heap is taken back.
        runtime.set_gc_threshold(usize::MAX);
        runtime.set_max_stack_size(MAX_STACK);
        runtime.set_loader(Booter(code.clone()), Booter(code.clone()));
        let host = Rc::new(Host::of(code));
        watch(&runtime, &host);
        if code.has_module("node:async_hooks") {
            frame::follow(&runtime);
        }
        let context = Context::custom::<Language>(&runtime).map_err(|error| error.to_string())?;
        let hooks = context.with(|ctx| {
            let hooks = evaluate(&ctx, code, &host);
            drain(&ctx, &host);
            hooks.map_err(|error| code.describe(&ctx, error))
        });
        let condemned =
            host.condemned().map(|reason| format!("{}: while it boots: {reason}", code.main()));
        if let Some(reason) = condemned {
            return Err(reason);
        }
        let hooks = Some(hooks?);
        host.clear();
        // SAFETY: the runtime, which `context` keeps, owns the allocator.
        let image = unsafe { arena.image() };
        Ok(Core { hooks, context, host, arena, image, code: code.clone() })
    }

    /// Runs `work` with the object through which Rust speaks to the prelude.
    fn with<R>(&self, work: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> R) -> R {
        self.context.with(|ctx| {
            // How deep calls may nest is counted from here, and not from where the runtime was made.
            // SAFETY: the context belongs to a runtime that exists and that this thread uses.
            unsafe { qjs::JS_UpdateStackTop(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) };
            let hooks = self.hooks.clone().expect("taken only when it is dropped");
            let hooks = hooks.restore(&ctx).expect("it is of this runtime");
            work(&ctx, hooks)
        })
    }

    fn restore(&self) {
        // SAFETY: the runtime owns the allocator. Rust's only reference into the heap, `hooks`, and the functions of
        // `natives` are older than the image, and the prelude never lets go of them, so none of their destructors has
        // run. No JavaScript of this heap runs now: it is in nobody's use.
        unsafe { self.image.restore() }
    }

    /// Gives back what its JavaScript has taken, before it waits to be restored.
    fn give_back(&self) {
        // SAFETY: the runtime owns the allocator, and `restore` comes before any other use, also before the runtime is
        // freed.
        unsafe { self.arena.give_back(&self.image) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // QuickJS insists on a heap without leaks when a runtime is freed.
        // SAFETY: as in `restore`.
        unsafe { self.image.release() };
        self.hooks.take();
    }
}

/// Sets the limits, and listens for rejected promises.
fn watch(runtime: &Runtime, host: &Rc<Host>) {
    let watched = host.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || {
        watched.checks.set(watched.checks.get() + 1);
        let exceeded = watched.checks.get() > MAX_CHECKS;
        if exceeded {
            watched.condemn(EXCEEDED_CPU);
        }
        exceeded
    })));
    let watched = host.clone();
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |_ctx, promise, reason, handled| {
            // SAFETY: a promise is an object, whose value is a pointer. It is compared and never followed.
            let address = unsafe { qjs::JS_VALUE_GET_PTR(promise.as_raw()) }.addr();
            let mut rejections = watched.rejections.borrow_mut();
            if handled {
                rejections.retain(|(known, _)| *known != address);
                return;
            }
            let text = match reason.as_exception() {
                Some(error) => {
                    let message = error.message().unwrap_or_default();
                    let place = error
                        .stack()
                        .and_then(|stack| watched.place(&stack, &message))
                        .map(|place| format!(" at {place}"));
                    format!("{message}{}", place.unwrap_or_default())
                }
                None => reason
                    .as_string()
                    .and_then(|text| text.to_string().ok())
                    .unwrap_or("what is no error".into()),
            };
            rejections.push((address, text));
        },
    )));
}

/// Runs the prelude and the top level of the program.
fn evaluate(
    ctx: &Ctx<'_>,
    code: &Code,
    host: &Rc<Host>,
) -> rquickjs::Result<Persistent<Object<'static>>> {
    natives::install(ctx, host)?;
    let (entry, evaluated) = code.module(ctx, code::ENTRY)?.eval()?;
    evaluated.finish::<()>()?;
    natives::hide(ctx)?;
    let hooks: Object = entry.namespace()?.get("hooks")?;
    hooks.get::<_, Function>("prepare")?.call::<_, ()>((code.bindings(),))?;
    let (main, evaluated) = code.module(ctx, code.main())?.eval()?;
    evaluated.finish::<()>()?;
    hooks.get::<_, Function>("init")?.call::<_, ()>((main.namespace()?,))?;
    Ok(Persistent::save(ctx, hooks))
}
