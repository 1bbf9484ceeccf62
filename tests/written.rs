//! What is written arrives, or the exit code says so; only a closed pipe is forgiven.

mod support;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{files, root, scratch, thunderhead};

const SCRIPT: &str =
    "story = \"A test.\"\nsystem = \"relay\"\nrequests = [{ fetch = \"PUT /cat.jpg\" }]\n";
/// A search that would take days.
const ENDLESS: [&str; 6] = ["explore", "relay", "--variant", "acks-early", "--runs", "99999999999"];

fn program(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thunderhead"));
    command.args(args).current_dir(folder);
    command
}

fn full() -> File {
    File::options().write(true).open("/dev/full").expect("Linux has a device that is full")
}

#[test]
fn an_answer_that_does_not_arrive_is_a_failure_with_a_message() {
    for args in [&["list"][..], &["list", "--json"], &["--help"], &["--version"]] {
        let done = program(root(), args).stdout(full()).output().expect("the program is there");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(4), "{args:?}: {said}");
        assert!(said.contains("could not be printed: No space left"), "{args:?}: {said}");
    }
}

#[test]
fn a_message_that_does_not_arrive_changes_no_exit_code() {
    let folder = scratch("stderr-full");
    for (args, code) in [(&["run", "missing.toml"][..], 2), (&["weather"], 2)] {
        let done = program(&folder, args).stderr(full()).output().expect("the program is there");
        assert_eq!(done.status.code(), Some(code), "{args:?}");
    }
    let both = program(root(), &["list"]).stdout(full()).stderr(full()).status();
    assert_eq!(both.expect("the program is there").code(), Some(4));
}

#[test]
fn a_closed_pipe_is_forgiven() {
    let child = program(root(), &["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program is there");
    drop(child.stdout.take());
    let done = child.wait_with_output().expect("it ends");
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]));
}

#[test]
fn a_folder_that_cannot_be_written_is_noticed_before_the_search() {
    let folder = scratch("blocked");
    std::fs::write(folder.join("file"), "").expect("the folder is ours");
    for out in ["file", "file/deeper", "/proc/nowhere"] {
        let done = thunderhead(&folder, &[&ENDLESS[..], &["--out", out]].concat());
        assert_eq!((done.code, &*done.stdout), (4, ""), "{out}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("cannot write {out}")), "{}", done.stderr);
        let done = thunderhead(&folder, &["check", "--runs", "99999999999", "--out", out]);
        assert_eq!((done.code, &*done.stdout), (4, ""), "{out}: {}", done.stderr);
    }
    assert_eq!(files(&folder).len(), 1, "nothing is left behind");
}

#[test]
fn a_search_that_is_killed_leaves_what_it_has_found() {
    let folder = scratch("killed");
    // The kernel ends the process when it has used so many seconds of a processor.
    let limited = "ulimit -t 4 && exec \"$0\" \"$@\" --jobs 1 --out found";
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_thunderhead")]).args(ENDLESS);
    let done = shell.current_dir(&folder).output().expect("a shell is there");
    assert_eq!(done.status.code(), None, "it was killed");
    let found = files(&folder.join("found"));
    assert!(!found.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    for file in found {
        let file = file.display().to_string();
        let replayed = thunderhead(&folder, &["replay", &file]);
        assert_eq!(replayed.code, 1, "{file}: {}{}", replayed.stdout, replayed.stderr);
    }
}

#[test]
fn the_drafts_of_dead_processes_are_swept_and_those_of_living_ones_stay() {
    let folder = scratch("drafts");
    // Linux gives no process a number above 4194304.
    let dead = folder.join(".thunderhead-4999999-0.draft");
    let living = folder.join(format!(".thunderhead-{}-7.draft", std::process::id()));
    for draft in [&dead, &living] {
        std::fs::write(draft, "half").expect("the folder is ours");
    }
    let args = ["explore", "relay", "--variant", "acks-early", "--runs", "300", "--out", "."];
    let done = thunderhead(&folder, &args);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(!dead.exists() && living.exists());
    let others = files(&folder).into_iter().filter(|path| *path != living);
    assert!(others.clone().count() > 0);
    assert!(others.clone().all(|path| path.extension().is_some_and(|end| end == "toml")));
    let count = done.stdout.lines().filter(|line| line.starts_with("BROKEN")).count()
        + done.stdout.matches("  also   the same run breaks: ").count();
    assert_eq!(others.count(), count, "only the smallest failures are left: {}", done.stdout);
}

#[test]
fn one_bad_script_does_not_hide_the_others() {
    let folder = scratch("bad-among-good");
    std::fs::write(folder.join("a.toml"), SCRIPT).expect("the folder is ours");
    std::fs::write(folder.join("b.toml"), "story = ").expect("the folder is ours");
    std::fs::write(folder.join("c.toml"), SCRIPT).expect("the folder is ours");
    let list =
        |more: &[&str]| thunderhead(&folder, &[&["list", "--scenarios", "."], more].concat());
    let text = list(&[]);
    assert_eq!(text.code, 2, "{}", text.stderr);
    assert!(text.stdout.contains("./a.toml") && text.stdout.contains("./c.toml"));
    assert!(text.stderr.contains("./b.toml:1:9: not TOML"), "{}", text.stderr);
    let json = list(&["--json"]).json();
    assert_eq!(json["scenarios"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["unreadable"][0]["file"], "./b.toml");
}

#[test]
fn pipes_devices_folders_and_large_files_are_refused() {
    let folder = scratch("no-files");
    let made = Command::new("mkfifo").arg(folder.join("pipe.toml")).status();
    assert!(made.expect("mkfifo is there").success());
    let large = File::create(folder.join("large.toml")).expect("the folder is ours");
    large.set_len(1 << 40).expect("a file with holes takes no room");
    for (file, said) in [
        ("pipe.toml", "a pipe or a device"),
        ("/dev/zero", "a pipe or a device"),
        (".", "a folder"),
        ("large.toml", "more than 4194304 bytes"),
    ] {
        for command in ["run", "trace", "replay"] {
            // A folder may be a Worker.
            let said = if file == "." { "no wrangler.json" } else { said };
            let done = thunderhead(&folder, &[command, file]);
            assert_eq!(done.code, 2, "{command} {file}: {}", done.stderr);
            assert!(done.stderr.contains(said), "{command} {file}: {}", done.stderr);
        }
    }
    let listed = thunderhead(&folder, &["list", "--scenarios", "."]);
    assert_eq!(listed.code, 2, "{}", listed.stderr);
}
