//! What the pages about the platform say of the simulation is shown by tests that exist, row by row.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SHOWN_BY: &str = "Shown by";
/// Stands in place of names where nothing is to be shown.
const NOTHING: &str = "–";

/// The cells of a row of a table. A bar separates them, also within backticks, unless it is escaped.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for letter in row.strip_prefix('|').unwrap_or(row).chars() {
        match letter {
            '|' if !escaped => cells.push(String::new()),
            letter => cells.last_mut().expect("there is a first cell").push(letter),
        }
        escaped = letter == '\\' && !escaped;
    }
    // What is behind the last bar is no cell.
    cells.pop();
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// The tests that a cell names, if it is a list of names in backticks.
fn names(cell: &str) -> Option<Vec<&str>> {
    if cell == NOTHING {
        return Some(Vec::new());
    }
    let word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let quoted = cell.split(", ").map(|name| name.strip_prefix('`')?.strip_suffix('`'));
    quoted.map(|name| name.filter(|name| !name.is_empty() && name.chars().all(word))).collect()
}

/// Adds the names of all tests below a folder. Those in `proptest!` have the same attribute.
fn add_tests(folder: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let entry = entry.expect("readable");
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().expect("readable").is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                add_tests(&path, tests);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("UTF-8");
            tests.extend(text.split("#[test]\n").skip(1).filter_map(|rest| {
                let line = rest.lines().find_map(|line| line.trim_start().strip_prefix("fn "))?;
                Some(line.split_once('(')?.0.to_string())
            }));
        }
    }
}

/// What is wrong with a page, each with the number of its line.
fn mistakes(page: &str, tests: &BTreeSet<String>) -> Vec<(usize, String)> {
    let mut mistakes = Vec::new();
    // The header of the table that is being read.
    let mut table: Option<Vec<String>> = None;
    for (line, row) in (1..).zip(page.lines()) {
        if !row.starts_with('|') {
            table = None;
            continue;
        }
        let cells = cells(row);
        let Some(header) = &table else {
            let shown = cells.last().is_some_and(|last| last == SHOWN_BY);
            if !shown && cells.iter().any(|cell| cell == "Here") {
                mistakes.push((line, format!("a table with `Here` does not end in `{SHOWN_BY}`")));
            }
            table = Some(cells);
            continue;
        };
        let is_rule = cells.iter().all(|cell| cell.chars().all(|c| c == '-' || c == ':'));
        if is_rule || header.last().is_none_or(|last| last != SHOWN_BY) {
            continue;
        }
        if cells.len() != header.len() {
            let (here, there) = (cells.len(), header.len());
            mistakes.push((line, format!("{here} cells, and {there} in the header")));
            continue;
        }
        let Some(names) = names(&cells[cells.len() - 1]) else {
            mistakes.push((line, format!("neither names in backticks nor `{NOTHING}`")));
            continue;
        };
        let missing = names.into_iter().filter(|name| !tests.contains(*name));
        mistakes.extend(missing.map(|name| (line, format!("there is no test `{name}`"))));
    }
    mistakes
}

#[test]
fn every_row_about_the_platform_names_tests_that_exist() {
    let mut tests = BTreeSet::new();
    add_tests(Path::new(ROOT), &mut tests);
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).expect("a folder of the project");
    let mut pages: Vec<PathBuf> = docs.map(|entry| entry.expect("readable").path()).collect();
    pages.retain(|page| page.to_string_lossy().contains("docs/platform"));
    pages.sort_unstable();
    let mistakes = pages.iter().flat_map(|page| {
        let text = fs::read_to_string(page).expect("UTF-8");
        let told =
            |(line, mistake): (usize, String)| format!("{}:{line}: {mistake}", page.display());
        mistakes(&text, &tests).into_iter().map(told).collect::<Vec<String>>()
    });
    let mistakes: Vec<String> = mistakes.collect();
    assert!(mistakes.is_empty() && pages.len() > 8, "\n{}", mistakes.join("\n"));
}

#[test]
fn a_bar_separates_cells_unless_it_is_escaped() {
    assert_eq!(cells(r"| a | `b \| c` |  |"), ["a", r"`b \| c`", ""]);
    assert_eq!(cells("| | `b | c` |"), ["", "`b", "c`"]);
}
