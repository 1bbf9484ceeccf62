//! Generations: all that the plan breaks, and one artifact and two, pictures and films, in every run within bounds.

use thunderhead::systems;
use thunderhead_props::System;
use thunderhead_sim::{ClientRequest, FaultSet, Time};

use crate::bounds::enumerated;
use crate::search::{self, order_only, random};

fn generations() -> &'static System {
    systems::find("generations").expect("generations are registered")
}

/// What the plan breaks once its artifacts can be written at all.
#[test]
fn a_search_finds_every_promise_that_the_plan_breaks() {
    let broken = [
        "a generation counts its artifacts",
        "final is final",
        "tags are as asked",
        "nothing is left over",
        "what was paid for is kept",
        "one generation per key",
        "status only goes forward",
        "a stray webhook changes nothing",
    ];
    let variant = generations().variant("no-foreign-key").unwrap();
    let kept = search::kept(generations(), variant, &broken, random(3_000));
    assert_eq!(kept, Vec::<&str>::new(), "still kept");
}

/// The reference keeps every promise in every run within bounds, for so many artifacts of one model.
fn survives(model: &str, count: u32, bounds: &[(FaultSet, usize)], at_least: u64) {
    let body = format!(r#"{{"model":"{model}","count":{count},"tags":["cats"]}}"#);
    let order = ClientRequest::new(Time::ZERO, "POST", "/generations", body);
    let requests = vec![order.with_header("authorization", "Bearer key-of-ann")];
    let scenario = order_only(requests);
    search::survives(generations(), generations().reference(), &scenario, bounds, at_least);
}

#[test]
fn one_picture_survives_everything() {
    survives("image-1", 1, &enumerated(2, 3), 1_000);
}

#[test]
fn two_pictures_survive_everything() {
    survives("image-1", 2, &enumerated(2, 2), 1_000);
}

#[test]
fn one_film_survives_everything() {
    survives("video-1", 1, &enumerated(2, 3), 1_000);
}

#[test]
fn two_films_survive_every_fault_and_every_pair_of_crashes() {
    survives("video-1", 2, &enumerated(1, 2), 100);
}
