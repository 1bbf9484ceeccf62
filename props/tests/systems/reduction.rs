//! The reduced enumeration breaks the promises that the full one breaks, in several times fewer runs.

use std::collections::BTreeSet;

use thunderhead::systems;
use thunderhead_props::{Expected, Name, System, Variant, search};
use thunderhead_sim::{ClientRequest, Enumerate, FaultSet, Scenario, Source, Time};

use crate::bounds::{self, asked};
use crate::search::{enumerate, order_only};

/// Requests in a storm of every fault.
fn storm(requests: Vec<ClientRequest>) -> Scenario {
    Scenario { drawn_faults: FaultSet::explored(), ..order_only(requests) }
}

/// What is broken in the runs of an enumeration, and how many runs there are.
fn broken(
    system: &System,
    variant: &Variant,
    scenario: &Scenario,
    tapes: Enumerate,
) -> (BTreeSet<Name>, u64) {
    let mut broken = BTreeSet::new();
    let runs = enumerate(system, variant, scenario, tapes, |_, violations| {
        broken.extend(violations.iter().map(|violation| violation.promise.clone()));
    });
    (broken, runs)
}

/// On the smallest workload of every variant that must be refuted.
#[test]
fn equivalent_runs_break_the_same_promises() {
    let mut found = 0;
    for system in systems::all() {
        let deviations = asked(bounds::of(&system.name).compared);
        let scenario = storm(system.smallest());
        let refuted = system.variants().iter().filter(|it| it.expected != Expected::Holds);
        for variant in refuted {
            let name = format!("{} {}", system.name, variant.name);
            let full = Enumerate::new(deviations);
            let reduced = Enumerate::reduced(deviations, &scenario);
            let (all, runs) = broken(system, variant, &scenario, full);
            let (kept, fewer) = broken(system, variant, &scenario, reduced);
            println!("{name}: {fewer} of {runs} runs, at most {deviations} deviations: {all:?}");
            assert_eq!(kept, all, "{name}");
            assert!(fewer < runs, "{name}: {fewer} of {runs} runs");
            found += all.len();
        }
    }
    assert!(found > 15, "only {found} promises are broken at all");
}

/// How many runs an enumeration has that nobody judges.
fn runs(system: &System, scenario: &Scenario, mut tapes: Enumerate) -> u64 {
    while let Some(tape) = tapes.next_tape() {
        tapes.tell(&search::play(system.reference(), scenario, &Source::Tape(tape)).unwrap());
    }
    tapes.visited()
}

/// With `ENUMERATE_DEVIATIONS=3` it is far less, which takes minutes in a release build.
#[test]
fn two_requests_to_the_uploads_take_less_than_half_the_runs() {
    let uploads = systems::find("uploads").expect("the uploads are registered");
    let path = "/acme/cat.jpg?as=ann@acme";
    let put = ClientRequest::new(Time::ZERO, "PUT", path, "one").retried(1);
    let delete = ClientRequest::new(Time::from_ms(1_005), "DELETE", path, "").retried(1);
    let scenario = storm(vec![put, delete]);
    let deviations = asked(2);
    let full = runs(uploads, &scenario, Enumerate::new(deviations));
    let reduced = runs(uploads, &scenario, Enumerate::reduced(deviations, &scenario));
    println!("{reduced} of {full} runs, at most {deviations} deviations");
    assert!(2 * reduced < full, "{reduced} of {full} runs");
}
