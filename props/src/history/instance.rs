//! What became of the instances of workflows.

use thunderhead_sim::workflow::{self, StepError};
use thunderhead_sim::{Body, EventKind, Op, Reply, SortedMap, Trace};

/// One instance of a workflow.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    /// The workflow.
    pub workflow: &'a str,
    /// Its id.
    pub id: &'a str,
    /// How often its body has begun, counting from the top.
    pub lives: u32,
    /// How it ended, and by which event; none while it runs or waits.
    pub ended: Option<(usize, Ended<'a>)>,
}

/// How an instance ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended<'a> {
    /// Its body returned.
    Completed(&'a Body),
    /// Its body threw.
    Errored(&'a StepError),
    /// It was terminated.
    Terminated,
    /// It was deleted.
    Deleted,
}

/// Every instance that was created, by workflow and id.
pub fn instances(trace: &Trace) -> impl Iterator<Item = Instance<'_>> {
    let mut found: SortedMap<(&str, &str), Instance> = SortedMap::new();
    for (at, event) in trace.events().iter().enumerate() {
        let EventKind::Effect { call, outcome } = event.kind else { continue };
        let (Op::Workflow(op), Ok(Reply::Workflow(reply))) =
            (trace.op(call), trace.outcome(outcome))
        else {
            continue;
        };
        let workflow = op.workflow();
        match (op, reply) {
            (workflow::Op::Create { .. }, workflow::Reply::Instance { id }) => {
                begun(&mut found, workflow, id);
            }
            (workflow::Op::CreateBatch { .. }, workflow::Reply::Batch { created, .. }) => {
                created.iter().for_each(|id| begun(&mut found, workflow, id));
            }
            (workflow::Op::Begin { engine }, _) => {
                if let Some(instance) = found.get_mut(&(workflow, &*engine.id)) {
                    instance.lives += 1;
                }
            }
            (workflow::Op::Finish { engine, result }, _) => {
                let ended = match result {
                    Ok(body) => Ended::Completed(body),
                    Err(error) => Ended::Errored(error),
                };
                end(&mut found, workflow, &engine.id, Some((at, ended)));
            }
            (workflow::Op::Terminate { id, .. }, _) => {
                end(&mut found, workflow, id, Some((at, Ended::Terminated)));
            }
            (workflow::Op::Delete { id, .. }, _) => {
                end(&mut found, workflow, id, Some((at, Ended::Deleted)));
            }
            (workflow::Op::Restart { id, .. }, _) => end(&mut found, workflow, id, None),
            _ => {}
        }
    }
    found.into_values()
}

fn begun<'a>(
    found: &mut SortedMap<(&'a str, &'a str), Instance<'a>>,
    workflow: &'a str,
    id: &'a str,
) {
    found.insert((workflow, id), Instance { workflow, id, lives: 0, ended: None });
}

fn end<'a>(
    found: &mut SortedMap<(&'a str, &'a str), Instance<'a>>,
    workflow: &'a str,
    id: &'a str,
    ended: Option<(usize, Ended<'a>)>,
) {
    if let Some(instance) = found.get_mut(&(workflow, id)) {
        instance.ended = ended;
    }
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::workflow::Engine;

    use super::*;
    use crate::mutant::History;

    #[test]
    fn an_instance_ends_as_its_body_does_unless_it_is_restarted() {
        let mut history = History::default();
        let done = || Ok(Reply::Workflow(workflow::Reply::Done));
        let made = Ok(Reply::Workflow(workflow::Reply::Instance { id: "a".into() }));
        history.effect_of(Op::Workflow(workflow::Op::create("w", "a", "{}")), made);
        let ended = |history: &History| {
            instances(&history.trace()).map(|one| one.ended.map(|(at, _)| at)).collect::<Vec<_>>()
        };
        assert_eq!(ended(&history), [None]);
        let engine = Engine { workflow: "w".into(), id: "a".into(), generation: 1 };
        let result = Err(StepError::new("Error", "no"));
        history.effect_of(Op::Workflow(workflow::Op::Finish { engine, result }), done());
        assert_eq!(ended(&history), [Some(1)]);
        let again = workflow::Op::Restart { workflow: "w".into(), id: "a".into(), from: None };
        history.effect_of(Op::Workflow(again), done());
        assert_eq!(ended(&history), [None]);
    }
}
