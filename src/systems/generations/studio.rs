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
pub fn mount(cloud: &mut Cloud) {
    cloud.outside(STUDIO, serve);
}

async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let Some(id) = order(&env, &request.body).await else { return Ok(Response::new(502, "")) };
    let (inner, theirs) = (env.clone(), id.clone());
    match &*request.path {
        "/poll" => drop(env.spawn(async move { poll(&inner, &theirs).await })),
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
    let request = Request::new("GET", &format!("/generations/{id}"), "");
    let Ok(response) = env.fetch(WEB, request).await else { return false };
    let answer: Json = json::read(&response.body).unwrap_or_default();
    response.status == 404 || matches!(answer["status"].as_str(), Some("ready" | "failed"))
}
