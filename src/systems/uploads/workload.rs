//! Requests: uploads, deletions, changes past the route, and what operators do.

use md5::{Digest, Md5};
use thunderhead_sim::{Body, ClientRequest, Rng, Time, hex};

const GAPS_MS: [u64; 6] = [0, 3, 40, 1_000, 2_500, 9_000];
const NAMES: [&str; 3] = ["cat.jpg", "dog.jpg", "a/owl.jpg"];

/// Up to seven things that happen to a few names of two organisations, mostly to one name: that is
/// where the races are. Half of the time a browser is watching. What is uploaded is one of `pictures`.
pub fn workload(rng: &mut Rng, pictures: &[Body]) -> Vec<ClientRequest> {
    let mut at = 0;
    let mut requests = Vec::new();
    if rng.chance(512) {
        requests.push(watch(rng.below(3) as u64 * 2_000, "acme"));
    }
    for _ in 0..1 + rng.below(7) {
        at += GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize];
        requests.push(one(rng, at, pictures));
    }
    requests
}

/// The smallest workload: one upload.
pub fn smallest(pictures: &[Body]) -> Vec<ClientRequest> {
    vec![upload(0, "acme/cat.jpg", pictures[0].clone())]
}

fn one(rng: &mut Rng, at: u64, pictures: &[Body]) -> ClientRequest {
    let organisation = if rng.chance(150) { "globex" } else { "acme" };
    let name = if rng.chance(640) { NAMES[0] } else { NAMES[rng.below(3) as usize] };
    let key = format!("{organisation}/{name}");
    let picture = pictures[rng.below(pictures.len() as u32) as usize].clone();
    match rng.below(34) {
        0..=16 => upload(at, &key, picture),
        17..=23 => delete(at, &key),
        24 => elsewhere(at, "EXPIRE", &key, ""),
        25 => elsewhere(at, "COPY", &key, "acme/dog.jpg"),
        26 => elsewhere(at, "MULTIPART", &key, picture),
        // A picture that no model takes.
        27 => upload(at, &key, ""),
        28 => stranger(rng, at, &key),
        29 => operate(at, "reconcile/acme", ""),
        30 => operate(at, "migrate/acme", ""),
        31 | 32 => fetch(rng, at, &key, &picture),
        _ => operate(at, "notifications", r#"{"action":"PutObject"}"#),
    }
}

fn upload(at: u64, key: &str, bytes: impl Into<Body>) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at), "PUT", &member(key), bytes).retried(2)
}

fn delete(at: u64, key: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at), "DELETE", &member(key), "").retried(2)
}

/// A picture or its thumbnail: all of it, unless the client has it already, or a part.
fn fetch(rng: &mut Rng, at: u64, key: &str, picture: &Body) -> ClientRequest {
    let path = if rng.chance(256) { format!("thumbnails/{key}") } else { key.into() };
    let path = format!("/{path}?as=ann@{}", key.split('/').next().unwrap_or_default());
    let mut send = ClientRequest::new(Time::from_ms(at), "GET", &path, "").retried(1);
    match rng.below(3) {
        0 => {}
        1 => send.request.headers.set("if-none-match", &etag(picture)),
        _ => send.request.headers.set("range", ["bytes=1-2", "bytes=-2"][rng.below(2) as usize]),
    }
    send
}

/// The ETag that R2 gives an object of these bytes, in the quotes of a header.
fn etag(picture: &Body) -> String {
    format!("\"{}\"", hex(&Md5::digest(picture.bytes())))
}

/// A member of another organisation, or somebody without a session.
fn stranger(rng: &mut Rng, at: u64, key: &str) -> ClientRequest {
    let session = if rng.chance(512) { "?as=eve@evil" } else { "" };
    ClientRequest::new(Time::from_ms(at), "DELETE", &format!("/{key}{session}"), "")
}

fn watch(at: u64, organisation: &str) -> ClientRequest {
    let send = ClientRequest::new(Time::from_ms(at), "GET", &member(organisation), "").retried(2);
    ClientRequest { to: Some("browser".into()), ..send }
}

fn elsewhere(at: u64, method: &str, key: &str, body: impl Into<Body>) -> ClientRequest {
    let send = ClientRequest::new(Time::from_ms(at), method, &format!("/{key}"), body).retried(1);
    ClientRequest { to: Some("s3".into()), ..send }
}

fn operate(at: u64, what: &str, body: &str) -> ClientRequest {
    let path = format!("/operator/{what}?as=olga@operator");
    ClientRequest::new(Time::from_ms(at), "POST", &path, body).retried(1)
}

/// The path by which a member of the organisation reaches something of it.
fn member(key: &str) -> String {
    let organisation = key.split('/').next().unwrap_or_default();
    format!("/{key}?as=ann@{organisation}")
}
