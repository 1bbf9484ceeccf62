//! The studio asks for artifacts and waits for them: it is a client outside the cloud that repeats what was
//! not answered, and polls, or listens on a socket.

use std::time::Duration;

use serde_json::Value as Json;
use thunderhead_sim::{Body, Cloud, Env, Error, Request, Response};

use super::names::{GENERATION, WEB};
use crate::systems::json;

/// The name of its host.
pub const STUDIO: &str = "studio";
/// How often a request that was not answered is repeated, if it has a key.
const REPEATS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(2);
/// How often a client polls: each pause is twice as long as the one before.
const POLLS: u32 = 12;

/// - `POST /poll` with a request for a generation asks for it, and polls until it is over
/// - `POST /watch` asks for it and listens on a socket
/// - `POST /fetch` asks for it, polls, and fetches the bytes of its artifacts
pub fn mount(cloud: &mut Cloud) {
    cloud.outside(STUDIO, serve);
}

async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let Some(id) = order(&env, &request.body).await else { return Ok(Response::new(502, "")) };
    let (inner, theirs) = (env.clone(), id.clone());
    match &*request.path {
        "/poll" => drop(env.spawn(async move { poll(&inner, &theirs).await })),
        "/fetch" => drop(env.spawn(async move {
            poll(&inner, &theirs).await;
            fetch(&inner, &theirs).await;
        })),
        "/watch" => drop(env.spawn(async move { watch(&inner, &theirs).await })),
        _ => return Ok(Response::new(404, "")),
    }
    Ok(Response::new(200, id))
}

/// Asks for a generation; its id, if there was an answer.
async fn order(env: &Env, body: &Body) -> Option<String> {
    let wanted: Json = json::read(body).ok()?;
    let repeats = if wanted["idempotencyKey"].is_string() { REPEATS } else { 0 };
    for _ in 0..=repeats {
        let request = Request::new("POST", "/generations", body.clone());
        if let Ok(response) = env.fetch(WEB, request).await
            && response.status < 500
        {
            let answer: Json = json::read(&response.body).ok()?;
            return answer["id"].as_str().map(String::from);
        }
        env.sleep(PAUSE).await;
    }
    None
}

async fn poll(env: &Env, id: &str) {
    for n in 0..POLLS {
        env.sleep(Duration::from_secs(1 << n)).await;
        if is_over(env, id).await {
            return;
        }
    }
}

/// Fetches every artifact of a generation: all of it, because what is in the cache is something else; then not again,
/// because it is in the cache; then a part.
async fn fetch(env: &Env, id: &str) {
    let Some(rows) = get(env, &format!("/artifacts?generation={id}"), ("", "")).await else {
        return;
    };
    let rows: Vec<Json> = json::read(&rows.body).unwrap_or_default();
    for row in rows {
        let path = format!("/artifacts/{}/bytes", row["id"].as_str().unwrap_or_default());
        let whole = get(env, &path, ("if-none-match", "\"something-else\"")).await;
        let etag = whole.as_ref().and_then(|whole| whole.headers.get("etag"));
        if let Some(etag) = etag {
            get(env, &path, ("if-none-match", etag)).await;
        }
        get(env, &path, ("range", "bytes=2-5")).await;
    }
}

/// Asks for something, with a header unless its name is empty.
async fn get(env: &Env, path: &str, (name, value): (&str, &str)) -> Option<Response> {
    let request = Request::new("GET", path, "");
    let request = if name.is_empty() { request } else { request.with_header(name, value) };
    env.fetch(WEB, request).await.ok()
}

/// A connection that is lost may have lost messages with it, so every new one begins with asking.
async fn watch(env: &Env, id: &str) {
    loop {
        if let Ok(socket) = env.durable_object(GENERATION).get_by_name(id).connect().await {
            if is_over(env, id).await {
                return socket.close();
            }
            while let Some(message) = socket.recv().await {
                let settled = message.text().is_some_and(|text| text.contains("settled"));
                if settled && is_over(env, id).await {
                    return socket.close();
                }
            }
        }
        env.sleep(PAUSE).await;
    }
}

async fn is_over(env: &Env, id: &str) -> bool {
    let asked = get(env, &format!("/generations/{id}"), ("", "")).await;
    let Some(response) = asked else { return false };
    let answer: Json = json::read(&response.body).unwrap_or_default();
    response.status == 404 || matches!(answer["status"].as_str(), Some("ready" | "failed"))
}
