//! The edge and the node that ship, over turmoil's network: partitions, held and late packets, connections that break,
//! a server that crashes and recovers from its directory.
//!
//! `WIRE_SEEDS=10000 cargo test --release -p thunderhead-serve --test wire -- --nocapture` plays more than a plain
//! `cargo test` does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audit;
mod http;
mod kinds;
mod log;
mod person;
mod plan;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use audit::SOMETIMES;
use kinds::Kind;
use thunderhead_serve::Mistake;
use world::play;

/// How many seeds are played.
fn seeds() -> u64 {
    let asked = std::env::var("WIRE_SEEDS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(300)
}

/// Lets one test play at a time, because tasks are numbered for the whole process: see `number_tasks_alike`.
fn alone() -> MutexGuard<'static, ()> {
    static PLAYING: Mutex<()> = Mutex::new(());
    PLAYING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty folder that is this test's own, in this process: in memory, if the system has a place for that. A crash is
/// one of turmoil's, so that nothing depends on what a disk has synced.
fn folder(test: &str) -> PathBuf {
    let name = format!("thunderhead-wire-{test}-{}", std::process::id());
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
    let path = parent.join(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn storms_break_nothing_and_their_kinds_of_outcome_are_known_to_the_simulator() {
    let _alone = alone();
    let folder = folder("storms");
    let (mut wrong, mut answered) = (Vec::new(), 0);
    let (mut seen, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for seed in 0..seeds() {
        let outcome = play(&folder, seed, None);
        wrong.extend(outcome.wrong.into_iter().map(|wrong| format!("seed {seed}: {wrong}")));
        outcome.seen.into_iter().for_each(|seen_here| *seen.entry(seen_here).or_insert(0) += 1);
        outcome.kinds.into_iter().for_each(|kind| *kinds.entry(kind).or_insert(0) += 1);
        answered += outcome.answered;
    }
    println!("{} seeds, {answered} requests answered; in how many of the seeds:", seeds());
    seen.iter().for_each(|(name, count): (_, &u64)| println!("{count:>6}  {name}"));
    kinds.iter().for_each(|(kind, count): (_, &u64)| println!("{count:>6}  {kind}"));
    let missing = SOMETIMES.iter().filter(|name| !seen.contains_key(*name));
    wrong.extend(missing.map(|name| format!("in no run: {name}")));
    let put = |begun, done, answered| Kind { method: "PUT".into(), begun, done, answered };
    let usual = [put(0, 0, false), put(1, 0, false), put(1, 1, false), put(1, 1, true)];
    let missing = usual.iter().filter(|kind| !kinds.contains_key(*kind));
    wrong.extend(missing.map(|kind| format!("in no run: {kind}")));
    let simulated: BTreeSet<Kind> = (0..300).flat_map(kinds::simulated).collect();
    let unknown = kinds.keys().filter(|kind| !simulated.contains(*kind));
    wrong.extend(unknown.map(|kind| format!("the simulator has never shown: {kind}")));
    drop(std::fs::remove_dir_all(folder));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_server_that_answers_before_it_commits_is_found() {
    let _alone = alone();
    let folder = folder("early");
    let found = (0..100).find_map(|seed| {
        let outcome = play(&folder, seed, Some(Mistake::AnswersEarly));
        let lost = |wrong: &String| wrong.starts_with("PUT") && wrong.contains("was acknowledged");
        let lost = outcome.wrong.into_iter().find(lost);
        lost.map(|lost| (seed, lost))
    });
    let (seed, lost) = found.expect("it is found within 100 seeds");
    println!("seed {seed}: {lost}");
    drop(std::fs::remove_dir_all(folder));
}

#[test]
fn a_seed_gives_the_same_outcome_in_two_processes() {
    const ASKED: &str = "THUNDERHEAD_TEST_FINGERPRINT";
    const THIS: &str = "a_seed_gives_the_same_outcome_in_two_processes";
    let _alone = alone();
    let folder = folder("processes");
    let played = (0..20).map(|seed| format!("{:016x}", play(&folder, seed, None).hash));
    let own = played.collect::<Vec<String>>();
    drop(std::fs::remove_dir_all(folder));
    if std::env::var_os(ASKED).is_some() {
        println!("fingerprints {}.", own.join(" "));
        return;
    }
    let this = std::env::current_exe().unwrap();
    let run = Command::new(this).args(["--exact", THIS, "--nocapture"]).env(ASKED, "1").output();
    let text = String::from_utf8_lossy(&run.unwrap().stdout).into_owned();
    let other = text.split("fingerprints ").nth(1).and_then(|rest| rest.split('.').next());
    let other: Vec<&str> = other.unwrap_or_default().split(' ').collect();
    assert_eq!(other, own, "{text}");
}
