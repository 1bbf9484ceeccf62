//! What is asked of the system: a few generations by clients that poll or listen, some of them twice
//! under one key, and what strangers might send.

use std::time::Duration;

use serde_json::json;
use thunderhead_sim::{ClientRequest, Rng, Time};

use super::signature::{SECRET_VALUE, TOLERANCE_S, sign};
use super::studio::STUDIO;

const GAPS_MS: [u64; 5] = [0, 3, 40, 1_000, 6_000];
const MODELS: [&str; 3] = ["image-1", "image-2", "video-1"];
const TAGS: [&str; 3] = ["cats", "rain", "draft"];
const SIDES: [u32; 3] = [512, 1_024, 1_536];
/// Some are over in the middle of a storm, and some long after it.
const TIMEOUTS: [Option<u64>; 6] = [None, None, Some(8), Some(25), Some(50), Some(3_000)];
/// What clients do until a generation is over, and then.
const HOW: [&str; 6] = ["/poll", "/poll", "/poll", "/fetch", "/watch", "/watch"];
const NOBODY: &str = "01234567-89ab-7def-8123-456789abcdef";

/// Up to three generations, with what goes around them.
pub fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    let mut requests = Vec::new();
    let mut at = 0;
    for turn in 0..1 + rng.below(3) {
        at += GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize];
        let order = order(rng, turn);
        let how = HOW[rng.below(HOW.len() as u32) as usize];
        let send = |at| {
            let send = ClientRequest::new(Time::from_ms(at), "POST", how, order.clone());
            ClientRequest { to: Some(STUDIO.into()), ..send }
        };
        requests.push(send(at));
        // An impatient client sends the request again from another window.
        if rng.chance(150) {
            requests.push(send(at + u64::from(rng.below(3)) * 700));
        }
    }
    let late = at + u64::from(rng.below(30)) * 1_000;
    match rng.below(12) {
        0 => requests.push(get(late, "/generations?tag=cats")),
        1 => requests.push(get(late, "/artifacts?tag=cats")),
        2 => requests.push(get(late, &format!("/generations/{NOBODY}"))),
        3 => requests.push(webhook(rng, late)),
        _ => {}
    }
    requests
}

/// The smallest workload: one picture.
pub fn smallest() -> Vec<ClientRequest> {
    vec![ClientRequest::new(
        Time::ZERO,
        "POST",
        "/generations",
        r#"{"model":"image-1","tags":["cats"]}"#,
    )]
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

fn get(at_ms: u64, path: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "GET", path, "").retried(1)
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
