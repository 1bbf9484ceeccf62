//! The names on a cloud once a system is mounted on it, to check a scenario before a run.

use std::sync::Arc;

use crate::bindings::cloud::Cloud;
use crate::choices::Source;
use crate::choices::tape::Tape;
use crate::engine::host::Host;
use crate::engine::world::{State, World};
use crate::protocol::site::OpCode;
use crate::scenario::Scenario;
use crate::scenario::script::closest;
use crate::scenario::scripted_fault::{Filter, glob};
use crate::values::sorted_set::SortedSet;

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
    /// What calls can be about: the beginning of the call's name, and the name or the beginning of the names.
    targets: Vec<(&'static str, String)>,
}

/// A fault that can strike nothing on a cloud: why not, and what could be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// What is wrong.
    pub wrong: String,
    /// What to write instead.
    pub fix: String,
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
        Roster::on(&world.state())
    }

    pub(crate) fn on(state: &State) -> Roster {
        let entry = |host: &Host| Entry {
            name: host.name.clone(),
            can_crash: host.can_crash,
            serves: host.fetch.is_some(),
        };
        let objects = state.hosts.classes.keys().map(|class| format!("{class}:"));
        let instances = state.hosts.workflow_bodies.keys().map(|workflow| format!("{workflow}/"));
        let families = objects.chain(instances).collect();
        let hosts = state.hosts.iter().map(entry).collect();
        Roster { hosts, families, targets: targets(state) }
    }

    /// Whether a call can be made here that fits `on`. Further clients may be named by the requests of a scenario.
    pub fn can_match(&self, on: &Filter, clients: &[&str]) -> Result<(), Unmatched> {
        let calls: Vec<&str> =
            OpCode::all().map(OpCode::name).filter(|call| on.fits(call)).collect();
        if calls.is_empty() {
            let fix = closest(on.call(), OpCode::all().map(OpCode::name));
            return Err(Unmatched { wrong: format!("there is no call `{}`", on.call()), fix });
        }
        if let Some(caller) = on.caller() {
            let hosts = self.hosts.iter().map(|entry| &*entry.name).chain(clients.iter().copied());
            let known: Vec<&str> = hosts.collect();
            let host = known.iter().any(|name| glob(caller, name));
            if !host && !self.families.iter().any(|family| fits(caller, family)) {
                let families: Vec<String> = self.families.iter().map(|f| format!("{f}*")).collect();
                let known = known.into_iter().chain(families.iter().map(String::as_str));
                let wrong = format!("nobody called `{caller}` makes calls here");
                return Err(Unmatched { wrong, fix: closest(caller, known) });
            }
        }
        let Some(target) = on.target() else { return Ok(()) };
        let open = calls.iter().any(|call| ANYTHING.iter().any(|of| call.starts_with(of)));
        let targets = self.targets.iter();
        let known = targets.filter(|(of, _)| calls.iter().any(|call| call.starts_with(of)));
        let known: SortedSet<&str> = known.map(|(_, name)| &**name).collect();
        if open || known.iter().any(|name| touches(target, name)) {
            return Ok(());
        }
        let wrong = format!("no `{}` is about `{target}` here", on.call());
        Err(Unmatched { wrong, fix: closest(target, known) })
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

/// The calls whose targets are not known before a run: models and connections.
const ANYTHING: [&str; 4] = ["ai.", "object.push", "socket.", "stream."];

/// What the calls to each service can be about, as patterns.
fn targets(state: &State) -> Vec<(&'static str, String)> {
    let services = &state.services;
    let mut targets = Vec::new();
    for bucket in services.r2.names() {
        targets.push(("r2.", bucket.to_string()));
        targets.push(("r2.", format!("{bucket}/*")));
    }
    targets.extend(services.queues.names().map(|queue| ("queue.", queue.to_string())));
    for namespace in services.kv.names() {
        targets.push(("kv.", namespace.to_string()));
        targets.push(("kv.", format!("{namespace}/*")));
    }
    targets.extend(services.d1.names().map(|database| ("d1.", database.to_string())));
    for workflow in state.hosts.workflow_bodies.keys() {
        targets.push(("workflow.", workflow.to_string()));
        targets.push(("workflow.", format!("{workflow}/*")));
    }
    let classes = state.hosts.classes.keys();
    targets.extend(classes.map(|class| ("object.", format!("{class}:*"))));
    let serving = state.hosts.iter().filter(|host| host.fetch.is_some());
    targets.extend(serving.map(|host| ("fetch", format!("{}/*", host.name))));
    targets
}

/// Whether something fits both patterns; stars stand at most at the end of `known`.
fn touches(pattern: &str, known: &str) -> bool {
    match known.strip_suffix('*') {
        Some(family) => fits(pattern, family),
        None => glob(pattern, known),
    }
}

/// Whether a name that begins with `family` can fit `pattern`.
fn fits(pattern: &str, family: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern.starts_with(family),
        Some((head, _)) => head.starts_with(family) || family.starts_with(head),
    }
}
