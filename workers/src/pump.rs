//! What one invocation waits for. It is polled with the invocation, and every answer goes to the JavaScript at once.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use serde_json::Value;
use thunderhead_sim::{Body, Env};

use crate::isolate::Isolate;

/// What JavaScript waits for: a future of the simulator.
pub type Work = Pin<Box<dyn Future<Output = Answer>>>;
/// JSON and bytes, or an error as JSON.
pub type Answer = Result<(Option<String>, Option<Body>), Value>;

/// The operations that an invocation has begun and that are not over, oldest first.
pub struct Pump {
    /// The environment of the invocation.
    pub env: Env,
    /// The number of the invocation; 0 for a constructor.
    pub invocation: u32,
    /// Where others find what its JavaScript keeps for them, as JSON; empty where nobody can call.
    pub home: Rc<str>,
    operations: RefCell<Vec<Operation>>,
}

struct Operation {
    id: u32,
    /// None while it is polled, and once it is cancelled.
    work: Option<Work>,
}

impl Pump {
    /// Without operations.
    pub fn new(env: Env, invocation: u32, home: &Rc<str>) -> Rc<Pump> {
        let home = home.clone();
        Rc::new(Pump { env, invocation, home, operations: RefCell::default() })
    }

    /// Whether nothing is waited for.
    pub fn is_empty(&self) -> bool {
        self.operations.borrow().is_empty()
    }

    /// Adds an operation, which the JavaScript knows by this number.
    pub fn begin(&self, id: u32, work: Work) {
        self.operations.borrow_mut().push(Operation { id, work: Some(work) });
    }

    /// Drops an operation of this invocation. It is never answered.
    pub fn cancel(&self, id: u32) {
        let mut operations = self.operations.borrow_mut();
        let work =
            operations.iter_mut().find(|known| known.id == id).and_then(|known| known.work.take());
        drop(operations);
        drop(work);
    }

    /// Drops every operation and returns how many there were.
    pub fn cancel_all(&self) -> usize {
        self.operations.take().len()
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
