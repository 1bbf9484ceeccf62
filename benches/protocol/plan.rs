//! What a seed decides outside the protocol, the same in every world.

use std::time::Duration;

use thunderhead_sim::Rng;

use super::UPLOADS;
use super::message::Host;

/// How long the host that crashes stays down.
pub const DOWN: Duration = Duration::from_millis(300);

/// One crash, and the delivery that the queue repeats. Exactly one in ten is repeated, rather than
/// each with a chance of one in ten, so that every world makes the same number of calls.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub repeated: u8,
    pub crash: Host,
    pub crash_at: Duration,
}

impl Plan {
    pub fn of_seed(seed: u64) -> Plan {
        let mut rng = Rng::new(seed).fork("plan");
        let repeated = rng.below(u32::from(UPLOADS)) as u8;
        let crash = Host::ALL[rng.below(Host::ALL.len() as u32) as usize];
        // While uploads are still coming: ten gaps of 0.5 to 4.5 s take longer than this.
        let crash_at = Duration::from_millis(1_000 + u64::from(rng.below(12_000)));
        Plan { seed, repeated, crash, crash_at }
    }
}
