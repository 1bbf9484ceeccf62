//! Instances that have ended are put away when they are written down, and read back when somebody asks for one.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::Workflows;
use super::instance::Instance;
use super::instances::Instances;
use super::op::Op;
use crate::values::backing_store::BackingStore;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

/// Where the ended instances of one workflow are, and which of them are not there yet.
#[derive(Clone, Debug)]
pub(super) struct Archive {
    backing_store: Rc<dyn BackingStore>,
    /// The last changes of each instance that are not known to be on disk. Until they are, memory knows better.
    unwritten: SortedMap<Arc<str>, u64>,
    /// Those changes in their order, each with its instance.
    order: VecDeque<(u64, Arc<str>)>,
    /// Instances that were read back.
    read: Vec<Arc<str>>,
}

impl Workflows {
    /// From now on instances that have ended are not held in memory for longer than it takes to write them down.
    pub(crate) fn set_backing_store(&mut self, backing_store: &Rc<dyn BackingStore>) {
        for instances in self.workflows.values_mut() {
            instances.archive = Some(Archive {
                backing_store: backing_store.clone(),
                unwritten: SortedMap::new(),
                order: VecDeque::new(),
                read: Vec::new(),
            });
        }
    }

    /// How many instances are in memory.
    pub(crate) fn held(&self) -> usize {
        self.workflows.values().map(|instances| instances.instances.len()).sum()
    }

    /// The changes up to this number are on disk.
    pub(crate) fn written(&mut self, number: u64) {
        self.workflows.values_mut().for_each(|instances| instances.put_away(number));
    }
}

impl Instances {
    /// A change of an instance is being written down, among the changes of this number.
    pub fn is_leaving(&mut self, id: &Arc<str>, number: u64) {
        if let Some(archive) = &mut self.archive {
            archive.unwritten.insert(id.clone(), number);
            archive.order.push_back((number, id.clone()));
        }
    }

    /// Forgets the instances that have ended and can be read back.
    fn put_away(&mut self, number: u64) {
        let Some(archive) = &mut self.archive else { return };
        let mut candidates = std::mem::take(&mut archive.read);
        while let Some((with, id)) = archive.order.pop_front_if(|(with, _)| *with <= number) {
            // It may have changed again since, and then that has to be written first.
            if archive.unwritten.get(&id) == Some(&with) {
                archive.unwritten.remove(&id);
                candidates.push(id);
            }
        }
        for id in candidates {
            let changed = self.changed.as_ref().is_some_and(|changed| changed.contains(&id));
            let unwritten = archive.unwritten.contains_key(&id);
            if !changed && !unwritten && self.instances.get(&id).is_some_and(Instance::has_ended) {
                self.instances.remove(&id);
            }
        }
    }

    /// Reads back the instances that an operation is about, if they were put away.
    pub fn read_back(&mut self, now: Time, op: &Op) {
        if self.archive.is_none() {
            return;
        }
        if let Op::CreateBatch { batch, .. } = op {
            batch.iter().filter_map(|one| one.id.as_deref()).for_each(|id| self.fetch(now, id));
        }
        if let Some(id) = op.instance() {
            self.fetch(now, id);
        }
    }

    fn fetch(&mut self, now: Time, id: &str) {
        let Some(archive) = &mut self.archive else { return };
        let here = self.instances.contains_key(id)
            || archive.unwritten.contains_key(id)
            || self.changed.as_ref().is_some_and(|changed| changed.contains(id));
        if here {
            return;
        }
        let found = archive.backing_store.instance(&self.name, id);
        let found = found.and_then(|kept| serde_json::from_str::<Instance>(&kept).ok());
        // One that is kept no longer is not there, though the disk may still have it.
        if let Some(instance) = found.filter(|instance| instance.expires(&self.settings) > now) {
            let id: Arc<str> = id.into();
            self.expires = self.expires.min(instance.expires(&self.settings));
            archive.read.push(id.clone());
            self.instances.insert(id, instance);
        }
    }
}
