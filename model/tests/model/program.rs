//! The program `thunderhead-model` as a user runs it.

use std::path::Path;
use std::process::Command;

use crate::support::{Done, run, scratch};
use thunderhead_model::gallery::{self, Drawing};

const PROGRAM: &str = env!("CARGO_BIN_EXE_thunderhead-model");

fn model(folder: &Path, args: &[&str]) -> Done {
    run(PROGRAM, folder, args)
}

/// Draws a picture of the gallery into a file.
fn draw(name: &str, file: &Path) -> &'static Drawing {
    let drawing = gallery::find(name).expect("a drawing of that name");
    std::fs::write(file, drawing.png()).expect("the folder can be written");
    drawing
}

#[test]
fn a_broken_image_fails_and_the_others_are_named() {
    let folder = scratch("classify");
    std::fs::write(folder.join("broken.png"), "not a picture").unwrap();
    std::fs::create_dir(folder.join("album")).unwrap();
    let clock = draw("clock", &folder.join("clock.png"));
    let umbrella = draw("umbrella", &folder.join("album/umbrella.png"));
    let args =
        ["classify", "broken.png", "*ock.png", "album", "nowhere.png", "--top", "3", "--json"];
    let done = model(&folder, &args);
    assert_eq!((done.code, done.stderr.as_str()), (1, ""));

    let json = done.json();
    let images = json.as_array().expect("a list");
    let paths: Vec<_> = images.iter().map(|image| image["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["broken.png", "clock.png", "album/umbrella.png", "nowhere.png"]);
    for image in images {
        let keys: Vec<_> = image.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["error", "labels", "path"]);
    }
    for failed in [&images[0], &images[3]] {
        assert_eq!(failed["labels"].as_array().unwrap().len(), 0, "{failed}");
        assert!(failed["error"].is_string(), "{failed}");
    }
    assert!(images[0]["error"].as_str().unwrap().contains("not an image"), "{}", images[0]);
    for (named, drawing) in [(&images[1], clock), (&images[2], umbrella)] {
        assert!(named["error"].is_null(), "{named}");
        let labels = named["labels"].as_array().unwrap();
        assert_eq!(labels.len(), 3, "{named}");
        assert_eq!(labels[0]["label"], drawing.label);
        let scores: Vec<f64> =
            labels.iter().map(|label| label["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b) && scores[0] <= 1.0, "{scores:?}");
    }
}

#[test]
fn images_that_are_all_sound_exit_with_zero_and_a_text_for_eyes() {
    let folder = scratch("classify-text");
    let clock = draw("clock", &folder.join("clock.png"));
    let args = ["classify", "clock.png", "--precision", "f32", "--threads", "2"];
    let done = model(&folder, &args);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (6, "clock.png"));
    assert!(lines[1].ends_with(clock.label), "{}", done.stdout);
}

#[test]
fn bad_usage_of_the_classifier_exits_with_two() {
    let folder = scratch("classify-usage");
    draw("clock", &folder.join("clock.png"));
    for args in [
        &["classify"][..],
        &["classify", "clock.png", "--top", "0"],
        &["classify", "clock.png", "--threads", "0"],
        &["classify", "clock.png", "--precision", "f64"],
        &["classify", "clock.png", "--preprocessing", "none"],
        &["classify", "clock.png", "--kernel", "avx3"],
        &["classify", "clock.png", "--kernel", "tract", "--precision", "bf16"],
        &["classify", "clock.png", "--model", "nowhere.onnx"],
        &["classify", "clock.png", "--model", "clock.png"],
        &[],
        &["melt"],
    ] {
        let done = model(&folder, args);
        assert_eq!(done.code, 2, "{args:?}: {}", done.stderr);
        assert_eq!(done.stdout, "", "{args:?}");
        assert_ne!(done.stderr, "", "{args:?}");
    }
    let done = model(&folder, &["classify", "clock.png", "--kernel", "avx3"]);
    assert!(done.stderr.contains("`avx2`"), "{}", done.stderr);
}

#[test]
fn weights_that_cannot_be_had_exit_with_two_and_say_what_to_do() {
    let folder = scratch("classify-bare");
    draw("clock", &folder.join("clock.png"));
    let output = Command::new(PROGRAM)
        .args(["classify", "clock.png", "--json"])
        .current_dir(&folder)
        .env_remove(thunderhead_model::MODEL_VARIABLE)
        .env("HOME", &folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        // A path without npm.
        .env("PATH", folder.join("bin"))
        .output()
        .expect("the command was built with this test");
    assert_eq!(output.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(json["ok"], false);
    assert!(json["error"].as_str().unwrap().contains("thunderhead model fetch --from"), "{json}");
}

#[test]
fn the_weights_are_fetched_and_described() {
    let folder = scratch("model");
    let fetched = model(&folder, &["fetch", "--json"]);
    assert_eq!((fetched.code, fetched.stderr.as_str()), (0, ""));
    let fetched = fetched.json();
    let info = model(&folder, &["info", "--kernel", "tract", "--json"]);
    assert_eq!((info.code, info.stderr.as_str()), (0, ""));
    let info = info.json();
    assert_eq!((&info["kernel"], &info["isStandard"]), (&"tract".into(), &true.into()), "{info}");
    assert_eq!(info["path"], fetched["path"]);
    let text = model(&folder, &["info"]);
    assert!(text.stdout.starts_with("model  ") && text.stdout.ends_with('\n'), "{}", text.stdout);
}
