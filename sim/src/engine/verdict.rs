//! What a fault does to the call that it strikes.
//!
//! A new fault on calls is an entry in `protocol/fault.rs` and an arm in [`Verdict::draw`]; if it does
//! something that no verdict says yet, also a verdict, which the doorway carries out.

use std::time::Duration;

use crate::choices::words::{DELAYS, OUTAGES};
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::protocol::outcome::Error;
use crate::services::ai;

/// The numbers of writes that a replica can be drawn to lag behind.
pub(crate) const LAGS: [u64; 4] = [1, 2, 5, u64::MAX];

/// What happens to a call that a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request does not travel as usual.
    Request(Transit),
    /// The reply does not travel as usual.
    Reply(Transit),
    /// The model answers with this many labels at most.
    FewLabels(usize),
    /// `create` answers wrongly, in one of the ways of `workflow::Anomaly::of`.
    FalseExists(usize),
    /// The replica that answers has not heard of this many writes.
    StaleRead(u64),
    /// The target is down for so long, and refuses this call and every other.
    Outage(Duration),
    /// A host dies before the effect.
    CrashBefore,
    /// A host dies after the effect, before the reply.
    CrashAfter,
    /// All hosts die after the effect, before the reply.
    Blackout,
}

/// How strong a script wants a fault to be; what it leaves open is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub by: Option<Duration>,
    pub code: Option<u32>,
}

/// How a request or a reply travels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transit {
    /// It arrives after an ordinary latency.
    #[default]
    Usual,
    /// It arrives after this long. The caller does not wait beyond the time limit of a call.
    After(Duration),
    /// Two copies arrive, each after a latency of its own.
    Twice,
    /// It never arrives.
    Never,
    /// It is answered with an error on the way and never arrives.
    Refused(Error),
}

impl Verdict {
    /// The verdict when `fault` strikes a call of `op`. `amount(n)` draws a number below `n`.
    pub fn draw(
        fault: Fault,
        op: &Op,
        Wanted { by, code }: Wanted,
        mut amount: impl FnMut(usize) -> usize,
    ) -> Option<Verdict> {
        Some(match fault {
            Fault::Delay => {
                let by = by.unwrap_or_else(|| DELAYS[amount(DELAYS.len())]);
                Verdict::Request(Transit::After(by))
            }
            Fault::Fail => {
                let scripted = code.and_then(|code| op.refusal(code));
                let error = scripted.or_else(|| {
                    let mut errors = op.refusals();
                    (!errors.is_empty()).then(|| errors.swap_remove(amount(errors.len())))
                });
                Verdict::Request(Transit::Refused(error.unwrap_or(Error::NetworkLost)))
            }
            Fault::LoseRequest | Fault::LoseEvent => Verdict::Request(Transit::Never),
            Fault::LoseReply => Verdict::Reply(Transit::Never),
            Fault::LateReply => {
                let by = by.unwrap_or_else(|| DELAYS[amount(DELAYS.len())]);
                Verdict::Reply(Transit::After(by))
            }
            Fault::Duplicate => Verdict::Request(Transit::Twice),
            Fault::FewLabels => {
                Verdict::FewLabels(code.map_or_else(|| amount(ai::LABELS), |code| code as usize))
            }
            Fault::FalseExists => {
                Verdict::FalseExists(code.map_or_else(|| amount(2), |code| code as usize))
            }
            Fault::StaleRead => {
                Verdict::StaleRead(code.map_or_else(|| LAGS[amount(LAGS.len())], u64::from))
            }
            Fault::Outage => Verdict::Outage(by.unwrap_or_else(|| OUTAGES[amount(OUTAGES.len())])),
            Fault::CrashBefore => Verdict::CrashBefore,
            Fault::CrashAfter => Verdict::CrashAfter,
            Fault::Blackout => Verdict::Blackout,
            // These have no call classes, so they strike no call.
            Fault::Reorder | Fault::Mood | Fault::Evict | Fault::Crash => return None,
        })
    }

    /// How the request travels.
    pub fn request(&self, op: &Op) -> Transit {
        match self {
            Verdict::Request(transit) => transit.clone(),
            Verdict::Outage(_) => {
                let error = op.refusals().into_iter().next();
                Transit::Refused(error.unwrap_or(Error::NetworkLost))
            }
            _ => Transit::Usual,
        }
    }

    /// How late the request or the reply is, or how long its target is still down, for the trace.
    pub fn late_by(&self) -> Option<Duration> {
        match self {
            Verdict::Request(Transit::After(by)) | Verdict::Reply(Transit::After(by)) => Some(*by),
            Verdict::Outage(left) => Some(*left),
            _ => None,
        }
    }
}
