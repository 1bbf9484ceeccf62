//! Nothing that comes from outside forges a line, moves the cursor or turns the text, in any format.

mod support;

use support::{scratch, thunderhead};
use thunderhead_sim::is_unprintable;

/// Line breaks, an escape, a bell, NUL, a C1 control, direction marks, a line separator.
const FORGED: &str =
    r"one\n    0.000s  9  r2  effect\u001b[2J\u0007\u0000\u009b\u202e\u2066\u2028\r";

fn script() -> String {
    format!(
        "story = \"{FORGED}\"\nsystem = \"relay\"\nrequests = [\n\
         {{ fetch = \"PUT /{FORGED}.jpg\", body = \"{FORGED}\", from = \"{FORGED}\" }},\n\
         {{ at = \"1s\", fetch = \"PUT /cat.jpg\", body = \"v\" }}]\n\
         faults = [{{ kind = \"lose_reply\", on = \"relay>r2.put {FORGED}*\" }}]\n"
    )
}

#[test]
fn no_command_prints_a_raw_character_of_a_script_or_of_its_name() {
    let folder = scratch("printed");
    let name = "a\n\u{1b}[2J\u{202e}.toml";
    std::fs::write(folder.join(name), script()).expect("the folder is ours");
    let wrong = script().replace("relay", "relai");
    std::fs::write(folder.join("wrong\n\u{7}.toml"), wrong).expect("the folder is ours");
    let mut shown = 0;
    for args in [
        &["run", name][..],
        &["run", name, "--wide"],
        &["run", name, "--variant", "writes-twice"],
        &["run", name, "--json"],
        &["trace", name],
        &["trace", name, "--wide"],
        &["trace", name, "--json"],
        &["trace", name, "--format", "jsonl"],
        &["trace", name, "--format", "mermaid"],
        &["trace", name, "--format", "html"],
        &["trace", name, "--format", "chrome"],
        &["replay", name],
        &["run", "wrong\n\u{7}.toml"],
        &["run", "missing\n\u{7}.toml"],
        &["run", name, "--variant", "\u{1b}[2J\n"],
        &["explore", "\u{1b}[2J\n"],
        &["list", "--scenarios", "."],
        &["list", "--scenarios", ".", "--json"],
        &["weather\u{1b}[2J"],
    ] {
        let done = thunderhead(&folder, args);
        for text in [&done.stdout, &done.stderr] {
            let raw = text.chars().find(|c| *c != '\n' && is_unprintable(*c));
            assert_eq!(raw, None, "{args:?}: {text:?}");
            let forged = text.lines().any(|line| line.starts_with("    0.000s  9  r2"));
            assert!(!forged, "{args:?}: {text}");
            shown += text.len();
        }
    }
    assert!(shown > 10_000, "only {shown} bytes were looked at");
}
