//! What the real network costs a campaign over `uploads`, against the stand-in on the same pictures and on its own
//! short texts. The network has seen every picture before it is measured.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use thunderhead::model::{Choice, Model, Numbers};
use thunderhead::props::System;
use thunderhead::props::search::{self, Sampling};
use thunderhead::systems;
use thunderhead_model::simulated;
use thunderhead_sim::ai;

/// As in the program that users run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs in one measurement: all kinds of weather.
const RUNS: u64 = 100;

fn campaign(system: &System) -> u32 {
    let runs = (0..RUNS).map(|seed| {
        let (scenario, source) = search::of_seed(system, seed, Sampling::Random, 3);
        let checked = search::check(system, system.reference(), &scenario, &source);
        let (run, violations) = checked.expect("the scenario fits");
        assert_eq!(violations.len(), 0, "seed {seed}");
        run.steps
    });
    runs.sum()
}

fn models(criterion: &mut Criterion) {
    let network = simulated::load(Choice::Resnet50(Numbers::Fastest), &mut |_| ());
    let network = network.expect("the weights");
    let (choice, pictures) = (network.choice, network.pictures().to_vec());
    let same_pictures =
        Model::new(choice, "by content", pictures, |image| Ok(ai::by_content(image)));
    let mut group = criterion.benchmark_group("uploads");
    for (name, model) in [
        ("stand-in/texts", Model::stand_in()),
        ("stand-in/pictures", same_pictures),
        ("resnet50/pictures", network),
    ] {
        let system = systems::uploads_with(&model);
        campaign(&system);
        group.bench_function(name, |bench| bench.iter(|| campaign(black_box(&system))));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = models
}
criterion_main!(benches);
