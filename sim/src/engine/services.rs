//! The platform's services, and the actors under which they appear in a trace.

use crate::engine::ids::HostId;
use crate::protocol::op::Op;
use crate::services::ai::Ai;
use crate::services::d1::D1;
use crate::services::kv::Kv;
use crate::services::queue::Queues;
use crate::services::r2::R2;
use crate::services::workflow::Workflows;

/// A part of the platform that makes or answers calls. Services are the first hosts of every run, in the
/// order of this enum, so the place of a service here is the id of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The platform as a whole: it sends alarms and ends the storm.
    Cloud,
    R2,
    Queues,
    Ai,
    Workflows,
    D1,
}

impl Service {
    pub const ALL: [Service; 6] = [
        Service::Cloud,
        Service::R2,
        Service::Queues,
        Service::Ai,
        Service::Workflows,
        Service::D1,
    ];

    /// The service that a call goes to when no host handles it; for one to KV see [`Services::kv_host`].
    pub fn of(op: &Op) -> Service {
        match op {
            Op::R2(_) => Service::R2,
            Op::Ai(_) => Service::Ai,
            Op::Workflow(_) => Service::Workflows,
            Op::D1(_) => Service::D1,
            Op::Queue(_) | Op::Notify { .. } => Service::Queues,
            _ => Service::Cloud,
        }
    }

    #[inline(always)]
    pub const fn host(self) -> HostId {
        HostId(self as u16)
    }

    pub fn name(self) -> &'static str {
        match self {
            Service::Cloud => "cloud",
            Service::R2 => "r2",
            Service::Queues => "queues",
            Service::Ai => "ai",
            Service::Workflows => "workflows",
            Service::D1 => "d1",
        }
    }
}

/// The state of every service. It outlives the hosts that call them.
#[derive(Default)]
pub(crate) struct Services {
    pub r2: R2,
    pub queues: Queues,
    pub ai: Ai,
    pub d1: D1,
    pub kv: Kv,
    /// The host of KV. It has one only where there is a namespace, behind those of the application: another host before
    /// them would give theirs other numbers, which are in the hashes of histories.
    pub kv_host: Option<HostId>,
    pub workflows: Workflows,
    /// Whether what is created answers as the local emulator does.
    pub emulated: bool,
}
