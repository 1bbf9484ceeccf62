//! All hosts of a run, and what can become one: classes of objects and bodies of workflows.

use std::ops::{Index, IndexMut};
use std::rc::Rc;
use std::sync::Arc;

use crate::engine::host::{Host, ObjectClass, ObjectHost, WorkflowBody};
use crate::engine::host_index::HostIndex;
use crate::engine::ids::HostId;
use crate::protocol::object::ObjectId;
use crate::scenario::ClientRequest;
use crate::values::sorted_map::SortedMap;

/// How many hosts there is room for at first: enough for an ordinary run.
const ROOM: usize = 32;

pub(crate) struct Hosts {
    hosts: Vec<Host>,
    by_name: HostIndex,
    /// The hosts of objects by the digits of their ids.
    by_object_id: SortedMap<Arc<str>, HostId>,
    pub classes: SortedMap<Arc<str>, Rc<ObjectClass>>,
    pub workflow_bodies: SortedMap<Arc<str>, WorkflowBody>,
    /// The numbers of hosts that are gone, in a world that runs for long.
    gone: Vec<HostId>,
}

impl Default for Hosts {
    fn default() -> Hosts {
        Hosts {
            hosts: Vec::with_capacity(ROOM),
            by_name: HostIndex::default(),
            by_object_id: SortedMap::new(),
            classes: SortedMap::new(),
            workflow_bodies: SortedMap::new(),
            gone: Vec::new(),
        }
    }
}

impl Hosts {
    pub fn add(&mut self, name: &str, can_crash: bool) -> HostId {
        if let Some(id) = self.gone.pop() {
            let host = Host::new(name, id, can_crash);
            self.by_name.add(&host.name, id);
            self[id] = host;
            return id;
        }
        // The run loop ends a run long before. Only one poll that makes tens of thousands of hosts gets here,
        // and a panic of a poll is reported with the trace.
        let index = u16::try_from(self.hosts.len()).expect("a run has fewer than 65,536 hosts");
        let host = Host::new(name, HostId(index), can_crash);
        self.by_name.add(&host.name, host.id());
        self.hosts.push(host);
        HostId(index)
    }

    /// Forgets a host, whose number another may have.
    pub fn remove(&mut self, host: HostId) {
        let name = self[host].name.clone();
        self.by_name.remove(&name);
        self.gone.push(host);
    }

    pub fn named(&self, name: &str) -> Option<HostId> {
        self.by_name.get(name)
    }

    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Host> {
        self.hosts.iter_mut()
    }

    pub fn object(&self, host: HostId) -> &ObjectHost {
        self[host].object.as_ref().expect("this host is an object")
    }

    pub fn object_mut(&mut self, host: HostId) -> &mut ObjectHost {
        self[host].object.as_mut().expect("this host is an object")
    }

    /// The host of an object that has been called before. For one that has not, the digits of its id, under
    /// which [`Hosts::set_object`] is to register it.
    pub fn find_object(&mut self, id: &ObjectId) -> Result<HostId, Arc<str>> {
        // Most objects are found by name. One that was first reached by its digits has another host name.
        let known = id.name().and_then(|_| self.named(id.host()));
        if let Some(host) = known {
            return Ok(host);
        }
        let hex = id.hex();
        let Some(host) = self.by_object_id.get(&hex).copied() else { return Err(hex) };
        // Now that its name is known, the object may know it too.
        if id.name().is_some() {
            self.by_name.add(id.host(), host);
            self.object_mut(host).id = id.clone();
        }
        Ok(host)
    }

    /// Makes a host an object.
    pub fn set_object(&mut self, host: HostId, hex: Arc<str>, object: ObjectHost) {
        self[host].object = Some(object);
        self.by_object_id.insert(hex, host);
    }

    /// The name of the worker that a request from outside goes to: the one it names, or the first that
    /// serves requests.
    pub fn worker_for(&self, request: &ClientRequest) -> Option<Arc<str>> {
        let mut serving = self.hosts.iter().filter(|host| host.fetch.is_some());
        let worker = match &request.to {
            None => serving.next(),
            Some(to) => serving.find(|host| host.name == *to),
        };
        worker.map(|host| host.name.clone())
    }

    /// Whether a host of this name can crash. It need not exist yet: `ROOM:all` names an object of a class,
    /// `classify/42` an instance of a workflow.
    pub fn may_crash(&self, name: &str) -> bool {
        if let Some(host) = self.named(name) {
            return self[host].can_crash;
        }
        let class = name.split_once(':').map(|(class, _)| class);
        class.is_some_and(|class| self.classes.contains_key(class))
            || self.is_workflow_instance(name)
    }

    pub fn is_workflow_instance(&self, name: &str) -> bool {
        name.split_once('/').is_some_and(|(body, _)| self.workflow_bodies.contains_key(body))
    }
}

impl Index<HostId> for Hosts {
    type Output = Host;

    #[inline(always)]
    fn index(&self, host: HostId) -> &Host {
        &self.hosts[host.index()]
    }
}

impl IndexMut<HostId> for Hosts {
    #[inline(always)]
    fn index_mut(&mut self, host: HostId) -> &mut Host {
        &mut self.hosts[host.index()]
    }
}
