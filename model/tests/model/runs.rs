//! Searches, scripts and failure files with the real network, as a user runs them.

use std::path::Path;

use crate::support::{Done, run, scratch};
use thunderhead_model::gallery;

fn model(folder: &Path, args: &[&str]) -> Done {
    run(env!("CARGO_BIN_EXE_thunderhead-model"), folder, args)
}

/// The one failure file in the folder `failures`, with its text.
fn failure(folder: &Path) -> (String, String) {
    let mut files = std::fs::read_dir(folder.join("failures")).expect("there are failures");
    let file = files.next().expect("one").expect("readable").path();
    let name = format!("failures/{}", file.file_name().expect("a name").display());
    let text = std::fs::read_to_string(file).expect("readable");
    (name, text)
}

#[test]
fn a_failure_says_its_model_and_is_replayed_by_that_one_alone() {
    let folder = scratch("runs-failure");
    let search =
        ["explore", "uploads", "--variant", "row-first", "--runs", "40", "--model", "resnet50=f32"];
    let found = model(&folder, &[&search[..], &["--json"]].concat());
    assert_eq!(found.code, 1, "{}", found.stderr);
    let (file, text) = failure(&folder);
    assert!(text.contains("\nmodel = \"resnet50=f32\"\n"), "{text}");
    assert!(text.contains("\nmodel = \"resnet50=f32 on "), "{text}");
    assert!(text.contains("body = { picture = \"") && !text.contains("hex"), "{text}");

    let again = model(&folder, &["replay", &file, "--json"]);
    assert_eq!(again.code, 1, "{}{}", again.stdout, again.stderr);
    let hash = again.json()["traceHash"].as_str().expect("a hash").to_string();
    assert!(text.contains(&format!("trace = \"{hash}\"")), "{text}");
    let same = model(&folder, &["replay", &file, "--json", "--model", "resnet50"]);
    assert_eq!((same.code, same.stdout), (1, again.stdout));

    for other in ["stand-in", "resnet50=stock"] {
        let refused = model(&folder, &["replay", &file, "--model", other]);
        assert_eq!((refused.code, refused.stdout.as_str()), (3, ""), "{other}");
        let said = format!("made with the model `resnet50=f32`, and `{other}` would give another");
        assert!(refused.stderr.contains(&said), "{}", refused.stderr);
    }
    let elsewhere = text.replace("=f32 on ", "=f32 on another ");
    std::fs::write(folder.join("elsewhere.toml"), elsewhere).expect("written");
    let refused = model(&folder, &["replay", "elsewhere.toml"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert!(refused.stderr.contains("and here it is `resnet50=f32 on "), "{}", refused.stderr);
}

#[test]
fn a_script_sends_a_file_and_a_picture_and_the_history_names_both() {
    let folder = scratch("runs-script");
    let maze = gallery::find("maze").expect("a drawing");
    std::fs::create_dir(folder.join("photos")).expect("created");
    std::fs::write(folder.join("photos/my maze.png"), maze.png()).expect("written");
    let script = r#"
story = "A clock is replaced by a maze."
system = "uploads"
model = "resnet50"
requests = [
    { fetch = "PUT /acme/cat.jpg?as=ann@acme", body = { picture = "clock" } },
    { at = "20s", fetch = "PUT /acme/cat.jpg?as=ann@acme", body = { file = "my maze.png" } },
    { at = "3h", fetch = "GET /acme?as=ann@acme" },
]
"#;
    std::fs::write(folder.join("photos/a.toml"), script).expect("written");
    let done = model(&folder, &["trace", "photos/a.toml", "--wide"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    for part in ["clock (PNG 256×256, ", "my maze.png (PNG 256×256, ", "'ANALOG CLOCK'", "\"MAZE\""]
    {
        assert!(done.stdout.contains(part), "{part}\n{}", done.stdout);
    }
    // Another model, by name, on the same pictures.
    let done = model(&folder, &["trace", "photos/a.toml", "--wide", "--model", "stand-in"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(!done.stdout.contains("\"MAZE\""), "{}", done.stdout);
}

#[test]
fn a_picture_that_is_not_in_the_gallery_is_pointed_at() {
    let folder = scratch("runs-picture");
    let script = "story = \"A test.\"\nsystem = \"uploads\"\n\
        requests = [{ fetch = \"PUT /acme/a?as=ann@acme\", body = { picture = \"clok\" } }]\n";
    std::fs::write(folder.join("a.toml"), script).expect("written");
    let done = model(&folder, &["run", "a.toml"]);
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(done.stderr.starts_with("error: a.toml:3:"), "{}", done.stderr);
    assert!(done.stderr.contains("did you mean `clock`?"), "{}", done.stderr);
}

#[test]
fn a_system_that_shows_no_pictures_is_not_searched_with_a_model() {
    let folder = scratch("runs-relay");
    let done = model(&folder, &["explore", "relay", "--model", "resnet50"]);
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(done.stderr.contains("`relay` shows no pictures"), "{}", done.stderr);
}
