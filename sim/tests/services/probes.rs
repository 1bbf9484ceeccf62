//! The recorded answers of the real runtime, and where each is compared with ours: every row in JavaScript by
//! `workers/tests/host`, and those that have a test of their name also in Rust. `docs/platform.md` counts them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// `blockConcurrencyWhile_throw_resets` as tests are called.
fn snake_case(probe: &str) -> String {
    let mut name = String::new();
    for letter in probe.chars() {
        if letter.is_ascii_uppercase() && name.ends_with(|last: char| last.is_ascii_lowercase()) {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The names of all tests below a folder.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, found);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let functions = text.split("#[test]\n").skip(1).filter_map(|rest| {
                let line = rest.lines().find(|line| line.starts_with("fn "))?;
                Some(line[3..].split('(').next()?.to_string())
            });
            found.extend(functions);
        }
    }
}

#[test]
fn the_table_of_probes_counts_the_rows_and_the_tests_that_are_named_after_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    tests(root, &mut named);
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for (file, suffix) in [("observed.jsonl", ""), ("observed2.jsonl", ", second series")] {
        let rows = fs::read_to_string(root.join("../../workers/tests/probes").join(file)).unwrap();
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let name = snake_case(row["probe"].as_str().unwrap());
            let component = row["component"].as_str().unwrap();
            let (rows, tested) = counts.entry(format!("{component}{suffix}")).or_default();
            *rows += 1;
            // A probe may be two tests, whose names begin with its own.
            *tested += u32::from(
                named.iter().any(|test| *test == name || test.starts_with(&format!("{name}_"))),
            );
        }
    }
    let page = fs::read_to_string(root.join("../../docs/platform.md")).unwrap();
    let expected =
        counts.iter().map(|(part, (rows, tested))| format!("| {part} | {rows} | {tested} |"));
    let missing: Vec<String> = expected.filter(|line| !page.contains(line)).collect();
    assert!(missing.is_empty(), "docs/platform.md should say:\n{}", missing.join("\n"));
}
