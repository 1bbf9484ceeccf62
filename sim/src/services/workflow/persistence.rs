//! What of workflows outlives the process that runs them: every instance with its journal.

use std::sync::Arc;

use super::instance::Instance;
use super::{Follow, Op, Workflows};
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// An instance as it is written down.
pub(crate) struct KeptInstance {
    pub workflow: Arc<str>,
    pub id: Arc<str>,
    /// The instance as JSON, unless it is gone.
    pub value: Option<String>,
    /// Until when it is kept, if it has ended.
    pub kept_until: Option<Time>,
}

impl Workflows {
    /// From now on remembers which instances change.
    pub(crate) fn keep_changes(&mut self) {
        for instances in self.workflows.values_mut() {
            instances.changed = Some(SortedSet::new());
        }
    }

    /// The instances that have changed. They are to be among the changes of this number.
    pub(crate) fn take_kept(&mut self, number: u64) -> Vec<KeptInstance> {
        let mut all = Vec::new();
        for (workflow, instances) in &mut self.workflows {
            for id in instances.changed.as_mut().map(std::mem::take).unwrap_or_default() {
                let kept = instances.get(&id);
                let value =
                    kept.map(|kept| serde_json::to_string(kept).expect("an instance is JSON"));
                let ended = kept.filter(|kept| kept.has_ended());
                let kept_until = ended.map(|ended| ended.expires(instances.settings()));
                instances.is_leaving(&id, number);
                all.push(KeptInstance { workflow: workflow.clone(), id, value, kept_until });
            }
        }
        all
    }

    /// Puts an instance back. Returns whether there is such a workflow.
    #[inline]
    pub(crate) fn restore_instance(
        &mut self,
        workflow: &str,
        id: &str,
        kept: &str,
    ) -> Result<bool, serde_json::Error> {
        let Some(instances) = self.workflows.get_mut(workflow) else { return Ok(false) };
        let instance: Instance = serde_json::from_str(kept)?;
        if instances.archive.is_some() && instance.has_ended() {
            return Ok(true);
        }
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
