//! Whose work an event is. A history names the host of an event and not the invocation, of which a host may have
//! several at once. An invocation does something when it begins and when one of its calls has returned, at the same
//! moment of simulated time; so the one that was woken last and has not acted yet is the one that acts.

use super::super::Event;
use crate::values::time::Time;

/// What a host is doing: an invocation of one of its handlers, or the body of a workflow's instance.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// The event that began it.
    pub begin: usize,
    /// The call that it handles; none for the body of a workflow.
    pub call: Option<u32>,
    /// Its last event so far.
    pub last: usize,
    woken: Time,
    acted: bool,
}

/// The unfinished work of every actor.
pub(super) struct Working {
    of: Vec<Vec<Work>>,
}

impl Working {
    pub fn new(actors: usize) -> Working {
        Working { of: vec![Vec::new(); actors] }
    }

    /// Work begins with the event at `at`.
    pub fn begin(&mut self, actor: u16, at: usize, event: &Event, call: Option<u32>) {
        let work = Work { begin: at, call, last: at, woken: event.at, acted: false };
        self.of[usize::from(actor)].push(work);
    }

    /// The work of `actor` that the event at `at` is a part of, as it was before that event.
    pub fn acts(&mut self, actor: u16, at: usize, event: &Event) -> Option<Work> {
        let works = &mut self.of[usize::from(actor)];
        let woken = works.iter().enumerate().filter(|(_, it)| !it.acted && it.woken == event.at);
        let chosen = woken.min_by_key(|(_, work)| work.last).map(|(at, _)| at);
        let chosen = chosen.or_else(|| {
            works.iter().enumerate().max_by_key(|(_, work)| work.last).map(|(at, _)| at)
        })?;
        let work = &mut works[chosen];
        let before = work.clone();
        (work.last, work.acted) = (at, true);
        Some(before)
    }

    /// The work that began with the event at `begin` goes on, because a call has returned with the event at `at`.
    pub fn wake(&mut self, actor: u16, begin: usize, at: usize, event: &Event) {
        let works = &mut self.of[usize::from(actor)];
        if let Some(work) = works.iter_mut().find(|work| work.begin == begin) {
            (work.last, work.woken, work.acted) = (at, event.at, false);
        }
    }

    /// The work on a call is over. Of two copies, it is the one that acted last.
    pub fn end(&mut self, actor: u16, call: u32) -> Option<Work> {
        let works = &mut self.of[usize::from(actor)];
        let ended = works.iter().enumerate().filter(|(_, work)| work.call == Some(call));
        let ended = ended.max_by_key(|(_, work)| work.last).map(|(at, _)| at)?;
        Some(works.remove(ended))
    }

    /// All work of a host is lost.
    pub fn lose(&mut self, actor: u16) -> Vec<Work> {
        std::mem::take(&mut self.of[usize::from(actor)])
    }
}
