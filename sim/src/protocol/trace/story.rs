//! The story of a failure: of a history, only the lines that led to it, at most [`LINES_MAX`] of them.
//!
//! From the events that break a promise, the story goes back along their causes (`story/causes.rs`) and takes in what
//! is nearest, every fault and the requests. Where something is missing in the end, no event is to blame: then the
//! story begins with the events that the promise is about, and goes forward as well, to what became of them.

mod causes;
mod rows;
mod telling;
mod things;
mod words;
mod work;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::folded::{Line, fold, outside, shown};
use super::text::{Length, Text};
use super::{Event, EventKind, Trace};
use crate::protocol::op::Op;
use crate::values::sorted_set::SortedSet;
use causes::{Cause, causes};
use telling::Telling;

/// A story has at most so many lines.
pub const LINES_MAX: usize = 25;
/// What is farther away is not told.
const FAR_MAX: u32 = 9;
/// A fault is told however far it is, unless there are more than this.
const FAULTS_MAX: usize = 6;
/// A request is nearer than it seems: without one, nothing happens.
const REQUEST: u32 = 2;
/// What came of something is farther than what led to it.
const FORWARD: u32 = 1;

/// Of a history, what led to a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// The events that it tells of, by their indices.
    pub events: Vec<usize>,
    /// Those that break a promise, or that a broken promise is about.
    pub marked: Vec<usize>,
    /// The faults and crashes among them, each in words.
    pub faults: Vec<(usize, String)>,
    /// What happened, as [`Trace::folded`] has it, with the faults in words.
    pub text: String,
}

impl Trace {
    /// The story of the events at `broken`, which break a promise, and at `about`, which a broken promise is about.
    pub fn story(&self, broken: &[usize], about: &[usize]) -> Story {
        let known = |at: &&usize| **at < self.events().len();
        let marked: Vec<usize> = broken.iter().chain(about).filter(known).copied().collect();
        let far = self.nearness(&marked, broken.is_empty());
        let text = Text::new(self, Length::Short);
        let lines = fold(self, &text, &marked);
        let mut near: Vec<(bool, u32, Reverse<usize>)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let nearest = line.events.iter().filter_map(|event| far[*event]).min();
            near.extend(nearest.map(|far| (!line.marked, far, Reverse(at))));
        }
        near.sort_unstable();
        let tell = |count: usize| {
            let mut kept: Vec<usize> = near[..count].iter().map(|(.., Reverse(at))| *at).collect();
            kept.sort_unstable();
            let story = self.told(&text, &lines, &kept, near.len() - count);
            Story { marked: marked.clone(), ..story }
        };
        let fits = |story: &Story| story.text.lines().count() <= LINES_MAX;
        let all = tell(near.len());
        if fits(&all) {
            return all;
        }
        let (mut most, mut too_many) = (0, near.len());
        while most + 1 < too_many {
            let middle = usize::midpoint(most, too_many);
            if fits(&tell(middle)) { most = middle } else { too_many = middle }
        }
        tell(most)
    }

    fn told(&self, text: &Text<'_>, lines: &[Line], kept: &[usize], left_out: usize) -> Story {
        let mut events: Vec<usize> =
            kept.iter().flat_map(|at| lines[*at].events.iter().copied()).collect();
        events.sort_unstable();
        let telling = Telling::new(text, &events);
        let worded: Vec<Line> = kept.iter().map(|at| telling.line(&lines[*at])).collect();
        let mut said = shown(text, &worded.iter().collect::<Vec<_>>());
        if left_out > 0 {
            let lines = if left_out == 1 { "line" } else { "lines" };
            said += &format!(" … and {left_out} more {lines} of what led to it\n");
        }
        let words = |at: &usize| telling.fault(*at).map(|said| (*at, said));
        let faults = events.iter().filter_map(words).collect();
        Story { events, marked: Vec::new(), faults, text: said }
    }

    fn is_fault(&self, at: usize) -> bool {
        matches!(self.events()[at].kind, EventKind::Fault { .. } | EventKind::Crash { .. })
    }

    /// The events with which the outside asks for something.
    fn requests(&self) -> SortedSet<usize> {
        let outside = outside(self);
        let asks = |event: &Event| match event.kind {
            EventKind::Call { call } => {
                outside[usize::from(event.actor)] && matches!(self.op(call), Op::Fetch { .. })
            }
            _ => false,
        };
        let events = self.events().iter().enumerate();
        events.filter(|(_, event)| asks(event)).map(|(at, _)| at).collect()
    }

    /// How far each event is from the `marked` ones; none when it has nothing to do with them. If something is
    /// `missing`, what came of them is as near as what led to them.
    fn nearness(&self, marked: &[usize], missing: bool) -> Vec<Option<u32>> {
        let events = self.events();
        let causes = causes(self);
        let mut faults: Vec<usize> = (0..events.len()).filter(|at| self.is_fault(*at)).collect();
        let mut ways = causes.clone();
        if missing {
            for (at, causes) in causes.iter().enumerate() {
                for cause in causes {
                    ways[cause.event].push(Cause { event: at, far: cause.far + FORWARD });
                }
            }
        }
        let requests = self.requests();
        let mut seeds = marked.to_vec();
        if seeds.is_empty() && faults.is_empty() {
            seeds.extend(&requests);
        }
        let mut far = reach(&ways, &seeds);
        if faults.len() > FAULTS_MAX {
            faults.sort_by_key(|at| (far[*at].unwrap_or(u32::MAX), Reverse(*at)));
            faults.truncate(FAULTS_MAX);
        }
        let struck = reach(&ways, &faults);
        for (at, far) in far.iter_mut().enumerate() {
            let near = far.iter().copied().chain(struck[at].map(|far| far + 1)).min();
            *far = match near {
                Some(near) if requests.contains(&at) => Some(near.min(REQUEST)),
                near => near.filter(|far| *far <= FAR_MAX),
            };
        }
        faults.iter().for_each(|at| far[*at] = Some(0));
        far
    }
}

/// How far every event is from the nearest of the `seeds`, along these ways.
fn reach(ways: &[Vec<Cause>], seeds: &[usize]) -> Vec<Option<u32>> {
    let mut far: Vec<Option<u32>> = vec![None; ways.len()];
    let mut next: BinaryHeap<Reverse<(u32, usize)>> =
        seeds.iter().map(|seed| Reverse((0, *seed))).collect();
    while let Some(Reverse((here, at))) = next.pop() {
        if far[at].is_some() {
            continue;
        }
        far[at] = Some(here);
        let ways = ways[at].iter().filter(|way| far[way.event].is_none());
        next.extend(ways.map(|way| Reverse((here + way.far, way.event))));
    }
    far
}
