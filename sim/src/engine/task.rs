//! Tasks: futures on hosts, and what each is waiting for.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use crate::engine::ids::{CallId, GateId, HostId, TaskId};
use crate::values::time::Time;

/// A future that runs on one host and is dropped when that crashes.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T>>>;

/// What a task that is not ready waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing: it has not been polled, or has just been woken.
    Nothing,
    Call(CallId),
    Until(Time),
    /// Another task of its own host, or a channel or lock of the application.
    Elsewhere,
}

/// What is known of a future on a host. `Tasks` keeps the future itself.
pub(crate) struct Task {
    pub host: HostId,
    /// The call whose handler this is.
    pub serves: Option<CallId>,
    /// The invocation that it ends with, if there is one.
    pub invocation: Option<NonZeroU32>,
    pub waits: Waits,
    pub ready: bool,
    pub alive: bool,
    /// The closed gate of its host that it may pass.
    pub pass: Option<GateId>,
    /// Whether it listens to a connection. Such a task may wait for ever without being stuck.
    pub listens: bool,
    /// Whether it waits for news from the workflow service.
    pub parked: bool,
}

/// Tasks woken from outside the engine: by a channel, a lock, a join.
///
/// A `Waker` must be `Send`, hence the mutex. A run has one thread, so the lock is never contended.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    /// Whether `tasks` has any. Read after every poll; it is nearly always false, and a lock would cost more.
    any: AtomicBool,
    tasks: Mutex<Vec<TaskId>>,
}

impl Woken {
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub fn drain(&self, into: &mut Vec<TaskId>) {
        self.any.store(false, Ordering::Release);
        into.append(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn push(&self, task: TaskId) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        self.any.store(true, Ordering::Release);
    }
}

/// The waker of one task. Most tasks are one handler each and short, so a waker is used again for another
/// task when the application has kept no copy of it.
#[derive(Debug)]
pub(crate) struct TaskWaker {
    target: Arc<Target>,
    waker: Waker,
}

#[derive(Debug)]
struct Target {
    task: AtomicU32,
    woken: Arc<Woken>,
}

impl Wake for Target {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.push(TaskId(self.task.load(Ordering::Relaxed)));
    }
}

impl TaskWaker {
    pub fn new(task: TaskId, woken: &Arc<Woken>) -> TaskWaker {
        let target = Arc::new(Target { task: AtomicU32::new(task.0), woken: woken.clone() });
        TaskWaker { waker: Waker::from(target.clone()), target }
    }

    /// Makes it the waker of another task.
    pub fn retarget(&self, task: TaskId) {
        self.target.task.store(task.0, Ordering::Relaxed);
    }

    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Tells this waker from all others that are alive.
    pub fn address(&self) -> usize {
        self.waker.data().addr()
    }

    /// Whether no copy is left that could still wake the task it was for.
    pub fn is_spare(&self) -> bool {
        Arc::strong_count(&self.target) == 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waker_is_used_again_only_when_no_copy_is_kept() {
        let woken = Arc::default();
        let kept = TaskWaker::new(TaskId(1), &woken);
        let copy = kept.waker().clone();
        assert!(!kept.is_spare(), "the copy would wake another task");
        copy.wake();
        let spare = TaskWaker::new(TaskId(2), &woken);
        assert!(spare.is_spare(), "there is no copy");
        spare.retarget(TaskId(3));
        spare.waker().wake_by_ref();
        assert!(woken.any());
        let mut tasks = Vec::new();
        woken.drain(&mut tasks);
        assert_eq!(tasks, [TaskId(1), TaskId(3)]);
        assert!(!woken.any());
    }
}
