//! The examples of the documentation are played, and the reference of scripts names every key.

mod support;

use support::{root, scratch};
use thunderhead::bodies;
use thunderhead::catalogue::Catalogue;
use thunderhead::playable::Playable;
use thunderhead::systems;
use thunderhead_sim::Script;

fn scripts_md() -> String {
    std::fs::read_to_string(root().join("docs/scripts.md")).expect("a page of the project")
}

/// What stands between the fences that begin with `fence`.
fn blocks<'a>(text: &'a str, fence: &str) -> Vec<&'a str> {
    let begin = format!("```{fence}\n");
    text.split(&*begin).skip(1).map(|rest| rest.split("```").next().unwrap_or(rest)).collect()
}

#[test]
fn every_script_of_the_reference_is_played_and_meets_its_expectations() {
    let known = systems::all();
    let known = Catalogue::new(&known).expect("the names are clear");
    let folder = scratch("docs-bodies");
    std::fs::write(folder.join("cat.jpg"), b"\xff\xd8\xff").expect("the folder is ours");
    let text = scripts_md();
    let blocks = blocks(&text, "toml");
    assert!(blocks.len() >= 6, "only {} blocks", blocks.len());
    for block in blocks {
        let mut script = block.to_string();
        // A block that shows one key leaves out what every script has.
        for (key, usual) in [
            ("requests", "requests = [{ at = \"0s\", fetch = \"PUT /cat.jpg\" }]\n"),
            ("system", "system = \"relay\"\n"),
            ("story", "story = \"An example.\"\n"),
        ] {
            if !block.lines().any(|line| line.starts_with(&format!("{key} = "))) {
                script.insert_str(0, usual);
            }
        }
        let file = Script::parse("docs/scripts.md", &script);
        let playable = file.and_then(|mut file| {
            bodies::fill(&mut file, &folder, Some(&|name| Ok(name.into())))?;
            Playable::new(file, known)
        });
        let playable = playable.unwrap_or_else(|error| panic!("{error}\n{script}"));
        let played = playable.play().expect("it fits");
        assert_eq!(played.unmet, [], "{script}\n{}", played.run.trace);
        assert_eq!(played.idle, Vec::<String>::new(), "{script}\n{}", played.run.trace);
    }
}

#[test]
fn the_reference_has_a_row_for_every_key_of_every_table_and_no_others() {
    let text = scripts_md();
    for (table, keys) in Script::KEYS {
        let heading = format!("## Keys of a {table}\n");
        let section = text.split(&*heading).nth(1).unwrap_or_else(|| panic!("no `{heading}`"));
        let section = section.split("\n## ").next().expect("there is a first part");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let mut rows: Vec<&str> = rows.collect();
        let mut known = keys.to_vec();
        rows.sort_unstable();
        known.sort_unstable();
        assert_eq!(rows, known, "the keys of a {table}");
    }
}
