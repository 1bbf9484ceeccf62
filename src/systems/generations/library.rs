//! The library in D1: generations that are finished, their artifacts, and tags. Every write may be
//! made again, and may arrive late.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::{Value as Json, json};
use thunderhead_sim::sqlite::{Row, Value};
use thunderhead_sim::{Env, Error, Time};

use super::mistakes;
use super::names::LIBRARY;
use super::store::{Stored, Task};
use super::wire::{Create, Figures};

/// The tables. An artifact is there before its generation, so no foreign key leads from one to the
/// other: D1 would refuse it. Costs are in millionths of a dollar.
pub const SCHEMA: &[&str] = &[
    "CREATE TABLE generations (
  id TEXT PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('ready', 'failed')),
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  input TEXT NOT NULL,
  output_count INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  completed_at INTEGER NOT NULL,
  client TEXT NOT NULL
)",
    "CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  generation_id TEXT NOT NULL,
  content_type TEXT NOT NULL,
  metadata TEXT NOT NULL,
  width INTEGER,
  height INTEGER,
  cost INTEGER,
  created_at INTEGER NOT NULL,
  client TEXT NOT NULL
)",
    "CREATE INDEX artifacts_of_generation ON artifacts (generation_id)",
    "CREATE TABLE tags (
  tag TEXT NOT NULL,
  target_type TEXT NOT NULL CHECK (target_type IN ('generation', 'artifact')),
  target_id TEXT NOT NULL,
  PRIMARY KEY (tag, target_type, target_id)
)",
    "CREATE TABLE requests (
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  generation_id TEXT NOT NULL,
  PRIMARY KEY (client, key)
)",
];

const CLAIM: &str =
    "INSERT INTO requests (client, key, generation_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
const CLAIMED: &str = "SELECT generation_id FROM requests WHERE client = ? AND key = ?";
/// A generation that is finished gets no more artifacts, however late this arrives.
const ADD_ARTIFACT: &str = "INSERT INTO artifacts
  (id, generation_id, content_type, metadata, width, height, cost, created_at, client)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
  WHERE NOT EXISTS (SELECT 1 FROM generations WHERE id = ?2) ON CONFLICT DO NOTHING";
/// Counts and sums up what is there at the moment of writing: only the database knows which requests have arrived.
const FINISH: &str = "INSERT INTO generations
  (id, status, provider, model, input, output_count, cost, created_at, completed_at, client)
  SELECT ?1, CASE WHEN made > 0 THEN 'ready' ELSE 'failed' END, ?2, ?3, ?4, made, total, ?5, ?6, ?7
  FROM (SELECT COUNT(*) AS made, COALESCE(SUM(cost), 0) AS total
    FROM artifacts WHERE generation_id = ?1)
  WHERE true ON CONFLICT DO NOTHING";
const TAG: &str = "INSERT INTO tags (tag, target_type, target_id)
  VALUES (?, 'generation', ?) ON CONFLICT DO NOTHING";
const MADE: &str = "SELECT id FROM artifacts WHERE generation_id = ?";
const GENERATION: &str = "SELECT * FROM generations WHERE id = ?";
const ARTIFACT: &str = "SELECT * FROM artifacts WHERE id = ?";

/// The name of the provider in the rows.
const PROVIDER: &str = "provider";

/// The id that belongs to a client's key: the one proposed, unless the key has one already.
pub async fn claim(env: &Env, client: &str, key: &str, proposed: &str) -> Result<String, Error> {
    let db = env.d1(LIBRARY);
    if mistakes::CLAIMS_ANEW.is_made(env) {
        return Ok(proposed.into());
    }
    let client = if mistakes::KEYS_IN_COMMON.is_made(env) { "" } else { client };
    let claim = db.prepare(CLAIM).bind(vec![client.into(), key.into(), proposed.into()]);
    let claimed = db.prepare(CLAIMED).bind(vec![client.into(), key.into()]);
    let results = db.batch(vec![claim, claimed]).await?;
    let id = results.get(1).and_then(|rows| rows.get(0, "generation_id")?.as_str());
    id.map(String::from).ok_or_else(|| Error::app("the key was not kept"))
}

/// Shows an artifact whose bytes are in the bucket. One at a time, unless a mistake is made.
pub async fn add_artifacts(env: &Env, of: &Create, tasks: &[Rc<Task>]) -> Result<(), Error> {
    let db = env.d1(LIBRARY);
    let add: Cow<str> = match mistakes::SHOWS_LATECOMERS.is_made(env) {
        true => ADD_ARTIFACT
            .replace("WHERE NOT EXISTS (SELECT 1 FROM generations WHERE id = ?2)", "WHERE true")
            .into(),
        false => ADD_ARTIFACT.into(),
    };
    let statement = |task: &Rc<Task>| db.prepare(&add).bind(artifact_row(env, of, task));
    match tasks {
        [task] => statement(task).run().await.map(|_| ()),
        tasks => db.batch(tasks.iter().map(statement).collect()).await.map(|_| ()),
    }
}

fn artifact_row(env: &Env, of: &Create, task: &Task) -> Vec<Value> {
    let Figures { seed, width, height, cost } = task.figures.unwrap_or_default();
    let metadata = json!({ "task": task.task_uuid(), "seed": seed }).to_string();
    let number = |of: Option<u32>| of.map_or(Value::Null, |n| Value::Integer(n.into()));
    let (width, height) = match mistakes::SWAPS_SIDES.is_made(env) {
        true => (height, width),
        false => (width, height),
    };
    let content_type = task.content_type.as_deref().unwrap_or("application/octet-stream");
    vec![
        task.artifact.as_str().into(),
        of.id.as_str().into(),
        content_type.into(),
        metadata.into(),
        number(width),
        number(height),
        number(cost),
        ms(env.now()),
        of.client.as_str().into(),
    ]
}

/// Shows a generation with its tags, all at once; which of its artifacts are there.
pub async fn finish(env: &Env, asked: &Stored, completed_at: Time) -> Result<Vec<String>, Error> {
    let db = env.d1(LIBRARY);
    let Stored { create, created_at, .. } = asked;
    let id: Value = create.id.as_str().into();
    let row: Vec<Value> = vec![
        id.clone(),
        PROVIDER.into(),
        create.model.as_str().into(),
        create.input.to_string().into(),
        ms(*created_at),
        ms(completed_at),
        create.client.as_str().into(),
    ];
    let finish: Cow<str> = if mistakes::COUNTS_WHAT_WAS_ASKED.is_made(env) {
        FINISH.replace("COUNT(*)", &create.count.to_string()).into()
    } else if mistakes::ONE_PRICE.is_made(env) {
        FINISH.replace("SUM(cost)", "COUNT(*) * MAX(cost)").into()
    } else {
        FINISH.into()
    };
    let mut statements = vec![db.prepare(&finish).bind(row)];
    let tag = |tag: &String| db.prepare(TAG).bind(vec![tag.as_str().into(), id.clone()]);
    let tags = create.tags.iter().take(match mistakes::ONE_TAG.is_made(env) {
        true => 1,
        false => usize::MAX,
    });
    statements.extend(tags.map(tag));
    statements.push(db.prepare(MADE).bind(vec![id.clone()]));
    let results = db.batch(statements).await?;
    let made = results.last().map(|last| &last.results[..]).unwrap_or_default();
    let ids = made.iter().filter_map(|row| row.first()?.1.as_str().map(String::from));
    Ok(ids.collect())
}

/// A generation that is finished.
pub async fn generation(env: &Env, id: &str) -> Result<Option<Json>, Error> {
    let rows = select(env, GENERATION, vec![id.into()]).await?;
    Ok(rows.into_iter().next())
}

/// An artifact that is stored, if it is this client's.
pub async fn artifact(env: &Env, client: &str, id: &str) -> Result<Option<Json>, Error> {
    let rows = select(env, ARTIFACT, vec![id.into()]).await?;
    let own = |row: &Json| row["client"] == client || mistakes::SHOWS_OTHERS.is_made(env);
    Ok(rows.into_iter().find(own))
}

/// What a question is answered with.
pub async fn select(env: &Env, sql: &str, values: Vec<Value>) -> Result<Vec<Json>, Error> {
    let found = env.d1(LIBRARY).prepare(sql).bind(values).all().await?;
    Ok(found.results.iter().map(json_of).collect())
}

fn json_of(row: &Row) -> Json {
    let value = |value: &Value| match value {
        Value::Integer(number) => json!(number),
        other => json!(other.as_str()),
    };
    row.iter().map(|(name, of)| (name.to_string(), value(of))).collect()
}

/// A time as rows have it: Unix milliseconds.
fn ms(time: Time) -> Value {
    Value::Integer(time.unix_ms().cast_signed())
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::d1::{D1, Op, Statement};

    use super::*;

    fn library() -> D1 {
        let mut d1 = D1::new();
        d1.create_database(LIBRARY).expect("the first of its name");
        for sql in SCHEMA {
            d1.apply(Time::ZERO, &Op::run(LIBRARY, Statement::new(*sql))).reply.expect("correct");
        }
        d1
    }

    fn run(d1: &mut D1, sql: &str, values: &[&str]) {
        let statement = Statement::new(sql).bind(values.iter().copied());
        d1.apply(Time::ZERO, &Op::run(LIBRARY, statement)).reply.expect("it fits the schema");
    }

    fn artifact(d1: &mut D1, id: &str) {
        run(d1, ADD_ARTIFACT, &[id, "g", "image/jpeg", "{}", "512", "256", "30", "1", "ann"]);
    }

    fn finish(d1: &mut D1) -> Vec<Vec<Value>> {
        run(d1, FINISH, &["g", "provider", "image-1", "{}", "1", "2", "ann"]);
        d1.query(LIBRARY, "SELECT status, output_count, cost FROM generations").expect("a query")
    }

    #[test]
    fn a_generation_counts_the_artifacts_that_are_there_and_adds_up_their_costs() {
        let mut d1 = library();
        artifact(&mut d1, "a");
        artifact(&mut d1, "b");
        assert_eq!(
            finish(&mut d1),
            [[Value::from("ready"), Value::Integer(2), Value::Integer(60)]]
        );
    }

    #[test]
    fn a_generation_without_artifacts_has_failed() {
        let failed = [Value::from("failed"), Value::Integer(0), Value::Integer(0)];
        assert_eq!(finish(&mut library()), [failed]);
    }

    #[test]
    fn what_comes_after_the_end_changes_nothing() {
        let mut d1 = library();
        artifact(&mut d1, "a");
        let end = finish(&mut d1);
        artifact(&mut d1, "b");
        assert_eq!(finish(&mut d1), end);
        let left = d1.query(LIBRARY, "SELECT id FROM artifacts").expect("a query");
        assert_eq!(left, [[Value::from("a")]]);
    }

    #[test]
    fn what_comes_again_is_there_once() {
        let mut d1 = library();
        artifact(&mut d1, "a");
        artifact(&mut d1, "a");
        assert_eq!(
            finish(&mut d1),
            [[Value::from("ready"), Value::Integer(1), Value::Integer(30)]]
        );
        run(&mut d1, TAG, &["cats", "g"]);
        run(&mut d1, TAG, &["cats", "g"]);
        let tags = d1.query(LIBRARY, "SELECT * FROM tags").expect("a query");
        assert_eq!(tags.len(), 1);
    }

    #[test]
    fn a_key_keeps_its_first_id_and_every_client_has_its_own_keys() {
        let mut d1 = library();
        run(&mut d1, CLAIM, &["ann", "k", "first"]);
        run(&mut d1, CLAIM, &["ann", "k", "second"]);
        run(&mut d1, CLAIM, &["ben", "k", "another"]);
        let ids = d1.query(LIBRARY, "SELECT generation_id FROM requests ORDER BY client");
        assert_eq!(ids.expect("a query"), [[Value::from("first")], [Value::from("another")]]);
    }
}
