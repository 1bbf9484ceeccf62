//! The Markdown files fit a page, and the files that they name exist.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

const WIDTH: usize = 120;

/// The Markdown files of the project, each with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let top = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    let docs = std::fs::read_dir(root().join("docs")).expect("a folder of the project");
    let docs = docs.map(|entry| entry.expect("readable").path());
    let pages = top.into_iter().chain(docs);
    pages.map(|path| (path.clone(), std::fs::read_to_string(path).expect("UTF-8"))).collect()
}

#[test]
fn no_line_of_prose_is_wider_than_a_page() {
    for (path, text) in pages() {
        let wide = text.lines().enumerate().find(|(_, line)| {
            // Neither a row of a table nor a link can be broken.
            let breakable = !line.starts_with('|') && line.trim().contains(' ');
            breakable && line.chars().count() > WIDTH
        });
        if let Some((index, line)) = wide {
            let count = line.chars().count();
            panic!("{}:{}: {count} columns, {WIDTH} at most", path.display(), index + 1);
        }
    }
}

#[test]
fn every_file_that_the_prose_names_exists() {
    const FOLDERS: [&str; 13] = [
        "benches/",
        "docs/",
        "examples/",
        "fuzz/",
        "model/",
        "props/",
        "scenarios/",
        "sim/",
        "src/",
        "stream/",
        "tests/",
        "typescript/",
        "workers/",
    ];
    for (path, text) in pages() {
        // Between backticks is what the odd pieces hold.
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|folder| name.starts_with(folder))
                && !name.contains("NAME")
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            assert!(
                !is_path || root().join(name).exists(),
                "{} names `{name}`, which does not exist",
                path.display()
            );
        }
    }
}
