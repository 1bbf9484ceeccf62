//! Every script in `scenarios/` comes out as it expects, and its history is pinned.

mod support;

use std::path::PathBuf;
use std::sync::LazyLock;

use support::{files, root};
use thunderhead::catalogue::Catalogue;
use thunderhead::playable::Playable;
use thunderhead::{systems, testing};
use thunderhead_props::{Expected, System};
use thunderhead_sim::{Script, ScriptChoices};

fn scripts() -> Vec<PathBuf> {
    files(&root().join("scenarios"))
}

fn plan(path: &PathBuf) -> Playable<'static> {
    static SYSTEMS: LazyLock<[&System; 5]> = LazyLock::new(systems::all);
    let systems = Catalogue::new(&*SYSTEMS).expect("the names are clear");
    let text = std::fs::read_to_string(path).expect("a file of the project");
    let file = Script::parse(&path.display().to_string(), &text);
    let playable = file.and_then(|file| Playable::new(file, systems));
    playable.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_scenario_tells_its_story_and_nothing_else() {
    for path in scripts() {
        let history = testing::history(&systems::all(), &path);
        let name = path.file_stem().unwrap().to_str().unwrap();
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, history);
        });
    }
}

#[test]
fn the_reference_holds_in_the_weather_of_every_story() {
    for path in scripts() {
        let plan = plan(&path);
        // What a tape says about one variant says nothing about another.
        let refuted = plan.variant.expected != Expected::Holds;
        if refuted && !matches!(plan.script().choices, ScriptChoices::Tape(_)) {
            let reference = plan.system.reference();
            let played = plan.on(reference).play().unwrap();
            assert_eq!(played.violations, [], "{}", path.display());
        }
    }
}

#[test]
fn every_scenario_is_the_same_when_it_is_played_again() {
    for path in scripts() {
        let play = || plan(&path).play().unwrap().run.trace;
        assert_eq!(play().to_string(), play().to_string(), "{}", path.display());
        assert_eq!(play().hash(), play().hash());
    }
}

#[test]
fn every_scenario_survives_being_written() {
    for path in scripts() {
        let script = plan(&path).script().clone();
        let again = Script::parse("again.toml", &script.to_toml()).unwrap().script;
        assert_eq!(again, script, "{}", path.display());
    }
}

#[test]
fn every_history_in_the_snapshots_still_has_its_scenario() {
    let stories: Vec<_> =
        scripts().iter().map(|path| path.file_stem().unwrap().to_owned()).collect();
    assert!(stories.len() >= 6);
    for snapshot in files(&root().join("tests/snapshots")) {
        let name = snapshot.file_stem().unwrap().to_owned();
        assert!(stories.contains(&name), "{} has no scenario", snapshot.display());
    }
}

/// The histories that are pinned, without what insta writes before them.
fn histories() -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a file of the project");
        let history = text.splitn(3, "---\n").nth(2).expect("insta writes a head").to_string();
        (path, history)
    };
    files(&root().join("tests/snapshots")).into_iter().map(read).collect()
}

#[test]
fn no_line_of_a_history_is_wider_than_120_columns() {
    for (path, history) in histories() {
        for line in history.lines() {
            assert!(line.chars().count() <= 120, "{}: {line}", path.display());
        }
    }
}

#[test]
fn half_of_the_failures_of_the_plans_fit_sixty_lines() {
    let failures = histories().into_iter().filter(|(_, history)| history.contains("\nbroken "));
    let mut lines: Vec<usize> = failures.map(|(_, history)| history.lines().count()).collect();
    lines.sort_unstable();
    assert!(lines.len() > 40 && lines[lines.len() / 2] <= 60, "{lines:?}");
}

#[test]
fn actors_have_short_names_that_are_theirs_alone() {
    for path in scripts() {
        let trace = plan(&path).play().unwrap().run.trace;
        let mut known: Vec<(String, String)> = Vec::new();
        for event in trace.events() {
            let subject = &trace.actors()[usize::from(trace.subject(event))];
            let (long, short) = (subject.to_string(), trace.actor_short(event));
            assert!(short.chars().count() <= 24, "{short}");
            if !known.iter().any(|(name, _)| *name == long) {
                assert!(known.iter().all(|(_, taken)| *taken != short), "{short} twice");
                known.push((long, short));
            }
        }
    }
}
