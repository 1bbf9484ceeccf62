//! One artifact as clients get it: its row, its bytes and its tags.

use thunderhead_sim::{Env, Error, Request, Response};

use super::library;
use super::mistakes;
use super::names::{BUCKET, key};
use super::tags;
use crate::systems::ids::is_uuid;
use crate::systems::json;
use crate::systems::object_response::object_response;

/// Answers with the row of an artifact.
pub async fn get(env: &Env, client: &str, id: &str) -> Result<Response, Error> {
    if !is_uuid(id) {
        return Ok(unknown(id));
    }
    let row = library::artifact(env, client, id).await?;
    Ok(row.map_or_else(|| unknown(id), |row| Response::new(200, json::write(&row))))
}

/// Answers with the bytes of an artifact. Only what the library shows is served: what else is in the bucket may be
/// swept up.
pub async fn bytes(
    env: &Env,
    client: &str,
    id: &str,
    request: &Request,
) -> Result<Response, Error> {
    if !is_uuid(id) || library::artifact(env, client, id).await?.is_none() {
        return Ok(unknown(id));
    }
    if mistakes::NEVER_MODIFIED.is_made(env)
        && let Some(etag) = request.headers.get("if-none-match")
    {
        return Ok(Response::new(304, "").with_header("etag", etag));
    }
    object_response(&env.bucket(BUCKET), &key(id), request).await
}

/// Answers a request about the tags of an artifact.
pub async fn tags(env: &Env, client: &str, id: &str, request: &Request) -> Result<Response, Error> {
    let wanted = match tags::Wanted::read(request) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(refused),
    };
    if !is_uuid(id) || library::artifact(env, client, id).await?.is_none() {
        return Ok(unknown(id));
    }
    tags::serve(env, id, wanted).await
}

fn unknown(id: &str) -> Response {
    json::error(404, &format!("there is no artifact `{id}`"))
}
