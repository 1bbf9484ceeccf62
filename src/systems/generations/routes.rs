//! The worker: takes requests, routes webhooks to their objects, answers from objects and the library.

use serde_json::{Value as Json, json};
use thunderhead_sim::{Env, Error, Request, Response, Stub};

use super::artifact;
use super::generation::Heard;
use super::library;
use super::mistakes;
use super::names::GENERATION;
use super::signature::{Refused, SECRET, verify};
use super::wire::{Progress, Report, Standing, Wanted};
use crate::systems::ids::{is_uuid, uuid_v7};
use crate::systems::json;

/// - `POST /generations {model, input, count, tags, idempotencyKey?, timeoutSeconds?}` → 201 `{id}`
/// - `GET /generations/ID` → 200 `{status: active | ready | failed, …}`, 404 unknown
/// - `GET /generations?tag=TAG`, `GET /artifacts?generation=ID`, `GET /artifacts?tag=TAG` → 200, rows
/// - `GET /artifacts/ID` → 200, a row, 404 unknown
/// - `GET /artifacts/ID/bytes` → 200, 206, 304, 400, 404, 412, 416
/// - `POST /webhook?generation_id=ID`, signed → 200, 401 not from the provider or too old, 404 unknown, 410 settled
pub async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let (path, query) = request.path.split_once('?').unwrap_or((&*request.path, ""));
    let path: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let answered = match (&*request.method, &path[..], query.split_once('=')) {
        ("POST", ["generations"], None) => create(&env, &request).await,
        ("GET", ["generations", id], None) => get(&env, id).await,
        ("GET", ["generations"], Some(("tag", tag))) => {
            library::generations_tagged(&env, tag).await.map(|rows| listed(&rows))
        }
        ("GET", ["artifacts"], Some(("generation", id))) => {
            library::artifacts_of(&env, id).await.map(|rows| listed(&rows))
        }
        ("GET", ["artifacts"], Some(("tag", tag))) => {
            library::artifacts_tagged(&env, tag).await.map(|rows| listed(&rows))
        }
        ("GET", ["artifacts", id], None) => artifact::get(&env, id).await,
        ("GET", ["artifacts", id, "bytes"], None) => artifact::bytes(&env, id, &request).await,
        ("POST", ["webhook"], Some(("generation_id", id))) => webhook(&env, id, &request).await,
        _ => Ok(Response::new(404, "")),
    };
    // An error of the platform may be transient, so the client is told to retry.
    answered.or_else(|error| Ok(json::error(503, &error)))
}

async fn create(env: &Env, request: &Request) -> Result<Response, Error> {
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
        Some(key) => library::claim(env, key, &proposed).await?,
        None => proposed,
    };
    let () = object(env, &id).call("create", &wanted.called(&id)).await?;
    Ok(Response::new(201, json::write(&json!({ "id": id }))))
}

/// Asks the object, then the library. What is settled but not in the library is not over yet: the
/// library says so first, so a generation that was seen there stays final.
async fn get(env: &Env, id: &str) -> Result<Response, Error> {
    let unknown = || Response::new(404, "");
    if !is_uuid(id) {
        return Ok(unknown());
    }
    let progress: Progress = object(env, id).call("progress", &()).await?;
    if mistakes::ASKS_THE_LIBRARY_ALONE.is_made(env) {
        let found = library::generation(env, id).await?;
        return Ok(found.map_or_else(unknown, |row| Response::new(200, json::write(&row))));
    }
    if progress.standing == Standing::Active {
        let Progress { count, ready, failed, .. } = progress;
        let active = json!({ "id": id, "status": "active", "count": count, "ready": ready, "failed": failed });
        return Ok(Response::new(200, json::write(&active)));
    }
    Ok(match (library::generation(env, id).await?, progress.standing) {
        (Some(row), _) => Response::new(200, json::write(&row)),
        (None, Standing::Unknown) => unknown(),
        (None, _) if mistakes::SETTLED_IS_UNKNOWN.is_made(env) => unknown(),
        (None, _) => Response::new(200, json::write(&json!({ "id": id, "status": "active" }))),
    })
}

async fn webhook(env: &Env, id: &str, request: &Request) -> Result<Response, Error> {
    let secret = env.secret(SECRET)?;
    match verify(request, secret.expose(), env.now()) {
        Ok(()) => {}
        Err(Refused::NotNow) if mistakes::NEVER_TOO_OLD.is_made(env) => {}
        Err(_) if mistakes::BELIEVES_EVERYBODY.is_made(env) => {}
        Err(refused) => return Ok(json::error(401, &refused)),
    }
    if !is_uuid(id) {
        return Ok(Response::new(404, ""));
    }
    if let Err(error) = json::read::<Report>(&request.body) {
        return Ok(json::error(400, &error));
    }
    let heard = object(env, id).rpc("webhook", request.body.clone()).await?;
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

fn listed(rows: &[Json]) -> Response {
    Response::new(200, json::write(&rows))
}
