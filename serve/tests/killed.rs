//! A server in a process of its own, loaded, killed and started again.
//!
//! More is asked for by the environment: `KILLED_CAMPAIGNS` campaigns, each on a directory of its own, of
//! `KILLED_KILLS` kills, at most `KILLED_OPERATIONS` operations between two of them, in `KILLED_FOLDER`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::Path;
use std::str::FromStr;

use support::campaign::{Campaign, Found, Power, files};
use support::client::Client;
use support::process::Server;
use thunderhead::systems;
use thunderhead_serve::{Commits, Data, Identity, Mistake};
use thunderhead_sim::{Machine, MachineConfig};

/// Every test starts processes that run the same test, and find out here that they are to serve.
fn run(test: &str, kills: usize, commits: Commits, mistake: Option<Mistake>) -> Found {
    run_with(test, kills, commits, mistake, Power::Stays)
}

fn run_with(
    test: &str,
    kills: usize,
    commits: Commits,
    mistake: Option<Mistake>,
    power: Power,
) -> Found {
    support::process::serve_if_asked();
    let operations = asked("KILLED_OPERATIONS", 25);
    let campaigns = if mistake.is_none() { asked("KILLED_CAMPAIGNS", 1) } else { 1 };
    let run = |seed| Campaign { test, kills, operations, commits, mistake, power, seed }.run();
    let mut all = run(0);
    for seed in 1..campaigns {
        let Found { acknowledged, delivered_twice, wrong } = run(seed);
        all.acknowledged += acknowledged;
        all.delivered_twice |= delivered_twice;
        all.wrong.extend(wrong.into_iter().map(|wrong| format!("campaign {seed}: {wrong}")));
    }
    println!("{campaigns} campaigns, {} operations acknowledged", all.acknowledged);
    all
}

/// How many kills a campaign without a mistake has.
fn kills() -> usize {
    asked("KILLED_KILLS", 25)
}

/// What the environment asks for, or what is usual.
fn asked<T: FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn nothing_acknowledged_is_lost_when_ticks_share_a_commit() {
    let name = "nothing_acknowledged_is_lost_when_ticks_share_a_commit";
    let found = run(name, kills(), Commits::Together, None);
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.acknowledged > 50, "only {} operations were acknowledged", found.acknowledged);
}

#[test]
fn nothing_acknowledged_is_lost_when_a_crash_can_fall_between_any_two_events() {
    let name = "nothing_acknowledged_is_lost_when_a_crash_can_fall_between_any_two_events";
    let found = run(name, kills(), Commits::EachEvent, None);
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.acknowledged > 50, "only {} operations were acknowledged", found.acknowledged);
    assert!(
        found.delivered_twice,
        "no delivery was cut off, though one server was killed in the middle of one"
    );
}

#[test]
fn nothing_acknowledged_is_lost_with_what_was_not_synced() {
    let name = "nothing_acknowledged_is_lost_with_what_was_not_synced";
    let power = Power::Fails { unsynced: None };
    let found = run_with(name, kills(), Commits::Together, None, power);
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.acknowledged > 50, "only {} operations were acknowledged", found.acknowledged);
}

#[test]
fn a_body_that_is_not_synced_is_found() {
    let name = "a_body_that_is_not_synced_is_found";
    let power = Power::Fails { unsynced: Some("/bodies/0/:/arriving/") };
    let found = run_with(name, 0, Commits::Together, None, power);
    assert!(
        found.wrong.iter().any(|wrong| wrong.contains("was acknowledged")),
        "{:?}",
        found.wrong
    );
}

#[test]
fn a_server_that_answers_before_it_commits_is_found() {
    let name = "a_server_that_answers_before_it_commits_is_found";
    let found = run(name, 0, Commits::Together, Some(Mistake::AnswersEarly));
    assert!(
        found.wrong.iter().any(|wrong| wrong.contains("was acknowledged")),
        "{:?}",
        found.wrong
    );
}

#[test]
fn a_notification_in_another_commit_than_its_put_is_found() {
    let name = "a_notification_in_another_commit_than_its_put_is_found";
    let found = run(name, 0, Commits::EachEvent, Some(Mistake::NotifiesLater));
    assert!(found.wrong.iter().any(|wrong| wrong.contains("is shown")), "{:?}", found.wrong);
}

#[test]
fn a_restart_that_counts_as_an_attempt_is_found() {
    let name = "a_restart_that_counts_as_an_attempt_is_found";
    let found = run(name, 0, Commits::EachEvent, Some(Mistake::LeaseCounts));
    assert!(
        found.wrong.iter().any(|wrong| wrong.contains("attempts are failures")),
        "{:?}",
        found.wrong
    );
}

#[test]
fn bodies_that_are_not_in_memory_are_swept_and_verified() {
    support::process::serve_if_asked();
    let name = "bodies_that_are_not_in_memory_are_swept_and_verified";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let data = folder.join("data");
    let start = || Server::start(name, &data, Commits::Together, None, None, None);
    let put = |server: &Server, method, name: &str, bytes: usize| {
        let mut client = Client::connect(server.address).unwrap();
        client.ask(method, &format!("/acme/{name}"), &vec![b'x'; bytes]).unwrap()
    };
    let server = start();
    for bytes in [70_000, 30_000, 40_000, 80_000, 20_000, 10, 90_000] {
        assert_eq!(put(&server, "PUT", "cat.jpg", bytes).0, 201);
    }
    assert_eq!(put(&server, "PUT", "dog.jpg", 70_000).0, 201);
    assert_eq!(put(&server, "PUT", "hen.jpg", 20_000).0, 201);
    assert_eq!(put(&server, "PUT", "hen.jpg", 30_000).0, 201);
    assert_eq!(put(&server, "GET", "cat.jpg", 0), (200, vec![b'x'; 90_000]));
    server.finish();
    assert_eq!(files(&data).len(), 2, "what was replaced has no file any more");
    let stray = files(&data)[0].with_file_name("3ff");
    std::fs::write(&stray, "left by a crash").unwrap();
    let server = start();
    assert!(!stray.exists());
    assert_eq!(put(&server, "DELETE", "dog.jpg", 0).0, 204);
    assert_eq!(put(&server, "GET", "cat.jpg", 0), (200, vec![b'x'; 90_000]));
    assert_eq!(put(&server, "GET", "hen.jpg", 0), (200, vec![b'x'; 30_000]), "it has no file");
    server.finish();

    let verify = || {
        let machine = |identity: &Identity| {
            let variant = systems::find(&identity.system)?.variant(&identity.variant)?.clone();
            Some(Machine::new(&MachineConfig::default(), &move |cloud| variant.mount(cloud)))
        };
        Data::verify(&data, machine).map_err(|error| error.to_string())
    };
    let report = verify().unwrap();
    assert!(report.files == 1 && report.ended > 0, "{report:?}");
    let [file] = &files(&data)[..] else { panic!("{:?}", files(&data)) };
    std::fs::write(file, vec![b'y'; 90_000]).unwrap();
    assert!(verify().unwrap_err().ends_with("has other bytes than were written"));
    std::fs::write(file, "short").unwrap();
    assert!(verify().unwrap_err().ends_with("has 5 bytes and had 90000"));
    std::fs::remove_file(file).unwrap();
    assert!(verify().unwrap_err().contains("No such file"));
    let db = rusqlite::Connection::open(data.join("cloud.db")).unwrap();
    assert_eq!(db.execute("delete from body", []).unwrap(), 1, "what was replaced is not there");
    drop(db);
    assert!(verify().unwrap_err().ends_with("hen.jpg are not there"));
}
