//! The plan's second solution, advisory locks, on a real server: what becomes of a lock of a session when connections
//! are pooled, and of two commands whose lock has the same number. Then what leases do in the same place.
//!
//! Everything is done one after the other, so nothing depends on who is faster.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::json;
use thunderhead_stream::postgres::{Clock, Settings, connect};
use thunderhead_stream::{NewMessage, Next, PostgresStore, Store};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::support::cluster::Cluster;
use crate::support::pooler::Pooler;

/// A number that is the same in every process, for a command: 32 bits, as those of `HashCode.Combine`.
const LOCK_ID: &str = "hashtext($1 || '/' || $2::bigint)";

/// A processor of the plan, with the connection that it was given.
struct Processor(Client);

impl Processor {
    async fn connected(settings: &Settings) -> Processor {
        Processor(connect(settings).await.unwrap())
    }

    /// `SELECT pg_try_advisory_lock(lockId)`.
    async fn try_lock(&self, workflow: &str, position: i64) -> bool {
        self.ask(&format!("SELECT pg_try_advisory_lock({LOCK_ID})"), workflow, position).await
    }

    /// `SELECT pg_advisory_unlock(lockId)`: whether this session held it.
    async fn unlock(&self, workflow: &str, position: i64) -> bool {
        self.ask(&format!("SELECT pg_advisory_unlock({LOCK_ID})"), workflow, position).await
    }

    async fn ask(&self, sql: &str, workflow: &str, position: i64) -> bool {
        // Without a statement that is prepared by name: a pooler may not know it on the next connection.
        let params: [(&(dyn ToSql + Sync), Type); 2] =
            [(&workflow, Type::TEXT), (&position, Type::INT8)];
        self.0.query_typed_one(sql, &params).await.unwrap().get(0)
    }

    /// `commandExecutor.ExecuteAsync(command)`, of which the database can tell how often it happened.
    async fn execute(&self, command: &str) {
        let sql = "INSERT INTO effects (command) VALUES ($1)";
        self.0.execute_typed(sql, &[(&command, Type::TEXT)]).await.unwrap();
    }

    /// How often a command was executed.
    async fn effects(&self, command: &str) -> i64 {
        let sql = "SELECT count(*) FROM effects WHERE command = $1";
        self.0.query_typed_one(sql, &[(&command, Type::TEXT)]).await.unwrap().get(0)
    }

    /// The connection of the server that this one has now.
    async fn backend(&self) -> i32 {
        self.0.query_typed_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
    }
}

/// A server with an empty table of effects, and a pooler in front of it.
async fn pooled(size: u32, more: &str) -> (Cluster, Pooler, Settings, Settings) {
    let cluster = Cluster::start().await;
    let database = cluster.create_database().await;
    let direct = cluster.config(&database);
    let client = connect(&direct).await.unwrap();
    client.batch_execute("CREATE TABLE effects (command text)").await.unwrap();
    let pooler = Pooler::start_with(&cluster, size, more).await;
    let through = pooler.config(&database);
    (cluster, pooler, direct, through)
}

#[tokio::test]
async fn two_who_share_a_pooled_connection_hold_one_lock_and_execute_twice() {
    let (_cluster, _pooler, _, through) = pooled(1, "").await;
    let (a, b) = (Processor::connected(&through).await, Processor::connected(&through).await);
    assert_eq!(a.backend().await, b.backend().await);
    assert!(a.try_lock("w", 3).await);
    a.execute("w/3").await;
    // The server knows one session, which may have its own lock again.
    assert!(b.try_lock("w", 3).await, "the lock keeps nobody out");
    b.execute("w/3").await;
    assert_eq!(b.effects("w/3").await, 2);
}

#[tokio::test]
async fn a_pooler_that_resets_its_connections_takes_the_lock_away_at_once() {
    let reset = "server_reset_query = DISCARD ALL\nserver_reset_query_always = 1\n";
    let (_cluster, _pooler, direct, through) = pooled(2, reset).await;
    let (a, b) = (Processor::connected(&through).await, Processor::connected(&direct).await);
    assert!(a.try_lock("w", 3).await);
    a.execute("w/3").await;
    assert!(b.try_lock("w", 3).await, "the lock ended with the statement that took it");
    b.execute("w/3").await;
    assert_eq!(b.effects("w/3").await, 2);
}

#[tokio::test]
async fn an_unlock_on_another_connection_leaves_the_lock_for_ever() {
    let (_cluster, _pooler, direct, through) = pooled(2, "").await;
    let (a, c) = (Processor::connected(&through).await, Processor::connected(&through).await);
    let other = Processor::connected(&direct).await;
    assert!(a.try_lock("w", 3).await);
    let locked_at = a.backend().await;
    // Somebody else's transaction has the only connection that there is, so there has to be another.
    c.0.batch_execute("BEGIN").await.unwrap();
    assert_eq!(c.backend().await, locked_at);
    assert_ne!(a.backend().await, locked_at);
    assert!(!a.unlock("w", 3).await, "this session never had it");
    c.0.batch_execute("COMMIT").await.unwrap();
    // Neither does it end with the one who took it: his connection of the server lives on.
    drop(a);
    assert!(!other.try_lock("w", 3).await, "nobody works on it, and nobody may");
    assert_eq!(other.effects("w/3").await, 0);
}

/// Two commands whose lock is the same: the server is asked for the first such pair.
async fn collision(client: &Client) -> (String, String) {
    let sql = "SELECT min('w' || n), max('w' || n) FROM generate_series(1, 200000) AS n
        GROUP BY hashtext('w' || n || '/' || 1) HAVING count(*) > 1 ORDER BY min(n) LIMIT 1";
    let row = client.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn two_commands_with_one_number_keep_each_other_from_being_executed() {
    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let (a, b) = (Processor::connected(&config).await, Processor::connected(&config).await);
    let (one, other) = collision(&a.0).await;
    assert_ne!(one, other);
    assert!(a.try_lock(&one, 1).await);
    assert!(!b.try_lock(&other, 1).await, "nobody works on {other}, and it is passed over");
    // A processor that carries out both has one lock for them, and the first unlock leaves it with one too many.
    assert!(a.try_lock(&other, 1).await);
    assert!(a.unlock(&one, 1).await);
    assert!(!b.try_lock(&one, 1).await, "{one} is done with, and its lock is held");
    assert!(a.unlock(&other, 1).await);
    assert!(b.try_lock(&one, 1).await);
}

#[tokio::test]
async fn a_lease_is_a_row_so_neither_a_pooler_nor_a_number_matters() {
    for size in [1, 2] {
        let (_cluster, _pooler, direct, through) = pooled(size, "").await;
        let client = connect(&direct).await.unwrap();
        let (one, other) = collision(&client).await;
        let open = async || {
            let settings = Settings { clock: Clock::Caller, ..through.clone() };
            PostgresStore::connect(&settings).await.unwrap()
        };
        let (a, b) = (open().await, open().await);
        for workflow in [&one, &other] {
            let batch = [NewMessage::output_command(workflow, "CheckOut", json!({}))];
            a.append(workflow, 0, &batch, 0).await.unwrap();
        }
        let first = a.claim("a", 0, 1_000, 1).await.unwrap();
        let second = b.claim("b", 0, 1_000, 9).await.unwrap();
        let taken: Vec<&str> =
            first.iter().chain(&second).map(|claim| claim.message.workflow_id.as_str()).collect();
        assert_eq!(taken, [&*one.clone().min(other.clone()), &*one.max(other)]);
        // The lease is its holder's on whatever connection, also when he has died, and ends with its time.
        drop(a);
        assert_eq!(b.claim("b", 999, 1_000, 9).await, Ok(vec![]));
        assert_eq!(b.claim("c", 1_000, 1_000, 9).await.unwrap().len(), 2);
        assert_eq!(b.record_failure(&second[0], "late", Next::Park, 1_000).await, Ok(false));
    }
}
