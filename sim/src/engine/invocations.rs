//! Invocations of handlers on Workers: the background work that each has to wait for, and what ends with it.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use crate::engine::env::Env;
use crate::engine::ids::TaskId;
use crate::engine::wait::JoinHandle;
use crate::engine::world::State;
use crate::protocol::outcome::Error;
use crate::protocol::trace::EventKind;
use crate::values::count::count;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;

/// Work that was given to `wait_until`.
pub(crate) type Background = JoinHandle<Result<(), Error>>;

/// For how long `wait_until` keeps an invocation open when the request has been answered.
const LIMIT: Duration = Duration::from_secs(30);
const TOO_LONG: &str = "waitUntil() tasks did not complete within the allowed time after invocation \
    end and have been cancelled.";

#[derive(Default)]
pub(crate) struct Invocations {
    count: u32,
    background: SortedMap<u32, Vec<Background>>,
    /// The answers that are still being sent: bodies that are streamed, and WebSockets.
    answering: SortedMap<u32, Vec<Background>>,
    /// The invocations that have spawned work which ends with them.
    spawning: SortedSet<u32>,
    /// The handlers that are done, and wait until nothing is left that can run without waiting.
    leaving: Vec<TaskId>,
}

impl Invocations {
    /// The number of another invocation.
    pub fn begin(&mut self) -> u32 {
        // No invocation has the number 0, also when a world has run for so long that they are used up.
        self.count = self.count.checked_add(1).unwrap_or(1);
        self.count
    }

    pub fn wait_for(&mut self, invocation: u32, work: Background) {
        self.background.entry(invocation).or_default().push(work);
    }

    /// Whether the invocation has ever spawned work that ends with it; background work is such work.
    pub fn has_spawned(&self, invocation: u32) -> bool {
        self.spawning.contains(&invocation)
    }

    /// Whether no background work is left to wait for.
    fn all_done(&self, invocation: u32) -> bool {
        self.background.get(&invocation).is_none_or(Vec::is_empty)
    }

    fn next_background(&mut self, invocation: u32) -> Option<Background> {
        self.background.get_mut(&invocation).and_then(Vec::pop)
    }

    fn next_answering(&mut self, invocation: u32) -> Option<Background> {
        let next = self.answering.get_mut(&invocation).and_then(Vec::pop);
        if next.is_none() {
            self.answering.remove(&invocation);
        }
        next
    }

    /// All background work that nothing waits for any more, at the end of a run.
    pub fn take_all(&mut self) -> impl Iterator<Item = Background> + use<> {
        let answering = std::mem::take(&mut self.answering).into_values();
        std::mem::take(&mut self.background).into_values().chain(answering).flatten()
    }
}

impl State {
    /// Notes that a task was spawned by an invocation, with which it ends if its host is a Worker.
    pub fn spawned(&mut self, task: TaskId, invocation: u32) {
        if self.hosts[self.tasks[task].host].ends_spawned {
            self.tasks[task].invocation = NonZeroU32::new(invocation);
            self.invocations.spawning.insert(invocation);
        }
    }

    /// Wakes the handlers that are done, when no task is ready. Returns whether there are any.
    #[inline]
    pub fn wake_leaving(&mut self) -> bool {
        if self.invocations.leaving.is_empty() {
            return false;
        }
        let leaving = std::mem::take(&mut self.invocations.leaving);
        leaving.iter().for_each(|task| self.wake(*task));
        true
    }
}

impl Env {
    /// Keeps the invocation open until `work` is done. In a Worker all other spawned work ends with its
    /// invocation; a durable object goes on with it in any case, and this changes nothing.
    ///
    /// An answer does not wait for `work`, and does not fail with it; `work` has 30 seconds from then on. The result
    /// of a batch waits, and fails with it.
    pub fn wait_until(&self, work: impl Future<Output = Result<(), Error>> + 'static) {
        if !self.world().state().host(self.host()).ends_spawned {
            let env = self.clone();
            drop(self.spawn(async move { env.tell_failure(&work.await) }));
            return;
        }
        let handle = self.spawn(work);
        self.world().state().invocations.wait_for(self.invocation(), handle);
    }

    /// Keeps the invocation open while its answer is being sent by `work`, however long that takes.
    pub fn keep_open(&self, work: impl Future<Output = ()> + 'static) {
        let handle = self.spawn(async move {
            work.await;
            Ok(())
        });
        let mut state = self.world().state();
        if !state.host(self.host()).ends_spawned {
            return;
        }
        state.invocations.answering.entry(self.invocation()).or_default().push(handle);
    }

    /// Waits for all work that was given to [`Env::wait_until`]. The first failure is the result.
    pub(crate) async fn background(&self) -> Result<(), Error> {
        let mut result = Ok(());
        loop {
            let next = self.world().state().invocations.next_background(self.invocation());
            let Some(handle) = next else { return result };
            result = result.and(handle.await);
        }
    }

    /// Ends an invocation that has been answered: after its background work, but not later than the platform allows.
    pub(crate) async fn leave_after_answer(&self) {
        loop {
            let next = self.world().state().invocations.next_answering(self.invocation());
            let Some(answering) = next else { break };
            self.listen(answering).await;
        }
        match self.timeout(LIMIT, self.leave()).await {
            Some(result) => return self.tell_failure(&result),
            None => self.log(TOO_LONG),
        }
        self.end_spawned();
    }

    /// Waits for work that may wait for ever for somebody at another end, and is not stuck then.
    async fn listen(&self, mut work: Background) {
        poll_fn(|cx| {
            let polled = Pin::new(&mut work).poll(cx);
            if polled.is_pending() {
                let mut state = self.world().state();
                let task = state.tasks.waiting(cx);
                state.tasks[task].listens = true;
            }
            polled.map(drop)
        })
        .await;
    }

    /// Ends an invocation when its background work is done and everything else that it has spawned waits for
    /// something.
    pub(crate) async fn leave(&self) -> Result<(), Error> {
        let mut result = Ok(());
        loop {
            result = result.and(self.background().await);
            self.nothing_is_ready().await;
            // What ran meanwhile may have brought more background work.
            if self.world().state().invocations.all_done(self.invocation()) {
                self.end_spawned();
                return result;
            }
        }
    }

    /// Waits until every other task waits for something. What can run without waiting does so before the
    /// runtime sees that a handler has returned.
    async fn nothing_is_ready(&self) {
        let mut asked = false;
        poll_fn(|cx| {
            if asked {
                return Poll::Ready(());
            }
            asked = true;
            let mut state = self.world().state();
            let task = state.tasks.waiting(cx);
            state.invocations.leaving.push(task);
            Poll::Pending
        })
        .await;
    }

    fn end_spawned(&self) {
        let (host, invocation) = (self.host(), self.invocation());
        let mut state = self.world().state();
        let State { tasks, deferred_drops, invocations, .. } = &mut *state;
        let ended = tasks.kill_spawned(host, invocation, &mut deferred_drops.futures);
        invocations.spawning.remove(&invocation);
        deferred_drops
            .background
            .extend(invocations.background.remove(&invocation).into_iter().flatten());
        if ended > 0 {
            let text = format!("{} not awaited, ended with the invocation", count(ended, "task"));
            state.record(host, EventKind::Log { text: text.into() });
        }
    }

    fn tell_failure(&self, result: &Result<(), Error>) {
        if let Err(error) = result {
            self.log(format!("waitUntil: {error}"));
        }
    }
}
