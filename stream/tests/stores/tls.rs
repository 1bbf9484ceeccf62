//! A connection is as safe as it was asked to be, or there is none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead_stream::postgres::connect;
use thunderhead_stream::{Error, PostgresStore, Store};

use crate::support::cluster::{Cluster, Listens, empty_directory};

/// How a connection ended that should not have come about.
async fn refused(text: &str) -> String {
    match connect(&text.parse().unwrap()).await {
        Err(Error::Tls(why)) => why,
        Err(error) => panic!("{text}: {error:?}"),
        Ok(_) => panic!("{text}: connected"),
    }
}

#[tokio::test]
async fn every_mode_of_tls_is_encrypted() {
    let cluster = Cluster::listening(Listens::Tls).await;
    let database = cluster.create_database().await;
    let root = cluster.authority().display().to_string();
    for (mode, verified) in [("require", false), ("verify-ca", true), ("verify-full", true)] {
        let root = if verified { format!("sslrootcert={root}") } else { String::new() };
        let text = cluster.string_of_port(&database, &format!("sslmode={mode} {root}"));
        let client = connect(&text.parse().unwrap()).await.unwrap();
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        assert!(client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0), "{mode}");
        let store = PostgresStore::connect(&text.parse().unwrap()).await.unwrap();
        assert_eq!(store.read_stream("w", 0).await, Ok(vec![]));
    }
}

#[tokio::test]
async fn a_server_that_is_not_who_it_should_be_is_refused() {
    let (cluster, stranger) =
        (Cluster::listening(Listens::Tls).await, Cluster::listening(Listens::Tls).await);
    let string = |mode: &str, root: &Cluster| {
        let tls = format!("sslmode={mode} sslrootcert={}", root.authority().display());
        cluster.string_of_port("postgres", &tls)
    };
    let of_another_name = |mode| string(mode, &cluster).replace("localhost", "db.example");
    let why = refused(&of_another_name("verify-full")).await;
    assert!(why.contains("not valid for name"), "{why}");
    connect(&of_another_name("verify-ca").parse().unwrap()).await.expect("the name is not asked");
    for mode in ["require", "verify-ca", "verify-full"] {
        let why = refused(&string(mode, &stranger)).await;
        assert!(why.contains("invalid peer certificate"), "{mode}: {why}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to_in_plain_text() {
    let cluster = Cluster::listening(Listens::Plain).await;
    let why = refused(&cluster.string_of_port("postgres", "sslmode=require")).await;
    assert!(why.contains("server does not support TLS"), "{why}");
    let plain = cluster.string_of_port("postgres", "sslmode=disable");
    connect(&plain.parse().unwrap()).await.expect("plain text was asked for");
}

#[tokio::test]
async fn a_root_certificate_that_is_none_is_named() {
    let directory = empty_directory("roots").unwrap();
    let missing = directory.join("missing.pem");
    let (empty, broken) = (directory.join("empty.pem"), directory.join("broken.pem"));
    std::fs::write(&empty, "").unwrap();
    let block = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(&broken, block).unwrap();
    for path in [missing, empty, broken] {
        let text = format!("host=localhost sslmode=verify-full sslrootcert={}", path.display());
        let why = refused(&text).await;
        assert!(why.starts_with(&format!("the root certificate {}: ", path.display())), "{why}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
