//! `thunderhead classify` and `thunderhead model` run the program `thunderhead-model`; here a script
//! stands in for it.
#![cfg(unix)]

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use support::scratch;

/// Says what it was given, copies its input, complains and ends with 7.
const STAND_IN: &str = "#!/bin/sh
for argument; do printf '<%s>' \"$argument\"; done
cat
echo complaint >&2
exit 7
";

/// A folder that holds a copy of `thunderhead`, and nothing else unless a test adds it.
fn folder_with_thunderhead(name: &str) -> PathBuf {
    let folder = scratch(name);
    fs::copy(env!("CARGO_BIN_EXE_thunderhead"), folder.join("thunderhead")).expect("copied");
    folder
}

fn add_stand_in(folder: &Path) {
    let program = folder.join("thunderhead-model");
    fs::write(&program, STAND_IN).expect("written");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("made executable");
}

/// Runs the copy with "input" on standard input: its exit code, standard output and standard error.
fn run(folder: &Path, path: &str, args: &[&str]) -> (i32, String, String) {
    let mut child = Command::new(folder.join("thunderhead"))
        .args(args)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    // A program that ends without reading its input closes the pipe.
    let _ = child.stdin.take().expect("it is piped").write_all(b"input");
    let output = child.wait_with_output().expect("ended");
    let text = |bytes| String::from_utf8(bytes).expect("it speaks UTF-8");
    let code = output.status.code().expect("it ended by itself");
    (code, text(output.stdout), text(output.stderr))
}

/// Keeps the tests of this file apart. A program that one of them has just written cannot be started while a
/// process that another has just forked still holds it open for writing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn arguments_streams_and_exit_code_pass_through() {
    let _alone = alone();
    let folder = folder_with_thunderhead("inference-beside");
    add_stand_in(&folder);
    for (args, passed_on) in [
        (&["classify", "a.png", "--top", "3"][..], "<classify><a.png><--top><3>"),
        (&["classify", "--json", "--", "-b.png"], "<classify><--json><--><-b.png>"),
        (&["--json", "classify", "model"], "<--json><classify><model>"),
        (&["classify", "--help"], "<classify><--help>"),
        (&["classify"], "<classify>"),
        (&["model", "fetch", "--from", "model"], "<fetch><--from><model>"),
        (&["--json", "model", "info"], "<--json><info>"),
        (&["model", "--help"], "<--help>"),
        (&["model"], ""),
    ] {
        let done = run(&folder, "/usr/bin:/bin", args);
        assert_eq!(done, (7, format!("{passed_on}input"), "complaint\n".into()), "{args:?}");
    }
}

#[test]
fn a_run_with_a_model_or_a_picture_passes_through_and_others_do_not() {
    let _alone = alone();
    let folder = folder_with_thunderhead("inference-runs");
    add_stand_in(&folder);
    let script = |name: &str, system: &str, extra: &str, body: &str| {
        let request = format!("{{ fetch = \"PUT /acme/a?as=ann@acme\", body = {body} }}");
        let head = format!("story = \"A test.\"\nsystem = \"{system}\"\n{extra}");
        let text = format!("{head}requests = [{request}]\n");
        let path = folder.join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let plain = script("plain", "uploads", "", "\"one\"");
    let picture = script("model", "uploads", "", "{ picture = \"clock\" }");
    let real = script("real", "uploads", "model = \"resnet50=bf16\"\n", "\"one\"");
    let out = folder.join("out").display().to_string();
    for args in [
        &["explore", "uploads", "--model", "resnet50"][..],
        &["--json", "check", "--model", "resnet50=stock"],
        &["run", &picture],
        &["trace", &real, "--wide"],
        &["explore", "uploads", "--requests", &picture, "--out", &out],
        &["run", &plain, "--model=resnet50=f32"],
    ] {
        let passed_on: String = args.iter().map(|argument| format!("<{argument}>")).collect();
        let done = run(&folder, "/usr/bin:/bin", args);
        assert_eq!(done, (7, format!("{passed_on}input"), "complaint\n".into()), "{args:?}");
    }
    for args in [&["run", &plain][..], &["run", &plain, "--model", "stand-in"]] {
        let (code, stdout, stderr) = run(&folder, "/usr/bin:/bin", args);
        assert_eq!((code, stderr.as_str()), (0, ""), "{args:?}");
        assert!(stdout.starts_with("ok  A test."), "{stdout}");
    }
    let (code, _, stderr) =
        run(&folder, "/usr/bin:/bin", &["explore", "uploads", "--model", "resnet"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("did you mean `resnet50`?"), "{stderr}");
}

#[test]
fn a_program_on_the_path_will_do() {
    let _alone = alone();
    let folder = folder_with_thunderhead("inference-on-path");
    let bin = folder.join("bin");
    fs::create_dir(&bin).expect("created");
    add_stand_in(&bin);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let (code, stdout, _) = run(&folder, &path, &["classify", "a.png"]);
    assert_eq!((code, stdout.as_str()), (7, "<classify><a.png>input"));
}

#[test]
fn a_missing_program_is_told_with_the_command_that_builds_it() {
    let _alone = alone();
    let folder = folder_with_thunderhead("inference-missing");
    let (code, stdout, stderr) = run(&folder, "/nowhere", &["classify", "a.png"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("`cargo build --release -p thunderhead-model`"), "{stderr}");
    // Where cargo puts what it does not optimise, it puts the other program as well.
    let debug = folder.join("debug");
    fs::create_dir(&debug).expect("created");
    fs::copy(env!("CARGO_BIN_EXE_thunderhead"), debug.join("thunderhead")).expect("copied");
    let (_, _, stderr) = run(&debug, "/nowhere", &["classify", "a.png"]);
    assert!(stderr.contains("`cargo build -p thunderhead-model`"), "{stderr}");
    for args in [&["--json", "model", "info"][..], &["classify", "a.png", "--json"]] {
        let (code, stdout, _) = run(&folder, "/nowhere", args);
        assert_eq!(code, 2, "{args:?}");
        let document: serde_json::Value = serde_json::from_str(&stdout).expect("one document");
        assert!(document["error"].as_str().unwrap().contains("thunderhead-model"), "{document}");
    }
}

#[test]
fn the_help_names_both_commands() {
    let _alone = alone();
    let folder = folder_with_thunderhead("inference-help");
    let (code, stdout, _) = run(&folder, "/nowhere", &["--help"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("  classify") && stdout.contains("  model"), "{stdout}");
}
