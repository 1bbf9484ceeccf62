//! The layers of `sim/src`: imports only go down, and no knot of files grows large.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The layers from the bottom to the top. Those at the top do not import each other.
const LAYERS: [(&str, u8); 10] = [
    ("values", 0),
    ("services", 1),
    ("protocol", 2),
    ("choices", 3),
    ("scenario", 4),
    ("engine", 5),
    ("bindings", 6),
    ("search", 7),
    ("simulate", 7),
    ("live", 7),
];

/// The most files that may import each other in a circle.
const LARGEST_CYCLE: usize = 6;

#[test]
fn the_simulator_imports_downwards_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let mut files = Vec::new();
    read(&root, &root, &mut files);
    assert!(files.len() > 100, "only {} files were read", files.len());
    assert_eq!(violations(&files).join("\n"), "");
}

#[test]
fn a_doctored_tree_is_rejected_with_file_line_and_both_layers() {
    let check = |files: &[(&str, &str)], expected: &str| {
        let owned = |(path, text): &(&str, &str)| (path.to_string(), text.to_string());
        assert_eq!(violations(&files.iter().map(owned).collect::<Vec<_>>()).join("\n"), expected);
    };
    check(&[("engine/run.rs", "//! Runs.\n\nuse crate::values::{body::Body, time::Time};\n")], "");
    check(
        &[("values/time.rs", "//! Time.\n\nuse crate::engine::run::Run;\n")],
        "values/time.rs:3: layer `values` imports layer `engine` (`crate::engine::run::Run`)",
    );
    check(
        &[("services/r2.rs", "fn late() {\n    crate::protocol::op::late()\n}\n")],
        "services/r2.rs:2: layer `services` imports layer `protocol` (`crate::protocol::op::late`)",
    );
    check(
        &[("engine/run.rs", "use crate::Time;\n")],
        "engine/run.rs:1: `crate::Time` goes through the root of the crate; name its module",
    );
    check(
        &[("engine.rs", "pub(crate) use crate::values::time::Time;\n")],
        "engine.rs:1: layer `engine` re-exports layer `values`; only lib.rs may do that",
    );
    check(
        &[
            ("services/queue/store.rs", "use crate::services::r2::bucket::Bucket;\n"),
            ("services/r2/bucket.rs", "use crate::services::queue::store::Store;\n"),
        ],
        "folders import each other in a circle: services/queue, services/r2",
    );
    let knot: Vec<_> = (0..7).map(|file| format!("use super::f{};\n", (file + 1) % 7)).collect();
    let names: Vec<_> = (0..7).map(|file| format!("engine/f{file}.rs")).collect();
    let knot: Vec<_> = names.iter().zip(&knot).map(|(name, text)| (&**name, &**text)).collect();
    let expected = format!("7 files import each other in a circle: {}", names.join(", "));
    check(&knot, &expected);
    check(&knot[..6], "");
}

/// Everything that is wrong with the files of a crate, given as path below `src` and text.
fn violations(files: &[(String, String)]) -> Vec<String> {
    let modules: BTreeSet<String> = files.iter().map(|(path, _)| module(path)).collect();
    let imports = files.iter().flat_map(|(path, text)| imports(path, text, &modules));
    let imports: Vec<Import> = imports.collect();
    // A facade such as services/r2.rs re-exports what its files define.
    // An import of such a name is an import of the defining file.
    let mut facades = BTreeMap::new();
    for import in &imports {
        let (target, name) = import.path.rsplit_once("::").unwrap_or(("", &import.path));
        facades.insert(format!("{}::{name}", module(import.file)), target.to_string());
    }
    let mut wrong = Vec::new();
    let mut edges = BTreeSet::new();
    for import in imports.iter().filter(|import| import.file != "lib.rs") {
        let Import { file, line, path, public } = import;
        let (from, to) = (layer(&module(file)), layer(path));
        let Some((to, to_rank)) = to else {
            wrong.push(format!(
                "{file}:{line}: `crate::{path}` goes through the root of the crate; name its module"
            ));
            continue;
        };
        let (from, from_rank) = from.unwrap_or_else(|| panic!("{file} belongs to no layer"));
        if from != to && to_rank >= from_rank {
            wrong.push(format!(
                "{file}:{line}: layer `{from}` imports layer `{to}` (`crate::{path}`)"
            ));
        } else if from != to && *public {
            wrong.push(format!(
                "{file}:{line}: layer `{from}` re-exports layer `{to}`; only lib.rs may do that"
            ));
        } else if !public {
            edges.insert((module(file), defining(path, &facades, &modules)));
        }
    }
    let folders = edges.iter().map(|(from, to)| (folder(from, &modules), folder(to, &modules)));
    for circle in circles(folders.filter_map(|(from, to)| Some((from?, to?)))) {
        wrong.push(format!(
            "folders import each other in a circle: {}",
            circle.join(", ").replace("::", "/")
        ));
    }
    for circle in circles(edges.into_iter()).iter().filter(|circle| circle.len() > LARGEST_CYCLE) {
        let files: Vec<_> = circle.iter().map(|module| module.replace("::", "/") + ".rs").collect();
        wrong.push(format!(
            "{} files import each other in a circle: {}",
            files.len(),
            files.join(", ")
        ));
    }
    wrong
}

struct Import<'a> {
    file: &'a str,
    line: usize,
    /// The path from the root of the crate.
    path: String,
    /// Whether the import is also a re-export.
    public: bool,
}

/// The paths into the crate that a file names, in `use` lines and elsewhere, without its unit tests.
fn imports<'a>(file: &'a str, text: &str, modules: &BTreeSet<String>) -> Vec<Import<'a>> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let mut found = Vec::new();
    let mut lines = code.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut statement = line.split("//").next().unwrap_or("").trim().to_string();
        let (public, used) = match statement.split_once("use ") {
            Some((before, used)) if before.is_empty() || before.starts_with("pub") => {
                (before.starts_with("pub"), used.to_string())
            }
            _ => (false, String::new()),
        };
        let mut paths = Vec::new();
        if used.is_empty() {
            let words = statement.split(|c: char| !(c.is_alphanumeric() || "_:$".contains(c)));
            // What a macro names by `$crate` is resolved where the macro is used, which is outside.
            let paths_in = |word: &&str| word.contains("::") && !word.starts_with('$');
            paths.extend(words.filter(paths_in).map(String::from));
        } else {
            statement = used;
            while !statement.contains(';') {
                let Some((_, more)) = lines.next() else { break };
                statement += more.trim();
            }
            expand("", statement.trim_end_matches(';'), &mut paths);
        }
        let paths = paths.iter().filter_map(|path| absolute(&module(file), path, modules));
        found.extend(paths.map(|path| Import { file, line: index + 1, path, public }));
    }
    found
}

/// Writes `a::{b, c::{d, e}}` as `a::b`, `a::c::d` and `a::c::e`.
fn expand(prefix: &str, tree: &str, into: &mut Vec<String>) {
    let (mut depth, mut start) = (0, 0);
    for (at, c) in tree.char_indices().chain([(tree.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let branch = tree[start..at].trim();
                match branch.split_once('{') {
                    Some((head, rest)) => expand(
                        &format!("{prefix}{head}"),
                        rest.strip_suffix('}').unwrap_or(rest),
                        into,
                    ),
                    None if branch.is_empty() => {}
                    None => into
                        .push(format!("{prefix}{branch}").trim_end_matches("::self").to_string()),
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The path from the root of the crate; none for a path into another crate.
fn absolute(here: &str, path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let (mut here, mut path) = (here, path);
    if let Some(path) = path.strip_prefix("crate::") {
        return Some(path.to_string());
    }
    if !path.starts_with("super::") && !path.starts_with("self::") {
        let child = format!("{here}::{}", path.split("::").next()?);
        return modules.contains(&child).then(|| format!("{here}::{path}"));
    }
    path = path.trim_start_matches("self::");
    while let Some(rest) = path.strip_prefix("super::") {
        (here, path) = (here.rsplit_once("::").map_or("", |(parent, _)| parent), rest);
    }
    Some(format!("{here}::{path}").trim_start_matches("::").to_string())
}

/// The module whose file defines what `path` names.
fn defining(path: &str, facades: &BTreeMap<String, String>, modules: &BTreeSet<String>) -> String {
    let mut module = path;
    while !modules.contains(module) {
        if let Some(target) = facades.get(module) {
            return defining(target, facades, modules);
        }
        let Some((parent, _)) = module.rsplit_once("::") else { break };
        module = parent;
    }
    module.to_string()
}

/// The folder of a layer that a module belongs to, such as `services::r2`.
fn folder(module: &str, modules: &BTreeSet<String>) -> Option<String> {
    let end = module.match_indices("::").nth(1).map_or(module.len(), |(at, _)| at);
    let inside = format!("{}::", &module[..end]);
    let is_folder =
        inside.matches("::").count() == 2 && modules.iter().any(|other| other.starts_with(&inside));
    is_folder.then(|| module[..end].to_string())
}

/// The groups of two or more that reach each other along the edges.
fn circles(edges: impl Iterator<Item = (String, String)>) -> Vec<Vec<String>> {
    let mut reaches: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in edges.filter(|(from, to)| from != to) {
        reaches.entry(to.clone()).or_default();
        reaches.entry(from).or_default().insert(to);
    }
    for through in reaches.keys().cloned().collect::<Vec<_>>() {
        let further = reaches[&through].clone();
        reaches
            .values_mut()
            .filter(|to| to.contains(&through))
            .for_each(|to| to.extend(further.iter().cloned()));
    }
    let circle = |(from, to): (&String, &BTreeSet<String>)| {
        to.iter().filter(|to| reaches[*to].contains(from)).cloned().collect()
    };
    let circles: BTreeSet<Vec<String>> = reaches.iter().map(circle).collect();
    circles.into_iter().filter(|circle| circle.len() > 1).collect()
}

fn module(path: &str) -> String {
    path.trim_end_matches(".rs").replace('/', "::")
}

fn layer(path: &str) -> Option<(&'static str, u8)> {
    let first = path.split("::").next();
    LAYERS.into_iter().find(|(name, _)| Some(*name) == first)
}

fn read(root: &Path, folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            read(root, &path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name =
                path.strip_prefix(root).expect("it is below").to_string_lossy().replace('\\', "/");
            into.push((name, std::fs::read_to_string(&path).expect("UTF-8")));
        }
    }
}
