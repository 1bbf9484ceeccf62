//! Instances that have ended are put away when they are written down, and read back when somebody asks for one.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::Workflows;
use super::instance::Instance;
use super::instances::Instances;
use super::op::Op;
use crate::values::shelf::Shelf;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

/// Where the ended instances of one workflow are, and which of them are not there yet.
#[derive(Clone, Debug)]
pub(super) struct Shelved {
    shelf: Rc<dyn Shelf>,
    /// The last changes of each instance that are not known to be on disk. Until they are, memory knows better.
    unwritten: SortedMap<Arc<str>, u64>,
    /// Those changes in their order, each with its instance.
    order: VecDeque<(u64, Arc<str>)>,
    /// Instances that were read back.
    read: Vec<Arc<str>>,
}

impl Workflows {
    /// From now on instances that have ended are not held in memory for longer than it takes to write them down.
    pub(crate) fn set_shelf(&mut self, shelf: &Rc<dyn Shelf>) {
        for instances in self.workflows.values_mut() {
            instances.shelved = Some(Shelved {
                shelf: shelf.clone(),
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
        if let Some(shelved) = &mut self.shelved {
            shelved.unwritten.insert(id.clone(), number);
            shelved.order.push_back((number, id.clone()));
        }
    }

    /// Forgets the instances that have ended and can be read back.
    fn put_away(&mut self, number: u64) {
        let Some(shelved) = &mut self.shelved else { return };
        let mut candidates = std::mem::take(&mut shelved.read);
        while let Some((with, id)) = shelved.order.pop_front_if(|(with, _)| *with <= number) {
            // It may have changed again since, and then that has to be written first.
            if shelved.unwritten.get(&id) == Some(&with) {
                shelved.unwritten.remove(&id);
                candidates.push(id);
            }
        }
        for id in candidates {
            let changed = self.changed.as_ref().is_some_and(|changed| changed.contains(&id));
            let unwritten = shelved.unwritten.contains_key(&id);
            if !changed && !unwritten && self.instances.get(&id).is_some_and(Instance::has_ended) {
                self.instances.remove(&id);
            }
        }
    }

    /// Reads back the instances that an operation is about, if they were put away.
    pub fn read_back(&mut self, now: Time, op: &Op) {
        if self.shelved.is_none() {
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
        let Some(shelved) = &mut self.shelved else { return };
        let here = self.instances.contains_key(id)
            || shelved.unwritten.contains_key(id)
            || self.changed.as_ref().is_some_and(|changed| changed.contains(id));
        if here {
            return;
        }
        let found = shelved.shelf.instance(&self.name, id);
        let found = found.and_then(|kept| serde_json::from_str::<Instance>(&kept).ok());
        // One that is kept no longer is not there, though the disk may still have it.
        if let Some(instance) = found.filter(|instance| instance.expires(&self.settings) > now) {
            let id: Arc<str> = id.into();
            self.expires = self.expires.min(instance.expires(&self.settings));
            shelved.read.push(id.clone());
            self.instances.insert(id, instance);
        }
    }
}
