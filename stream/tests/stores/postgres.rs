//! What only a server can do: go away, and hold effects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::json;
use thunderhead_stream::postgres::{connect, create_effects, record_effect};
use thunderhead_stream::{Error, NewMessage, PostgresStore, Store};

use crate::support::cluster::Cluster;

#[tokio::test]
async fn a_lost_connection_is_told_apart_from_a_refusal() {
    let cluster = Cluster::start().await;
    let config = cluster.config(&cluster.create_database().await);
    let store = PostgresStore::connect(&config).await.unwrap();
    let batch = [NewMessage::output_command("m", "T", json!(1))];
    store.append("w", 0, &batch, 0).await.unwrap();

    let other = connect(&config).await.unwrap();
    // With a limit in milliseconds the server answers when they have ended, not when they have been told to.
    let end = "SELECT pg_terminate_backend(pid, 120000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for ended in other.query(end, &[]).await.unwrap() {
        assert!(ended.get::<_, bool>(0));
    }
    for _ in 0..2 {
        let answer = store.append("w", 0, &batch, 0).await;
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
    let store = PostgresStore::connect(&config).await.unwrap();
    assert_eq!(store.append("w", 0, &batch, 0).await, Ok(1), "as the first time");

    other.batch_execute("DROP TABLE workflow_messages").await.unwrap();
    let answer = store.read_stream("w", 0).await;
    assert!(matches!(answer, Err(Error::Refused(_))), "{answer:?}");
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
