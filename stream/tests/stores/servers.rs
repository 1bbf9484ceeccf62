//! The server that the other tests start leaves nothing behind, or says why it cannot start.

use std::ffi::OsStr;
use std::path::PathBuf;

use thunderhead_stream::postgres::connect;

use crate::support::cluster::{Cluster, candidates, find_binaries};

#[tokio::test]
async fn a_server_is_gone_with_its_owner_even_if_the_owner_panics() {
    let cluster = Cluster::start().await;
    let directory = cluster.directory().to_owned();
    let database = cluster.create_database().await;
    connect(&cluster.config(&database)).await.expect("it answers");

    let owner = std::thread::spawn(move || {
        let _cluster = cluster;
        panic!("as a test does that fails");
    });
    owner.join().expect_err("it panicked");
    assert!(!directory.exists(), "{} is left", directory.display());
}

#[tokio::test]
async fn two_servers_do_not_disturb_each_other() {
    let (one, other) = (Cluster::start().await, Cluster::start().await);
    drop(one);
    connect(&other.config("postgres")).await.expect("it still answers");
}

#[test]
fn without_a_server_there_is_a_sentence_that_says_what_to_do() {
    let error = find_binaries(&[PathBuf::from("/nonexistent")]).unwrap_err();
    assert!(error.contains("there is none") && error.contains("Run ./setup.sh"), "{error}");
}

#[test]
fn debians_directories_are_looked_into_without_being_in_the_path() {
    let found = find_binaries(&candidates(OsStr::new("/nonexistent"))).expect("it is installed");
    assert!(found.join("initdb").is_file());
}
