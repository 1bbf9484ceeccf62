//! The routes: upload, fetch, delete and list for members of an organisation, and what operators may do.
//!
//! Who asks is in the path, as `?as=USER@ORGANISATION`: it stands for a session that was checked.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use thunderhead_sim::queue::MessageBody;
use thunderhead_sim::r2::HttpMetadata;
use thunderhead_sim::r2::limits::MAX_KEY_BYTES;
use thunderhead_sim::{Env, Error, Request, Response, SortedSet};

use super::mistakes;
use super::names::{AGENT, BUCKET, OPERATOR, QUEUE, key, parse_key};
use crate::systems::json;
use crate::systems::object_response::object_response;

/// The organisation of those who run the service.
const OPERATORS: &str = "operator";

/// Answers a request.
pub async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let (path, session) = request.path.split_once("?as=").unwrap_or((&*request.path, ""));
    let path = path.trim_start_matches('/');
    // There is no image service to make them smaller: the thumbnail is the picture.
    let path = match &*request.method {
        "GET" => path.strip_prefix("thumbnails/").unwrap_or(path),
        _ => path,
    };
    let member = session.split_once('@').map_or("", |(_, organisation)| organisation);
    let organisation = path.split('/').next().unwrap_or_default();
    let stranger = organisation != member && !mistakes::SERVES_STRANGERS.is_made(&env);
    let nobody = session.is_empty() && mistakes::NEEDS_NO_SESSION.is_made(&env);
    if organisation.is_empty() || stranger && !nobody {
        return Ok(json::error(403, "only members of the organisation may do this"));
    }
    if organisation == OPERATORS {
        return operate(&env, path, &request).await;
    }
    match (&*request.method, parse_key(path)) {
        ("PUT", Some(_)) if path.len() > MAX_KEY_BYTES => {
            let why = format!("organisation and name may have up to {MAX_KEY_BYTES} bytes");
            Ok(json::error(400, &why))
        }
        ("PUT", Some((organisation, name))) => {
            let bucket = env.bucket(BUCKET);
            let put = bucket
                .put(path, request.body.clone())
                .custom_metadata("organizationId", organisation)
                .custom_metadata("name", name);
            let content_type = request.headers.get("content-type").map(Into::into);
            let metadata = HttpMetadata { content_type, ..HttpMetadata::default() };
            put.http_metadata(metadata).execute().await?;
            Ok(Response::new(201, ""))
        }
        ("DELETE", Some(_)) => {
            env.bucket(BUCKET).delete(path).await?;
            Ok(Response::new(204, ""))
        }
        ("GET", Some(_)) => picture(&env, path, &request).await,
        ("GET", None) => {
            let organisation = match mistakes::LISTS_ANOTHER.is_made(&env) {
                true => "globex",
                false => organisation,
            };
            let agent = env.durable_object(AGENT).get_by_name(organisation);
            Ok(Response::new(200, agent.rpc("getUploads", "").await?))
        }
        _ => Ok(json::error(
            404,
            "there is `PUT`, `GET` and `DELETE` of /ORGANISATION/NAME, and `GET` of /ORGANISATION",
        )),
    }
}

/// The bytes of a picture.
async fn picture(env: &Env, key: &str, request: &Request) -> Result<Response, Error> {
    let bucket = env.bucket(BUCKET);
    if mistakes::ANY_ETAG_WILL_DO.is_made(env)
        && let Some(etag) = request.headers.get("if-none-match")
    {
        return Ok(Response::new(304, "").with_header("etag", etag));
    }
    object_response(&bucket, key, request).await
}

async fn operate(env: &Env, path: &str, request: &Request) -> Result<Response, Error> {
    let words: Vec<&str> = path.split('/').skip(1).collect();
    match (&*request.method, &words[..]) {
        // What the local simulation of the bucket does, and what a stranger might.
        ("POST", ["notifications"]) => {
            let text = request.body.text().unwrap_or_default();
            env.queue(QUEUE).send(MessageBody::text(text)).await?;
            Ok(Response::new(202, ""))
        }
        ("GET", ["rejected"]) => {
            let operator = env.durable_object(OPERATOR).get_by_name(QUEUE);
            Ok(Response::new(200, operator.rpc("count", "").await?))
        }
        ("POST", ["reconcile", organisation]) => reconcile(env, organisation).await,
        ("POST", ["migrate", organisation]) => {
            let agent = env.durable_object(AGENT).get_by_name(organisation);
            agent.rpc("migrate", "").await?;
            Ok(Response::new(204, ""))
        }
        _ => Ok(Response::new(404, "")),
    }
}

/// Has the agent look at every name that the bucket or the agent itself knows. This is how what was
/// lost on the way comes back: notifications that never came, dead letters that were given up.
async fn reconcile(env: &Env, organisation: &str) -> Result<Response, Error> {
    let prefix = key(organisation, "");
    let mut names = SortedSet::new();
    let mut cursor: Option<Arc<str>> = None;
    loop {
        let bucket = env.bucket(BUCKET);
        let mut list = bucket.list().prefix(&prefix);
        if let Some(cursor) = &cursor {
            list = list.cursor(cursor);
        }
        let page = list.execute().await?;
        names.extend(page.objects.iter().map(|object| object.key[prefix.len()..].to_string()));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    let agents = env.durable_object(AGENT);
    let uploads = agents.get_by_name(organisation).rpc("getUploads", "").await?;
    let uploads: Json = json::read(&uploads).unwrap_or_default();
    let listed = uploads.as_array().into_iter().flatten();
    names.extend(listed.filter_map(|item| item["name"].as_str().map(String::from)));
    for name in &names {
        let args = json::write(&json!({ "name": name }));
        agents.get_by_name(organisation).rpc("reconcile", args).await?;
    }
    Ok(Response::new(200, names.len().to_string()))
}
