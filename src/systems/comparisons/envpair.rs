//! `EnvPairDO`: one durable object per pair, and the only place that says where a comparison stands.
//!
//! Every method does its work between two awaits, so it is one atomic turn, and can be repeated at
//! any time with the same outcome: what is there already stays as it is.

use std::borrow::Cow;

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState, ObjectStorage, methods};

use super::mistakes;
use super::ring::{Keep, ms};
use super::wire::{
    Comparison, ComparisonState, ComparisonStatus, FailComparison, SaveProbe, SaveResult,
};

/// How many comparisons of the past an explanation takes into account.
pub const HISTORY: u32 = 5;

/// The tables of both the reference and the plan.
pub const COMPARISONS: &str = "CREATE TABLE IF NOT EXISTS comparisons (
  id TEXT PRIMARY KEY,
  ts INTEGER NOT NULL,
  left_url TEXT NOT NULL,
  right_url TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'running',
  result_json TEXT,
  error TEXT,
  CONSTRAINT status_check CHECK (status IN ('running', 'completed', 'failed'))
)";
pub const PROBES: &str = "CREATE TABLE IF NOT EXISTS probes (
  id TEXT PRIMARY KEY,
  comparison_id TEXT NOT NULL,
  ts INTEGER NOT NULL,
  side TEXT NOT NULL,
  url TEXT NOT NULL,
  envelope_json TEXT NOT NULL,
  UNIQUE (comparison_id, side),
  CONSTRAINT side_check CHECK (side IN ('left', 'right')),
  FOREIGN KEY (comparison_id) REFERENCES comparisons(id) ON DELETE CASCADE
)";
pub const INDEXES: [&str; 4] = [
    "CREATE INDEX IF NOT EXISTS idx_comparisons_ts ON comparisons(ts DESC)",
    "CREATE INDEX IF NOT EXISTS idx_comparisons_status ON comparisons(status)",
    "CREATE INDEX IF NOT EXISTS idx_probes_comparison ON probes(comparison_id)",
    "CREATE INDEX IF NOT EXISTS idx_probes_side ON probes(side)",
];
/// The reference's own: what was evicted must not come back with a request that is late.
const EVICTED: &str =
    "CREATE TABLE IF NOT EXISTS evicted (id TEXT PRIMARY KEY, ts INTEGER NOT NULL)";

const CREATE: &str = "INSERT INTO comparisons (id, ts, left_url, right_url, status)
  VALUES (?, ?, ?, ?, 'running') ON CONFLICT DO NOTHING";
const SAVE_PROBE: &str = "INSERT INTO probes (id, comparison_id, ts, side, url, envelope_json)
  SELECT ?, id, ?, ?, ?, ? FROM comparisons WHERE id = ? AND status = 'running'
  ON CONFLICT DO NOTHING";
/// What a mistake has in its place.
const SAVE_PROBE_AGAIN: &str =
    "INSERT OR REPLACE INTO probes (id, comparison_id, ts, side, url, envelope_json)
  SELECT ?, id, ?, ?, ?, ? FROM comparisons WHERE id = ? AND status = 'running'";
const SAVE_RESULT: &str = "UPDATE comparisons SET status = 'completed', result_json = ?
  WHERE id = ? AND status = 'running'";
const FAIL: &str = "UPDATE comparisons SET status = 'failed', error = ?
  WHERE id = ? AND status = 'running'";
const GET: &str = "SELECT status, result_json, error FROM comparisons WHERE id = ?";
const IS_EVICTED: &str = "SELECT 1 FROM evicted WHERE id = ?";
/// What a mistake has in place of leaving alone what has begun.
const BEGIN_AGAIN: &str = "(id) DO UPDATE SET status = 'running', result_json = NULL, error = NULL";
const HISTORY_OF: &str =
    "SELECT status, result_json, error FROM comparisons WHERE status = 'completed'
  ORDER BY rowid DESC LIMIT ?";

/// What a mistake has in its place: two that begin in one millisecond are in any order.
const HISTORY_BY_TIME: &str = "SELECT status, result_json, error FROM comparisons
  WHERE status = 'completed' ORDER BY ts DESC, id LIMIT ?";

/// The object of one pair.
#[derive(Debug)]
pub struct EnvPair {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for EnvPair {
    const ALARM: bool = false;

    fn new(ctx: ObjectState, env: Env) -> EnvPair {
        let tables = [COMPARISONS, PROBES, EVICTED];
        let unique = !mistakes::PROBES_TWICE.is_made(&env);
        for statement in tables.into_iter().chain(INDEXES) {
            let twice = (!unique).then(|| statement.replace("UNIQUE (comparison_id, side),", ""));
            let statement = twice.as_deref().unwrap_or(statement);
            ctx.storage().exec(statement, &[]).expect("the schema is correct");
        }
        EnvPair { ctx, env }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        methods!(self, method, args =>
            "createComparison" => create,
            "saveProbe" => save_probe,
            "saveResult" => save_result,
            "failComparison" => fail,
            "getComparison" => get,
            "getComparisonsForHistory" => history,
            "setKeep" => set_keep,
        )
    }
}

impl EnvPair {
    fn storage(&self) -> &ObjectStorage {
        self.ctx.storage()
    }

    /// Begins a comparison, unless it has begun before.
    fn create(&self, comparison: Comparison) -> Result<ComparisonStatus, Error> {
        let id = &*comparison.comparison_id;
        if self.is_evicted(id)? && !mistakes::EVICTED_COMES_BACK.is_made(&self.env) {
            return Ok(ComparisonStatus::Evicted);
        }
        let (left, right) = (&*comparison.left_url, &*comparison.right_url);
        let now = self.env.now();
        let create: Cow<str> = match mistakes::BEGINS_AGAIN.is_made(&self.env) {
            true => CREATE.replace("DO NOTHING", BEGIN_AGAIN).into(),
            false => CREATE.into(),
        };
        self.storage().exec(&create, &[id.into(), ms(now).into(), left.into(), right.into()])?;
        let mut keep = Keep::stored(self.storage())?;
        if mistakes::KEEPS_ONE_MORE.is_made(&self.env) {
            keep = keep.and_one();
        }
        if !mistakes::KEEPS_EVERYTHING.is_made(&self.env) {
            keep.retain(self.storage(), &self.env)?;
        }
        self.status(id)
    }

    /// Keeps what one side was found to be, while the comparison runs; the first finding stays.
    fn save_probe(&self, probe: SaveProbe) -> Result<ComparisonStatus, Error> {
        let (id, side) = (&*probe.comparison_id, probe.side.name());
        let envelope = serde_json::to_string(&probe.envelope).expect("plain data is JSON");
        let probe_id = match mistakes::PROBES_TWICE.is_made(&self.env) {
            true => self.env.unique(),
            false => format!("{id}:{side}"),
        };
        let save = match mistakes::LAST_PROBE_STAYS.is_made(&self.env) {
            true => SAVE_PROBE_AGAIN,
            false => SAVE_PROBE,
        };
        let bindings = [
            probe_id.into(),
            ms(self.env.now()).into(),
            side.into(),
            Value::from(&*probe.envelope.routing.final_url),
            envelope.into(),
            id.into(),
        ];
        self.storage().exec(save, &bindings)?;
        self.status(id)
    }

    /// Completes a comparison, if it still runs. The time is that of this turn, and not of an attempt of the step: a
    /// step that is done again finds the comparison completed, and changes nothing.
    fn save_result(&self, save: SaveResult) -> Result<ComparisonStatus, Error> {
        let SaveResult { comparison_id: id, mut result } = save;
        if let Some(result) = result.as_object_mut() {
            let seconds = mistakes::STAMPS_IN_SECONDS.is_made(&self.env);
            let unit = if seconds { 1_000 } else { 1 };
            result.insert("timestamp".into(), (ms(self.env.now()) / unit).into());
        }
        self.storage().exec(SAVE_RESULT, &[result.to_string().into(), Value::from(&*id)])?;
        self.status(&id)
    }

    /// Fails a comparison, if it still runs.
    fn fail(&self, fail: FailComparison) -> Result<ComparisonStatus, Error> {
        let id = &*fail.comparison_id;
        self.storage().exec(FAIL, &[Value::from(&*fail.error), id.into()])?;
        self.status(id)
    }

    fn get(&self, id: String) -> Result<ComparisonState, Error> {
        self.state(&id)
    }

    fn state(&self, id: &str) -> Result<ComparisonState, Error> {
        let row = self.storage().exec(GET, &[id.into()])?.raw().next();
        let Some(row) = row else {
            let status = match self.is_evicted(id)? {
                true => ComparisonStatus::Evicted,
                false if mistakes::EVERYTHING_RUNS.is_made(&self.env) => ComparisonStatus::Running,
                false => ComparisonStatus::Unknown,
            };
            return Ok(ComparisonState { status, result: None, error: None });
        };
        Ok(told(&row))
    }

    fn status(&self, id: &str) -> Result<ComparisonStatus, Error> {
        self.state(id).map(|state| state.status)
    }

    /// Sets how many comparisons are kept.
    fn set_keep(&self, keep: u64) -> Result<(), Error> {
        let keep = Keep::new(keep).ok_or_else(|| Error::app("no such number"))?;
        keep.store(self.storage(), &self.env)
    }

    /// The last completed comparisons, newest first: where each stands, as `getComparison` tells it.
    fn history(&self, limit: u32) -> Result<Vec<ComparisonState>, Error> {
        let history = match mistakes::HISTORY_BY_TIME.is_made(&self.env) {
            true => HISTORY_BY_TIME,
            false => HISTORY_OF,
        };
        let mut rows = self.storage().exec(history, &[limit.into()])?;
        Ok(rows.raw().map(|row| told(&row)).collect())
    }

    fn is_evicted(&self, id: &str) -> Result<bool, Error> {
        Ok(self.storage().exec(IS_EVICTED, &[id.into()])?.raw().next().is_some())
    }
}

/// Where a comparison stands, from the columns `status`, `result_json` and `error`.
fn told(row: &[Value]) -> ComparisonState {
    let text = |at: usize| row.get(at).and_then(Value::as_str);
    let status = match text(0) {
        Some("completed") => ComparisonStatus::Completed,
        Some("failed") => ComparisonStatus::Failed,
        _ => ComparisonStatus::Running,
    };
    let result = text(1).and_then(|text| serde_json::from_str(text).ok());
    ComparisonState { status, result, error: text(2).map(String::from) }
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::storage::Storage;

    use super::*;

    fn tables() -> Storage {
        let mut storage = Storage::new(0);
        for statement in [COMPARISONS, PROBES, EVICTED].into_iter().chain(INDEXES) {
            storage.sql().exec(statement, &[]).expect("the schema is correct");
        }
        let row = ["a".into(), 1.into(), "l".into(), "r".into()];
        storage.sql().exec(CREATE, &row).expect("it fits the schema");
        storage
    }

    fn refused(storage: &mut Storage, statement: &str) -> String {
        storage.sql().exec(statement, &[]).expect_err("it does not fit the schema").to_string()
    }

    const PROBE: &str = "INSERT INTO probes VALUES ('a:left', 'a', 1, 'left', 'u', '{}')";

    #[test]
    fn the_unique_constraint_refuses_a_second_probe_of_a_side() {
        let mut storage = tables();
        storage.sql().exec(PROBE, &[]).expect("the first");
        let again = "INSERT INTO probes VALUES ('other', 'a', 1, 'left', 'u', '{}')";
        assert!(refused(&mut storage, again).contains("UNIQUE constraint failed"));
    }

    #[test]
    fn only_the_three_statuses_and_the_two_sides_are_accepted() {
        let mut storage = tables();
        let status = "UPDATE comparisons SET status = 'paused'";
        assert!(refused(&mut storage, status).contains("status_check"));
        let side = "INSERT INTO probes VALUES ('a:top', 'a', 1, 'top', 'u', '{}')";
        assert!(refused(&mut storage, side).contains("side_check"));
    }

    #[test]
    fn a_probe_needs_its_comparison_and_goes_with_it() {
        let mut storage = tables();
        let stray = "INSERT INTO probes VALUES ('b:left', 'b', 1, 'left', 'u', '{}')";
        assert!(refused(&mut storage, stray).contains("FOREIGN KEY constraint failed"));
        storage.sql().exec(PROBE, &[]).expect("it fits");
        storage.sql().exec("DELETE FROM comparisons", &[]).expect("it can go");
        let left = storage.sql().exec("SELECT * FROM probes", &[]).expect("a query").to_array();
        assert_eq!(left.len(), 0);
    }
}
