//! Tasks: futures on hosts, and what each is waiting for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use crate::host::Work;
use crate::time::Time;

/// What a task that is not ready waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It has not been polled, or has just been woken.
    Nothing,
    Call(u32),
    Until(Time),
    /// Another task of its own host, or a channel or lock that the engine does not know.
    Elsewhere,
}

pub(crate) struct Task {
    /// Gone while it is polled, and for good when it has finished or died.
    pub future: Option<Work<()>>,
    pub host: u16,
    /// The call whose handler this is.
    pub serves: Option<u32>,
    pub waits: Waits,
    pub ready: bool,
    pub waker: Waker,
    pub alive: bool,
    /// The gate it may pass, when one is open on its host.
    pub pass: Option<u32>,
    /// Whether it listens to a connection, which is no reason to call the run stuck.
    pub listens: bool,
    /// Whether it waits for news from the workflow service.
    pub parked: bool,
}

/// Tasks woken from outside the engine: by a channel, a lock, a join.
///
/// A `Waker` must be `Send`, hence the mutex; in a run there is one thread and it never waits.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    /// Asked after every poll, when the answer is nearly always no and a lock would cost more.
    any: AtomicBool,
    tasks: Mutex<Vec<u32>>,
}

impl Woken {
    pub fn drain(&self, into: &mut Vec<u32>) {
        if self.any.load(Ordering::Acquire) {
            self.any.store(false, Ordering::Release);
            into.append(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn push(&self, task: u32) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        self.any.store(true, Ordering::Release);
    }
}

struct TaskWaker {
    task: u32,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken.push(self.task);
    }
}

pub(crate) fn waker(task: u32, woken: &Arc<Woken>) -> Waker {
    Waker::from(Arc::new(TaskWaker { task, woken: woken.clone() }))
}
