//! The Rust side of an isolate: what its JavaScript refers to by number, and what it has told.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use thunderhead_sim::{Body, Env, MessageBatch, ObjectState, SortedMap, Step, Stub};

use crate::code::Code;
use crate::failure::Thrown;
use crate::isolate::Isolate;
use crate::pump::Pump;

/// Nothing of the JavaScript heap is in here, so the heap can be replaced under it.
#[derive(Default)]
pub struct Host {
    /// The invocation whose JavaScript runs now: what that begins belongs to it.
    pub running: RefCell<Option<Rc<Pump>>>,
    /// The objects that live in the isolate.
    pub objects: Table<ObjectState>,
    /// The stubs that its JavaScript holds.
    pub stubs: Table<Stub>,
    /// The steps of the workflows that run in it.
    pub steps: Table<Step>,
    /// The batches that its queue handlers hold, by invocation.
    pub batches: RefCell<SortedMap<u32, MessageBatch>>,
    /// The handlers that have returned or thrown, by invocation.
    pub ended: RefCell<SortedMap<u32, Ended>>,
    /// How all that was given to `waitUntil` ended, by invocation.
    pub waited: RefCell<SortedMap<u32, Result<(), Thrown>>>,
    /// What to wake when an invocation has ended in the poll of another one.
    pub wakers: RefCell<SortedMap<u32, Waker>>,
    /// Promises that were rejected without a handler, by address, with the reason.
    pub rejections: RefCell<Vec<(usize, String)>>,
    /// The isolate that this is a side of.
    pub isolate: RefCell<Weak<Isolate>>,
    /// How often the interpreter has asked whether to go on since it was entered.
    pub checks: Cell<u32>,
    /// Whether the isolate is that of a developer's machine.
    pub local: Cell<bool>,
    condemned: RefCell<Option<String>>,
    invocations: Cell<u32>,
    /// The program, which knows where its lines come from.
    code: Arc<Code>,
}

/// How a handler ended.
pub struct Ended {
    /// JSON and bytes, or what was thrown.
    pub result: Result<(String, Option<Body>), Thrown>,
    /// Whether something that was given to `waitUntil` goes on, or the response is still being sent.
    pub goes_on: bool,
    /// Whether the response is still being sent: its body is streamed, or it is a WebSocket.
    pub open: bool,
}

impl Host {
    /// The side of an isolate with this program.
    pub fn of(code: &Arc<Code>) -> Host {
        Host { code: code.clone(), ..Host::default() }
    }

    /// The program.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The innermost place of a stack that is in the program.
    pub fn place(&self, stack: &str, message: &str) -> Option<String> {
        self.code.place(stack, message)
    }

    /// What the prelude says was thrown, with its place.
    pub fn thrown(&self, json: &str) -> Thrown {
        let thrown = Thrown::parse(json);
        Thrown { place: self.place(&thrown.stack, &thrown.message), ..thrown }
    }

    /// The environment of the invocation that runs now; none while the program boots.
    pub fn env(&self) -> Option<Env> {
        self.running.borrow().as_ref().map(|pump| pump.env.clone())
    }

    /// A number for a new invocation.
    pub fn next_invocation(&self) -> u32 {
        self.invocations.set(self.invocations.get() + 1);
        self.invocations.get()
    }

    /// Wakes an invocation that has ended.
    pub fn wake(&self, invocation: u32) {
        let waker = self.wakers.borrow_mut().remove(&invocation);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Ends the isolate: no more of its JavaScript runs, and everything in it fails with this reason.
    pub fn condemn(&self, reason: &str) {
        self.condemned.borrow_mut().get_or_insert_with(|| reason.into());
        self.wakers.take().into_values().for_each(Waker::wake);
    }

    /// Why the isolate was ended, if it was.
    pub fn condemned(&self) -> Option<String> {
        self.condemned.borrow().clone()
    }

    /// Forgets everything, as an isolate does that is used again. What is dropped may call back into the world.
    pub fn clear(&self) {
        drop((
            self.running.take(),
            self.objects.0.take(),
            self.stubs.0.take(),
            self.steps.0.take(),
        ));
        drop((self.batches.take(), self.ended.take(), self.waited.take(), self.wakers.take()));
        drop((self.rejections.take(), self.condemned.take()));
        self.invocations.set(0);
        self.checks.set(0);
        self.local.set(false);
    }
}

/// Things that JavaScript refers to by number.
pub struct Table<T>(RefCell<Vec<T>>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(RefCell::default())
    }
}

impl<T: Clone> Table<T> {
    /// Adds a thing and returns its number.
    pub fn add(&self, thing: T) -> u32 {
        let mut things = self.0.borrow_mut();
        things.push(thing);
        u32::try_from(things.len() - 1).expect("a run ends long before")
    }

    /// The thing of that number.
    pub fn get(&self, number: u32) -> Option<T> {
        self.0.borrow().get(number as usize).cloned()
    }
}
