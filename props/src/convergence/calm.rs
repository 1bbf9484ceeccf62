//! Calm runs: the requests of a run one after the other, without faults.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use thunderhead_sim::{
    ClientRequest, End, EventKind, FaultSet, Op, Scenario, SortedMap, SortedSet, Source,
    StableHasher, Swarm, Tape, Time, Trace,
};

use super::connections::Played;
use super::remains::{Record, remains};
use super::serial::Part;
use crate::search;
use crate::system::Variant;

/// What is played on a variant.
pub struct Calm<'a> {
    pub variant: &'a Variant,
    pub played: &'a [Played],
}

/// How far apart the requests are. Some systems do other things after a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gap {
    /// Long enough for everything to have come to rest.
    TenMinutes,
    /// As far apart as the scenario has them, and at least three seconds.
    AsScripted,
    /// As far apart as the scenario has them, and at least a tenth of a second: what a system refuses to those who
    /// come too soon, or does for several at once, it does then. It counts only if nothing of a request was going on
    /// when the next one came, for otherwise it may share the race that it is to judge.
    Close,
}

pub const GAPS: [Gap; 3] = [Gap::TenMinutes, Gap::AsScripted, Gap::Close];

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gap::TenMinutes => "ten minutes apart",
            Gap::AsScripted => "at least three seconds apart",
            Gap::Close => "as far apart as in this run, but not at once",
        })
    }
}

/// Where the run's random numbers, names and latencies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weather {
    /// Everything takes its shortest time.
    Benign,
    /// Drawn from a seed.
    Drawn(u64),
}

impl Weather {
    /// Seeds under which latencies vary.
    pub const OTHERS: [u64; 2] = [1, 2];

    fn source(self) -> Source {
        match self {
            Weather::Benign => Source::Tape(Tape::benign()),
            Weather::Drawn(seed) => {
                Source::Random { seed, swarm: Swarm::of_seed(seed, FaultSet::NONE) }
            }
        }
    }

    /// Where the numbers begin from which names are made: far from those of any other run.
    fn salt(self) -> u64 {
        match self {
            Weather::Benign => 1 << 32,
            Weather::Drawn(seed) => (seed + 1) << 32,
        }
    }
}

type Left = Option<Rc<Vec<Record>>>;

/// What calm runs have left, by variant, requests and weather.
type Known = SortedMap<(usize, u64, Weather), (Variant, Left)>;

/// How many calm runs are remembered.
const KEPT_MAX: usize = 512;

thread_local! {
    /// An enumeration and a shrinker play the same requests thousands of times. The variant is kept, so that no other
    /// one takes its place in memory and its number.
    static KNOWN: RefCell<Known> = const { RefCell::new(Known::new()) };
}

impl Calm<'_> {
    /// What the requests leave behind when they are played in this order; none when that does not come to rest.
    pub fn leaves(&self, order: &[Part], gap: Gap, weather: Weather) -> Left {
        let requests = self.spaced(order, gap);
        // Otherwise it is the same run again.
        if gap == Gap::Close && requests == self.spaced(order, Gap::AsScripted) {
            return None;
        }
        self.known(requests, gap, weather)
    }

    /// What these requests leave behind, which may have been played before.
    fn known(&self, requests: Vec<ClientRequest>, gap: Gap, weather: Weather) -> Left {
        let key =
            (self.variant.address(), StableHasher::of(&(gap == Gap::Close, &requests)), weather);
        if let Some(known) =
            KNOWN.with_borrow(|known| known.get(&key).map(|(_, left)| left.clone()))
        {
            return known;
        }
        let left = self.play(requests, gap, weather);
        KNOWN.with_borrow_mut(|known| {
            if known.len() == KEPT_MAX {
                known.clear();
            }
            known.insert(key, (self.variant.clone(), left.clone()));
        });
        left
    }

    /// What the requests leave behind when each comes at its time. It counts only if none comes while another is going
    /// on.
    pub fn leaves_at(&self, times: &[(Time, Part)]) -> Left {
        let requests = times.iter().map(|(at, part)| self.played[part.request].at(*at, &[]));
        self.known(requests.collect(), Gap::Close, Weather::Benign)
    }

    fn spaced(&self, order: &[Part], gap: Gap) -> Vec<ClientRequest> {
        let (mut at, mut last) = (Time::ZERO, None);
        let mut times = Vec::with_capacity(order.len());
        for part in order {
            let told = self.played[part.request].time(part.step);
            if let Some(last) = last.replace(told) {
                let scripted = told.as_ms().abs_diff(Time::as_ms(last));
                at = Time::from_ms(
                    at.as_ms()
                        + match gap {
                            Gap::TenMinutes => 600_000,
                            Gap::AsScripted => scripted.max(3_000),
                            Gap::Close => scripted.max(100),
                        },
                );
            }
            times.push((at, *part));
        }
        let said = |request: usize| -> Vec<(Time, usize)> {
            let said = times.iter().filter(|(_, part)| part.request == request && part.step > 0);
            said.map(|(at, part)| (*at, part.step)).collect()
        };
        let requests = times.iter().filter(|(_, part)| part.step == 0);
        requests.map(|(at, part)| self.played[part.request].at(*at, &said(part.request))).collect()
    }

    fn play(&self, requests: Vec<ClientRequest>, gap: Gap, weather: Weather) -> Left {
        // Latencies vary until then, and they have to for every request.
        let last = requests.iter().map(|request| request.at).max().unwrap_or(Time::ZERO);
        let storm_ends_at = Scenario::default().storm_ends_at + (last - Time::ZERO);
        let scenario =
            Scenario { requests, storm_ends_at, salt: weather.salt(), ..Scenario::default() };
        let played = search::play(self.variant, &scenario, &weather.source()).ok()?;
        let counts = gap != Gap::Close || is_serial(&played.trace, &scenario.requests);
        (counts && played.end == End::Quiet).then(|| Rc::new(remains(&played.trace)))
    }
}

/// Whether no call was on its way whenever a client sent something.
fn is_serial(trace: &Trace, requests: &[ClientRequest]) -> bool {
    let mut open = SortedSet::new();
    trace.events().iter().all(|event| match event.kind {
        EventKind::Call { call } => {
            let by_client = requests.iter().any(|sent| *sent.from == *trace.actor(event));
            let serial = !by_client || open.is_empty();
            open.insert(call);
            serial
        }
        EventKind::End { call, .. } | EventKind::Return { call, .. } => {
            open.remove(&call);
            true
        }
        // A frame has no answer.
        EventKind::Effect { call, .. } if matches!(trace.op(call), Op::Frame { .. }) => {
            open.remove(&call);
            true
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_vary_under_every_other_weather() {
        for seed in Weather::OTHERS {
            assert!(Swarm::of_seed(seed, FaultSet::NONE).latency(), "seed {seed}");
        }
    }
}
