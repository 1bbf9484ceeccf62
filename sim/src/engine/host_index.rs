//! The hosts of a run by name.

use std::sync::Arc;

use crate::values::hash::mix;

/// How many places there are at first: enough for the hosts of an ordinary run.
const PLACES: usize = 64;

/// Found by the sums of the names, because every call asks. Never listed: that would be in the order of
/// the sums.
#[derive(Debug)]
pub(crate) struct HostIndex {
    names: Vec<Name>,
    /// Numbers of names, counting from 1, each at the place of its sum or in the next one that was free.
    places: Vec<u32>,
}

#[derive(Debug)]
struct Name {
    sum: u64,
    name: Arc<str>,
    host: u16,
}

impl Default for HostIndex {
    fn default() -> HostIndex {
        HostIndex { names: Vec::with_capacity(PLACES / 4), places: vec![0; PLACES] }
    }
}

impl HostIndex {
    /// Gives a name to a host, unless another has it.
    pub fn add(&mut self, name: &Arc<str>, host: u16) {
        let sum = sum(name);
        if self.find(sum, name).is_ok() {
            return;
        }
        self.names.push(Name { sum, name: name.clone(), host });
        if 2 * self.names.len() > self.places.len() {
            self.places = vec![0; 2 * self.places.len()];
            (0..self.names.len()).for_each(|at| self.place(at));
        } else {
            self.place(self.names.len() - 1);
        }
    }

    pub fn get(&self, name: &str) -> Option<u16> {
        self.find(sum(name), name).ok().map(|at| self.names[at].host)
    }

    /// Where a name is in the list, or the free place where it would have to be.
    fn find(&self, sum: u64, name: &str) -> Result<usize, usize> {
        let last = self.places.len() - 1;
        let mut place = sum as usize & last;
        loop {
            let Some(at) = self.places[place].checked_sub(1) else { return Err(place) };
            let at = at as usize;
            let other = &self.names[at];
            if other.sum == sum && *other.name == *name {
                return Ok(at);
            }
            place = (place + 1) & last;
        }
    }

    fn place(&mut self, at: usize) {
        let Name { sum, name, .. } = &self.names[at];
        if let Err(place) = self.find(*sum, name) {
            self.places[place] = at as u32 + 1;
        }
    }
}

/// Tells most names apart; those that it does not are compared.
fn sum(name: &str) -> u64 {
    let add =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (bytes, len) = (name.as_bytes(), name.len() as u64);
    // The last word overlaps the one before it, which is cheaper than to fill it up.
    let sum = if let Some(last) = bytes.last_chunk() {
        let (words, _) = bytes.as_chunks();
        let words = words.iter().chain([last]).map(|word| u64::from_le_bytes(*word));
        words.fold(len, add)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let half = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
        add(len, half(first) << 32 | half(last))
    } else {
        bytes.iter().fold(len, |sum, byte| add(sum, u64::from(*byte)))
    };
    // What differs in the last letter alone must come to differ in the bits that a place is made of.
    mix(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_whatever_the_others_are_called_and_stays_with_its_first_host() {
        let more = (0..200).map(|n| format!("ROOM:{n}"));
        let few = ["web", "w", "", "wab", "queue", "queues", "a-longer-name", "a-longer-game"];
        let names: Vec<Arc<str>> =
            few.map(Arc::from).into_iter().chain(more.map(Arc::from)).collect();
        let mut known = HostIndex::default();
        for (host, name) in names.iter().enumerate() {
            assert_eq!(known.get(name), None, "{name}");
            known.add(name, host as u16);
            known.add(name, 999);
        }
        for (host, name) in names.iter().enumerate() {
            assert_eq!(known.get(name), Some(host as u16), "{name}");
        }
    }

    #[test]
    fn names_of_the_same_sum_are_told_apart() {
        let mut known = HostIndex::default();
        for (host, name) in [(1, "other"), (2, "web")] {
            known.names.push(Name { sum: sum("web"), name: name.into(), host });
            known.place(known.names.len() - 1);
        }
        assert_eq!((known.get("web"), known.find(sum("web"), "other")), (Some(2), Ok(0)));
        assert!(known.find(sum("web"), "another").is_err());
    }

    #[test]
    fn names_that_differ_in_a_few_digits_are_not_crowded_together() {
        let kinds: [fn(u32) -> String; 4] = [
            |n| format!("classify/{n}"),
            |n| format!("ROOM:user-{n:04}"),
            |n| format!("ACCOUNT:{n:06}"),
            |n| format!("r{n}"),
        ];
        for kind in kinds {
            let mut known = HostIndex::default();
            (0..1_000).for_each(|n| known.add(&Arc::from(kind(n)), n as u16));
            let last = known.places.len() - 1;
            let (mut longest, mut walk) = (0, 0);
            for place in known.places.iter().chain(&known.places) {
                walk = if *place == 0 { 0 } else { walk + 1 };
                longest = longest.max(walk);
            }
            assert!(longest < 40, "{}: {longest} in a row of {last}", kind(7));
        }
    }
}
