//! A server in a process of its own, loaded, killed and started again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use support::campaign::{Campaign, Found};
use thunderhead_serve::{Commits, Mistake};

/// Every test starts processes that run the same test, and find out here that they are to serve.
fn run(test: &str, kills: usize, commits: Commits, mistake: Option<Mistake>) -> Found {
    support::process::serve_if_asked();
    Campaign { test, kills, commits, mistake }.run()
}

#[test]
fn nothing_acknowledged_is_lost_when_ticks_share_a_commit() {
    let name = "nothing_acknowledged_is_lost_when_ticks_share_a_commit";
    let found = run(name, 25, Commits::Together, None);
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.acknowledged > 50, "only {} operations were acknowledged", found.acknowledged);
}

#[test]
fn nothing_acknowledged_is_lost_when_a_crash_can_fall_between_any_two_events() {
    let name = "nothing_acknowledged_is_lost_when_a_crash_can_fall_between_any_two_events";
    let found = run(name, 25, Commits::EachEvent, None);
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.acknowledged > 50, "only {} operations were acknowledged", found.acknowledged);
    assert!(
        found.delivered_twice,
        "no delivery was cut off, though one server was killed in the middle of one"
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
