//! What one invocation waits for. It is polled with the invocation, and every answer goes to the JavaScript at once.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use serde_json::Value;
use thunderhead_sim::{Body, Env};

use crate::home::Home;
use crate::isolate::Isolate;

/// What JavaScript waits for: a future of the simulator.
pub type Work = Pin<Box<dyn Future<Output = Answer>>>;
/// What is told and bytes, or an error as JSON.
pub type Answer = Result<(Told, Option<Body>), Value>;

/// The value of an answer.
pub enum Told {
    /// `undefined`.
    Nothing,
    /// What this JSON says.
    Json(String),
    /// This text itself.
    Text(Body),
}

/// The operations that an invocation has begun and that are not over, oldest first.
pub struct Pump {
    /// The environment of the invocation.
    pub env: Env,
    /// The number of the invocation; 0 for a constructor.
    pub invocation: u32,
    /// Where others find what its JavaScript keeps for them.
    pub home: Rc<Home>,
    operations: RefCell<Vec<Operation>>,
    /// The ends of bodies that it writes or reads.
    ends: RefCell<Vec<u32>>,
    /// Whether they, and all that it has begun, end with it, as in a Worker.
    ends_with: Cell<bool>,
}

struct Operation {
    id: u32,
    /// Whether it only listens, so that nothing comes of it by itself.
    listens: bool,
    /// None while it is polled, and once it is cancelled.
    work: Option<Work>,
}

impl Pump {
    /// Without operations.
    pub fn new(env: Env, invocation: u32, home: &Rc<Home>) -> Rc<Pump> {
        let home = home.clone();
        let (operations, ends, ends_with) =
            (RefCell::default(), RefCell::default(), Cell::new(false));
        Rc::new(Pump { env, invocation, home, operations, ends, ends_with })
    }

    /// Says that all it has begun ends with it.
    pub fn end_all(&self) {
        self.ends_with.set(true);
    }

    /// Whether nothing is waited for. In an object, what only listens is: another event may go on with it.
    pub fn is_empty(&self) -> bool {
        self.operations.borrow().iter().all(|one| one.listens && self.ends_with.get())
    }

    /// Whether it listens to somebody.
    pub fn listens(&self) -> bool {
        self.operations.borrow().iter().any(|one| one.listens)
    }

    /// Adds an operation, which the JavaScript knows by this number.
    pub fn begin(&self, id: u32, listens: bool, work: Work) {
        self.operations.borrow_mut().push(Operation { id, listens, work: Some(work) });
    }

    /// Notes an end of a body that it writes or reads.
    pub fn holds(&self, end: u32) {
        self.ends.borrow_mut().push(end);
    }

    /// Drops an operation of this invocation. It is never answered.
    pub fn cancel(&self, id: u32) {
        let mut operations = self.operations.borrow_mut();
        let work =
            operations.iter_mut().find(|known| known.id == id).and_then(|known| known.work.take());
        drop(operations);
        drop(work);
    }

    /// Drops every operation and returns how many there were that did not only listen.
    pub fn cancel_all(&self) -> usize {
        self.operations.take().iter().filter(|one| !one.listens).count()
    }

    /// Polls the operations in their order. An answer is given to the JavaScript at once, which may begin or cancel
    /// others, so the next round begins at the first one.
    pub fn poll(self: &Rc<Pump>, isolate: &Isolate, cx: &mut Context<'_>) {
        let mut at = 0;
        while isolate.host().condemned().is_none() {
            let Some((id, work)) = self.take(at) else { return };
            let Some(mut work) = work else {
                self.remove(id);
                continue;
            };
            match work.as_mut().poll(cx) {
                Poll::Pending => {
                    self.put_back(at, work);
                    at += 1;
                }
                Poll::Ready(answer) => {
                    self.remove(id);
                    drop(work);
                    isolate.settle(self, id, answer);
                    at = 0;
                }
            }
        }
    }

    fn take(&self, at: usize) -> Option<(u32, Option<Work>)> {
        let mut operations = self.operations.borrow_mut();
        operations.get_mut(at).map(|operation| (operation.id, operation.work.take()))
    }

    fn put_back(&self, at: usize, work: Work) {
        if let Some(operation) = self.operations.borrow_mut().get_mut(at) {
            operation.work = Some(work);
        }
    }

    fn remove(&self, id: u32) {
        self.operations.borrow_mut().retain(|operation| operation.id != id);
    }
}

/// However an invocation ends, those at the other ends of its bodies learn of it.
impl Drop for Pump {
    fn drop(&mut self) {
        if !self.ends_with.get() {
            return;
        }
        self.ends.take().into_iter().for_each(|end| self.env.abandon_body(end));
    }
}
