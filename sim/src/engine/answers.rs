//! What clients have been answered, for the requests that use it.

use crate::engine::ids::TaskId;
use crate::scenario::Scenario;
use crate::scenario::answers::Answers;

pub(crate) struct ClientAnswers {
    pub known: Answers,
    /// Clients that wait for an answer.
    pub awaited_by: Vec<TaskId>,
}

impl ClientAnswers {
    pub fn new(scenario: &Scenario) -> ClientAnswers {
        ClientAnswers { known: Answers::to(&scenario.requests), awaited_by: Vec::new() }
    }
}
