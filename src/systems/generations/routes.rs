//! The worker: takes requests, routes webhooks to their objects, answers from objects and the library.

use serde_json::json;
use thunderhead_sim::{Env, Error, Request, Response, Stub};

use super::artifact;
use super::browse::{self, Listing};
use super::clients;
use super::generation::Heard;
use super::library;
use super::mistakes;
use super::names::GENERATION;
use super::signature::{Refused, SECRET, verify};
use super::wire::{Progress, Report, Standing, Wanted};
use crate::systems::ids::{is_uuid, uuid_v7};
use crate::systems::json;

/// All but the webhook need the key of a client, or are answered with 401; what is another client's is not known.
///
/// - `POST /generations {model, input, count, tags, idempotencyKey?, timeoutSeconds?}` → 201 `{id}`
/// - `GET /generations/ID` → 200 `{status: active | ready | failed, …}`, 404 unknown
/// - `GET /generations`, `GET /artifacts` → 200, a page (`browse.rs`), 400
/// - `GET /artifacts/ID` → 200, a row, 404 unknown
/// - `GET /artifacts/ID/bytes` → 200, 206, 304, 400, 404, 412, 416
/// - `GET`, `PUT`, `DELETE /artifacts/ID/tags` → 200, 204, 400, 404 unknown, 405 (`tags.rs`)
/// - `GET /costs` → 200 `{generations, cost}`
/// - `POST /webhook?generation_id=ID`, signed → 200, 401 not from the provider or too old, 404 unknown, 410 settled
pub async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let answered = match (&*request.method, request.pathname()) {
        ("POST", "/webhook") => webhook(&env, &request).await,
        _ => match clients::client_of(&env, &request)? {
            Ok(client) => serve_client(&env, &client, &request).await,
            Err(refused) => Ok(refused.response()),
        },
    };
    // An error of the platform may be transient, so the client is told to retry.
    answered.or_else(|error| Ok(json::error(503, &error)))
}

async fn serve_client(env: &Env, client: &str, request: &Request) -> Result<Response, Error> {
    let path: Vec<&str> = request.pathname().trim_start_matches('/').split('/').collect();
    match (&*request.method, &path[..]) {
        ("POST", ["generations"]) => create(env, client, request).await,
        ("GET", ["generations"]) => browse::serve(env, client, Listing::Generations, request).await,
        ("GET", ["generations", id]) => get(env, client, id).await,
        ("GET", ["artifacts"]) => browse::serve(env, client, Listing::Artifacts, request).await,
        ("GET", ["artifacts", id]) => artifact::get(env, client, id).await,
        ("GET", ["artifacts", id, "bytes"]) => artifact::bytes(env, client, id, request).await,
        (_, ["artifacts", id, "tags"]) => artifact::tags(env, client, id, request).await,
        ("GET", ["costs"]) => clients::spent(env, client).await,
        _ => Ok(Response::new(404, "")),
    }
}

async fn create(env: &Env, client: &str, request: &Request) -> Result<Response, Error> {
    let wanted: Wanted = match json::read(&request.body) {
        Ok(wanted) => wanted,
        Err(error) => return Ok(json::error(400, &error)),
    };
    if let Some(fault) = wanted.fault() {
        return Ok(json::error(400, &Error::app(fault)));
    }
    let proposed = uuid_v7(env);
    // Two requests without a key cannot be told from one that was repeated: each is its own.
    let id = match &wanted.idempotency_key {
        Some(key) => library::claim(env, client, key, &proposed).await?,
        None => proposed,
    };
    let () = object(env, &id).call("create", &wanted.called(&id, client)).await?;
    Ok(Response::new(201, json::write(&json!({ "id": id }))))
}

/// Asks the object, then the library. What is settled but not in the library is not over yet: the
/// library says so first, so a generation that was seen there stays final.
async fn get(env: &Env, client: &str, id: &str) -> Result<Response, Error> {
    let unknown = || Response::new(404, "");
    if !is_uuid(id) {
        return Ok(unknown());
    }
    let progress: Progress = object(env, id).call("progress", &()).await?;
    let library_alone = mistakes::ASKS_THE_LIBRARY_ALONE.is_made(env);
    let active = progress.standing == Standing::Active && !library_alone;
    let row = if active { None } else { library::generation(env, id).await? };
    // An object that is done has forgotten whose it was; then there is a row.
    let owner = progress.client.as_deref().or_else(|| row.as_ref()?["client"].as_str());
    let foreign = owner.is_some_and(|owner| owner != client);
    if foreign && !mistakes::SHOWS_OTHERS.is_made(env) {
        return Ok(unknown());
    }
    if active {
        let Progress { count, ready, failed, .. } = progress;
        let active = json!({ "id": id, "status": "active", "count": count, "ready": ready, "failed": failed });
        return Ok(Response::new(200, json::write(&active)));
    }
    Ok(match (row, progress.standing) {
        (Some(row), _) => Response::new(200, json::write(&row)),
        (None, Standing::Unknown) => unknown(),
        (None, _) if library_alone => unknown(),
        (None, _) if mistakes::SETTLED_IS_UNKNOWN.is_made(env) => unknown(),
        (None, _) => Response::new(200, json::write(&json!({ "id": id, "status": "active" }))),
    })
}

async fn webhook(env: &Env, request: &Request) -> Result<Response, Error> {
    let secret = env.secret(SECRET)?;
    match verify(request, secret.expose(), env.now()) {
        Ok(()) => {}
        Err(Refused::NotNow) if mistakes::NEVER_TOO_OLD.is_made(env) => {}
        Err(_) if mistakes::BELIEVES_EVERYBODY.is_made(env) => {}
        Err(refused) => return Ok(json::error(401, &refused)),
    }
    let id = request.query("generation_id").unwrap_or_default();
    if !is_uuid(&id) {
        return Ok(Response::new(404, ""));
    }
    if let Err(error) = json::read::<Report>(&request.body) {
        return Ok(json::error(400, &error));
    }
    let heard = object(env, &id).rpc("webhook", request.body.clone()).await?;
    let status = match json::read(&heard)? {
        Heard::Taken => 200,
        Heard::Unknown => 404,
        Heard::Gone => 410,
    };
    Ok(Response::new(status, ""))
}

fn object(env: &Env, id: &str) -> Stub {
    env.durable_object(GENERATION).get_by_name(id)
}
