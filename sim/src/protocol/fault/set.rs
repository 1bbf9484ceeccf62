//! Several faults at once.

use serde::{Deserialize, Serialize};

use super::{ALL, Fault};
use crate::values::call::CallClass;

/// A set of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u32);

impl FaultSet {
    /// The empty set. A run without faults behaves like an emulator.
    pub const NONE: FaultSet = FaultSet(0);

    /// The faults that `explore` draws by default.
    pub fn explored() -> FaultSet {
        ALL.iter().filter(|kind| kind.explored).map(|kind| kind.fault).collect()
    }

    /// Every fault that a system can be asked to survive: a notification that is lost for ever is told by nothing.
    pub fn survivable() -> FaultSet {
        ALL.iter().map(|kind| kind.fault).filter(|fault| *fault != Fault::LoseEvent).collect()
    }

    /// Crashes of one host, on every call and after every poll, and no other fault.
    pub fn crashes() -> FaultSet {
        FaultSet::explored().iter().filter(|fault| fault.is_crash()).collect()
    }

    /// Whether `fault` is in the set.
    pub fn contains(self, fault: Fault) -> bool {
        self.0 & 1 << fault.kind().id != 0
    }

    /// The faults in the set, in the order of [`ALL`].
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        ALL.iter().map(|kind| kind.fault).filter(move |fault| self.contains(*fault))
    }

    /// The faults in the set that can strike a call of that class, in the order of [`ALL`].
    pub fn striking(self, class: CallClass) -> impl Iterator<Item = Fault> {
        self.iter().filter(move |fault| fault.kind().classes.contains(&class))
    }

    /// The faults in the set, in the order in which swarms draw them.
    pub fn by_id(self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.iter().collect();
        faults.sort_by_key(|fault| fault.kind().id);
        faults
    }
}

impl FromIterator<Fault> for FaultSet {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> FaultSet {
        FaultSet(faults.into_iter().fold(0, |set, fault| set | 1 << fault.kind().id))
    }
}

impl Serialize for FaultSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for FaultSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<FaultSet, D::Error> {
        Ok(Vec::<Fault>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_survives_json() {
        let json = serde_json::to_string(&FaultSet::crashes()).unwrap();
        assert_eq!(json, r#"["crash_before","crash_after","crash"]"#);
        assert_eq!(serde_json::from_str::<FaultSet>(&json).unwrap(), FaultSet::crashes());
    }
}
