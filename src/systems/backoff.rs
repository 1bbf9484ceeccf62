//! How long to wait before what has failed is tried again, so that an outage of days is outlasted.

use std::time::Duration;

use thunderhead_sim::Message;

/// The first tries come at an even pace, because most trouble is over soon. From then on each pause is twice the one
/// before, up to a limit.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The pause between the first tries.
    pub pause: Duration,
    /// How many tries come at that pace.
    pub even: u32,
    /// The longest pause.
    pub longest: Duration,
}

impl Backoff {
    /// How long to wait after so many tries.
    pub fn after(self, tries: u32) -> Duration {
        let doublings = tries.saturating_sub(self.even).min(20);
        (self.pause * (1 << doublings)).min(self.longest)
    }

    /// Marks a message to be tried again.
    pub fn retry(self, message: &Message) {
        if message.attempts() <= self.even {
            // The pause that its queue is configured with.
            message.retry();
        } else {
            message.retry_with(self.after(message.attempts()).as_secs() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_tries_outlast_three_days() {
        let hour = Duration::from_secs(3600);
        let slow = Backoff { pause: Duration::from_secs(60), even: 5, longest: hour };
        let quick = Backoff { pause: Duration::from_secs(2), even: 10, longest: 2 * hour };
        for backoff in [slow, quick] {
            let total: Duration = (1..=100).map(|tries| backoff.after(tries)).sum();
            assert!(total > 72 * hour, "{backoff:?} lasts for {total:?}");
        }
    }

    #[test]
    fn the_first_tries_are_even_and_no_pause_is_longer_than_the_limit() {
        let second = Duration::from_secs(1);
        let backoff = Backoff { pause: second, even: 3, longest: 60 * second };
        let pauses: Vec<u64> = (1..=10).map(|tries| backoff.after(tries).as_secs()).collect();
        assert_eq!(pauses, [1, 1, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff.after(u32::MAX), 60 * second);
    }
}
