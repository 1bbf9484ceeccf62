//! What is asked of the system: a few comparisons, mostly of one pair and close together, how many to
//! keep, and questions about what became of them.

use serde_json::json;
use thunderhead_sim::{ClientRequest, Rng, Time};

use super::names::{comparison_id, pair_key};
use super::target::Target;

type Pair = (&'static str, &'static str);

const USUAL: Pair = ("https://prod.example/", "https://staging.example/");
const OTHERS: [Pair; 9] = [
    ("https://staging.example/", "https://prod.example/"),
    ("https://prod.example/old", "https://staging.example/old"),
    ("https://prod.example/", "https://trap.example/"),
    ("https://trap.example/number", "https://prod.example/"),
    ("https://trap.example/name", "https://prod.example/"),
    ("https://trap.example/hops/6", "https://prod.example/"),
    // A name that leads inside, one that may be seen to, and one that leads nowhere.
    ("https://prod.example/", "https://inside.example/latest/meta-data/"),
    ("https://rebind.example/hops/5", "https://rebind.example/hops/4"),
    ("https://prod.example/", "https://empty.example/"),
];
/// Two pairs whose URLs, written one after the other, are the same text.
const JOINED: [Pair; 2] = [
    ("https://prod.example/", "https://staging.example/https://prod.example/"),
    ("https://prod.example/https://staging.example/", "https://prod.example/"),
];
const OPERATOR: &str = "Bearer a-token-of-operators";
const GAPS_MS: [u64; 6] = [0, 0, 3, 40, 1_000, 6_000];
const LATER_MS: [u64; 4] = [1, 500, 8_000, 40_000];

/// Up to four comparisons, with what goes around them.
pub fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    let mut requests = Vec::new();
    if rng.chance(640) {
        requests.push(keep(0, USUAL, 1 + rng.below(2), OPERATOR));
    }
    let mut at = 0;
    let other = OTHERS[rng.below(OTHERS.len() as u32) as usize];
    for turn in 0..1 + rng.below(4) {
        at += GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize];
        // Mostly the same pair: that is where one comparison makes way for another.
        let pair = match rng.below(8) {
            0 => OTHERS[rng.below(OTHERS.len() as u32) as usize],
            1 => other,
            2 => JOINED[rng.below(2) as usize],
            _ => USUAL,
        };
        let request = format!("r{turn}");
        requests.push(compare(at, pair, &request));
        if rng.chance(400) {
            let later = at + LATER_MS[rng.below(LATER_MS.len() as u32) as usize];
            let asked = if rng.chance(100) { "nobody's".into() } else { request };
            requests.push(ask(later, pair, &asked));
        }
    }
    if rng.chance(100) {
        // Somebody who may not, asks for a number that nobody else asks for.
        let who = ["", "Bearer guessed", "Bearer a-token-of-members"][rng.below(3) as usize];
        requests.push(keep(at + 100, USUAL, 3, who));
    }
    if rng.chance(100) {
        let path = format!("/pairs/{}/history", key(USUAL));
        requests.push(ClientRequest::new(Time::from_ms(at + 9_000), "GET", &path, "").retried(1));
    }
    requests
}

/// The smallest workload: one comparison.
pub fn smallest() -> Vec<ClientRequest> {
    vec![compare(0, USUAL, "r0")]
}

fn compare(at_ms: u64, (left, right): Pair, request: &str) -> ClientRequest {
    let body = json!({ "leftUrl": left, "rightUrl": right, "requestId": request });
    ClientRequest::new(Time::from_ms(at_ms), "POST", "/compare", body.to_string()).retried(2)
}

fn keep(at_ms: u64, (left, right): Pair, keep: u32, who: &str) -> ClientRequest {
    let body = json!({ "leftUrl": left, "rightUrl": right, "keep": keep });
    let request = ClientRequest::new(Time::from_ms(at_ms), "PUT", "/keep", body.to_string());
    match who {
        "" => request.retried(2),
        who => request.with_header("authorization", who).retried(2),
    }
}

fn ask(at_ms: u64, pair: Pair, request: &str) -> ClientRequest {
    let path = format!("/compare/{}", comparison_id(&key(pair), request));
    ClientRequest::new(Time::from_ms(at_ms), "GET", &path, "").retried(1)
}

fn key((left, right): Pair) -> String {
    let target = |url| Target::parse(url).expect("a site of this system");
    pair_key(&target(left), &target(right))
}
