//! Ctrl-C during a search: it ends, and tells what it has found.

#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use support::scratch;

fn start(folder: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_thunderhead"))
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there")
}

/// Waits for something that the search writes as it goes on, and then interrupts it.
fn interrupted(mut child: Child, written: impl Fn() -> bool) -> Output {
    while !written() {
        let ended = child.try_wait().expect("it is our child");
        assert!(ended.is_none(), "it ended by itself: {ended:?}");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().expect("`kill` is everywhere");
    assert!(sent.success());
    child.wait_with_output().expect("it ends")
}

#[test]
fn an_interrupted_search_tells_how_far_it_came_and_can_be_taken_up() {
    let folder = scratch("interrupt");
    let args = ["explore", "relay", "--runs", "100000000", "--resume", "log.json", "--json"];
    let output = interrupted(start(&folder, &args), || folder.join("log.json").exists());
    assert_eq!(output.status.code(), Some(130), "nothing is broken");
    let json: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!((&json["ok"], &json["interrupted"]), (&false.into(), &true.into()));
    let said = String::from_utf8(output.stderr).unwrap();
    let runs = &json["runs"];
    let how_far =
        format!("interrupted after {runs} of 100000000 runs: the same command takes it up");
    assert!(said.contains(&how_far), "{said}");
    let log = std::fs::read_to_string(folder.join("log.json")).unwrap();
    let log: Value = serde_json::from_str(&log).expect("it was written whole");
    assert_eq!(&log["found"]["runs"], runs, "the next search goes on from there");
}

#[test]
fn what_an_interrupted_search_has_found_is_written_and_told() {
    let folder = scratch("interrupt-broken");
    let args = ["explore", "relay", "--variant", "acks-early", "--runs", "100000000"];
    let output = interrupted(start(&folder, &args), || folder.join("failures").exists());
    assert_eq!(output.status.code(), Some(1), "a promise is broken");
    let (text, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.contains("BROKEN") && text.contains("replay failures/"), "{text}");
    assert!(said.contains("interrupted after ") && said.contains("`--seed "), "{said}");
}

#[test]
fn an_interrupted_check_tells_which_variants_it_has_searched() {
    let folder = scratch("interrupt-check");
    let args = ["check", "relay", "--runs", "100000000", "--out", "found"];
    // The folder is there before the search begins; a failure in it is one that the table has.
    let is_script = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let found = || {
        let entries = std::fs::read_dir(folder.join("found")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| is_script(&path))
    };
    let output = interrupted(start(&folder, &args), found);
    assert_eq!(output.status.code(), Some(130));
    let (text, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.contains("refuted") && !text.contains("what must hold holds"), "{text}");
    assert!(said.contains("interrupted after ") && said.contains(" variants: "), "{said}");
}
