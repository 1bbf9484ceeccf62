//! Where a choice is made. A site has a name, so a tape stays readable and survives small changes.

use std::fmt;
use std::sync::Arc;

use crate::values::hash::{StableHasher, mix};

/// What is being chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChoiceKind {
    /// Which of the ready tasks is polled next.
    Ready,
    /// Which of the pending deliveries to one target arrives next.
    Order,
    /// How long a request or a reply travels.
    Latency,
    /// What happens to a call at the doorway.
    Verdict,
    /// How strong the fault just drawn is: how long a delay, which error.
    Amount,
    /// Whether a host dies after a poll.
    Crash,
    /// Whether an idle object has lost its memory.
    Evict,
    /// How late a retry of an alarm is.
    Jitter,
    /// How long a dead host stays down.
    Restart,
    /// Which waiting message joins a batch.
    Pick,
    /// The mood of something outside the cloud.
    Mood,
    /// The application's own randomness.
    Random,
}

impl ChoiceKind {
    /// Every kind, in the order of their discriminants.
    pub const ALL: [ChoiceKind; 12] = [
        ChoiceKind::Ready,
        ChoiceKind::Order,
        ChoiceKind::Latency,
        ChoiceKind::Verdict,
        ChoiceKind::Amount,
        ChoiceKind::Crash,
        ChoiceKind::Evict,
        ChoiceKind::Jitter,
        ChoiceKind::Restart,
        ChoiceKind::Pick,
        ChoiceKind::Mood,
        ChoiceKind::Random,
    ];

    /// The word that stands for it in a tape.
    pub fn name(self) -> &'static str {
        match self {
            ChoiceKind::Ready => "ready",
            ChoiceKind::Order => "order",
            ChoiceKind::Latency => "latency",
            ChoiceKind::Verdict => "verdict",
            ChoiceKind::Amount => "amount",
            ChoiceKind::Crash => "crash",
            ChoiceKind::Evict => "evict",
            ChoiceKind::Jitter => "jitter",
            ChoiceKind::Restart => "restart",
            ChoiceKind::Pick => "pick",
            ChoiceKind::Mood => "mood",
            ChoiceKind::Random => "random",
        }
    }
}

/// The names of the calls that pass the doorway. An [`OpCode`] is an index into this list; a new
/// kind of call is a new line here, in its place: the list is searched by halves.
const OPS: &[&str] = &[
    "-",
    "ai.run",
    "d1.all",
    "d1.batch",
    "d1.dump",
    "d1.exec",
    "d1.first",
    "d1.raw",
    "d1.run",
    "fetch",
    "object.alarm",
    "object.connect",
    "object.message",
    "object.push",
    "object.rpc",
    "queue.deliver",
    "queue.metrics",
    "queue.send",
    "queue.sendBatch",
    "r2.abortMultipartUpload",
    "r2.completeMultipartUpload",
    "r2.copy",
    "r2.createMultipartUpload",
    "r2.delete",
    "r2.get",
    "r2.head",
    "r2.lifecycleDelete",
    "r2.list",
    "r2.notify",
    "r2.put",
    "r2.uploadPart",
    "workflow.begin",
    "workflow.beginStep",
    "workflow.create",
    "workflow.createBatch",
    "workflow.delete",
    "workflow.evict",
    "workflow.finish",
    "workflow.finishStep",
    "workflow.get",
    "workflow.pause",
    "workflow.restart",
    "workflow.resume",
    "workflow.sendEvent",
    "workflow.sleep",
    "workflow.sleepUntil",
    "workflow.status",
    "workflow.terminate",
    "workflow.waitForEvent",
];

/// How many slots a host has in the counter tables.
pub(crate) const OPS_MAX: usize = 64;
const _: () = assert!(OPS.len() <= OPS_MAX);

/// The name of a kind of call, as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpCode(u8);

impl OpCode {
    /// For sites that belong to no call.
    pub const NONE: OpCode = OpCode(0);

    /// Every kind of call.
    pub fn all() -> impl Iterator<Item = OpCode> {
        (1..OPS.len()).map(|at| OpCode(at as u8))
    }

    /// The code of `name`, found when the program is compiled; a name that does not exist does not
    /// compile.
    pub(crate) const fn of(name: &str) -> OpCode {
        let mut at = 0;
        while at < OPS.len() {
            if same(OPS[at].as_bytes(), name.as_bytes()) {
                return OpCode(at as u8);
            }
            at += 1;
        }
        panic!("every call has a line in the table")
    }

    /// The code of `name`, if there is such a call.
    pub fn find(name: &str) -> Option<OpCode> {
        OPS.binary_search(&name).ok().map(|at| OpCode(at as u8))
    }

    /// The name, for instance `r2.put`.
    pub fn name(self) -> &'static str {
        OPS[usize::from(self.0)]
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// `==` on bytes, which a `const fn` does not have.
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A place where choices are made: what is chosen, at which host, for which call.
///
/// ```
/// use thunderhead_sim::Site;
///
/// let site: Site = "verdict relay>r2.put".parse().unwrap();
/// assert_eq!(site.to_string(), "verdict relay>r2.put");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// What is chosen.
    pub kind: ChoiceKind,
    /// The host that makes the call, or that is being scheduled.
    pub host: Arc<str>,
    /// The call, or [`OpCode::NONE`].
    pub op: OpCode,
}

impl Site {
    /// The key under which a tape finds this site.
    pub(crate) fn key(&self) -> u64 {
        key(self.kind, StableHasher::of(&*self.host), self.op)
    }
}

/// A site's key from its parts. Hosts hash their name once, so no string is built during a run.
pub(crate) fn key(kind: ChoiceKind, host_hash: u64, op: OpCode) -> u64 {
    mix(host_hash ^ mix(((kind as u64) << 8 | u64::from(op.0)) + 1))
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.host)?;
        if self.op != OpCode::NONE {
            write!(f, ">{}", self.op.name())?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Site, String> {
        let (kind, rest) = text.split_once(' ').ok_or_else(|| {
            format!("`{text}` is not a site: expected `KIND HOST` or `KIND HOST>CALL`")
        })?;
        let kind =
            ChoiceKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
                let known = ChoiceKind::ALL.map(ChoiceKind::name).join(", ");
                format!("`{kind}` is not a kind of choice: expected one of {known}")
            })?;
        let (host, op) = match rest.rsplit_once('>') {
            None => (rest, OpCode::NONE),
            Some((host, op)) => (
                host,
                OpCode::find(op).ok_or_else(|| {
                    format!("`{op}` is not a call: expected one of {}", OPS[1..].join(", "))
                })?,
            ),
        };
        Ok(Site { kind, host: host.into(), op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_names_are_sorted_so_that_additions_have_one_place() {
        assert!(OPS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn sites_that_differ_in_any_part_have_different_keys() {
        let mut keys = std::collections::BTreeSet::new();
        for kind in ChoiceKind::ALL {
            for host in ["a", "b"] {
                for op in [OpCode::NONE, OpCode(1), OpCode(2)] {
                    assert!(keys.insert(Site { kind, host: host.into(), op }.key()));
                }
            }
        }
    }

    #[test]
    fn a_site_that_does_not_exist_is_refused_with_what_does() {
        let error = |text: &str| text.parse::<Site>().unwrap_err();
        assert!(error("verdict").contains("KIND HOST"));
        assert!(error("colour relay").contains("expected one of ready"));
        assert!(error("verdict relay>r2.paint").contains("r2.put"));
    }
}
