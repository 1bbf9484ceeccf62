//! Searches that are kept in a file: taken up, shared out and merged.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{files, scratch, thunderhead};

const SEARCH: [&str; 8] =
    ["explore", "relay", "--variant", "acks-early", "--runs", "1100", "--json", "--resume"];

/// What a command answers, without how fast it was.
fn answer(folder: &Path, args: &[&str]) -> Value {
    let done = thunderhead(folder, args);
    assert_eq!(done.code, 1, "{args:?}: {}", done.stderr);
    let mut json = done.json();
    json["runsPerSecond"] = Value::Null;
    json
}

fn kept(folder: &Path, file: &str, more: &[&str]) -> Value {
    answer(folder, &[&SEARCH[..], &[file], more].concat())
}

#[test]
fn the_shards_of_a_search_merge_into_the_report_of_the_whole() {
    let folder = scratch("shards");
    let whole = answer(&folder, &SEARCH[..7]);
    let failures = files(&folder.join("failures"));
    assert!(!failures.is_empty(), "there is something to compare");
    for shard in ["1/3", "2/3", "3/3"] {
        let file = format!("{}.json", &shard[..1]);
        let part = kept(&folder, &file, &["--shard", shard, "--out", "parts", "--jobs", "2"]);
        assert!(part["runs"].as_u64().unwrap() < 1_100, "{shard}");
    }
    std::fs::remove_dir_all(folder.join("failures")).unwrap();
    let merged = answer(&folder, &["merge", "3.json", "1.json", "2.json", "--json"]);
    assert_eq!(merged, whole);
    assert_eq!(files(&folder.join("failures")), failures);
    let text = thunderhead(&folder, &["merge", "1.json", "2.json", "3.json"]);
    assert_eq!(text.stderr, "", "every shard was finished");
    assert!(text.stdout.contains("broken in 1100 runs (random)"), "{}", text.stdout);
}

#[test]
fn a_search_that_was_finished_is_told_again_and_not_played_again() {
    let folder = scratch("told-again");
    let first = kept(&folder, "campaign.json", &[]);
    let file = folder.join("campaign.json");
    let (before, kept_before) = (std::fs::read_to_string(&file).unwrap(), files(&folder));
    assert_eq!(kept(&folder, "campaign.json", &[]), first);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert_eq!(files(&folder), kept_before, "no draft is left");
    assert_eq!(answer(&folder, &["merge", "campaign.json", "--json"]), first, "it is one shard");
}

#[test]
fn files_that_do_not_belong_together_are_refused_with_what_differs() {
    let folder = scratch("refused-campaigns");
    let refused = |code: u8, args: &[&str], why: &str| {
        let done = thunderhead(&folder, args);
        assert_eq!((done.code, &*done.stdout), (code.into(), ""), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{args:?}: {}", done.stderr);
    };
    kept(&folder, "half.json", &["--shard", "1/2"]);
    let other =
        [&SEARCH[..6], &["--seed", "9", "--resume", "half.json", "--shard", "1/2"]].concat();
    refused(3, &other, "its seed is 0, and 9 is asked for");
    let second = [&SEARCH[..6], &["--resume", "half.json", "--shard", "2/2"]].concat();
    refused(3, &second, "its shard is \"1/2\", and \"2/2\" is asked for");
    refused(2, &["merge", "half.json"], "there is no file of shard 2/2");
    refused(3, &["merge", "half.json", "half.json"], "each shard is given once");
    refused(2, &["merge", "nowhere.json"], "nowhere.json");
    refused(2, &["merge"], "FILES");
    std::fs::write(folder.join("text.json"), "{}").unwrap();
    refused(2, &["merge", "text.json"], "it is no campaign file");
    let guided = ["explore", "relay", "--strategy", "guided", "--resume", "new.json"];
    refused(2, &guided, "random, pct and weather can");
    refused(2, &["explore", "relay", "--shard", "1/2"], "--resume");
    refused(2, &["explore", "relay", "--shard", "3/2", "--resume", "new.json"], "like 2/4");
    refused(4, &["explore", "relay", "--resume", "/proc/nowhere/new.json"], "/proc/nowhere");
    let text = std::fs::read_to_string(folder.join("half.json")).unwrap();
    std::fs::write(folder.join("half.json"), text.replace("\"first\": \"", "\"first\": \"0"))
        .unwrap();
    refused(2, &["merge", "half.json"], "it is no campaign file");
    let of_billions = text.replace("\"1/2\"", "\"1/4294967295\"");
    std::fs::write(folder.join("billions.json"), of_billions).unwrap();
    refused(2, &["merge", "billions.json"], "there is no file of shard 2/4294967295");
    assert!(!folder.join("new.json").exists());
}

#[test]
fn a_file_of_other_code_is_not_gone_on_from() {
    let folder = scratch("changed-code");
    kept(&folder, "old.json", &[]);
    let text = std::fs::read_to_string(folder.join("old.json")).unwrap();
    let mut campaign: Value = serde_json::from_str(&text).unwrap();
    campaign["found"]["first"] = "00000000000000ff".into();
    std::fs::write(folder.join("old.json"), campaign.to_string()).unwrap();
    for args in [&["merge", "old.json"][..], &[&SEARCH[..], &["old.json"]].concat()] {
        let done = thunderhead(&folder, args);
        assert_eq!(done.code, 3, "{}", done.stderr);
        let said = done.stderr + &done.stdout;
        assert!(said.contains("the system has changed since"), "{said}");
    }
}
