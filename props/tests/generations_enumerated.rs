//! Generations in every run within bounds: one artifact and two, pictures and films.
//!
//! These bounds are what a test has time for; `ENUMERATE_DEVIATIONS=3` asks for one more of all faults.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead::systems;
use thunderhead_props::{System, search};
use thunderhead_sim::{ClientRequest, Enumerate, FaultSet, Scenario, Source, Time, Timing};

fn generations() -> &'static System {
    systems::find("generations").expect("generations are registered")
}

/// So many artifacts of one model, asked for once.
fn request(model: &str, count: u32) -> Vec<ClientRequest> {
    let body = format!(r#"{{"model":"{model}","count":{count},"tags":["cats"]}}"#);
    vec![ClientRequest::new(Time::ZERO, "POST", "/generations", body)]
}

/// Plays every run within bounds and says how many there were; every promise must hold in each.
fn enumerate(requests: &[ClientRequest], faults: FaultSet, max_deviations: usize) -> u64 {
    let (requests, timing) = (requests.to_vec(), Timing::Order);
    let scenario =
        Scenario { requests, drawn_faults: faults, timing, max_crashes: 2, ..Scenario::default() };
    let mut tapes = Enumerate::new(max_deviations);
    while let Some(tape) = tapes.next_tape() {
        let source = Source::Tape(tape.clone());
        let (run, broken) = search::check(generations(), "reference", &scenario, &source).unwrap();
        assert!(broken.is_empty(), "{broken:?}\n{tape:?}\n{}", run.trace);
        tapes.tell(&run);
    }
    tapes.visited()
}

/// Within the bounds, of all faults and of crashes alone; there must be at least so many runs, or
/// something is off.
fn survives(requests: &[ClientRequest], crash_deviations: usize, at_least: u64) {
    let asked = std::env::var("ENUMERATE_DEVIATIONS").ok().and_then(|text| text.parse().ok());
    let bounds =
        [(FaultSet::explored(), asked.unwrap_or(2)), (FaultSet::crashes(), crash_deviations)];
    for (faults, max_deviations) in bounds {
        let runs = enumerate(requests, faults, max_deviations);
        println!("{runs} runs with at most {max_deviations} deviations");
        assert!(runs > at_least, "only {runs} runs");
    }
}

#[test]
fn one_picture_survives_everything() {
    survives(&request("image-1", 1), 3, 1_000);
}

#[test]
fn two_pictures_survive_everything() {
    survives(&request("image-1", 2), 2, 1_000);
}

#[test]
fn one_film_survives_everything() {
    survives(&request("video-1", 1), 3, 1_000);
}

#[test]
fn two_films_survive_everything() {
    survives(&request("video-1", 2), 2, 1_000);
}
