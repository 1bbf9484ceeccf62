//! What only a server can do: go away, be silent, have a clock of its own, and hold effects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use thunderhead_stream::postgres::{Settings, connect, create_effects, record_effect};
use thunderhead_stream::{Error, NewMessage, Next, PostgresStore, Store};
use tokio_postgres::Client;

use crate::support::cluster::{Cluster, SOCKET, empty_directory};

/// Cuts all other connections to the database.
pub async fn cut(client: &Client) {
    const OTHERS: &str = "FROM pg_stat_activity WHERE datname = current_database()
        AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    // With a limit in milliseconds the server answers when they have ended, not when they have been told to. Its answer
    // is false for a connection that ends by itself in between, so that what is left is counted.
    let end = format!("SELECT pg_terminate_backend(pid, 120000) {OTHERS}");
    client.query(&end, &[]).await.unwrap();
    let left = client.query_one(&format!("SELECT count(*) {OTHERS}"), &[]).await.unwrap();
    assert_eq!(left.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_lost_connection_is_told_apart_from_a_refusal_and_made_anew() {
    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let store = PostgresStore::connect(&config).await.unwrap();
    let batch = [NewMessage::output_command("m", "T", json!(1))];
    store.append("w", 0, &batch, 0).await.unwrap();

    let other = connect(&config).await.unwrap();
    for _ in 0..3 {
        cut(&other).await;
        // Whether the end of the connection was noticed before or is only now is the client's to say.
        let answer = store.append("w", 0, &batch, 0).await;
        assert!(matches!(answer, Ok(1) | Err(Error::Unavailable(_))), "{answer:?}");
        assert_eq!(store.append("w", 0, &batch, 0).await, Ok(1), "as the first time");
    }
    other.batch_execute("DROP TABLE workflow_messages").await.unwrap();
    let answer = store.read_stream("w", 0).await;
    assert!(matches!(answer, Err(Error::Refused(_))), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_is_away_is_asked_again_after_pauses_that_grow() {
    let cluster = Cluster::start().await;
    let mut config = cluster.config(&cluster.create_database().await);
    (config.first_pause, config.longest_pause) =
        (Duration::from_millis(40), Duration::from_millis(100));
    let store = PostgresStore::connect(&config).await.unwrap();
    drop(cluster);
    // The first may be the one that notices, and the second the first that connects.
    let begun = Instant::now();
    for _ in 0..5 {
        let answer = store.read_stream("w", 0).await;
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
    let least = Duration::from_millis(40 + 80 + 100);
    assert!(begun.elapsed() >= least, "{:?} is less than the pauses", begun.elapsed());
}

#[tokio::test]
async fn a_statement_without_an_answer_is_given_up_and_cancelled() {
    let cluster = Cluster::start().await;
    let mut config = cluster.config(&cluster.create_database().await);
    let patient = PostgresStore::connect(&config).await.unwrap();
    config.statement_timeout = Duration::from_millis(100);
    let store = PostgresStore::connect(&config).await.unwrap();
    let mut other = connect(&config).await.unwrap();
    let observer = connect(&config).await.unwrap();
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE workflow_messages").await.unwrap();
    let answer = store.read_stream("w", 0).await;
    assert_eq!(answer, Err(Error::Unavailable("no answer within 100ms".into())));
    // The statement would wait for the lock for ever.
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE pg_blocking_pids(pid) <> '{}'";
    while observer.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) > 0 {}
    lock.commit().await.unwrap();
    assert_eq!(patient.read_stream("w", 0).await, Ok(vec![]));
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let directory = empty_directory("mute").unwrap();
    // Connections queue up, and nobody takes them.
    let _mute = UnixListener::bind(directory.join(format!(".s.PGSQL.{SOCKET}"))).unwrap();
    let text = format!("host={} user=postgres", directory.display());
    let mut settings: Settings = text.parse().unwrap();
    settings.connect_timeout = Duration::from_millis(50);
    let answer = PostgresStore::connect(&settings).await.unwrap_err();
    assert_eq!(answer, Error::Unavailable("no connection within 50ms".into()));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[tokio::test]
async fn leases_and_pauses_go_by_the_clock_of_the_server() {
    const HOUR: i64 = 3_600_000;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let store = PostgresStore::connect(&config).await.unwrap();
    let batch = [NewMessage::output_command("m", "T", json!(1))];
    // It comes from one whose clock is ahead, and is claimed by one whose clock is behind.
    store.append("w", 0, &batch, now + HOUR).await.unwrap();
    let claims = store.claim("behind", now - HOUR, HOUR / 2, 9).await.unwrap();
    assert_eq!(claims.len(), 1);
    assert!(claims[0].until > now + HOUR / 4, "{} is no lease of half an hour", claims[0].until);
    // One who is ahead thinks that the lease has ended; it has not.
    assert_eq!(store.claim("ahead", now + HOUR, 1, 9).await, Ok(vec![]));
    let next = Next::RetryAfter(HOUR / 2);
    assert_eq!(store.record_failure(&claims[0], "no", next, now - HOUR).await, Ok(true));
    assert_eq!(store.claim("ahead", now + HOUR, 1, 9).await, Ok(vec![]), "the pause is not over");
}

#[tokio::test]
async fn an_effect_is_recorded_with_its_transaction_or_not_at_all() {
    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let mut client = connect(&config).await.unwrap();
    create_effects(&mut client).await.unwrap();
    create_effects(&mut client).await.unwrap();

    let undone = client.transaction().await.unwrap();
    assert_eq!(record_effect(&undone, "m", 1).await, Ok(true));
    undone.rollback().await.unwrap();
    let done = client.transaction().await.unwrap();
    assert_eq!(record_effect(&done, "m", 2).await, Ok(true));
    done.commit().await.unwrap();
    let again = client.transaction().await.unwrap();
    assert_eq!(record_effect(&again, "m", 3).await, Ok(false));
}

#[tokio::test]
async fn one_that_would_repeat_an_effect_waits_for_the_one_that_has_begun() {
    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let (mut one, mut other) = (connect(&config).await.unwrap(), connect(&config).await.unwrap());
    let observer = connect(&config).await.unwrap();
    create_effects(&mut one).await.unwrap();
    for (commits, expected) in [(false, true), (true, false)] {
        let id = format!("m-{commits}");
        let first = one.transaction().await.unwrap();
        assert_eq!(record_effect(&first, &id, 1).await, Ok(true));
        let second = other.transaction().await.unwrap();
        let mut waiting = Box::pin(record_effect(&second, &id, 2));
        let blocked = async {
            let count = "SELECT count(*) FROM pg_stat_activity WHERE pg_blocking_pids(pid) <> '{}'";
            while observer.query_one(count, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
        };
        tokio::select! {
            answer = &mut waiting => panic!("it did not wait: {answer:?}"),
            () = blocked => {}
        }
        match commits {
            true => first.commit().await.unwrap(),
            false => first.rollback().await.unwrap(),
        }
        let answer = waiting.await;
        assert_eq!(answer, Ok(expected), "the first commits: {commits}");
        second.rollback().await.unwrap();
    }
}
