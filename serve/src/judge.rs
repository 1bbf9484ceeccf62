//! Holds the history of a data directory to the promises of its system.

use std::path::Path;

use thunderhead_props::{System, Violation, judge as judge_run};
use thunderhead_sim::{End, Event, EventKind, Op, Run, Trace, queue::Fate};

use crate::data::{self, DataError, Identity};

/// What came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Which system it is.
    pub identity: Identity,
    /// How many events the history has.
    pub events: usize,
    /// Whether all work was done when the server stopped. If it was not, the promises about the end are not judged.
    pub at_rest: bool,
    /// What is broken.
    pub violations: Vec<Violation>,
    /// What a search must have seen at least once, and whether this history shows it.
    pub seen: Vec<(String, bool)>,
    /// The history itself.
    pub trace: Trace,
}

/// Judges a directory by the promises of the system that `find` knows by name.
pub fn judge<'a>(
    path: &Path,
    find: impl FnOnce(&str) -> Option<&'a System>,
) -> Result<Judged, DataError> {
    let (identity, mut trace, at_rest) = data::history(path)?;
    let system = find(&identity.system).ok_or_else(|| DataError::Unknown(identity.clone()))?;
    if let (true, Some(last)) = (at_rest, trace.events().last()) {
        let at = last.at;
        let actor = trace.actor_named("cloud");
        trace.push(Event { at, actor, kind: EventKind::Calm });
    }
    let run = Run { end: End::Quiet, trace, draws: Vec::new(), steps: 0, crashes: 0, model: None };
    let variant = system.variant(&identity.variant);
    let variant = variant.ok_or_else(|| DataError::Unknown(identity.clone()))?;
    let mut violations = judge_run(system.promises_of(variant), &run);
    violations.extend(attempts_are_failures(&run.trace));
    let seen = system.sometimes();
    let seen =
        seen.map(|(promise, seen)| (promise.name.to_string(), seen.of(&run.trace))).collect();
    let (events, trace) = (run.trace.events().len(), run.trace);
    Ok(Judged { identity, events, at_rest, violations, seen, trace })
}

/// A promise of the server: a delivery says how many before it have failed, and one that a restart cut off has not.
fn attempts_are_failures(trace: &Trace) -> Option<Violation> {
    let mut failed = std::collections::BTreeMap::new();
    for (at, event) in trace.events().iter().enumerate() {
        match &event.kind {
            EventKind::Settle { queue, message, fate: Fate::Retried { .. }, .. } => {
                *failed.entry((queue.clone(), *message)).or_insert(0) += 1;
            }
            EventKind::Call { call } => {
                let Op::Deliver { batch, .. } = trace.op(*call) else { continue };
                for delivery in &batch.messages {
                    let before =
                        failed.get(&(batch.queue.clone(), delivery.id)).copied().unwrap_or(0);
                    if delivery.attempts != before + 1 {
                        let message = format!(
                            "message {} is delivered as attempt {} after {before} that failed",
                            delivery.id, delivery.attempts
                        );
                        let finding = thunderhead_props::Finding::at(at, message);
                        return Some(Violation {
                            promise: "attempts are failures".into(),
                            finding,
                        });
                    }
                }
            }
            _ => {}
        }
    }
    None
}
