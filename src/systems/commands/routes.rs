//! The routes: groups that check out, guests who come, questions, and what an operator may do.

use serde_json::{Value as Json, json};
use thunderhead_sim::{Env, Error, Request, Response};
use thunderhead_stream::{self as stream, Key, Message, Store};

use super::group::{CHECK_OUT_FAILED, CHECKED_OUT};
use super::plan::events;
use super::processor::Approach;
use super::store::D1Store;
use super::wire::{Arrival, Start};
use super::{guests, inbox};
use crate::systems::json;

const PAGE: u32 = 100;

/// Answers a request.
pub async fn serve(env: Env, request: Request, approach: Approach) -> Result<Response, Error> {
    let (path, query) = request.path.split_once('?').unwrap_or((&*request.path, ""));
    let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let store = D1Store::new(&env);
    match (&*request.method, &words[..]) {
        ("POST", ["groups", group]) => {
            let Ok(start) = json::read::<Start>(&request.body) else {
                return Ok(Response::new(400, ""));
            };
            let input = inbox::initiate(group, &start.guests);
            inbox::feed(&env, group, &input).await.map_err(failed)?;
            Ok(Response::new(202, ""))
        }
        ("GET", ["groups", group]) => match store.state(group).await.map_err(failed)? {
            None => Ok(Response::new(404, "")),
            Some((version, state)) => {
                let state: Json = serde_json::from_str(&state).unwrap_or_default();
                Ok(answer(&json!({ "version": version, "state": state })))
            }
        },
        // The front desk tells of a guest whom it has seen off, or could not.
        ("POST", ["groups", group, "guests", guest, told @ ("left" | "stays")]) => {
            let message_type = if *told == "left" { CHECKED_OUT } else { CHECK_OUT_FAILED };
            let id = format!("{group}/desk/{guest}");
            let event =
                stream::NewMessage::input_event(&id, message_type, json!({ "guest": guest }));
            inbox::feed(&env, group, &event).await.map_err(failed)?;
            Ok(Response::new(202, ""))
        }
        ("GET", ["pending"]) => pending(&store, approach, None, query).await,
        ("GET", ["groups", group, "pending"]) => {
            pending(&store, approach, Some(group), query).await
        }
        ("POST", ["guests", guest]) => {
            let Ok(Arrival { owed }) = json::read(&request.body) else {
                return Ok(Response::new(400, ""));
            };
            guests::check_in(&env, guest, owed).await?;
            Ok(Response::new(201, ""))
        }
        (method, ["operator", rest @ ..]) => operate(&env, &store, method, rest).await,
        _ => Ok(Response::new(404, "")),
    }
}

/// `after=GROUP:POSITION` and `limit=N`, both of which may be left out.
async fn pending(
    store: &D1Store,
    approach: Approach,
    group: Option<&str>,
    query: &str,
) -> Result<Response, Error> {
    let option = |name: &str| {
        query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)
    };
    let after = option("after").and_then(|(_, text)| text.rsplit_once(':'));
    let after = after.and_then(|(group, at)| Some(Key::new(group, at.parse().ok()?)));
    let limit = option("limit").and_then(|(_, text)| text.parse().ok()).unwrap_or(PAGE);
    let found = match approach {
        // The pattern without a flag has no such query.
        Approach::Checkpoint => return Ok(Response::new(404, "")),
        Approach::ExecutionEvents => events::pending(store, group, after.as_ref(), limit).await,
        _ => store.pending_commands(group, after.as_ref(), limit).await,
    };
    Ok(answer(&found.map_err(failed)?.iter().map(place).collect()))
}

async fn operate(
    env: &Env,
    store: &D1Store,
    method: &str,
    words: &[&str],
) -> Result<Response, Error> {
    match (method, words) {
        ("GET", ["parked"]) => {
            let parked = store.parked(None, PAGE).await.map_err(failed)?;
            let told = parked.iter().map(|parked| {
                let mut told = place(&parked.message);
                told["error"] = parked.error.as_str().into();
                told
            });
            Ok(answer(&told.collect()))
        }
        // The operator has repaired the cause: everything that is parked is due again.
        ("POST", ["unpark"]) => {
            let now = env.now().unix_ms().cast_signed();
            let parked = store.parked(None, PAGE).await.map_err(failed)?;
            for parked in &parked {
                store.unpark(&parked.message.key(), now).await.map_err(failed)?;
            }
            Ok(answer(&json!(parked.len())))
        }
        _ => Ok(Response::new(404, "")),
    }
}

fn place(message: &Message) -> Json {
    json!({ "group": message.workflow_id, "position": message.position })
}

fn answer(body: &Json) -> Response {
    Response::new(200, json::write(body))
}

fn failed(error: stream::Error) -> Error {
    Error::app(error.to_string())
}
