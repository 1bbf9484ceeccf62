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
/// });
/// let names: Vec<&str> = roster.workers().collect();
/// assert_eq!(names, ["web", "idle"]);
/// assert_eq!(roster.serving().collect::<Vec<_>>(), ["web"]);
/// ```
#[derive(Clone, Debug)]
pub struct Roster(Vec<(Arc<str>, bool)>);

impl Roster {
    /// The workers that `mount` sets up.
    pub fn of(mount: &dyn Fn(&mut Cloud)) -> Roster {
        let world = World::new(&Scenario::default(), &Source::Tape(Tape::benign()));
        mount(&mut Cloud { world: &world });
        let state = world.state();
        let workers = state.hosts.iter().filter(|host| host.mortal);
        Roster(workers.map(|host| (host.name.clone(), host.fetch.is_some())).collect())
    }

    /// Every worker.
    pub fn workers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Those that serve requests.
    pub fn serving(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, serves)| *serves).map(|(name, _)| &**name)
    }
}
