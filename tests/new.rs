//! `thunderhead new` writes a crate that compiles, whose tests hold and in which a search finds the planted bug; and
//! `docs/your-system.md` shows that crate.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Done, files, root, run, scratch, thunderhead};

/// A folder outside the project that goes with the test.
struct Outside(PathBuf);

impl Outside {
    fn new() -> Outside {
        let folder = std::env::temp_dir().join(format!("thunderhead-new-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a place for temporary files");
        Outside(folder)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Foreign crates are compiled in the new crate as in this workspace, and so not again. Ours are not optimised: the
/// searches here are so short that it would take longer than it saves.
fn compile_as_here(outside: &Path) {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    let mut manifest: toml::Table = manifest.parse().expect("it is TOML");
    let mut dev = manifest["profile"]["dev"].as_table().expect("a profile").clone();
    let packages = dev["package"].as_table_mut().expect("some have their own");
    packages.retain(|name, _| !name.starts_with("thunderhead"));
    for ours in ["thunderhead", "thunderhead-props", "thunderhead-sim", "thunderhead-stream"] {
        packages.insert(ours.into(), toml::toml! { opt-level = 0 }.into());
    }
    manifest.retain(|key, _| key == "profile");
    manifest["profile"] = toml::Table::from_iter([("dev".to_string(), dev.into())]).into();
    std::fs::create_dir(outside.join(".cargo")).expect("a folder");
    std::fs::write(outside.join(".cargo/config.toml"), manifest.to_string()).expect("a file");
}

/// Runs cargo in a folder without a network, with the target folder of this test: what both need is compiled once.
fn cargo(folder: &Path, args: &[&str]) -> Done {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in a folder");
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_OFFLINE", "true")
        .env("INSTA_UPDATE", "no")
        .output()
        .expect("cargo is there");
    Done {
        code: output.status.code().expect("it ended by itself"),
        stdout: String::from_utf8_lossy(&output.stdout).into(),
        stderr: String::from_utf8_lossy(&output.stderr).into(),
    }
}

/// The pieces of the page with their fence's words: `rust src/lib.rs` is a piece of that file.
fn pieces(page: &str) -> Vec<(&str, &str)> {
    let fences: Vec<&str> = page.split("```").collect();
    let inside = fences.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.split_once('\n')).collect()
}

#[test]
fn a_new_crate_outside_the_project_is_tested_and_its_planted_bug_is_found() {
    let outside = Outside::new();
    compile_as_here(&outside.0);
    let page = std::fs::read_to_string(root().join("docs/your-system.md")).expect("a page");
    let pieces = pieces(&page);
    let commands = pieces.iter().find(|(words, _)| *words == "sh").expect("the commands").1;
    let told = ["thunderhead new demo", "cd demo", "cargo test", "cargo run -- explore demo"];
    assert_eq!(commands.lines().collect::<Vec<_>>(), told, "what is done here is what is told");

    let written = thunderhead(&outside.0, &["new", "demo"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let demo = outside.0.join("demo");
    let tested = cargo(&demo, &["test"]);
    assert_eq!(tested.code, 0, "{}{}", tested.stdout, tested.stderr);
    assert!(tested.stdout.contains("the_fixed_one_keeps_every_promise_in_every_storm ... ok"));
    let explored = cargo(&demo, &["run", "--", "explore", "demo"]);
    assert_eq!(explored.code, 1, "{}{}", explored.stdout, explored.stderr);
    assert!(explored.stdout.contains("always no order is booked twice"), "{}", explored.stdout);

    for (words, text) in pieces {
        match words.split_once(' ') {
            Some((_, file)) => {
                let whole = std::fs::read_to_string(demo.join(file)).expect("a file of the crate");
                assert!(whole.contains(text), "{file} does not have\n{text}");
            }
            None if words == "text" => {
                assert!(
                    explored.stdout.contains(text),
                    "the page has\n{text}\n{}",
                    explored.stdout
                );
            }
            None => assert_eq!(words, "sh", "a piece that nobody runs"),
        }
    }
    let failure = files(&demo.join("failures")).pop().expect("the failure is written");
    let failure = failure.strip_prefix(&demo).expect("it is there").display().to_string();
    let replayed = cargo(&demo, &["run", "--", "replay", &failure]);
    assert_eq!(replayed.code, 1, "{}{}", replayed.stdout, replayed.stderr);
    let page = cargo(&demo, &["run", "--", "trace", &failure, "--format", "html"]);
    assert!(page.stdout.starts_with("<!doctype html>"), "{}{}", page.stdout, page.stderr);
    let fixed = cargo(&demo, &["run", "--", "explore", "demo", "--variant", "fixed"]);
    assert_eq!(fixed.code, 0, "{}{}", fixed.stdout, fixed.stderr);
    // This program was built without its server, and the one of the other tests with it.
    for command in [&["serve", "demo"][..], &["serve", "--verify", "data"], &["judge", "data"]] {
        let refused = cargo(&demo, &[&["run", "--"], command].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
        let advice = format!("--features serve -- {}. In a crate of your own", command.join(" "));
        assert!(refused.stderr.contains(&advice), "{}", refused.stderr);
    }
    assert!(!demo.join("data").exists(), "nothing was written");
}

#[test]
fn a_name_that_cannot_be_a_crate_and_a_folder_that_exists_are_refused() {
    let folder = scratch("new-refused");
    let program = env!("CARGO_BIN_EXE_thunderhead");
    for (name, why) in [
        ("Demo", "small letters"),
        ("2fast", "beginning with a letter"),
        ("a/b", "small letters"),
        ("..", "small letters"),
        ("", "small letters"),
        ("match", "taken by the language"),
        ("thunderhead", "taken by the language"),
        (&"long".repeat(11), "more than 40"),
    ] {
        let done = run(program, &folder, &["new", "--", name]);
        assert_eq!(done.code, 2, "{name}: {}", done.stdout);
        assert!(done.stderr.contains(why), "{name}: {}", done.stderr);
    }
    std::fs::create_dir(folder.join("taken")).expect("the folder is ours");
    let taken = thunderhead(&folder, &["new", "taken"]);
    assert_eq!(taken.code, 2);
    assert!(taken.stderr.contains("exists already"), "{}", taken.stderr);
    let nowhere = thunderhead(&folder, &["new", "demo", "--path", "nowhere"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.stderr.contains("--path"), "{}", nowhere.stderr);
    assert_eq!(files(&folder).len(), 1, "nothing is left behind");
}
