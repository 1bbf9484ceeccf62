//! What of workflows outlives the process that runs them: every instance with its journal.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::instance::Instance;
use super::{Follow, Op, Workflows};
use crate::values::time::Time;

impl Workflows {
    /// From now on remembers which instances change.
    pub(crate) fn keep_changes(&mut self) {
        for instances in self.workflows.values_mut() {
            instances.changed = Some(BTreeSet::new());
        }
    }

    /// The instances that have changed: the workflow, the id, and the instance as JSON unless it is gone.
    pub(crate) fn take_kept(&mut self) -> Vec<(Arc<str>, Arc<str>, Option<String>)> {
        let mut all = Vec::new();
        for (name, instances) in &mut self.workflows {
            for id in instances.changed.as_mut().map(std::mem::take).unwrap_or_default() {
                let kept = instances
                    .get(&id)
                    .map(|instance| serde_json::to_string(instance).expect("an instance is JSON"));
                all.push((name.clone(), id, kept));
            }
        }
        all
    }

    /// Puts an instance back. Returns whether there is such a workflow.
    pub(crate) fn restore_instance(
        &mut self,
        workflow: &str,
        id: &str,
        kept: &str,
    ) -> Result<bool, serde_json::Error> {
        let Some(instances) = self.workflows.get_mut(workflow) else { return Ok(false) };
        let instance: Instance = serde_json::from_str(kept)?;
        instances.expires = instances.expires.min(instance.expires(instances.settings()));
        if instance.needs_life() {
            instances.queue.push_back(id.into());
        }
        instances.instances.insert(id.into(), instance);
        Ok(true)
    }

    /// Every engine died with the process: another is started for each instance that had one, and as many as may run
    /// for those that wait.
    pub(crate) fn recover(&mut self, now: Time) -> Vec<Follow> {
        let lives = self.workflows.values().flat_map(|instances| instances.instances.values());
        let died: Vec<_> = lives.filter_map(Instance::engine).collect();
        let mut follow = Vec::new();
        for engine in died {
            follow.extend(self.apply(now, &Op::Evict { engine }).follow);
        }
        for instances in self.workflows.values_mut() {
            instances.schedule(&mut self.numbers, &mut follow);
        }
        follow
    }

    /// Whether every instance has ended.
    pub(crate) fn is_at_rest(&self) -> bool {
        let mut all = self.workflows.values().flat_map(|instances| instances.instances.values());
        all.all(|instance| instance.engine().is_none() && !instance.needs_life())
    }

    /// How many lives and ids have been numbered.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.numbers.lives, self.numbers.ids)
    }

    /// Goes on behind numbers that were given before.
    pub(crate) fn set_numbers(&mut self, (lives, ids): (u64, u64)) {
        (self.numbers.lives, self.numbers.ids) = (lives, ids);
    }
}
