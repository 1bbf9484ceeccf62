//! What a fault does to one call: how strong it is, and how request and reply travel under it.
//!
//! A new fault on calls is an entry in `protocol/fault.rs`, an arm in [`Verdict::draw`] and an arm in
//! [`Verdict::course`].

use std::time::Duration;

use crate::protocol::error::Error;
use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::services::ai;

/// The delays that can be drawn. The later ones outlast a caller's patience.
const DELAYS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
    Duration::from_secs(60),
    Duration::from_secs(600),
];

/// The numbers of writes that a replica can be drawn to lag behind.
const LAGS: [u64; 4] = [1, 2, 5, u64::MAX];

/// A fault that strikes a call, with its strength.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request arrives after this long.
    Delay(Duration),
    /// The platform answers with this error.
    Fail(Error),
    LoseRequest,
    LoseReply,
    Duplicate,
    LoseEvent,
    /// The model answers with this many labels at most.
    FewLabels(usize),
    /// `create` answers wrongly, in one of the ways of `workflow::Anomaly::of`.
    FalseExists(usize),
    /// The replica has not heard of this many writes.
    StaleRead(u64),
    CrashBefore,
    CrashAfter,
}

/// How strong a script wants a fault to be; what it leaves open is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub by: Option<Duration>,
    pub code: Option<u32>,
}

/// How the request and the reply of a call travel.
#[derive(Debug, Default)]
pub(crate) struct Course {
    pub request: Transit,
    pub reply: Transit,
}

#[derive(Debug, Default)]
pub(crate) enum Transit {
    /// It arrives after an ordinary latency.
    #[default]
    Usual,
    /// It arrives after this long. The caller does not wait beyond its patience.
    After(Duration),
    /// Two copies arrive, each after a latency of its own.
    Twice,
    /// It never arrives.
    Never,
    /// It is answered with an error on the way and never arrives.
    Refused(Error),
}

impl Verdict {
    /// The verdict for `fault` on a call of `op`. `amount(n)` draws a number below `n`.
    pub fn draw(
        fault: Fault,
        op: &Op,
        wanted: Wanted,
        mut amount: impl FnMut(usize) -> usize,
    ) -> Option<Verdict> {
        let Wanted { by, code } = wanted;
        Some(match fault {
            Fault::Delay => Verdict::Delay(by.unwrap_or_else(|| DELAYS[amount(DELAYS.len())])),
            Fault::Fail => {
                let scripted = code.and_then(|code| op.refusal(code));
                let error = scripted.or_else(|| {
                    let mut errors = op.refusals();
                    (!errors.is_empty()).then(|| errors.swap_remove(amount(errors.len())))
                });
                Verdict::Fail(error.unwrap_or(Error::NetworkLost))
            }
            Fault::LoseRequest => Verdict::LoseRequest,
            Fault::LoseReply => Verdict::LoseReply,
            Fault::Duplicate => Verdict::Duplicate,
            Fault::LoseEvent => Verdict::LoseEvent,
            Fault::FewLabels => {
                Verdict::FewLabels(code.map_or_else(|| amount(ai::LABELS), |code| code as usize))
            }
            Fault::FalseExists => {
                Verdict::FalseExists(code.map_or_else(|| amount(2), |code| code as usize))
            }
            Fault::StaleRead => {
                Verdict::StaleRead(code.map_or_else(|| LAGS[amount(LAGS.len())], u64::from))
            }
            Fault::CrashBefore => Verdict::CrashBefore,
            Fault::CrashAfter => Verdict::CrashAfter,
            // These have no call classes, so they strike no call.
            Fault::Reorder | Fault::Mood | Fault::Evict | Fault::Crash => return None,
        })
    }

    /// How request and reply travel under this verdict.
    pub fn course(&self) -> Course {
        let (mut request, mut reply) = (Transit::Usual, Transit::Usual);
        match self {
            Verdict::Delay(by) => request = Transit::After(*by),
            Verdict::Fail(error) => request = Transit::Refused(error.clone()),
            Verdict::LoseRequest | Verdict::LoseEvent => request = Transit::Never,
            Verdict::LoseReply => reply = Transit::Never,
            Verdict::Duplicate => request = Transit::Twice,
            // The effect differs, not the way there and back.
            Verdict::FewLabels(_) | Verdict::FalseExists(_) | Verdict::StaleRead(_) => {}
            // The host dies when the call leaves or arrives; `State::depart` and `State::ended` see to it.
            Verdict::CrashBefore | Verdict::CrashAfter => {}
        }
        Course { request, reply }
    }

    /// The fault behind it.
    pub fn fault(&self) -> Fault {
        match self {
            Verdict::Delay(_) => Fault::Delay,
            Verdict::Fail(_) => Fault::Fail,
            Verdict::LoseRequest => Fault::LoseRequest,
            Verdict::LoseReply => Fault::LoseReply,
            Verdict::Duplicate => Fault::Duplicate,
            Verdict::LoseEvent => Fault::LoseEvent,
            Verdict::FewLabels(_) => Fault::FewLabels,
            Verdict::FalseExists(_) => Fault::FalseExists,
            Verdict::StaleRead(_) => Fault::StaleRead,
            Verdict::CrashBefore => Fault::CrashBefore,
            Verdict::CrashAfter => Fault::CrashAfter,
        }
    }
}

impl Course {
    /// How late the request or the reply is, for the trace.
    pub fn late_by(&self) -> Option<Duration> {
        match (&self.request, &self.reply) {
            (Transit::After(by), _) | (_, Transit::After(by)) => Some(*by),
            _ => None,
        }
    }
}
