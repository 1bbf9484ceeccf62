//! The plan's object, method by method.

use serde_json::{Value as Json, json};
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState};

use super::database::{Db, ENVPAIR_DB};
use crate::systems::comparisons::ring::ms;
use crate::systems::comparisons::wire::{FailComparison, SaveProbe, SaveResult};
use crate::systems::json;

const CREATE: &str = "INSERT INTO comparisons (id, ts, left_url, right_url, status)
  VALUES (?, ?, ?, ?, 'running')";
const RETAIN: &str = "DELETE FROM comparisons WHERE ts < (
  SELECT ts FROM comparisons ORDER BY ts DESC LIMIT 1 OFFSET ?)";
const SAVE_PROBE: &str = "INSERT OR REPLACE INTO probes
  (id, comparison_id, ts, side, url, envelope_json) VALUES (?, ?, ?, ?, ?, json(?))";
const SAVE_RESULT: &str =
    "UPDATE comparisons SET status = 'completed', result_json = json(?) WHERE id = ?";
const FAIL: &str = "UPDATE comparisons SET status = 'failed', error = ? WHERE id = ?";
const GET: &str = "SELECT status, result_json, error FROM comparisons WHERE id = ?";
const HISTORY: &str = "SELECT id, status, result_json, error FROM comparisons
  WHERE status = 'completed' ORDER BY ts DESC LIMIT ?";

/// The object on storage of its own.
pub struct OnStorage(EnvPairDo);

/// The object on the database that all objects share.
pub struct OnD1(EnvPairDo);

impl DurableObject for OnStorage {
    const ALARM: bool = false;

    fn new(ctx: ObjectState, env: Env) -> OnStorage {
        let db = Db::own(ctx.storage());
        OnStorage(EnvPairDo { ctx, env, db })
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        self.0.rpc(method, args).await
    }
}

impl DurableObject for OnD1 {
    const ALARM: bool = false;

    fn new(ctx: ObjectState, env: Env) -> OnD1 {
        let db = Db::Shared(env.d1(ENVPAIR_DB));
        OnD1(EnvPairDo { ctx, env, db })
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        self.0.rpc(method, args).await
    }
}

struct EnvPairDo {
    ctx: ObjectState,
    env: Env,
    db: Db,
}

impl EnvPairDo {
    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        match method {
            "createComparison" => {
                let (left, right): (String, String) = json::read_once(&args)?;
                self.create_comparison(&left, &right).await
            }
            "saveProbe" => self.save_probe(&json::read_once(&args)?).await,
            "saveResult" => self.save_result(&json::read_once(&args)?).await,
            "failComparison" => self.fail_comparison(&json::read_once(&args)?).await,
            "getComparison" => self.get_comparison(&json::read_once::<String>(&args)?).await,
            "getComparisonsForHistory" => {
                self.get_comparisons_for_history(json::read_once(&args)?).await
            }
            "setKeep" => {
                let keep: u32 = json::read_once(&args)?;
                self.ctx.storage().put("keep", keep.to_string())?;
                self.retain_latest_n().await?;
                Ok(Body::empty())
            }
            _ => Err(Error::app(format!("there is no method {method}"))),
        }
    }

    async fn create_comparison(&self, left_url: &str, right_url: &str) -> Result<Body, Error> {
        let pair_key = self.ctx.id().name().unwrap_or_default();
        let id = format!("{pair_key}:{}", self.env.unique());
        let now = ms(self.env.now());
        let row = vec![Value::from(&*id), now.into(), left_url.into(), right_url.into()];
        self.db.run(CREATE, row).await?;
        self.retain_latest_n().await?;
        Ok(json::write(&json!({ "comparisonId": id, "status": "running" })))
    }

    async fn save_probe(&self, probe: &SaveProbe) -> Result<Body, Error> {
        let (id, side) = (&*probe.comparison_id, probe.side.name());
        let row = vec![
            Value::from(format!("{id}:{side}")),
            id.into(),
            ms(self.env.now()).into(),
            side.into(),
            Value::from(&*probe.envelope.routing.final_url),
            json!(probe.envelope).to_string().into(),
        ];
        self.db.run(SAVE_PROBE, row).await?;
        Ok(Body::from("null"))
    }

    async fn save_result(&self, save: &SaveResult) -> Result<Body, Error> {
        let row = vec![save.result.to_string().into(), Value::from(&*save.comparison_id)];
        self.db.run(SAVE_RESULT, row).await?;
        Ok(Body::from("null"))
    }

    async fn fail_comparison(&self, fail: &FailComparison) -> Result<Body, Error> {
        self.db
            .run(FAIL, vec![Value::from(&*fail.error), Value::from(&*fail.comparison_id)])
            .await?;
        Ok(Body::from("null"))
    }

    async fn get_comparison(&self, id: &str) -> Result<Body, Error> {
        let rows = self.db.run(GET, vec![id.into()]).await?;
        let Some(row) = rows.first() else {
            return Ok(json::write(&json!({ "status": "running" })));
        };
        Ok(json::write(&state(row)))
    }

    async fn get_comparisons_for_history(&self, limit: u32) -> Result<Body, Error> {
        let rows = self.db.run(HISTORY, vec![limit.into()]).await?;
        let states = rows.iter().map(|row| state(&row[1..]));
        Ok(json::write(&states.collect::<Vec<Json>>()))
    }

    /// Fifty, or as many as it was told.
    async fn retain_latest_n(&self) -> Result<(), Error> {
        let told = self.ctx.storage().get("keep")?;
        let told = told.and_then(|body| body.text().and_then(|text| text.parse::<u32>().ok()));
        let last = told.unwrap_or(50).saturating_sub(1);
        self.db.run(RETAIN, vec![last.into()]).await.map(|_| ())
    }
}

/// A row as the plan tells it: status, result, error.
fn state(row: &[Value]) -> Json {
    let text = |at: usize| row.get(at).and_then(Value::as_str);
    let mut state = json!({ "status": text(0) });
    if let Some(result) = text(1) {
        state["result"] = serde_json::from_str(result).unwrap_or_default();
    }
    if let Some(error) = text(2) {
        state["error"] = json!(error);
    }
    state
}
