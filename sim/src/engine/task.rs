//! Tasks: futures on hosts, and what each is waiting for.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use crate::values::time::Time;

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

/// A future on a host: what is known of it. The future itself is kept beside it, see `State::futures`.
pub(crate) struct Task {
    pub host: u16,
    /// The call whose handler this is.
    pub serves: Option<u32>,
    pub waits: Waits,
    pub ready: bool,
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
    /// ObjectCall after every poll, when the answer is nearly always no and a lock would cost more.
    any: AtomicBool,
    tasks: Mutex<Vec<u32>>,
}

impl Woken {
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub fn drain(&self, into: &mut Vec<u32>) {
        self.any.store(false, Ordering::Release);
        into.append(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn push(&self, task: u32) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        self.any.store(true, Ordering::Release);
    }
}

/// What wakes one task. Most tasks are one handler each and short, so wakers are used again when
/// nobody has kept a copy.
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
        self.woken.push(self.task.load(Ordering::Relaxed));
    }
}

impl TaskWaker {
    pub fn new(task: u32, woken: &Arc<Woken>) -> TaskWaker {
        let target = Arc::new(Target { task: AtomicU32::new(task), woken: woken.clone() });
        TaskWaker { waker: Waker::from(target.clone()), target }
    }

    /// Makes it the waker of another task.
    pub fn retarget(&self, task: u32) {
        self.target.task.store(task, Ordering::Relaxed);
    }

    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Tells this waker from all others that are alive.
    pub fn address(&self) -> usize {
        self.waker.data().addr()
    }

    /// Whether nobody could still use it to wake the task it was for.
    pub fn is_spare(&self) -> bool {
        Arc::strong_count(&self.target) == 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waker_is_used_again_only_when_nobody_has_kept_a_copy() {
        let woken = Arc::default();
        let kept = TaskWaker::new(1, &woken);
        let copy = kept.waker().clone();
        assert!(!kept.is_spare(), "the copy would wake another task");
        copy.wake();
        let spare = TaskWaker::new(2, &woken);
        assert!(spare.is_spare(), "nobody has a copy");
        spare.retarget(3);
        spare.waker().wake_by_ref();
        assert!(woken.any());
        let mut tasks = Vec::new();
        woken.drain(&mut tasks);
        assert_eq!(tasks, [1, 3]);
        assert!(!woken.any());
    }
}
