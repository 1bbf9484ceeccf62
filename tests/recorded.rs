//! A failure file is what it says: whatever is changed in one, `replay` says which part does not fit.

mod support;

use std::path::{Path, PathBuf};

use support::{files, root, scratch, thunderhead};

/// A failure of the relay that a search has written.
fn failure(folder: &Path) -> PathBuf {
    let args = ["explore", "relay", "--variant", "acks-early", "--runs", "300", "--out", "found"];
    let done = thunderhead(folder, &args);
    assert_eq!(done.code, 1, "{}", done.stderr);
    files(&folder.join("found")).remove(0)
}

#[test]
fn a_failure_file_as_it_was_written_is_replayed() {
    let folder = scratch("recorded-whole");
    let file = failure(&folder);
    let done = thunderhead(&folder, &["replay", &file.display().to_string()]);
    assert_eq!(done.code, 1, "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.starts_with("BROKEN"), "{}", done.stdout);
}

#[test]
fn whatever_is_changed_is_named() {
    let folder = scratch("recorded-changed");
    let file = failure(&folder);
    let text = std::fs::read_to_string(&file).expect("it was written");
    let line = |name: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(name));
        lines.next_back().unwrap_or_else(|| panic!("no {name} in {text}")).to_string()
    };
    let other = thunderhead(root(), &["list", "--json"]).json();
    let other = other["systems"][0]["promises"].as_array().expect("a list").iter();
    let other =
        other.filter(|known| known["property"] == "always").map(|known| known["name"].as_str());
    let broken = line("promise = ");
    let other =
        other.flatten().map(|name| format!("promise = \"{name}\"")).find(|name| *name != broken);
    for (part, from, to) in [
        ("`promise`", line("promise = "), other.expect("there is another promise")),
        ("`message`", line("message = "), "message = \"it rained\"".into()),
        ("`seed`", line("seed = "), "seed = 123456".into()),
        ("`strategy`", line("strategy = "), "strategy = \"hope\"".into()),
        ("`trace`", line("trace = "), "trace = \"0123456789abcdef\"".into()),
        ("`sum`", line("sum = "), "sum = \"0123456789abcdef\"".into()),
        ("`story`", line("story = "), "story = \"Nothing happened.\"".into()),
        ("`trace`", "\"PUT /".into(), "\"PUT /other-".into()),
    ] {
        let changed = text.replacen(&from, &to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(folder.join("changed.toml"), changed).expect("the folder is ours");
        let done = thunderhead(&folder, &["replay", "changed.toml"]);
        assert_eq!(done.code, 3, "{to}: {}{}", done.stdout, done.stderr);
        assert!(done.stdout.starts_with("MISFIT"), "{to}: {}", done.stdout);
        assert!(done.stdout.contains(part), "{to}: {}", done.stdout);
        let json = thunderhead(&folder, &["replay", "changed.toml", "--json"]).json();
        assert!(json["misfits"][0].as_str().is_some_and(|said| said.contains('`')), "{json}");
    }
}

#[test]
fn a_promise_that_the_system_does_not_make_is_refused_with_its_place() {
    let folder = scratch("recorded-promise");
    let text = std::fs::read_to_string(failure(&folder)).expect("it was written");
    let promise = text.lines().find(|line| line.starts_with("promise = ")).expect("a promise");
    let changed = text.replacen(promise, "promise = \"every accepted upload stays\"", 1);
    std::fs::write(folder.join("changed.toml"), changed).expect("the folder is ours");
    let done = thunderhead(&folder, &["replay", "changed.toml"]);
    assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("relay promises no `every accepted"), "{}", done.stderr);
    assert!(done.stderr.contains("changed.toml:"), "{}", done.stderr);
}

#[test]
fn a_changed_tape_does_not_pass_for_the_recorded_one() {
    let folder = scratch("recorded-tape");
    let file = failure(&folder);
    let text = std::fs::read_to_string(&file).expect("it was written");
    let (head, rest) = text.split_once("tape = [\n").expect("it has a tape");
    let (tape, end) = rest.split_once(']').expect("the tape ends");
    let lines: Vec<&str> = tape.lines().collect();
    assert!(!lines.is_empty());
    for left_out in 0..lines.len() {
        let kept =
            lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line);
        let kept: Vec<&str> = kept.collect();
        let choices = (format!("choices = {}", lines.len()), format!("choices = {}", kept.len()));
        let end = end.replacen(&choices.0, &choices.1, 1);
        let changed = format!("{head}tape = [\n{}\n]{end}", kept.join("\n"));
        std::fs::write(folder.join("changed.toml"), changed).expect("the folder is ours");
        let done = thunderhead(&folder, &["replay", "changed.toml"]);
        assert_eq!(done.code, 3, "{}{}", done.stdout, done.stderr);
    }
}

#[test]
fn requests_of_another_system_are_refused() {
    let script = root().join("scenarios/commands-completed.toml").display().to_string();
    let folder = scratch("foreign-requests");
    let args = ["explore", "relay", "--strategy", "enumerate", "--requests", &script];
    let done = thunderhead(&folder, &args);
    assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("for commands, and relay is searched"), "{}", done.stderr);
}
