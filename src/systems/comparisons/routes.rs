//! The worker: takes requests, answers from the object, and keeps nothing itself.

use serde_json::json;
use thunderhead_sim::workflow::CreateOptions;
use thunderhead_sim::{Body, Env, Error, Request, Response, Stub};

use super::access::{Denied, may_change_settings};
use super::mistakes;
use super::names::{
    COMPARE, ENVPAIR_DO, comparison_id, instance_id, is_pair_key, joined_key, pair_key, pair_of,
};
use super::ring::Keep;
use super::target::Target;
use super::wire::{CompareRequest, Comparison, ComparisonState, ComparisonStatus, KeepRequest};
use crate::systems::json;

/// How many completed comparisons the history of a pair shows.
const SHOWN: u32 = 10;

/// - `POST /compare {leftUrl, rightUrl, requestId?}` → 201 `{comparisonId}`
/// - `GET /compare/ID` → 200 `{status, result?, error?}`, 404 unknown, 410 evicted
/// - `GET /pairs/KEY/history` → 200, the last completed comparisons
/// - `PUT /keep {leftUrl, rightUrl, keep}` → 204, 401 without a known token, 403 for all but operators
pub async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
    let answered = match (&*request.method, &path[..]) {
        ("POST", ["compare"]) => post_compare(&env, &request.body).await,
        ("GET", ["compare", id]) => get_compare(&env, id).await,
        ("GET", ["pairs", key, "history"]) => get_history(&env, key).await,
        ("PUT", ["keep"]) => put_keep(&env, &request).await,
        _ => Ok(Response::new(404, "")),
    };
    // An error of the platform may be transient, so the client is told to retry.
    answered.or_else(|error| Ok(json::error(503, &error)))
}

/// Creates the workflow, then the row. A row then exists only if its workflow does, so no comparison
/// is left running without a workflow to finish it. The workflow creates the row too, in case this worker
/// crashes first. The answer waits for the row, so that a client with an id can ask for it.
async fn post_compare(env: &Env, body: &Body) -> Result<Response, Error> {
    let asked: CompareRequest = match json::read_once(body) {
        Ok(asked) => asked,
        Err(error) => return Ok(json::error(400, &error)),
    };
    let (left, right) = match pair(&asked.left_url, &asked.right_url) {
        Ok(pair) => pair,
        Err(response) => return Ok(response),
    };
    let key = match () {
        () if mistakes::JOINS_URLS.is_made(env) => joined_key(&left, &right),
        () if mistakes::EITHER_WAY_ROUND.is_made(env) && right.as_str() < left.as_str() => {
            pair_key(&right, &left)
        }
        () => pair_key(&left, &right),
    };
    // Two requests without a name cannot be told from one that was repeated: each is its own.
    let named = asked.request_id.filter(|_| !mistakes::EVERY_ATTEMPT_IS_NEW.is_made(env));
    let request = named.unwrap_or_else(|| env.unique());
    let id = comparison_id(&key, &request);
    let comparison = Comparison {
        comparison_id: id.clone(),
        left_url: left.as_str().into(),
        right_url: right.as_str().into(),
        pair_key: key.clone(),
    };
    if mistakes::ROW_FIRST.is_made(env) {
        let _: ComparisonStatus = object(env, &key).call("createComparison", &comparison).await?;
    }
    start(env, &instance_id(&id), json::write(&comparison)).await?;
    let _: ComparisonStatus = object(env, &key).call("createComparison", &comparison).await?;
    Ok(Response::new(201, json::write(&json!({ "comparisonId": id }))))
}

/// Creates an instance, unless it is there already; that it is there is not taken on trust.
async fn start(env: &Env, id: &str, params: Body) -> Result<(), Error> {
    let workflow = env.workflow(COMPARE);
    match workflow.create(CreateOptions::new(id, params)).await {
        Err(Error::Workflow(error)) if error.is_already_exists() => {
            workflow.get(id).await.map(|_| ())
        }
        created => created.map(|_| ()),
    }
}

async fn get_compare(env: &Env, id: &str) -> Result<Response, Error> {
    let unknown = ComparisonState { status: ComparisonStatus::Unknown, result: None, error: None };
    let Some(key) = pair_of(id) else { return Ok(Response::new(404, json::write(&unknown))) };
    let state = object(env, key).rpc("getComparison", json::write(&id)).await?;
    let status = match json::read_once::<ComparisonState>(&state)?.status {
        ComparisonStatus::Running | ComparisonStatus::Completed | ComparisonStatus::Failed => 200,
        ComparisonStatus::Evicted => 410,
        ComparisonStatus::Unknown => 404,
    };
    Ok(Response::new(status, state))
}

async fn get_history(env: &Env, key: &str) -> Result<Response, Error> {
    if !is_pair_key(key) {
        return Ok(Response::new(404, ""));
    }
    let history = object(env, key).rpc("getComparisonsForHistory", json::write(&SHOWN)).await?;
    Ok(Response::new(200, history))
}

/// Who asks is looked at before what is asked for: a stranger learns nothing from the answer.
async fn put_keep(env: &Env, request: &Request) -> Result<Response, Error> {
    if let Err(denied) = may_change_settings(env, request)? {
        let answer = json::error(denied.status(), &denied);
        return Ok(match denied {
            Denied::Unknown => answer.with_header("www-authenticate", "Bearer"),
            Denied::NotOperator => answer,
        });
    }
    let asked: KeepRequest = match json::read_once(&request.body) {
        Ok(asked) => asked,
        Err(error) => return Ok(json::error(400, &error)),
    };
    let (left, right) = match pair(&asked.left_url, &asked.right_url) {
        Ok(pair) => pair,
        Err(response) => return Ok(response),
    };
    if Keep::new(asked.keep).is_none() {
        return Ok(json::error(400, &Error::app("a pair keeps from 1 to 1000 comparisons")));
    }
    let () = object(env, &pair_key(&left, &right)).call("setKeep", &asked.keep).await?;
    Ok(Response::new(204, ""))
}

/// Both URLs, checked, or what to answer instead.
fn pair(left: &str, right: &str) -> Result<(Target, Target), Response> {
    let target = |side: &str, url: &str| {
        Target::parse(url).map_err(|why| json::error(400, &format!("{side}: {why}")))
    };
    Ok((target("leftUrl", left)?, target("rightUrl", right)?))
}

fn object(env: &Env, pair_key: &str) -> Stub {
    env.durable_object(ENVPAIR_DO).get_by_name(pair_key)
}
