//! What is down for a while: a service, a worker or an object, to which every call fails until it is back.

use std::time::Duration;

use crate::engine::ids::HostId;
use crate::values::time::Time;

#[derive(Debug, Default)]
pub(crate) struct Outages {
    down: Vec<Outage>,
}

#[derive(Debug)]
struct Outage {
    target: HostId,
    until: Time,
}

impl Outages {
    /// From now on calls to `target` fail.
    pub fn begin(&mut self, target: HostId, until: Time) {
        self.down.push(Outage { target, until });
    }

    /// How much longer `target` is down, if it is.
    pub fn left(&self, target: HostId, now: Time) -> Option<Duration> {
        let of_target = self.down.iter().filter(|outage| outage.target == target);
        of_target
            .map(|outage| outage.until)
            .filter(|until| *until > now)
            .max()
            .map(|until| until - now)
    }

    /// Everything is up again.
    pub fn end(&mut self) {
        self.down.clear();
    }
}
