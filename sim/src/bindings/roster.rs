//! The names on a cloud once a system is mounted on it, to check a scenario before a run.

use std::sync::Arc;

use crate::bindings::cloud::Cloud;
use crate::choices::Source;
use crate::choices::tape::Tape;
use crate::engine::host::Host;
use crate::engine::world::World;
use crate::scenario::Scenario;
use crate::scenario::scripted_fault::glob;

/// The workers of a cloud, its classes of objects and its workflows.
///
/// ```
/// use thunderhead_sim::{Response, Roster};
///
/// let roster = Roster::of(&|cloud| {
///     cloud.worker("web").fetch(|_env, _request| async { Ok(Response::new(200, "")) });
///     cloud.worker("idle");
///     cloud.outside("shop", |_env, _request| async { Ok(Response::new(200, "")) });
/// });
/// let names: Vec<&str> = roster.workers().collect();
/// assert_eq!(names, ["web", "idle"]);
/// assert_eq!(roster.serving().collect::<Vec<_>>(), ["web", "shop"]);
/// ```
#[derive(Clone, Debug)]
pub struct Roster {
    hosts: Vec<Entry>,
    /// The prefixes of the names of hosts that are added during a run: objects and workflow instances.
    families: Vec<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Arc<str>,
    can_crash: bool,
    serves: bool,
}

impl Roster {
    /// The workers that `mount` sets up.
    pub fn of(mount: &dyn Fn(&mut Cloud)) -> Roster {
        let world = World::new(&Scenario::default(), &Source::Tape(Tape::benign()));
        mount(&mut Cloud { world: &world });
        let state = world.state();
        let entry = |host: &Host| Entry {
            name: host.name.clone(),
            can_crash: host.can_crash,
            serves: host.fetch.is_some(),
        };
        let objects = state.hosts.classes.keys().map(|class| format!("{class}:"));
        let instances = state.hosts.workflow_bodies.keys().map(|workflow| format!("{workflow}/"));
        let families = objects.chain(instances).collect();
        Roster { hosts: state.hosts.iter().map(entry).collect(), families }
    }

    /// Every worker that can crash.
    pub fn workers(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().filter(|entry| entry.can_crash).map(|entry| &*entry.name)
    }

    /// Whether `name`, in which `*` stands for anything, can be that of a host that can crash: a
    /// worker, an object as `ROOM:lobby`, an instance of a workflow as `classify/42`.
    pub fn may_crash(&self, name: &str) -> bool {
        let mut families = self.families.iter();
        self.workers().any(|worker| glob(name, worker)) || families.any(|family| fits(name, family))
    }

    /// Whether `name` can be that of an object.
    pub fn is_object(&self, name: &str) -> bool {
        let mut objects = self.families.iter().filter(|family| family.ends_with(':'));
        objects.any(|family| fits(name, family))
    }

    /// The patterns that a script can write for hosts that can crash.
    pub fn crashable(&self) -> impl Iterator<Item = String> {
        let families = self.families.iter().map(|family| format!("{family}*"));
        self.workers().map(String::from).chain(families)
    }

    /// The hosts that serve requests, in the cloud or outside.
    pub fn serving(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().filter(|entry| entry.serves).map(|entry| &*entry.name)
    }
}

/// Whether a name that begins with `family` can fit `pattern`.
fn fits(pattern: &str, family: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern.starts_with(family),
        Some((head, _)) => head.starts_with(family) || family.starts_with(head),
    }
}
