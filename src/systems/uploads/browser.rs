//! A browser that shows the list of uploads.

use std::time::Duration;

use thunderhead_sim::{Env, Error, Request, Response, WebSocket};

use super::messages::changes_the_list;
use super::names::AGENT;
use crate::systems::backoff::Backoff;

const BACKOFF: Backoff =
    Backoff { pause: Duration::from_secs(1), even: 100, longest: Duration::from_secs(60) };

/// `GET /acme?as=ann@acme` opens the list in a tab, which stays open until the browser dies.
pub async fn open(env: Env, request: Request) -> Result<Response, Error> {
    let tab = env.clone();
    drop(env.spawn(async move { show(&tab, &request.path).await }));
    Ok(Response::new(200, ""))
}

/// Keeps the list up to date: the agent says that something is different, the tab asks what.
///
/// A connection that is lost may have lost messages with it, so every new one begins with asking.
async fn show(env: &Env, path: &str) {
    let organisation = path.trim_start_matches('/').split('?').next().unwrap_or_default();
    let mut tries = 0;
    loop {
        let agent = env.durable_object(AGENT).get_by_name(organisation);
        if let Ok(socket) = agent.connect().await {
            tries = 0;
            loop {
                if !fetch(env, path).await {
                    return;
                }
                if !news(&socket).await {
                    break;
                }
            }
        }
        tries += 1;
        env.sleep(BACKOFF.after(tries)).await;
    }
}

/// Waits until there is something to ask for; whether the connection lasts.
async fn news(socket: &WebSocket) -> bool {
    while let Some(message) = socket.recv().await {
        if changes_the_list(&message) {
            return true;
        }
    }
    false
}

/// Asks until there is an answer; whether it is the list.
async fn fetch(env: &Env, path: &str) -> bool {
    let mut tries = 0;
    loop {
        tries += 1;
        match env.fetch("web", Request::new("GET", path, "")).await {
            Ok(response) if response.status < 500 => return response.status == 200,
            _ => env.sleep(BACKOFF.after(tries)).await,
        }
    }
}
