//! What a cloud has that runs on the wall clock instead of in a simulation: randomness of its own, and a memory of what
//! changed and is not written down yet.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::ids::{CallId, HostId};
use crate::engine::inference::Inference;
use crate::engine::outbound::Outbound;
use crate::engine::redo_logs::Logs;
use crate::services::ai::{self, Ai};
use crate::services::kv;
use crate::services::r2::{self, Part};
use crate::services::storage::Redo;
use crate::services::workflow;
use crate::values::body::references;
use crate::values::rng::Rng;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

pub(crate) struct Live {
    /// Seeded by the operating system; what it draws is never repeated.
    pub rng: Rng,
    /// The parts of R2 that have changed.
    pub parts: SortedSet<Part>,
    /// What the turns of objects did.
    pub turns: Vec<(HostId, ObjectTurn)>,
    /// How much there is to do again at a start.
    pub logs: Logs,
    /// Objects whose alarm may have changed.
    pub alarms: SortedSet<HostId>,
    /// The alarms as they are written down.
    pub kept_alarms: SortedMap<HostId, String>,
    /// The names of hosts whose instance has ended; another instance may have them.
    pub ended: Vec<String>,
    /// Calls that nobody waits for any more, since the last changes were taken.
    pub over: Vec<CallId>,
    /// How many events the history has told so far.
    pub told: usize,
    /// The large bodies among what it has told.
    pub bodies: references::Written,
    /// Whether the history is kept until it is taken.
    pub tells: bool,
    /// Pictures that wait to be looked at elsewhere; none when the engine does it itself.
    pub inferences: Option<Vec<Inference>>,
    /// Requests to hosts outside that wait to be sent; none when the world outside is a simulated one.
    pub outside: Option<Vec<Outbound>>,
    /// Those of them that are still on their way here and want an encrypted connection.
    pub secure: SortedSet<CallId>,
    pub flaw: Option<Flaw>,
    /// How many changes have been taken that were not empty.
    pub taken: u64,
    /// Objects whose bytes go to a file: with which changes, and to which file.
    pub leaving: VecDeque<(u64, Part, u64)>,
}

/// A deliberate mistake, so that a test can show that it would be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The notification of a put is an event of its own, which a crash can separate from the put.
    NotifiesLater,
    /// A delivery that a restart has cut off counts as an attempt.
    LeaseCounts,
}

impl Live {
    pub fn new(entropy: u64, tells: bool, flaw: Option<Flaw>) -> Live {
        Live {
            rng: Rng::new(entropy),
            parts: SortedSet::new(),
            turns: Vec::new(),
            logs: Logs::default(),
            alarms: SortedSet::new(),
            kept_alarms: SortedMap::new(),
            ended: Vec::new(),
            over: Vec::new(),
            told: 0,
            bodies: references::Written::default(),
            tells,
            inferences: None,
            outside: None,
            secure: SortedSet::new(),
            flaw,
            taken: 0,
            leaving: VecDeque::new(),
        }
    }

    /// Gives a picture away to be looked at elsewhere. Returns false if the engine has to answer: where pictures are
    /// not given away, when the request is refused, and for the stand-in, which takes less time than to ask others.
    pub fn give_away(&mut self, call: CallId, ai: &Ai, op: &ai::Op) -> bool {
        let Some(waiting) = &mut self.inferences else { return false };
        let gives = ai.name().is_some() && Ai::check(op).is_ok();
        if gives {
            waiting.push(Inference::new(call, op.image.clone(), ai.classifier().clone()));
        }
        gives
    }

    /// An operation on workflows has taken effect.
    pub fn note_workflow(&mut self, op: &workflow::Op) {
        if let workflow::Op::Finish { engine, .. } = op {
            self.ended.push(engine.host_name());
        }
    }

    /// An operation on R2 has taken effect.
    pub fn note_r2(&mut self, op: &r2::Op, reply: &Result<r2::Reply, r2::Error>) {
        self.parts.extend(Part::of(op));
        if let (r2::Op::CreateMultipartUpload { bucket, .. }, Ok(reply)) = (op, reply)
            && let r2::Reply::MultipartUpload { upload_id, .. } = reply
        {
            self.parts.insert(Part::Upload { bucket: bucket.clone(), id: upload_id.clone() });
        }
    }
}

/// A turn of one object, to be done again after a restart.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ObjectTurn {
    /// The name of the object, if it has one.
    pub name: Option<Arc<str>>,
    pub did: Vec<Redo>,
}

/// The alarm of an object as it is written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptAlarm {
    pub name: Option<Arc<str>>,
    pub at: Time,
    pub failures: u32,
}

/// A key of KV as it is written down, beside its value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptKey {
    pub metadata: Option<Arc<str>>,
    pub expiration: Option<i64>,
}

impl KeptKey {
    pub fn of(entry: &kv::Entry) -> KeptKey {
        KeptKey { metadata: entry.metadata.clone(), expiration: entry.expiration }
    }
}

/// How far everything has been numbered, and the time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Numbers {
    pub now: Time,
    pub calls: u32,
    pub told: usize,
    pub r2: (u64, u64),
    pub queues: (u64, u64),
    pub workflows: (u64, u64),
}
