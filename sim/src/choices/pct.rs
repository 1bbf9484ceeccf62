//! Schedules by priority: each flow of work gets a random priority, the highest goes first, and at
//! a few random moments the leader falls to the bottom. A bug that needs `d` ordering constraints is
//! then met with a probability that depends on `d`, not on how long the run is.

use crate::values::rng::Rng;
use crate::values::sorted_map::SortedMap;

/// How many orderings a run is expected to decide; the change points fall among the first so many.
const HORIZON: u32 = 64;

#[derive(Debug)]
pub(crate) struct Pct {
    rng: Rng,
    priorities: SortedMap<u32, u32>,
    changes: Vec<u32>,
    decided: u32,
    floor: u32,
}

impl Pct {
    pub fn new(mut rng: Rng, depth: u32) -> Pct {
        let changes = (0..depth).map(|_| rng.below(HORIZON)).collect();
        // Priorities are drawn above the floor; a leader that falls goes below all of them.
        Pct { rng, priorities: SortedMap::new(), changes, decided: 0, floor: 1 << 16 }
    }

    /// The index of the flow that goes first.
    pub fn pick(&mut self, flows: &[u32]) -> u32 {
        for &flow in flows {
            let rng = &mut self.rng;
            self.priorities.entry(flow).or_insert_with(|| (1 << 16) + rng.below(1 << 16));
        }
        if self.changes.contains(&self.decided) {
            let leader = flows[self.leader(flows)];
            self.floor -= 1;
            self.priorities.insert(leader, self.floor);
        }
        self.decided += 1;
        self.leader(flows) as u32
    }

    /// The first of the flows with the highest priority.
    fn leader(&self, flows: &[u32]) -> usize {
        (0..flows.len())
            .rev()
            .max_by_key(|&at| self.priorities[&flows[at]])
            .expect("there is something to order")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_change_points_one_flow_always_leads() {
        let mut pct = Pct::new(Rng::new(5), 0);
        let first = pct.pick(&[1, 2, 3]);
        assert!((0..50).all(|_| pct.pick(&[1, 2, 3]) == first));
    }

    #[test]
    fn at_a_change_point_the_leader_falls_to_the_bottom() {
        let mut pct = Pct::new(Rng::new(5), 0);
        let flows = [1, 2];
        let first = pct.pick(&flows);
        pct.changes = vec![pct.decided];
        assert_ne!(pct.pick(&flows), first);
        assert_ne!(pct.pick(&flows), first);
    }

    #[test]
    fn requests_of_one_flow_keep_their_order() {
        let mut pct = Pct::new(Rng::new(5), 3);
        assert!((0..50).all(|_| pct.pick(&[4, 4, 4]) == 0));
    }
}
