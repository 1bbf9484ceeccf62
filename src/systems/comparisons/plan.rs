//! The plan as it is written, for the harness to refute, and the same with the mistakes repaired that
//! hide the others. Nothing here is improved on the way: what looks odd is what the plan says.

mod database;
mod object;
mod workflow;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig};
use thunderhead_sim::{Cloud, Env, Error, Request, Response, hex};

use super::access::{self, may_change_settings};
use super::names::{COMPARE, ENVPAIR_DO};
use super::sites;
use super::target::Target;
use super::wire::{CompareRequest, KeepRequest};
use crate::systems::json;

/// How much of the plan is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// The plan to the letter.
    AsWritten,
    /// The id of an instance is one that the platform accepts.
    ValidIds,
    /// And each object has storage of its own in place of one database for all.
    OwnStorage,
}

/// Puts the plan into a cloud.
pub fn mount(cloud: &mut Cloud, repair: Repair) {
    cloud.worker("web").fetch(move |env, request| serve(env, request, repair));
    match repair {
        Repair::OwnStorage => cloud.durable_object::<object::OnStorage>(ENVPAIR_DO),
        Repair::AsWritten | Repair::ValidIds => {
            cloud.d1(database::ENVPAIR_DB);
            // The schema is applied before the first request, as a deployment would.
            cloud.worker("migrations").boot(database::migrate);
            cloud.durable_object::<object::OnD1>(ENVPAIR_DO);
        }
    }
    cloud.workflow(COMPARE, WorkflowConfig::default(), workflow::compare);
    access::mount(cloud);
    sites::mount(cloud);
}

async fn serve(env: Env, request: Request, repair: Repair) -> Result<Response, Error> {
    let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
    let answered = match (&*request.method, &path[..]) {
        ("POST", ["compare"]) => post_compare(&env, &request, repair).await,
        ("GET", ["compare", id]) => get_compare_status(&env, id).await,
        ("PUT", ["keep"]) => put_keep(&env, &request).await,
        _ => Ok(Response::new(404, "")),
    };
    answered.or_else(|error| Ok(json::error(500, &error)))
}

async fn post_compare(env: &Env, request: &Request, repair: Repair) -> Result<Response, Error> {
    let CompareRequest { left_url, right_url, .. } = json::read_once(&request.body)?;
    if let Err(why) = Target::parse(&left_url).and(Target::parse(&right_url)) {
        return Ok(json::error(400, &why));
    }
    let pair_key = compute_pair_key(&left_url, &right_url);
    let stub = env.durable_object(ENVPAIR_DO).get_by_name(&pair_key);
    let created = stub.rpc("createComparison", json::write(&json!([left_url, right_url]))).await?;
    let created: Json = json::read_once(&created)?;
    let comparison_id = created["comparisonId"].as_str().unwrap_or_default();
    let id = match repair {
        Repair::AsWritten => comparison_id.to_string(),
        Repair::ValidIds | Repair::OwnStorage => comparison_id.replace(':', "-"),
    };
    let params = json!({
        "comparisonId": comparison_id,
        "leftUrl": left_url,
        "rightUrl": right_url,
        "pairKey": pair_key,
    });
    env.workflow(COMPARE).create(CreateOptions::new(&id, json::write(&params))).await?;
    Ok(Response::new(201, json::write(&json!({ "comparisonId": comparison_id }))))
}

async fn get_compare_status(env: &Env, comparison_id: &str) -> Result<Response, Error> {
    let pair_key = comparison_id.split(':').next().unwrap_or_default();
    let stub = env.durable_object(ENVPAIR_DO).get_by_name(pair_key);
    let state = stub.rpc("getComparison", json::write(&comparison_id)).await?;
    Ok(Response::new(200, state))
}

/// The plan calls the number of comparisons adjustable without saying how or by whom; this is the least.
async fn put_keep(env: &Env, request: &Request) -> Result<Response, Error> {
    if let Err(denied) = may_change_settings(env, request)? {
        return Ok(json::error(denied.status(), &denied));
    }
    let KeepRequest { left_url, right_url, keep } = json::read_once(&request.body)?;
    let pair_key = compute_pair_key(&left_url, &right_url);
    let stub = env.durable_object(ENVPAIR_DO).get_by_name(&pair_key);
    stub.rpc("setKeep", json::write(&keep)).await?;
    Ok(Response::new(204, ""))
}

/// A hash of the left URL followed by the right one.
fn compute_pair_key(left_url: &str, right_url: &str) -> String {
    hex(&Sha256::digest(format!("{left_url}{right_url}"))[..16])
}
