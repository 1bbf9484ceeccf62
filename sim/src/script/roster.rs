//! Who is on a cloud once a system is mounted on it: for checking names before a run.

use std::sync::Arc;

use crate::choices::Source;
use crate::cloud::Cloud;
use crate::scenario::Scenario;
use crate::tape::Tape;
use crate::world::World;

/// The workers of a cloud.
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
pub struct Roster(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    name: Arc<str>,
    mortal: bool,
    serves: bool,
}

impl Roster {
    /// The workers that `mount` sets up.
    pub fn of(mount: &dyn Fn(&mut Cloud)) -> Roster {
        let world = World::new(&Scenario::default(), &Source::Tape(Tape::benign()));
        mount(&mut Cloud { world: &world });
        let state = world.state();
        let entry = |host: &crate::host::Host| Entry {
            name: host.name.clone(),
            mortal: host.mortal,
            serves: host.fetch.is_some(),
        };
        Roster(state.hosts.iter().map(entry).collect())
    }

    /// Every worker that may die.
    pub fn workers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|entry| entry.mortal).map(|entry| &*entry.name)
    }

    /// Those that serve requests, in the cloud or outside.
    pub fn serving(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|entry| entry.serves).map(|entry| &*entry.name)
    }
}
