//! The wrong answers that `create` has been reported to give.

use serde::{Deserialize, Serialize};

use super::op::Op;

/// Something odd that production was reported to do once, for a storm to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Anomaly {
    /// `create` says that the id exists, although there is no instance and none is made.
    ExistsWithoutInstance,
    /// `create` makes the instance, and says that the id exists: of several at once none succeeds.
    CreatedButExists,
}

impl Anomaly {
    /// What can be asked for with this operation.
    pub fn of(op: &Op) -> &'static [Anomaly] {
        match op {
            Op::Create { .. } | Op::CreateBatch { .. } => {
                &[Anomaly::ExistsWithoutInstance, Anomaly::CreatedButExists]
            }
            _ => &[],
        }
    }
}
