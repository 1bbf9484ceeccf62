//! What the requests of a failing case say gets simpler when the failure stays.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead_sim::{Body, BodySource, Case, ClientRequest, Scenario, Shrinker, Tape, Time};

fn sent(at: u64, path: &str, body: impl Into<Body>) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at), "PUT", path, body)
}

/// The smallest case of those for which `fails`.
fn smallest(requests: Vec<ClientRequest>, fails: impl Fn(&[ClientRequest]) -> bool) -> Case {
    with_tape(requests, Tape::benign(), |case| fails(&case.scenario.requests))
}

fn with_tape(requests: Vec<ClientRequest>, tape: Tape, fails: impl Fn(&Case) -> bool) -> Case {
    let scenario = Scenario { requests, ..Scenario::default() };
    let mut shrinker = Shrinker::new(Case { scenario, tape });
    while let Some(candidate) = shrinker.candidate() {
        let fails = fails(&candidate);
        shrinker.tell(fails.then_some(candidate.tape), 1);
    }
    shrinker.best().clone()
}

fn paths(case: &Case) -> Vec<String> {
    case.scenario.requests.iter().map(|one| one.request.path.to_string()).collect()
}

fn bodies(case: &Case) -> Vec<String> {
    let text = |one: &ClientRequest| one.request.body.text().unwrap().to_string();
    case.scenario.requests.iter().map(text).collect()
}

#[test]
fn two_users_become_one_wherever_they_are_named_unless_it_takes_two() {
    let requests = || {
        vec![
            sent(0, "/acme/cat.jpg?as=ann@acme", "v"),
            sent(0, "/globex/dog.jpg?as=bob@globex", "v"),
        ]
    };
    let two = |all: &[ClientRequest]| all.len() == 2;
    let small = smallest(requests(), two);
    assert_eq!(paths(&small), ["/acme/cat.jpg?as=ann@acme"; 2]);
    // Those who ask belong to the organisation that they ask about, and there have to be two of them.
    let members = |all: &[ClientRequest]| {
        let of = |one: &ClientRequest| {
            let (asked, member) = one.request.path.split_once("?as=").unwrap();
            let asked = asked.split('/').nth(1).unwrap().to_string();
            (member.ends_with(&format!("@{asked}"))).then_some(asked)
        };
        let asked: Vec<_> = all.iter().filter_map(of).collect();
        asked.len() == 2 && asked[0] != asked[1]
    };
    let small = smallest(requests(), members);
    assert_eq!(paths(&small), ["/acme/cat.jpg?as=ann@acme", "/globex/cat.jpg?as=ann@globex"]);
}

#[test]
fn a_name_is_replaced_in_the_tape_too() {
    let tape = Tape(vec!["crash ROOM:b #1 = 1/2".parse().unwrap()]);
    let small = with_tape(vec![sent(0, "/a", ""), sent(0, "/b", "")], tape, |case| {
        let last = case.scenario.requests.last().map(|one| one.request.path.trim_matches('/'));
        let host = case.tape.0.first().map(|line| line.site.host.to_string());
        case.scenario.requests.len() == 2 && host == last.map(|name| format!("ROOM:{name}"))
    });
    assert_eq!(paths(&small), ["/a", "/a"]);
    assert_eq!(small.tape.0[0].to_string(), "crash ROOM:a #1 = 1/2");
}

#[test]
fn bodies_get_shorter_and_alike() {
    let small = smallest(vec![sent(0, "/a", "take 1"), sent(0, "/a", "take 2")], |all| {
        all.len() == 2 && all.iter().all(|one| !one.request.body.is_empty())
    });
    assert_eq!(bodies(&small), ["take", "take"]);
    let small = smallest(vec![sent(0, "/a", "take 1")], |all| all.len() == 1);
    assert_eq!(bodies(&small), [""]);
}

#[test]
fn a_document_loses_members_and_items_and_its_numbers_get_small() {
    let body = r#"{"count":30,"guests":["ann","bob","cid"],"tags":["x"],"within":{"owed":900}}"#;
    let small = smallest(vec![sent(0, "/a", body)], |all| {
        let Some(value) = all.first().and_then(|one| one.request.body.text()) else { return false };
        let Ok(value) = serde_json::from_str::<serde_json::Value>(value) else { return false };
        let guests = value["guests"].as_array().map_or(0, Vec::len);
        value["count"].as_u64() >= Some(7) && guests >= 2 && value["within"]["owed"].is_u64()
    });
    assert_eq!(bodies(&small), [r#"{"count":7,"guests":["ann","bob"],"within":{"owed":1}}"#]);
}

#[test]
fn a_picture_becomes_that_of_another_request_and_is_never_cut() {
    let picture =
        |name: &str, bytes: &[u8]| Body::named(BodySource::Picture(name.into()), bytes.to_vec());
    let requests = vec![
        sent(0, "/a", picture("clock", b"\x89PNG1")),
        sent(0, "/a", picture("maze", b"\x89PNG2")),
    ];
    let small = smallest(requests, |all| {
        all.len() == 2 && all.iter().all(|one| one.request.body.source().is_some())
    });
    let names = small.scenario.requests.iter().map(|one| one.request.body.source().unwrap().name());
    assert_eq!(names.collect::<Vec<_>>(), ["clock", "clock"]);
}

#[test]
fn no_header_is_sent_for_nothing_and_clients_try_as_often_as_before() {
    let request = sent(0, "/a", "").with_header("range", "bytes=1-2").with_header("accept", "*/*");
    let small = smallest(vec![request.retried(9)], |all| {
        all.first().is_some_and(|one| one.request.headers.get("accept").is_some())
    });
    let one = &small.scenario.requests[0];
    assert_eq!((one.retries, one.request.headers.iter().count()), (9, 1));
}

#[test]
fn times_get_earlier_and_round() {
    let small = smallest(vec![sent(0, "/a", ""), sent(41_337, "/a", "")], |all| {
        all.len() == 2 && all[1].at >= Time::from_ms(9_400)
    });
    let at = small.scenario.requests[1].at;
    assert!(at >= Time::from_ms(9_400) && at < Time::from_ms(11_000), "{at}");
    assert_eq!(at.as_ms() % 1_000, 0, "{at}");
}
