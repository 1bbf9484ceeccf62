//! The plan as it is written, for the harness to refute, and the same without the mistake that hides
//! the others. Nothing here is improved on the way: what looks odd is what the plan says.

mod manager;

use serde_json::json;
use thunderhead_sim::{Cloud, Env, Error, Request, Response, Stub};

use super::library;
use super::names::{GENERATION, LIBRARY, WEB};
use super::wire::Wanted;
use crate::systems::ids::uuid_v7;
use crate::systems::json;
use manager::{Manager, Refire};

/// The tables of the plan.
const SCHEMA: [&str; 3] = [
    "CREATE TABLE generations (
  id TEXT PRIMARY KEY,
  status TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  input TEXT NOT NULL,
  output_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  completed_at INTEGER NOT NULL
)",
    "CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  generation_id TEXT NOT NULL,
  content_type TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL
)",
    "CREATE TABLE tags (
  tag TEXT NOT NULL,
  target_type TEXT NOT NULL,
  target_id TEXT NOT NULL,
  PRIMARY KEY (tag, target_type, target_id)
)",
];

/// The key of the plan's schema from artifacts to generations, which the plan does not expect to be
/// enforced; D1 enforces it.
const FOREIGN_KEY: (&str, &str) =
    ("generation_id TEXT NOT NULL,", "generation_id TEXT NOT NULL REFERENCES generations (id),");

/// The plan to the letter.
pub fn as_written(cloud: &mut Cloud) {
    mount(cloud, true, Refire::Same);
}

/// The plan without the foreign key; a request that is fired again keeps its name.
pub fn no_foreign_key(cloud: &mut Cloud) {
    mount(cloud, false, Refire::Same);
}

/// The plan without the foreign key; a request that is fired again is a new one.
pub fn fires_anew(cloud: &mut Cloud) {
    mount(cloud, false, Refire::Anew);
}

fn mount(cloud: &mut Cloud, foreign_key: bool, refire: Refire) {
    let (without, with) = FOREIGN_KEY;
    for table in SCHEMA {
        let table = if foreign_key { table.replace(without, with) } else { table.into() };
        cloud.migrate(LIBRARY, &[&table]);
    }
    cloud.worker(WEB).fetch(serve);
    cloud.durable_object_with(GENERATION, move |ctx, env| Manager::new(ctx, env, refire));
}

async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let (path, query) = request.path.split_once('?').unwrap_or((&*request.path, ""));
    let path: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let answered = match (&*request.method, &path[..], query.split_once('=')) {
        ("POST", ["generations"], None) => create(&env, &request).await,
        ("GET", ["generations", id], None) => get(&env, id).await,
        ("POST", ["webhook"], Some(("generation_id", id))) => {
            let handled = stub(&env, id).rpc("handleWebhook", request.body.clone()).await;
            handled.map(|_| Response::new(200, ""))
        }
        _ => Ok(Response::new(404, "")),
    };
    answered.or_else(|error| Ok(json::error(500, &error)))
}

async fn create(env: &Env, request: &Request) -> Result<Response, Error> {
    let wanted: Wanted = json::read(&request.body)?;
    let id = uuid_v7(env);
    stub(env, &id).rpc("create", json::write(&wanted.called(&id, ""))).await?;
    Ok(Response::new(201, json::write(&json!({ "id": id }))))
}

/// Checks the object first, falls back to D1.
async fn get(env: &Env, id: &str) -> Result<Response, Error> {
    let told = stub(env, id).rpc("status", "").await?;
    if !told.is_empty() {
        return Ok(Response::new(200, told));
    }
    Ok(match library::generation(env, id).await? {
        Some(row) => Response::new(200, json::write(&row)),
        None => Response::new(404, ""),
    })
}

fn stub(env: &Env, id: &str) -> Stub {
    env.durable_object(GENERATION).get_by_name(id)
}
