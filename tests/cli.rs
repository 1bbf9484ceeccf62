//! The contract of the command line: exit codes, JSON documents, the same answer every time.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{Done, files, root, scratch, thunderhead};

fn explore(folder: &Path, args: &[&str]) -> Done {
    thunderhead(folder, &[&["explore", "relay", "--json"], args].concat())
}

#[test]
fn bad_usage_exits_with_two() {
    let folder = scratch("usage");
    for args in [
        &["explore"][..],
        &["explore", "relai"],
        &["explore", "relay", "--strategy", "hope"],
        &["explore", "relay", "--jobs", "0"],
        &["explore", "relay", "--variant", "acks-late"],
        &["trace", "x.toml", "--format", "opera"],
        &["weather"],
    ] {
        let done = thunderhead(&folder, args);
        assert_eq!(done.code, 2, "{args:?}: {}", done.stderr);
        assert_eq!(done.stdout, "", "{args:?}");
    }
    let done = thunderhead(&folder, &["explore", "relai"]);
    assert!(done.stderr.contains("did you mean `relay`?"), "{}", done.stderr);
    assert!(files(&folder).is_empty());
}

#[test]
fn list_names_everything() {
    let json = thunderhead(root(), &["list", "--json"]).json();
    let relay = &json["systems"][0];
    assert_eq!(relay["name"], "relay");
    assert_eq!(relay["variants"][0]["name"], "reference");
    assert_eq!(relay["variants"][0]["expected"], "holds");
    assert!(relay["promises"].as_array().unwrap().len() > 5);
    assert_eq!(relay["promises"], relay["invariants"], "the contract has the second name");
    assert!(json["faults"].as_array().unwrap().iter().any(|fault| fault["name"] == "lose_reply"));
    assert!(json["scenarios"].as_array().unwrap().len() >= 6);
    let text = thunderhead(root(), &["list"]);
    assert_eq!(text.code, 0);
    assert!(text.stdout.contains("scenarios/late-put.toml"), "{}", text.stdout);
    assert!(!text.stdout.contains('\u{1b}'));
}

#[test]
fn list_takes_a_system_or_a_part_and_refuses_anything_else() {
    let ask = |what: &str| thunderhead(root(), &["list", what]);
    let relay = ask("relay").stdout;
    assert!(relay.starts_with("  relay: ") && relay.contains("acks-early"), "{relay}");
    assert!(!relay.contains("uploads:"), "{relay}");
    for (part, first, other) in [
        ("faults", "Faults\n  delay", "acks-early"),
        ("promises", "Promises of relay\n", "  lose_reply "),
        ("scenarios", "Scenarios\n  scenarios/", "  lose_reply "),
        ("systems", "Systems\n  relay: ", "  lose_reply "),
    ] {
        let listed = ask(part);
        assert!(listed.stdout.starts_with(first), "{part}: {}", listed.stdout);
        assert!(!listed.stdout.contains(other), "{part}: {}", listed.stdout);
    }
    let json = thunderhead(root(), &["list", "faults", "--json"]).json();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["faults"]);
    let unknown = ask("fault");
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `faults`?"), "{}", unknown.stderr);
}

#[test]
fn help_names_every_value() {
    let help = |command: &str| thunderhead(root(), &[command, "--help"]).stdout;
    let explore = help("explore");
    for name in ["relay, uploads", "acks-early", "crash_before", "lose_event", "guided"] {
        assert!(explore.contains(name), "{name}: {explore}");
    }
    assert!(help("list").contains("relay, uploads") && help("run").contains("acks-early"));
}

#[test]
fn a_mistake_is_listed_with_its_system_and_searched_like_a_variant() {
    let listed = thunderhead(root(), &["list", "relay", "--json"]).json();
    let mistakes = listed["systems"][0]["mistakes"].as_array().unwrap().clone();
    assert!(mistakes.iter().any(|mistake| mistake["name"] == "acks-failures"), "{mistakes:?}");
    let text = thunderhead(root(), &["list", "relay"]).stdout;
    assert!(text.contains("caught by: every upload has its receipt"), "{text}");
    let folder = scratch("mistake");
    let done = explore(&folder, &["--variant", "acks-failures", "--runs", "50"]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    let found = done.json()["violations"][0].clone();
    assert_eq!(found["promise"], "every upload has its receipt");
    let replayed = thunderhead(&folder, &["replay", found["file"].as_str().unwrap()]);
    assert_eq!(replayed.code, 1, "{}", replayed.stderr);
}

#[test]
fn several_failures_begin_with_a_summary() {
    let folder = scratch("summary");
    let args = ["explore", "relay", "--variant", "writes-twice", "--runs", "300"];
    let text = thunderhead(&folder, &args).stdout;
    assert!(
        text.starts_with("3 promises are broken; 2 runs break them, which are told below:\n"),
        "{text}"
    );
    let (summary, rest) = text.split_once("\n\n").unwrap();
    assert_eq!(summary.matches("thunderhead replay failures/").count(), 3, "{summary}");
    assert!(rest.starts_with("BROKEN   "), "{rest}");
}

#[test]
fn promises_that_one_run_breaks_are_told_once() {
    let folder = scratch("told-once");
    let args = ["explore", "uploads", "--variant", "row-first", "--runs", "300"];
    let text = thunderhead(&folder, &args).stdout;
    let told = text.matches("BROKEN   ").count();
    let (count, _) = text.split_once(" promises are broken; ").expect("several are");
    assert!(told < count.parse::<usize>().unwrap(), "{told} of {count} are told\n{text}");
    assert!(text.contains("\n  also   the same run breaks: "), "{text}");
}

#[test]
fn the_reference_holds_and_the_answer_does_not_depend_on_jobs_or_process() {
    let folder = scratch("jobs");
    for strategy in ["random", "pct", "guided"] {
        let ask = |jobs: &str| {
            let args = ["--runs", "300", "--seed", "5", "--strategy", strategy, "--jobs", jobs];
            let mut json = explore(&folder, &args).json();
            json["runsPerSecond"] = Value::Null;
            json
        };
        let one = ask("1");
        assert_eq!(one, ask("2"), "{strategy}");
        assert_eq!(one, ask("1"), "{strategy}");
        assert_eq!((&one["ok"], &one["runs"]), (&Value::Bool(true), &Value::from(300)), "{one}");
        assert!(one["sometimes"].as_array().unwrap().iter().all(|seen| seen["times"] != 0));
    }
    assert!(files(&folder).is_empty(), "a folder is made only when there is a failure");
}

#[test]
fn every_planted_bug_is_found_shrunk_and_written_as_a_file_that_replays() {
    let listed = thunderhead(root(), &["list", "--json"]).json();
    for variant in listed["systems"][0]["variants"].as_array().unwrap() {
        let name = variant["name"].as_str().unwrap();
        if variant["expected"] == "holds" {
            continue;
        }
        let folder = scratch(&format!("bug-{name}"));
        let done = explore(&folder, &["--variant", name, "--runs", "1000", "--out", "found"]);
        assert_eq!(done.code, 1, "{name}");
        let json = done.json();
        let violations = json["violations"].as_array().unwrap();
        assert!(violations.iter().any(|v| v["deviations"].as_u64().unwrap() <= 3), "{json}");
        for violation in violations {
            let file = violation["file"].as_str().unwrap();
            let replayed = thunderhead(&folder, &["replay", file, "--json"]);
            assert_eq!(replayed.code, 1, "{}{}", replayed.stdout, replayed.stderr);
            let replayed = replayed.json();
            assert_eq!(replayed["traceHash"], violation["traceHash"]);
            let broken = replayed["violations"].as_array().unwrap();
            assert!(broken.iter().any(|b| b["promise"] == violation["promise"]));
            assert_eq!(violation["promise"], violation["invariant"], "the contract has both");
            assert_eq!(thunderhead(&folder, &["run", file]).code, 1);
            assert_eq!(thunderhead(&folder, &["trace", file]).code, 0);
            is_kept_as_a_script(&folder, file, violation["promise"].as_str().unwrap());
        }
        assert_eq!(files(&folder.join("found")).len(), violations.len(), "no drafts are left");
    }
}

/// A failure without its tape is a script that fails until it is expected to.
fn is_kept_as_a_script(folder: &Path, file: &str, promise: &str) {
    let told = thunderhead(folder, &["replay", file, "--as-script"]);
    assert_eq!(told.code, 0, "{file}: {}", told.stderr);
    assert!(!told.stdout.contains("tape") && !told.stdout.contains("[failure]"), "{}", told.stdout);
    std::fs::write(folder.join("kept.toml"), &told.stdout).expect("the folder is ours");
    let run = thunderhead(folder, &["run", "kept.toml", "--json"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let json = run.json();
    let broken = json["violations"].as_array().expect("a list");
    assert!(broken.iter().any(|one| one["promise"] == promise), "{json}");
    // The remark above it says what to add.
    let expected = told.stdout.replace("# expect = ", "expect = ");
    std::fs::write(folder.join("kept.toml"), expected).expect("the folder is ours");
    let run = thunderhead(folder, &["run", "kept.toml"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

#[test]
fn every_strategy_finds_a_planted_bug() {
    for strategy in ["random", "pct", "enumerate", "guided"] {
        let folder = scratch(&format!("strategy-{strategy}"));
        let args = ["--variant", "loses-order", "--runs", "500", "--strategy", strategy];
        let done = explore(&folder, &args);
        assert_eq!(done.code, 1, "{strategy}: {}", done.stderr);
        let json = done.json();
        assert_eq!(json["strategy"], strategy);
        let file = json["violations"][0]["file"].as_str().unwrap();
        assert_eq!(thunderhead(&folder, &["replay", file]).code, 1, "{strategy}");
    }
}

#[test]
fn a_failure_is_told_in_five_lines_and_what_led_to_it() {
    let folder = scratch("five-lines");
    let args = ["explore", "relay", "--variant", "acks-early", "--runs", "300"];
    let done = thunderhead(&folder, &args);
    let lines: Vec<&str> = done.stdout.lines().take(6).collect();
    assert!(
        lines[0].starts_with("BROKEN   eventually every upload has its receipt: "),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("  event  "));
    assert!(lines[2].starts_with("  story  relay acks-early: 1 request, "));
    assert!(lines[3].starts_with("  from   random seed "));
    assert!(lines[4].starts_with("  replay thunderhead replay failures/relay-acks-early-"));
    assert_eq!(lines[5], "");
    assert!(done.stdout.contains("settle uploads 5e0638 acked"), "{}", done.stdout);
    assert!(done.stdout.contains("\nWithout \""), "{}", done.stdout);
    let file = lines[4].strip_prefix("  replay thunderhead replay ").unwrap();
    assert!(
        done.stdout.contains(&format!(" events: thunderhead trace {file}\n")),
        "{}",
        done.stdout
    );
    let whole = thunderhead(&folder, &["replay", file, "--history"]).stdout;
    assert!(whole.contains(" calm   the storm is over"), "{whole}");
    let written = std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(written.starts_with("# ") && written.contains("\n# Without \""), "{written}");
}

#[test]
fn every_run_with_at_most_two_crashes_is_enumerated_and_holds() {
    let folder = scratch("enumerate");
    let crashes = "crash_before,crash_after,crash";
    let args = ["--strategy", "enumerate", "--faults", crashes, "--max-crashes", "2"];
    let json = explore(&folder, &[&args[..], &["--max-deviations", "2"]].concat()).json();
    assert_eq!(
        (&json["ok"], &json["complete"]),
        (&Value::Bool(true), &Value::Bool(true)),
        "{json}"
    );
    let few = explore(&folder, &[&args[..], &["--reduced"]].concat()).json();
    assert_eq!(
        (&json["reduced"], &few["reduced"], &few["complete"]),
        (&Value::Bool(false), &Value::Bool(true), &Value::Bool(true))
    );
    let runs = |json: &Value| json["runs"].as_u64().unwrap();
    assert!(runs(&json) > 100 && runs(&json) > 3 * runs(&few), "{json} {few}");
    let cut = explore(&folder, &[&args[..], &["--runs", "50"]].concat()).json();
    assert_eq!((&cut["runs"], &cut["complete"]), (&Value::from(50), &Value::Bool(false)));
}

#[test]
fn a_fault_that_nothing_survives_is_drawn_when_it_is_asked_for() {
    let folder = scratch("storm");
    assert_eq!(explore(&folder, &["--runs", "100"]).code, 0);
    let lost = explore(&folder, &["--runs", "100", "--faults", "lose_event"]);
    assert_eq!(lost.code, 1, "{}", lost.stdout);
    assert!(lost.stdout.contains("every upload has its receipt"), "{}", lost.stdout);
    assert!(lost.stdout.contains("lose_event"), "{}", lost.stdout);
    let former = explore(&folder, &["--runs", "100", "--storm", "lose_event"]);
    assert_eq!(former.json()["traceHash"], lost.json()["traceHash"], "--storm is the former name");
}

#[test]
fn the_requests_of_a_script_are_enumerated_in_place_of_the_smallest_workload() {
    let two = root().join("scenarios/swapped-notifications.toml");
    let args = ["--strategy", "enumerate", "--faults", "crash", "--max-deviations", "1"];
    let ask = |more: &[&str]| explore(&scratch("requests"), &[&args[..], more].concat());
    let (one, two) = (ask(&[]).json(), ask(&["--requests", two.to_str().unwrap()]).json());
    assert_eq!((&one["complete"], &two["complete"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(two["runs"].as_u64() > one["runs"].as_u64(), "{one} {two}");
    assert_eq!(ask(&["--requests", "nowhere.toml"]).code, 2);
}

/// A folder with one failure file in it, and the file's text.
fn failure(name: &str) -> (std::path::PathBuf, String) {
    let folder = scratch(name);
    let args = ["--variant", "loses-order", "--runs", "300", "--out", "."];
    assert_eq!(explore(&folder, &args).code, 1);
    let file = files(&folder)
        .into_iter()
        .find(|file| file.display().to_string().contains("one-receipt-per-upload"));
    let text = std::fs::read_to_string(file.expect("it is found")).expect("it was just written");
    (folder, text)
}

#[test]
fn a_file_that_no_longer_fits_says_in_what() {
    let (folder, text) = failure("misfit");
    let trace = text.lines().find(|line| line.starts_with("trace = ")).unwrap();
    let tape = text
        .lines()
        .find(|line| line.starts_with("    \"") && line.contains(" on relay → r2.put ("))
        .unwrap();
    let longer = tape.replace('(', "(7");
    // As numbers, a line also says how many outcomes there were.
    let turn: String =
        tape.split('(').nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    let other = format!("    \"verdict relay>r2.put #{turn} = 1/98\",");
    let version = format!("thunderhead = \"{}\"", thunderhead::VERSION);
    for (from, to, said) in [
        (trace, "trace = \"0123456789abcdef\"", "the trace was 0123456789abcdef, now it is"),
        (tape, &*longer, "this turn is never reached"),
        (tape, &*other, "options, now there are 8"),
        (&*version, "thunderhead = \"0.0.9\"", "made by thunderhead 0.0.9, this is "),
        (&*version, "thunderhead = \"0.0.9\"\nmood = 1", "made by thunderhead 0.0.9, this is "),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        std::fs::write(folder.join("doctored.toml"), text.replace(from, to)).unwrap();
        let done = thunderhead(&folder, &["replay", "doctored.toml"]);
        let all = done.stdout + &done.stderr;
        assert_eq!(done.code, 3, "{to}: {all}");
        assert!(all.contains(said), "{to}: {all}");
        let json = thunderhead(&folder, &["replay", "doctored.toml", "--json"]).json();
        assert_eq!(json["ok"], false);
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let (folder, text) = failure("cut");
    let short: Vec<&str> = text.lines().filter(|line| !line.contains(" → ")).collect();
    let at = text.find("[failure]").unwrap();
    let within_the_tape = text[..at].rfind("\",").unwrap();
    for (cut, said) in [
        (short.join("\n"), "were recorded"),
        (text[..at].into(), "no [failure] table"),
        (text[..within_the_tape].into(), "not TOML"),
        (text[..text.len() - 4].into(), "not TOML"),
        (text[..text.find("strategy").unwrap()].into(), "no `strategy`"),
    ] {
        std::fs::write(folder.join("cut.toml"), &cut).unwrap();
        let done = thunderhead(&folder, &["replay", "cut.toml"]);
        assert_eq!(done.code, 2, "{}{}\n{cut}", done.stdout, done.stderr);
        assert!(done.stderr.contains(said), "expected {said}: {}", done.stderr);
    }
}

#[test]
fn nothing_is_left_behind_where_a_failure_cannot_be_written() {
    let folder = scratch("unwritable");
    std::fs::write(folder.join("taken"), "a file, not a folder").unwrap();
    let done = explore(&folder, &["--variant", "acks-early", "--runs", "300", "--out", "taken"]);
    assert_eq!(done.code, 4);
    assert!(done.stderr.contains("cannot write taken"), "{}", done.stderr);
    assert_eq!(files(&folder).len(), 1);
}

#[test]
fn a_scenario_whose_expectations_are_unmet_exits_with_one() {
    let folder = scratch("unmet");
    let head = "story = \"Nothing happens.\"\nsystem = \"relay\"\n";
    let send = "send = [{ at = \"0s\", fetch = \"PUT /cat.jpg\" }]\n";
    for (rest, said) in [
        ("expect = [\"violates one receipt per upload\"]", "expected to break: one receipt"),
        ("expect = [\"sometimes a receipt is renewed\"]", "expected to see: a receipt is renewed"),
        ("max_steps = 9", "always the application comes to rest"),
    ] {
        std::fs::write(folder.join("a.toml"), [head, send, rest].concat()).unwrap();
        let done = thunderhead(&folder, &["run", "a.toml"]);
        assert_eq!(done.code, 1, "{}{}", done.stdout, done.stderr);
        assert!(done.stdout.contains(said), "{}", done.stdout);
        let json = thunderhead(&folder, &["run", "a.toml", "--json"]).json();
        assert_eq!(json["ok"], false);
        assert!(json["traceHash"].is_string() && json["violations"].is_array());
    }
}

#[test]
fn a_script_is_told_of_every_fault_that_met_nobody() {
    let folder = scratch("idle");
    let head = "story = \"A photo is kept.\"\nsystem = \"relay\"\n\
                send = [{ at = \"0s\", fetch = \"PUT /cat.jpg\" }]\n";
    let notes = |faults: &str| {
        let script = format!("{head}faults = [{faults}]\n");
        std::fs::write(folder.join("a.toml"), script).unwrap();
        let done = thunderhead(&folder, &["run", "a.toml", "--json"]);
        let idle = done.json()["idle"].as_array().unwrap().len();
        assert_eq!(done.code, i32::from(idle > 0), "a script that does nothing tests nothing");
        let other = thunderhead(&folder, &["run", "a.toml", "--variant", "reference"]);
        assert_eq!(other.code, 0, "{}", other.stdout);
        assert!(other.stderr.contains("all that is expected of `reference`"), "{}", other.stderr);
        idle
    };
    let struck = "{ kind = \"lose_reply\", on = \"r2.put photos/*\" }";
    assert_eq!(notes(struck), 0);
    // The same kind has struck elsewhere, which is not where it was asked for.
    assert_eq!(notes(&format!("{struck}, {{ kind = \"lose_reply\", on = \"r2.list\" }}")), 1);
    let down = "{ kind = \"crash\", on = \"relay\", at = \"1s\", by = \"9s\" }";
    assert_eq!(notes(down), 0);
    assert_eq!(notes(&format!("{down}, {{ kind = \"crash\", on = \"relay\", at = \"2s\" }}")), 1);
}

#[test]
fn a_search_tells_which_calls_met_which_faults() {
    let folder = scratch("coverage");
    let args = ["--runs", "200", "--faults", "delay,lose_reply,crash_after", "--coverage"];
    let json = explore(&folder, &args).json();
    let calls = json["coverage"]["calls"].as_array().unwrap().clone();
    let put = calls.iter().find(|one| one["caller"] == "web" && one["call"] == "r2.put");
    let put = put.unwrap_or_else(|| panic!("no upload in {calls:?}"));
    let times = |fault: &str| put["faults"][fault].as_u64().unwrap();
    assert!(times("delay") > 0 && times("lose_reply") > 0 && times("crash_after") > 0, "{put}");
    assert!(times("delay") < put["calls"].as_u64().unwrap(), "{put}");
    assert_eq!(put["faults"].as_object().unwrap().len(), 3, "{put}");
    let few = explore(&folder, &["--runs", "1", "--coverage"]).json();
    assert!(!few["coverage"]["untried"].as_array().unwrap().is_empty(), "one run tries little");
    assert_eq!(explore(&folder, &["--runs", "1"]).json()["coverage"], Value::Null);
    let args = ["explore", "relay", "--runs", "1", "--coverage"];
    let text = thunderhead(&folder, &args).stdout;
    assert!(text.contains("web → r2.put") && text.contains("too few calls to tell"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

/// Every span that a trace for Perfetto begins ends, on the track on which it began and not earlier.
#[test]
fn spans_of_a_trace_for_perfetto_begin_and_end() {
    for file in ["duplicate-delivery", "crash-between-write-and-ack", "commands-plan-mark-dies"] {
        let path = format!("scenarios/{file}.toml");
        let done = thunderhead(root(), &["trace", &path, "--format", "chrome"]);
        assert_eq!(done.code, 0, "{}", done.stderr);
        let document: Value = serde_json::from_str(&done.stdout).expect("one JSON document");
        let events = document["traceEvents"].as_array().unwrap();
        let mut open = std::collections::BTreeMap::new();
        let (mut spans, mut moments) = (0, 0);
        for event in events {
            let key =
                format!("{} {} {} {}", event["pid"], event["cat"], event["id"], event["name"]);
            match event["ph"].as_str().unwrap() {
                "b" => open.entry(key).or_insert_with(Vec::new).push(event["ts"].as_u64().unwrap()),
                "e" => {
                    let began = open.get_mut(&key).and_then(Vec::pop).expect("it has begun");
                    assert!(began <= event["ts"].as_u64().unwrap(), "{event}");
                    spans += 1;
                }
                "i" => moments += 1,
                other => assert_eq!(other, "M"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "{path}: {open:?}");
        assert!(spans > 5 && moments > 5, "{path}: {spans} spans, {moments} moments");
        let history = thunderhead(root(), &["trace", &path, "--json"]).json();
        let calls =
            history["events"].as_array().unwrap().iter().filter(|one| one["kind"] == "call");
        let waits = events.iter().filter(|one| one["ph"] == "b" && one["cat"] == "waits");
        assert_eq!(waits.count(), calls.count(), "{path}");
    }
}

#[test]
fn a_history_can_be_printed_for_other_tools() {
    let file = "scenarios/duplicate-delivery.toml";
    let form = |format: &str| thunderhead(root(), &["trace", file, "--format", format]).stdout;
    assert!(form("text").contains("FAULT  duplicate on #3"));
    assert!(form("mermaid").starts_with("sequenceDiagram\n"));
    let page = form("html");
    assert!(page.starts_with("<!doctype html>\n") && page.ends_with("</html>\n"));
    assert!(!page.contains("http"), "a page needs no network");
    let events = form("jsonl");
    assert_eq!(page.matches("<li ").count(), events.lines().count());
    let json = thunderhead(root(), &["trace", file, "--json"]).json();
    assert_eq!(json["events"].as_array().unwrap().len(), events.lines().count());
}

#[test]
fn check_finds_all_as_expected() {
    let folder = scratch("check");
    let done = thunderhead(&folder, &["check", "--runs", "100", "--json", "--jobs", "2"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let json = done.json();
    assert_eq!(json["ok"], true);
    let systems = json["systems"].as_array().unwrap();
    assert_eq!(systems[0]["variant"], "reference");
    assert_eq!(systems[0]["violations"], Value::Array(Vec::new()));
    for line in systems {
        let refuted = line["expected"] == "refuted";
        assert_eq!(refuted, !line["violations"].as_array().unwrap().is_empty(), "{line}");
    }
    assert!(files(&folder).is_empty(), "expected refutations are written only when asked for");
}

#[test]
fn check_takes_some_systems_and_gives_the_same_whatever_the_jobs() {
    let folder = scratch("check-some");
    let some = ["check", "generations", "relay", "--runs", "100", "--json"];
    let done = thunderhead(&folder, &some);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let json = done.json();
    let names = json["systems"].as_array().unwrap().iter().map(|line| line["system"].as_str());
    let names: std::collections::BTreeSet<_> = names.flatten().collect();
    assert_eq!(Vec::from_iter(names), ["generations", "relay"]);
    let relay = ["check", "relay", "--runs", "400", "--json", "--jobs"];
    let by_jobs = ["1", "2"].map(|jobs| thunderhead(&folder, &[&relay[..], &[jobs]].concat()));
    assert_eq!(by_jobs[0].code, 0, "{}", by_jobs[0].stderr);
    assert_eq!(by_jobs[0].stdout, by_jobs[1].stdout);
    let text = thunderhead(&folder, &["check", "relay", "--runs", "400", "--out", "found"]);
    assert!(text.stdout.contains("thunderhead replay found/relay-acks-early-"), "{}", text.stdout);
    let too_few = thunderhead(&folder, &["check", "relay", "--runs", "1"]);
    assert_eq!(too_few.code, 1, "{}", too_few.stdout);
    let unknown = thunderhead(&folder, &["check", "relai", "--runs", "1"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stdout);
    assert!(unknown.stderr.contains("did you mean `relay`?"), "{}", unknown.stderr);
}
