//! When a command that failed is tried again.

/// What happens to a command after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is due again after so many milliseconds.
    RetryAfter(i64),
    /// It is set aside until someone says otherwise.
    Park,
}

impl Next {
    /// The pause, and whether to park, as two parameters.
    pub fn parts(self) -> (i64, bool) {
        match self {
            Next::RetryAfter(pause) => (pause, false),
            Next::Park => (0, true),
        }
    }
}

/// Pauses that double, up to a limit, and an end to trying.
///
/// ```
/// use thunderhead_stream::{Backoff, Next};
///
/// let backoff = Backoff { first_ms: 100, longest_ms: 1000, max_failures: 5 };
/// let next = |failures| backoff.next(failures);
/// assert_eq!([1, 2, 3, 4].map(next), [100, 200, 400, 800].map(Next::RetryAfter));
/// assert_eq!(next(5), Next::Park);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure, in milliseconds.
    pub first_ms: i64,
    /// The longest pause, in milliseconds.
    pub longest_ms: i64,
    /// A command that has failed so often is parked.
    pub max_failures: i64,
}

impl Default for Backoff {
    /// A second, two, four and so on up to five minutes; ten failures.
    fn default() -> Backoff {
        Backoff { first_ms: 1_000, longest_ms: 300_000, max_failures: 10 }
    }
}

impl Backoff {
    /// What comes after so many failures, the one of this moment included.
    pub fn next(&self, failures: i64) -> Next {
        match failures >= self.max_failures {
            true => Next::Park,
            false => Next::RetryAfter(self.pause(failures)),
        }
    }

    /// The pause after so many failures, in milliseconds.
    pub fn pause(&self, failures: i64) -> i64 {
        let doublings = u32::try_from(failures.saturating_sub(1).max(0)).unwrap_or(u32::MAX);
        let factor = 2_i64.checked_pow(doublings).unwrap_or(i64::MAX);
        self.first_ms.saturating_mul(factor).min(self.longest_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_never_exceeds_the_longest_however_many_failures() {
        let backoff = Backoff { first_ms: 3, longest_ms: 10, max_failures: i64::MAX };
        let pauses = [1, 2, 3, 64, 65, 1 << 40].map(|failures| backoff.next(failures));
        assert_eq!(pauses, [3, 6, 10, 10, 10, 10].map(Next::RetryAfter));
    }
}
