//! Holds the dependencies to `deny.toml`, to the declared Rust version, and to a build without inference.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;
use support::root;

/// The part of `deny.toml` that is checked here.
#[derive(Deserialize)]
struct Policy {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Listed>,
    skip: Vec<Listed>,
}

/// A crate in a list: `name` for all versions, `name:1.2` for those that begin so.
#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "crate")]
    spec: String,
    reason: String,
}

impl Listed {
    fn matches(&self, package: &Package) -> bool {
        match self.spec.split_once(':') {
            None => package.name == self.spec,
            Some((name, version)) => {
                package.name == name
                    && format!("{}.", package.version).starts_with(&format!("{version}."))
            }
        }
    }
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// Where it is from; nothing for a package of this workspace.
    source: Option<String>,
    rust_version: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

fn policy() -> Policy {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("a file of the project");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Asks cargo, which needs no network when the workspace has been built before.
fn metadata() -> Metadata {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", &policy().graph.targets[0]])
        .current_dir(root())
        .output()
        .expect("cargo runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(metadata.packages.len() > 100, "the dependencies are not in it");
    metadata
}

/// Whether an SPDX expression can be met with the licences that are allowed.
fn can_be_met(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    // Before SPDX a slash meant a choice.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any_of(&mut words, is_allowed);
    assert_eq!(words.next(), None, "not understood: {expression}");
    met
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = all_of(words, is_allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words, is_allowed);
    }
    met
}

fn all_of(words: &mut Words, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = one(words, is_allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, is_allowed);
    }
    met
}

fn one(words: &mut Words, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let word = words.next().expect("a licence");
    if word == "(" {
        let met = any_of(words, is_allowed);
        assert_eq!(words.next(), Some(")"));
        return met;
    }
    match words.next_if_eq(&"WITH") {
        Some(_) => is_allowed(&format!("{word} WITH {}", words.next().expect("an exception"))),
        None => is_allowed(word),
    }
}

/// The packages whose licence is not allowed.
fn refused(packages: &[Package], licenses: &Licenses) -> Vec<String> {
    let is_refused = |package: &&Package| {
        let exceptions =
            licenses.exceptions.iter().filter(|excepted| excepted.name == package.name);
        let allowed: Vec<&String> =
            licenses.allow.iter().chain(exceptions.flat_map(|excepted| &excepted.allow)).collect();
        let is_allowed = |licence: &str| allowed.iter().any(|allowed| *allowed == licence);
        !package.license.as_deref().is_some_and(|expression| can_be_met(expression, &is_allowed))
    };
    packages
        .iter()
        .filter(is_refused)
        .map(|package| format!("{} {}: {:?}", package.name, package.version, package.license))
        .collect()
}

#[test]
fn licences_are_allowed_and_every_allowance_is_needed() {
    let packages = metadata().packages;
    let mut licenses = policy().licenses;
    assert_eq!(refused(&packages, &licenses), Vec::<String>::new());
    for _ in 0..licenses.allow.len() {
        let licence = licenses.allow.remove(0);
        assert_ne!(refused(&packages, &licenses), Vec::<String>::new(), "{licence} is not needed");
        licenses.allow.push(licence);
    }
    for _ in 0..licenses.exceptions.len() {
        let exception = licenses.exceptions.remove(0);
        let refused = refused(&packages, &licenses);
        assert!(refused.iter().any(|refused| refused.starts_with(&exception.name)), "{refused:?}");
        licenses.exceptions.push(exception);
    }
}

#[test]
fn a_licence_expression_is_met_by_one_alternative_and_all_of_its_parts() {
    let mit = |licence: &str| licence == "MIT";
    for (expression, expected) in [
        ("MIT", true),
        ("Apache-2.0", false),
        ("Apache-2.0/MIT", true),
        ("MIT AND Zlib", false),
        ("(MIT OR Zlib) AND MIT", true),
        ("(Zlib AND MIT) OR Apache-2.0", false),
        ("MIT WITH LLVM-exception", false),
        ("Zlib AND Zlib OR MIT", true),
    ] {
        assert_eq!(can_be_met(expression, &mit), expected, "{expression}");
    }
}

#[test]
fn no_crate_is_there_twice_without_a_reason() {
    let packages = metadata().packages;
    let skip = policy().bans.skip;
    let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for package in &packages {
        versions.entry(&package.name).or_default().push(package);
    }
    for (name, twice) in versions.iter().filter(|(_, packages)| packages.len() > 1) {
        let unexplained: Vec<&str> = twice
            .iter()
            .filter(|package| !skip.iter().any(|listed| listed.matches(package)))
            .map(|package| package.version.as_str())
            .collect();
        assert_eq!(unexplained.len(), 1, "{name} is there in the versions {unexplained:?}");
    }
    for listed in &skip {
        let found = packages.iter().find(|package| listed.matches(package));
        let is_needed = found.is_some_and(|package| versions[&*package.name].len() > 1);
        assert!(
            is_needed && !listed.reason.is_empty(),
            "{} is in the list for nothing",
            listed.spec
        );
    }
}

#[test]
fn banned_crates_are_absent_and_all_others_are_from_the_one_registry() {
    let packages = metadata().packages;
    for listed in policy().bans.deny {
        let found = packages.iter().find(|package| listed.matches(package));
        assert!(found.is_none(), "{} is banned: {}", listed.spec, listed.reason);
    }
    let sources: BTreeSet<&str> =
        packages.iter().filter_map(|package| package.source.as_deref()).collect();
    assert!(
        sources.len() == 1 && sources.iter().all(|source| source.starts_with("registry+")),
        "{sources:?}"
    );
    let own = packages.iter().filter(|package| package.source.is_none());
    for package in own {
        assert!(
            package.name.starts_with("thunderhead"),
            "{} is not of this workspace",
            package.name
        );
    }
}

/// Cargo refuses to build with an older Rust than a dependency declares, so ours may not be older.
#[test]
fn no_dependency_needs_a_newer_rust_than_is_declared() {
    // 1.95 is 1.95.0.
    let number = |version: &str| -> Vec<u64> {
        let parts = version.split('.').map(|part| part.parse().expect("a number"));
        parts.chain([0, 0]).take(3).collect()
    };
    let declared = number(env!("CARGO_PKG_RUST_VERSION"));
    for package in metadata().packages {
        let Some(needed) = package.rust_version else { continue };
        assert!(
            number(&needed) <= declared,
            "{} {} needs Rust {needed}",
            package.name,
            package.version
        );
    }
}

/// The inference engine takes most of the build; the way to the first table must not lead through it.
#[test]
fn the_program_is_built_without_the_inference_engine() {
    let metadata = metadata();
    let id_of = |name: &str| {
        let found = metadata.packages.iter().find(|package| package.name == name);
        found.unwrap_or_else(|| panic!("no package {name}")).id.as_str()
    };
    let mut reached = BTreeSet::new();
    let mut open = vec![id_of("thunderhead")];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let node = metadata.resolve.nodes.iter().find(|node| node.id == id).expect("resolved");
            open.extend(node.dependencies.iter().map(String::as_str));
        }
    }
    assert!(reached.contains(id_of("thunderhead-sim")));
    for engine in ["thunderhead-model", "tract-core"] {
        assert!(!reached.contains(id_of(engine)), "thunderhead depends on {engine}");
    }
}
