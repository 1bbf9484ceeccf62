//! The workflows that a Worker is bound to.

use serde::Deserialize;
use thunderhead_sim::workflow::{self, WorkflowConfig};

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Workflow {
    pub(crate) binding: String,
    pub(crate) name: String,
    pub(crate) class_name: String,
    /// The Worker whose class it is, if it is another.
    pub(crate) script_name: Option<String>,
    #[serde(default)]
    limits: WorkflowLimits,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WorkflowLimits {
    steps: Option<u32>,
}

impl Workflow {
    /// As the simulator takes it; `local` is the emulator on a developer's machine.
    pub fn config(&self, local: bool) -> WorkflowConfig {
        let config = if local { WorkflowConfig::miniflare() } else { WorkflowConfig::default() };
        let step_limit = self.limits.steps.unwrap_or(config.step_limit);
        // Programs that go by the documentation take "exists" at its word.
        let options = workflow::Options { exists_means_made: true, ..config.options };
        WorkflowConfig { step_limit, options, ..config }
    }
}
