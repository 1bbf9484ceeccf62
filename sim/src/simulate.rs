//! Plays one run: mounts a system, puts the scenario on the agenda, and lets it happen.

use std::rc::Rc;

use crate::bindings::cloud::Cloud;
use crate::bindings::roster::Roster;
use crate::choices::Source;
use crate::engine::agenda::Scheduled;
use crate::engine::host::Host;
use crate::engine::ids::HostId;
use crate::engine::run::Run;
use crate::engine::world::{State, World};
use crate::scenario::conversation::Conversation;
use crate::scenario::{Scenario, limits};
use crate::values::printable::printable;

/// A scenario that does not fit the cloud it is played on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupError(String);

impl std::fmt::Display for SetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It names hosts and paths as a script has them.
        f.write_str(&printable(&self.0))
    }
}

impl std::error::Error for SetupError {}

/// Plays a scenario on the cloud that `mount` sets up, with choices from `source`.
///
/// ```
/// use thunderhead_sim::{Response, Scenario, ClientRequest, Source, Tape, Time, simulate};
///
/// let scenario = Scenario {
///     requests: vec![ClientRequest::new(Time::ZERO, "GET", "/", "")],
///     ..Scenario::default()
/// };
/// let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
///     cloud.worker("web").fetch(|_env, _request| async { Ok(Response::new(200, "hello")) });
/// })
/// .unwrap();
/// assert!(run.trace.to_string().contains(r#"client  return #0 200 "hello""#));
/// ```
pub fn simulate(
    scenario: &Scenario,
    source: &Source,
    mount: &dyn Fn(&mut Cloud),
) -> Result<Run, SetupError> {
    let world = World::new(scenario, source);
    mount(&mut Cloud { world: &world });
    schedule(&world)?;
    let end = world.play();
    Ok(world.into_run(end))
}

/// Refuses what would come after the last moment of a run, and so never.
fn within_bounds(scenario: &Scenario) -> Result<(), SetupError> {
    let requests = scenario.requests.iter().map(|sent| ("a request", sent.at));
    let kills = scenario.kills.iter().map(|kill| ("a crash", kill.at));
    let mut times = requests.chain(kills).chain([("the end of the storm", scenario.storm_ends_at)]);
    match times.find(|(_, at)| *at > limits::LAST_MOMENT) {
        Some((what, at)) => Err(SetupError(format!(
            "{what} is at {at}, which is too late: a run ends at {}",
            limits::LAST_MOMENT
        ))),
        None => Ok(()),
    }
}

/// Refuses a scripted fault that can strike nothing on this cloud.
fn strike(state: &State, scenario: &Scenario) -> Result<(), SetupError> {
    if scenario.faults.is_empty() {
        return Ok(());
    }
    let roster = Roster::on(state);
    for rule in scenario.faults.iter().filter(|rule| !rule.fault.on_host()) {
        roster.can_match(&rule.on, &[]).map_err(|unmatched| {
            let (fault, on) = (rule.fault, &rule.on);
            SetupError(format!("`{fault}` on `{on}`: {}; {}", unmatched.wrong, unmatched.fix))
        })?;
    }
    Ok(())
}

/// Puts the events of the scenario on the agenda and boots every host.
fn schedule(world: &Rc<World>) -> Result<(), SetupError> {
    let scenario = Rc::clone(&world.state().scenario);
    within_bounds(&scenario)?;
    for sent in &scenario.requests {
        Cloud { world }.client_host(&sent.from);
        if !limits::HOSTS.allows(world.state().hosts.len()) {
            let most = limits::HOSTS.most;
            return Err(SetupError(format!("there are more than {most} clients and other hosts")));
        }
        if let Some(Err(error)) = Conversation::of(&sent.request) {
            let (path, line) = (&sent.request.path, error.line + 1);
            let why = format!("what is said on `WEBSOCKET {path}`, line {line}: {error}");
            return Err(SetupError(why));
        }
        if world.state().hosts.worker_for(sent).is_none() {
            return Err(SetupError(match &sent.to {
                None => format!("no worker serves requests, so `{}` cannot be sent", sent.request),
                Some(to) => format!("no worker called `{to}` serves requests"),
            }));
        }
    }
    strike(&world.state(), &scenario)?;
    let mut state = world.state();
    for (index, sent) in scenario.requests.iter().enumerate() {
        state.agenda.schedule(sent.at, Scheduled::Request { index });
    }
    for (index, kill) in scenario.kills.iter().enumerate() {
        if !state.hosts.may_crash(&kill.host) {
            return Err(SetupError(format!("there is no worker `{}` to kill", kill.host)));
        }
        state.agenda.schedule(kill.at, Scheduled::Kill { index });
    }
    state.agenda.schedule(scenario.storm_ends_at, Scheduled::Calm);
    let booting: Vec<HostId> = state.hosts.iter().map(Host::id).collect();
    drop(state);
    booting.into_iter().for_each(|host| world.boot(host));
    Ok(())
}
