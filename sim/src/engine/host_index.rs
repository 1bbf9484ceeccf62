//! The hosts of a run by name.

use std::sync::Arc;

use crate::engine::ids::HostId;
use crate::values::hash::mix;

/// How many slots there are at first: enough for the hosts of an ordinary run.
const SLOTS: usize = 64;

/// Open-addressing hash table keyed by name hash. Every call looks up a host, so this is quicker than a
/// general map. It is never iterated, so its order cannot leak into a run.
#[derive(Debug)]
pub(crate) struct HostIndex {
    names: Vec<Name>,
    /// Indices into `names` plus 1, each in the slot of its hash or in the next one that was free; 0 is free.
    slots: Vec<u32>,
}

#[derive(Debug)]
struct Name {
    hash: u64,
    name: Arc<str>,
    host: HostId,
}

impl Default for HostIndex {
    fn default() -> HostIndex {
        HostIndex { names: Vec::with_capacity(SLOTS / 4), slots: vec![0; SLOTS] }
    }
}

impl HostIndex {
    /// Adds a name of a host, unless another host has it.
    pub fn add(&mut self, name: &Arc<str>, host: HostId) {
        let hash = hash(name);
        if self.find(hash, name).is_ok() {
            return;
        }
        self.names.push(Name { hash, name: name.clone(), host });
        if 2 * self.names.len() > self.slots.len() {
            self.slots = vec![0; 2 * self.slots.len()];
            (0..self.names.len()).for_each(|at| self.fill_slot(at));
        } else {
            self.fill_slot(self.names.len() - 1);
        }
    }

    pub fn get(&self, name: &str) -> Option<HostId> {
        self.find(hash(name), name).ok().map(|at| self.names[at].host)
    }

    /// Removes a name.
    pub fn remove(&mut self, name: &str) {
        let Ok(at) = self.find(hash(name), name) else { return };
        self.empty(self.slot_of(at));
        // The last name takes the place of the one that goes, so its slot has to say so.
        let last = self.names.len() - 1;
        if at != last {
            let slot = self.slot_of(last);
            self.slots[slot] = at as u32 + 1;
        }
        self.names.swap_remove(at);
    }

    /// The slot of a name that is there.
    fn slot_of(&self, at: usize) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = self.names[at].hash as usize & last;
        while self.slots[slot] != at as u32 + 1 {
            slot = (slot + 1) & last;
        }
        slot
    }

    /// Empties a slot. It would hide the names that were put behind it, so those move up that may.
    fn empty(&mut self, mut hole: usize) {
        let last = self.slots.len() - 1;
        let mut slot = (hole + 1) & last;
        while let Some(at) = self.slots[slot].checked_sub(1) {
            let home = self.names[at as usize].hash as usize;
            if slot.wrapping_sub(home) & last >= slot.wrapping_sub(hole) & last {
                self.slots[hole] = self.slots[slot];
                hole = slot;
            }
            slot = (slot + 1) & last;
        }
        self.slots[hole] = 0;
    }

    /// The index of a name in `names`, or the free slot where it would have to be.
    #[inline]
    fn find(&self, hash: u64, name: &str) -> Result<usize, usize> {
        let last = self.slots.len() - 1;
        let mut slot = hash as usize & last;
        loop {
            let Some(at) = self.slots[slot].checked_sub(1) else { return Err(slot) };
            let at = at as usize;
            let other = &self.names[at];
            if other.hash == hash && *other.name == *name {
                return Ok(at);
            }
            slot = (slot + 1) & last;
        }
    }

    fn fill_slot(&mut self, at: usize) {
        let Name { hash, name, .. } = &self.names[at];
        if let Err(slot) = self.find(*hash, name) {
            self.slots[slot] = at as u32 + 1;
        }
    }
}

/// The hash of a name. Names of equal hash are compared.
fn hash(name: &str) -> u64 {
    let add =
        |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (bytes, len) = (name.as_bytes(), name.len() as u64);
    // The last word overlaps the one before it, which is cheaper than to fill it up.
    let hash = if let Some(last) = bytes.last_chunk() {
        let (words, _) = bytes.as_chunks();
        let words = words.iter().chain([last]).map(|word| u64::from_le_bytes(*word));
        words.fold(len, add)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let half = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
        add(len, half(first) << 32 | half(last))
    } else {
        bytes.iter().fold(len, |hash, byte| add(hash, u64::from(*byte)))
    };
    // Names that differ only in the last letter must differ in the low bits, which select the slot.
    mix(hash)
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
            known.add(name, HostId(host as u16));
            known.add(name, HostId(999));
        }
        for (host, name) in names.iter().enumerate() {
            assert_eq!(known.get(name), Some(HostId(host as u16)), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_removed_hides_no_other() {
        let name = |n: usize| Arc::<str>::from(format!("classify/{n}"));
        let mut known = HostIndex::default();
        let mut present = crate::values::sorted_set::SortedSet::new();
        for step in 0..1_000_usize {
            // Crowded enough that names are in the slots of others.
            let n = mix(step as u64) as usize % 300;
            match present.remove(&n) {
                true => known.remove(&name(n)),
                false => {
                    known.add(&name(n), HostId(n as u16));
                    present.insert(n);
                }
            }
            let found = |n: &usize| known.get(&name(*n)) == Some(HostId(*n as u16));
            assert!((0..300).all(|n| found(&n) == present.contains(&n)), "after {step} steps");
        }
    }

    #[test]
    fn names_of_the_same_hash_are_told_apart() {
        let mut known = HostIndex::default();
        for (host, name) in [(1, "other"), (2, "web")] {
            known.names.push(Name { hash: hash("web"), name: name.into(), host: HostId(host) });
            known.fill_slot(known.names.len() - 1);
        }
        assert_eq!((known.get("web"), known.find(hash("web"), "other")), (Some(HostId(2)), Ok(0)));
        assert!(known.find(hash("web"), "another").is_err());
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
            (0..1_000).for_each(|n| known.add(&Arc::from(kind(n)), HostId(n as u16)));
            let last = known.slots.len() - 1;
            let (mut longest, mut walk) = (0, 0);
            for slot in known.slots.iter().chain(&known.slots) {
                walk = if *slot == 0 { 0 } else { walk + 1 };
                longest = longest.max(walk);
            }
            assert!(longest < 40, "{}: {longest} in a row of {last}", kind(7));
        }
    }
}
