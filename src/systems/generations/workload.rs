//! What is asked of the system: a few generations by clients that poll or listen, some of them twice
//! under one key, and what strangers might send.

use std::time::Duration;

use serde_json::json;
use thunderhead_sim::{ClientRequest, Rng, Time};

use super::clients::AUTHORIZATION;
use super::signature::{SECRET_VALUE, TOLERANCE_S, sign};
use super::studio::{ANN, BEN, STUDIO};

const GAPS_MS: [u64; 5] = [0, 3, 40, 1_000, 6_000];
const MODELS: [&str; 3] = ["image-1", "image-2", "video-1"];
const TAGS: [&str; 3] = ["cats", "rain", "draft"];
const SIDES: [u32; 3] = [512, 1_024, 1_536];
/// Some are over in the middle of a storm, and some long after it.
const TIMEOUTS: [Option<u64>; 6] = [None, None, Some(8), Some(25), Some(50), Some(3_000)];
/// What clients do until a generation is over, and then.
const HOW: [&str; 8] = ["/poll", "/poll", "/poll", "/fetch", "/tag", "/peek", "/watch", "/watch"];
/// What clients go through, page by page.
const PAGES: [&str; 4] = [
    "/artifacts?limit=1",
    "/artifacts?limit=1&tag=cats",
    "/artifacts?limit=1&tag=draft",
    "/generations?limit=1",
];
/// The smallest request for a generation.
const ORDER: &str = r#"{"model":"image-1","tags":["cats"]}"#;
const NOBODY: &str = "01234567-89ab-7def-8123-456789abcdef";

/// Up to three generations, with what goes around them.
pub fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    let mut requests = Vec::new();
    let mut at = 0;
    for turn in 0..1 + rng.below(3) {
        at += GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize];
        let order = order(rng, turn);
        let how = HOW[rng.below(HOW.len() as u32) as usize];
        let client = if rng.chance(300) { BEN } else { ANN };
        let send = |at, client| {
            let send = studio(at, how, order.clone());
            send.with_header(AUTHORIZATION, client)
        };
        requests.push(send(at, client));
        // An impatient client sends the request again from another window, or another client asks for the same.
        if rng.chance(150) {
            let again = if rng.chance(300) { ANN } else { client };
            requests.push(send(at + u64::from(rng.below(3)) * 700, again));
        }
    }
    let late = at + u64::from(rng.below(30)) * 1_000;
    match rng.below(12) {
        0 | 1 => {
            let path = PAGES[rng.below(PAGES.len() as u32) as usize];
            requests.push(studio(late, "/browse", path.into()));
        }
        2 => requests.push(get(late, &format!("/generations/{NOBODY}"))),
        3 => requests.push(webhook(rng, late)),
        4 => requests.push(stranger(rng, late)),
        _ => {}
    }
    requests
}

/// The smallest workload: one picture.
pub fn smallest() -> Vec<ClientRequest> {
    let order = ClientRequest::new(Time::ZERO, "POST", "/generations", ORDER);
    vec![order.with_header(AUTHORIZATION, ANN)]
}

fn order(rng: &mut Rng, turn: u32) -> String {
    let model = MODELS[rng.below(MODELS.len() as u32) as usize];
    let tags: Vec<&str> = TAGS.into_iter().filter(|_| rng.chance(400)).collect();
    let mut input = json!({ "prompt": format!("number {turn}") });
    if rng.chance(400) {
        input["width"] = SIDES[rng.below(SIDES.len() as u32) as usize].into();
        input["height"] = SIDES[rng.below(SIDES.len() as u32) as usize].into();
    }
    let mut order = json!({
        "model": model,
        "input": input,
        "count": 1 + rng.below(3),
        "tags": tags,
    });
    if let Some(seconds) = TIMEOUTS[rng.below(TIMEOUTS.len() as u32) as usize] {
        order["timeoutSeconds"] = seconds.into();
    }
    if !rng.chance(150) {
        order["idempotencyKey"] = format!("k{turn}").into();
    }
    order.to_string()
}

fn studio(at_ms: u64, path: &str, body: String) -> ClientRequest {
    let send = ClientRequest::new(Time::from_ms(at_ms), "POST", path, body);
    ClientRequest { to: Some(STUDIO.into()), ..send }
}

fn get(at_ms: u64, path: &str) -> ClientRequest {
    let get = ClientRequest::new(Time::from_ms(at_ms), "GET", path, "").retried(1);
    get.with_header(AUTHORIZATION, ANN)
}

/// A request of somebody who is no client: without a key, or with one that nobody has.
fn stranger(rng: &mut Rng, at_ms: u64) -> ClientRequest {
    let request = match rng.below(2) {
        0 => ClientRequest::new(Time::from_ms(at_ms), "POST", "/generations", ORDER),
        _ => ClientRequest::new(Time::from_ms(at_ms), "GET", "/artifacts", ""),
    };
    match rng.chance(512) {
        true => request.with_header(AUTHORIZATION, "Bearer key-of-eve"),
        false => request,
    }
}

/// A webhook about a generation that there never was: one that nobody has signed, or one of the provider's that
/// somebody has kept for long.
fn webhook(rng: &mut Rng, at_ms: u64) -> ClientRequest {
    let report = json!({ "taskUUID": format!("{NOBODY}-1"), "status": "failed" }).to_string();
    let path = format!("/webhook?generation_id={NOBODY}");
    let mut webhook = ClientRequest::new(Time::from_ms(at_ms), "POST", &path, report);
    if rng.chance(512) {
        // At the beginning of a run, which was longer ago than a signature is good for.
        webhook.at = webhook.at + Duration::from_secs(2 * TOLERANCE_S);
        webhook.request = sign(webhook.request, SECRET_VALUE, Time::ZERO);
    }
    webhook
}
