//! What surrounds a process changes nothing in a run: folder, time zone, language, environment, stack, threads.

mod support;

use std::process::Command;

use serde_json::Value;
use support::{root, scratch, thunderhead};

/// What is changed, and the command that changes it: `$0` is the program and `$@` are its arguments.
const SURROUNDINGS: [(&str, &str); 9] = [
    ("another folder", "cd / && exec \"$0\" \"$@\""),
    ("another time zone", "TZ=Asia/Kathmandu exec \"$0\" \"$@\""),
    ("an unknown time zone", "TZ=:/nowhere exec \"$0\" \"$@\""),
    ("another language", "LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 LANGUAGE=tr exec \"$0\" \"$@\""),
    ("no environment", "exec env -i \"$0\" \"$@\""),
    (
        "a large environment",
        "RUST_LOG=trace RUST_BACKTRACE=full A=$(printf '%09999d' 7) exec \"$0\" \"$@\"",
    ),
    ("a small stack", "ulimit -s 512 && exec \"$0\" \"$@\""),
    ("a large stack", "ulimit -s $(ulimit -H -s) && exec \"$0\" \"$@\""),
    ("three threads", "exec \"$0\" \"$@\" --jobs 3"),
];

/// What 20 seeds of a system give, but for the speed.
fn explored(system: &str, surroundings: &str) -> Value {
    let folder = scratch(&format!("surroundings-{system}"));
    let out = folder.join("out").display().to_string();
    let mut args = vec!["explore", system, "--runs", "20", "--seed", "40", "--json", "--out", &out];
    if !surroundings.contains("--jobs") {
        args.extend(["--jobs", "1"]);
    }
    let done = Command::new("sh")
        .args(["-c", surroundings, env!("CARGO_BIN_EXE_thunderhead")])
        .args(args)
        .current_dir(&folder)
        .output()
        .expect("a shell is there");
    let text = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    let mut json: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{surroundings}: {error}\n{text}{said}"));
    assert!(json["traceHash"].is_string(), "{json}");
    json["runsPerSecond"] = Value::Null;
    json
}

#[test]
fn twenty_seeds_of_every_system_are_the_same_in_other_surroundings() {
    let list = thunderhead(root(), &["list", "--json"]).json();
    let systems = list["systems"].as_array().expect("a list of systems");
    assert!(systems.len() >= 5, "{list}");
    for system in systems {
        let name = system["name"].as_str().expect("a system has a name");
        let usual = explored(name, "exec \"$0\" \"$@\"");
        for (what, surroundings) in SURROUNDINGS {
            assert_eq!(explored(name, surroundings), usual, "{name} with {what}");
        }
    }
}
