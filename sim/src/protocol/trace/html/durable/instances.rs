//! Instances of workflows, and the steps that they have done.

use super::Reader;
use crate::services::workflow::{AttemptResult, Op, Reply};

const KIND: &str = "workflow";

impl<'a> Reader<'a, '_> {
    /// A call about an instance took effect.
    pub(super) fn instance(&mut self, op: &'a Op, reply: &'a Reply) {
        let workflow = op.workflow();
        let mut status = |id: &str, status: &str| {
            self.update(KIND, workflow, id, ("status", status.into()));
        };
        match op {
            Op::Create { .. } | Op::CreateBatch { .. } => self.created(workflow, reply),
            Op::Begin { engine } => status(&engine.id, "running"),
            Op::Pause { id, .. } => status(id, "paused"),
            Op::Resume { id, .. } => status(id, "running"),
            Op::Terminate { id, .. } => status(id, "terminated"),
            Op::Restart { id, .. } => status(id, "queued"),
            Op::Finish { engine, result: Ok(_) } => status(&engine.id, "complete"),
            Op::Finish { engine, result: Err(error) } => {
                status(&engine.id, &format!("errored: {error}"));
            }
            Op::Delete { id, .. } => self.set(KIND, workflow, id, None),
            Op::FinishStep { engine, step, attempt, result } => {
                let said = match result {
                    AttemptResult::Ok(body) => self.text.plain(&format!("{body:#}")),
                    AttemptResult::Err(error) => {
                        self.text.plain(&format!("attempt {attempt} threw {error}"))
                    }
                    AttemptResult::TimedOut => format!("attempt {attempt} took too long"),
                };
                let name = match step.count {
                    1 => format!("step {}", step.name),
                    count => format!("step {} ({count})", step.name),
                };
                self.update(KIND, workflow, &engine.id, (&name, said));
            }
            _ => {}
        }
    }

    fn created(&mut self, workflow: &str, reply: &'a Reply) {
        let ids = match reply {
            Reply::Instance { id } => std::slice::from_ref(id),
            Reply::Batch { created, .. } => &created[..],
            _ => &[],
        };
        for id in ids {
            self.set(KIND, workflow, id, Some(vec![("status".into(), "queued".into())]));
        }
    }
}
