//! Commands: the verdict on every alternative, and two commands on two processors in every run within bounds.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead::systems;
use thunderhead_props::{Expected, FREE, Name, System};
use thunderhead_sim::{ClientRequest, FaultSet, Time};

use crate::bounds::enumerated;
use crate::search::{self, mixed, order_only_until};

/// In how many storms the verdicts are reached.
const STORMS: u64 = 600;

fn commands() -> &'static System {
    systems::find("commands").expect("the commands are registered")
}

/// Each alternative breaks every promise that it is said to break, and keeps all others.
#[test]
fn every_alternative_breaks_the_promises_it_is_known_to_break_and_keeps_the_others() {
    for variant in commands().variants() {
        let Expected::Refuted(promises) = &variant.expected else { continue };
        let mut broken = BTreeMap::new();
        for (seed, strategy) in mixed(STORMS) {
            for violation in search::violations(commands(), variant, seed, strategy) {
                *broken.entry(violation.promise).or_insert(0) += 1;
            }
        }
        println!("{} in {STORMS} storms: {broken:?}", variant.name);
        let expected: BTreeSet<Name> = promises.iter().cloned().collect();
        // What any system is judged by is broken along with them.
        let free = |name: &Name| FREE.iter().any(|promise| promise.name == *name);
        let found: BTreeSet<Name> = broken.into_keys().filter(|name| !free(name)).collect();
        assert_eq!(found, expected, "{}", variant.name);
    }
}

/// A group that checks out, when both processors are about to look for work.
fn group(name: &str, guests: &str) -> ClientRequest {
    let path = format!("/groups/{name}");
    ClientRequest::new(Time::from_ms(990), "POST", &path, format!("{{\"guests\":{guests}}}"))
        .retried(1)
}

/// The reference keeps every promise in every run within bounds; `ENUMERATE_DEVIATIONS` widens them.
fn survives(
    requests: Vec<ClientRequest>,
    storm_ends_ms: u64,
    bounds: &[(FaultSet, usize)],
    at_least: u64,
) {
    let scenario = order_only_until(Time::from_ms(storm_ends_ms), requests);
    search::survives(commands(), commands().reference(), &scenario, bounds, at_least);
}

/// The storm lasts until a lease that was lost has run out, and its command is claimed again.
#[test]
fn two_commands_of_one_workflow_survive_every_fault_and_every_pair_of_crashes() {
    survives(vec![group("g0", r#"["ann","bob"]"#)], 25_000, &enumerated(1, 2), 150);
}

/// The storm lasts until everything has been tried once.
#[test]
fn two_commands_of_two_workflows_survive_every_fault_and_every_pair_of_crashes() {
    let groups = vec![group("g0", r#"["ann"]"#), group("g1", r#"["bob"]"#)];
    survives(groups, 1_200, &enumerated(1, 2), 150);
}
