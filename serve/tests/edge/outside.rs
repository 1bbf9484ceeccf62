//! A served `comparisons` asks the sites that it compares, at the addresses that it has checked.

use std::path::Path;

use serde_json::{Value, json};
use thunderhead_serve::Stop;

use super::server::{Server, config, folder, start};
use super::sites::asked;

fn compares(data: &Path) -> Server {
    start(config("comparisons", data, Some("ann@acme")))
}

/// Asks for a comparison; its path.
fn ask(server: &Server, left: &str, right: &str) -> String {
    let body = json!({ "leftUrl": left, "rightUrl": right }).to_string();
    let (status, answer) = server.ask("POST", "/compare", &body);
    assert_eq!(status, 201, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    format!("/compare/{}", answer["comparisonId"].as_str().unwrap())
}

/// What comes of comparisons when all is done.
fn compared(data: &Path, urls: &[(&str, &str)]) -> Vec<Value> {
    let server = compares(data);
    let paths: Vec<String> = urls.iter().map(|(left, right)| ask(&server, left, right)).collect();
    server.end(Stop::AtRest);
    let server = compares(data);
    let found = paths.iter().map(|path| {
        let (status, answer) = server.ask("GET", path, "");
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    });
    let found = found.collect();
    server.end(Stop::Soon);
    let judged = thunderhead_serve::judge(data, thunderhead::systems::find).unwrap();
    assert_eq!(judged.violations, vec![]);
    found
}

#[test]
fn two_sites_are_asked_by_their_names_and_compared() {
    let data = folder("compared");
    let urls = ("http://prod.example/page?a=1", "http://staging.example/old");
    let found = &compared(&data, &[urls])[0];
    assert_eq!(found["status"], "completed", "{found}");
    let told = found["result"].to_string();
    assert!(told.contains("/new"), "the redirect was followed: {told}");
    for line in ["prod.example /page?a=1", "staging.example /old", "staging.example /new"] {
        assert_eq!(asked(line), 1, "{line}");
    }
}

#[test]
fn a_site_is_asked_over_tls_if_its_certificate_is_trusted_and_has_its_name() {
    let refused = [
        ("https://www.example/other-name", "certificate not valid for name \"www.example\""),
        ("https://staging.example/stranger", "invalid peer certificate: UnknownIssuer"),
    ];
    let trusted = "https://prod.example/over-tls";
    let urls = [trusted, refused[0].0, refused[1].0].map(|url| (url, "http://staging.example/"));
    let found = compared(&folder("over-tls"), &urls);
    assert_eq!(found[0]["status"], "completed", "{}", found[0]);
    assert_eq!(asked("prod.example /over-tls"), 1);
    for ((url, why), found) in refused.iter().zip(&found[1..]) {
        assert_eq!(found["status"], "failed", "{url}: {found}");
        assert!(found["error"].as_str().unwrap().contains(why), "{url}: {found}");
    }
    assert_eq!(asked("www.example") + asked("staging.example /stranger"), 0);
}

#[test]
fn what_leads_inside_or_nowhere_is_not_asked_and_the_comparison_says_so() {
    let fails = [
        ("http://inside.example/", "resolves inside"),
        ("http://prod.example/inside", "resolves inside"),
        ("http://nobody.example/", "has no address"),
        ("http://prod.example/long", "longer than 4 MiB"),
        // It is tried again for ten minutes.
        ("http://down.example/", "Network connection lost"),
    ];
    let urls: Vec<_> = fails.iter().map(|(url, _)| (*url, "http://staging.example/")).collect();
    let found = compared(&folder("not-compared"), &urls);
    for ((url, why), found) in fails.iter().zip(found) {
        assert_eq!(found["status"], "failed", "{url}: {found}");
        assert!(found["error"].as_str().unwrap().contains(why), "{url}: {found}");
    }
    assert_eq!(asked("inside.example"), 0);
}

#[test]
fn a_site_that_was_being_asked_when_the_server_ended_is_asked_again() {
    let data = folder("asked-again");
    let server = compares(&data);
    let path = ask(&server, "http://prod.example/silent", "http://staging.example/quiet");
    while asked("prod.example /silent") == 0 {
        // Everybody else is answered meanwhile.
        assert_eq!(server.ask("GET", &path, "").0, 200);
    }
    server.end(Stop::Soon);
    let server = compares(&data);
    server.end(Stop::AtRest);
    let server = compares(&data);
    let (_, answer) = server.ask("GET", &path, "");
    assert!(answer.contains(r#""status":"completed""#), "{answer}");
    assert_eq!(asked("prod.example /silent"), 2);
    server.end(Stop::Soon);
}
