//! All tasks of a run, with what each needs to be polled and the queue of those that are ready.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::engine::ids::{CallId, GateId, HostId, TaskId};
use crate::engine::task::{Task, TaskWaker, Waits, Woken, Work};
use crate::values::push_in_place::push_in_place;
use crate::values::sorted_map::SortedMap;

/// How many tasks there is room for at first: enough for an ordinary run.
const ROOM: usize = 192;

/// Three lists with equal indices, because the run loop reads tasks far more often than it moves their
/// futures and wakers.
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    /// The future of each task. It is taken while it is polled, and for good when it has finished or its
    /// host has crashed.
    futures: Vec<Option<Work<()>>>,
    /// The waker of each task, taken together with its future.
    wakers: Vec<Option<Box<TaskWaker>>>,
    /// The tasks of each host since it last crashed, in the order in which they were spawned. Many of them
    /// have ended.
    on_host: Vec<Vec<TaskId>>,
    /// The wakers of combinators that poll a part of a task; they are woken with the task.
    parts: SortedMap<TaskId, Vec<Waker>>,
    /// The tasks to be polled. `State::admit` decides which tasks enter.
    pub ready: VecDeque<TaskId>,
    #[expect(clippy::vec_box, reason = "they move from list to poll and back, one word each")]
    spare_wakers: Vec<Box<TaskWaker>>,
    /// The task being polled.
    pub current: Option<TaskId>,
    /// The address of the waker of the task being polled.
    polling: usize,
    /// Whether the number of a task that has ended is given to another. A simulation numbers all of them.
    pub reuses: bool,
    free: Vec<TaskId>,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks {
            tasks: Vec::with_capacity(ROOM),
            futures: Vec::with_capacity(ROOM),
            wakers: Vec::with_capacity(ROOM),
            on_host: Vec::new(),
            parts: SortedMap::new(),
            ready: VecDeque::new(),
            spare_wakers: Vec::new(),
            current: None,
            polling: 0,
            reuses: false,
            free: Vec::new(),
        }
    }
}

impl Tasks {
    /// Adds a task. It still has to be admitted to the ready queue.
    #[inline(always)]
    pub fn add(
        &mut self,
        woken: &Arc<Woken>,
        host: HostId,
        serves: Option<CallId>,
        future: Work<()>,
    ) -> TaskId {
        let id = self.free.pop().unwrap_or(TaskId::at(self.tasks.len()));
        let parent = self.current.map(|task| &self[task]);
        let pass = parent.filter(|parent| parent.host == host).and_then(|parent| parent.pass);
        let waker = self.spare_wakers.pop().unwrap_or_else(|| Box::new(TaskWaker::new(id, woken)));
        waker.retarget(id);
        let task = Task {
            host,
            serves,
            invocation: None,
            waits: Waits::Nothing,
            ready: true,
            alive: true,
            pass,
            listens: false,
            parked: false,
        };
        if host.index() >= self.on_host.len() {
            self.on_host.resize_with(host.index() + 1, Vec::new);
        }
        let neighbours = &mut self.on_host[host.index()];
        // Without this, a host that is busy for long would have ever more ended tasks to look through.
        if neighbours.len() == neighbours.capacity() {
            let tasks = &self.tasks;
            neighbours.retain(|task| tasks[task.index()].alive);
        }
        neighbours.push(id);
        if id.index() < self.tasks.len() {
            self.tasks[id.index()] = task;
            self.futures[id.index()] = Some(future);
            self.wakers[id.index()] = Some(waker);
            return id;
        }
        push_in_place(&mut self.tasks, task);
        push_in_place(&mut self.futures, Some(future));
        push_in_place(&mut self.wakers, Some(waker));
        id
    }

    /// The task on whose behalf a future is being polled. A combinator that polls a part of its task with
    /// a waker of its own has that waker woken together with the task.
    #[inline]
    pub fn waiting(&mut self, cx: &Context<'_>) -> TaskId {
        let task = self.current.expect("polled by the engine");
        if cx.waker().data().addr() != self.polling {
            self.parts.entry(task).or_default().push(cx.waker().clone());
        }
        task
    }

    /// Marks a task as ready. Returns whether it was waiting and now has to be admitted.
    #[inline]
    pub fn make_ready(&mut self, task: TaskId) -> bool {
        if !self.parts.is_empty() {
            self.parts.remove(&task).into_iter().flatten().for_each(Waker::wake);
        }
        let slot = &mut self[task];
        let waiting = slot.alive && !slot.ready;
        if waiting {
            slot.ready = true;
            slot.waits = Waits::Nothing;
            slot.listens = false;
        }
        waiting
    }

    /// Takes a task's future and waker in order to poll it; none when it is dead. The waker is taken
    /// because cloning it would count references at every poll.
    #[inline(always)]
    pub fn begin_poll(&mut self, task: TaskId) -> Option<(Work<()>, Box<TaskWaker>)> {
        let slot = &mut self[task];
        slot.ready = false;
        slot.waits = Waits::Elsewhere;
        let future = self.futures[task.index()].take()?;
        let waker = self.wakers[task.index()].take()?;
        self.current = Some(task);
        self.polling = waker.address();
        Some((future, waker))
    }

    /// Puts back what was taken for a poll that has left more to do. Returns the host of the task.
    #[inline(always)]
    pub fn suspend(&mut self, task: TaskId, future: Work<()>, waker: Box<TaskWaker>) -> HostId {
        self.current = None;
        // The slots are empty since `begin_poll`; a plain assignment would have to drop what might be there.
        assert!(self.futures[task.index()].is_none(), "a task has one future");
        self.futures[task.index()].get_or_insert(future);
        self.wakers[task.index()].get_or_insert(waker);
        self[task].host
    }

    /// Ends a task after its last poll. Returns its host.
    #[inline(always)]
    pub fn finish(&mut self, task: TaskId, waker: Box<TaskWaker>) -> HostId {
        self.current = None;
        let slot = &mut self[task];
        slot.alive = false;
        let host = slot.host;
        if waker.is_spare() {
            self.spare_wakers.push(waker);
        }
        if self.reuses {
            self.free(task, host);
        }
        host
    }

    /// Lets the number of a task that has ended be given to another.
    #[cold]
    fn free(&mut self, task: TaskId, host: HostId) {
        self.parts.remove(&task);
        self.on_host[host.index()].retain(|other| *other != task);
        self.free.push(task);
    }

    /// Ends every task of a host and moves their futures to `dropped`. Returns the calls that they were
    /// handling.
    pub fn kill(&mut self, host: HostId, dropped: &mut Vec<Work<()>>) -> Vec<CallId> {
        let theirs = self.on_host.get_mut(host.index()).map(std::mem::take).unwrap_or_default();
        let orphaned = theirs.iter().map(|id| &self[*id]).filter(|task| task.alive);
        let orphaned = orphaned.filter_map(|task| task.serves).collect();
        self.end(&theirs, dropped);
        orphaned
    }

    /// Ends the tasks that were spawned by an invocation of a host and moves their futures to `dropped`.
    /// Returns how many there were.
    pub fn kill_spawned(
        &mut self,
        host: HostId,
        invocation: u32,
        dropped: &mut Vec<Work<()>>,
    ) -> usize {
        let spawned = self.alive_on(host).filter(|(_, task)| {
            task.invocation.is_some_and(|spawned_by| spawned_by.get() == invocation)
        });
        let spawned: Vec<TaskId> = spawned.map(|(id, _)| id).collect();
        self.end(&spawned, dropped);
        self.on_host[host.index()].retain(|id| !spawned.contains(id));
        spawned.len()
    }

    /// Ends those of the tasks that are alive.
    fn end(&mut self, tasks: &[TaskId], dropped: &mut Vec<Work<()>>) {
        let mut was_ready = false;
        for id in tasks {
            let task = &mut self.tasks[id.index()];
            if task.alive {
                task.alive = false;
                was_ready |= task.ready;
                dropped.extend(self.futures[id.index()].take());
                if self.reuses {
                    self.wakers[id.index()] = None;
                    self.parts.remove(id);
                    self.free.push(*id);
                }
            }
        }
        if was_ready {
            let tasks = &self.tasks;
            self.ready.retain(|task| tasks[task.index()].alive);
        }
    }

    /// Gives the tasks of a host that have the pass of one gate that of another.
    pub fn replace_pass(&mut self, host: HostId, gate: GateId, by: Option<GateId>) {
        for id in &self.on_host[host.index()] {
            let task = &mut self.tasks[id.index()];
            if task.pass == Some(gate) {
                task.pass = by;
            }
        }
    }

    /// Takes every future and every combinator's waker, at the end of a run.
    pub fn take_all(&mut self, futures: &mut Vec<Work<()>>, wakers: &mut Vec<Waker>) {
        futures.extend(self.futures.iter_mut().filter_map(Option::take));
        wakers.extend(std::mem::take(&mut self.parts).into_values().flatten());
    }

    /// The tasks that have not ended, in the order in which they were spawned.
    pub fn alive(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        let numbered = self.tasks.iter().enumerate();
        numbered.filter(|(_, task)| task.alive).map(|(id, task)| (TaskId::at(id), task))
    }

    /// The tasks of a host that have not ended.
    pub fn alive_on(&self, host: HostId) -> impl Iterator<Item = (TaskId, &Task)> {
        let theirs = self.on_host.get(host.index()).into_iter().flatten();
        theirs.map(|id| (*id, &self[*id])).filter(|(_, task)| task.alive)
    }
}

impl Index<TaskId> for Tasks {
    type Output = Task;

    #[inline(always)]
    fn index(&self, task: TaskId) -> &Task {
        &self.tasks[task.index()]
    }
}

impl IndexMut<TaskId> for Tasks {
    #[inline(always)]
    fn index_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.index()]
    }
}
