//! The network behind the inference of a simulated cloud, for `--model` and for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use thunderhead::model::{Choice, Model, Numbers};
use thunderhead_sim::ai::{self, Score};
use thunderhead_sim::{Body, BodySource, closest};

use crate::classifier::{Classifier, Label, ModelInfo, Precision, Settings};
use crate::error::Error;
use crate::gallery::{self, Drawing};
use crate::kernel::Kernel;
use crate::progress::OnProgress;

/// The pictures of the gallery that clients send. Few, so that the same bytes come again.
pub const SENT: [&str; 3] = ["clock", "umbrella", "envelope"];

/// How many pictures are remembered. A search sends few; a server is sent new ones for as long as it runs.
const REMEMBERED: usize = 256;

/// What the platform answers to bytes that are no picture: `Invalid data`.
const INVALID: u32 = 5004;

/// The settings by which a choice is loaded; none for the stand-in, which is no network.
pub fn settings(choice: Choice) -> Option<Settings> {
    let Choice::Resnet50(numbers) = choice else { return None };
    let usual = Settings { top: ai::LABELS, ..Settings::default() };
    Some(match numbers {
        Numbers::Fastest => usual,
        Numbers::Bf16 => Settings { precision: Precision::Bf16, ..usual },
        Numbers::F32 => Settings { precision: Precision::F32, ..usual },
        Numbers::Stock => Settings { kernel: Some(Kernel::Tract), ..usual },
    })
}

/// Loads the model of that choice. Its weights are fetched first if they are not there.
pub fn load(choice: Choice, on_progress: OnProgress) -> Result<Model, Error> {
    match settings(choice) {
        None => Ok(Model::stand_in()),
        Some(settings) => Ok(model(Classifier::load(settings, on_progress)?)),
    }
}

/// A loaded network as a simulated system asks it, on any number of threads. The same bytes are looked at once.
///
/// They are remembered as they are: to compare a few pictures takes a tenth of the time of the hash of one, which
/// `Memo` computes, and that would be a tenth of a short run. A picture in a file, which only a server has, is not
/// remembered: its bytes would be held.
pub fn model(classifier: Classifier) -> Model {
    let info = classifier.info();
    let numbers = match info.kernel {
        Kernel::Tract => Numbers::Stock,
        kernel if kernel.is_bf16() => Numbers::Bf16,
        _ => Numbers::F32,
    };
    let pictures = SENT.map(|name| picture(gallery::find(name).expect("it is in the gallery")));
    let (details, seen) = (details(info), Mutex::new(BTreeMap::<Body, Answer>::new()));
    Model::new(Choice::Resnet50(numbers), &details, pictures.into(), move |picture| {
        let known = || seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_at_hand = picture.at_hand().is_some();
        if is_at_hand && let Some(answer) = known().get(picture) {
            return answer.clone();
        }
        // Nothing is locked while the network runs. Two threads may then ask it the same, which changes nothing.
        let answer = match classifier.classify(&picture.look()) {
            Ok(labels) => Ok(labels.iter().map(label).collect()),
            Err(Error::Image(_)) => Err(ai::Error::service(INVALID)),
            Err(other) => panic!("the network has failed: {other}"),
        };
        if !is_at_hand {
            return answer;
        }
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(picture.clone(), answer.clone());
        answer
    })
}

/// What is remembered of a picture.
type Answer = Result<Vec<ai::Label>, ai::Error>;

/// Whatever decides the answers: kernels differ in the last digits.
fn details(info: &ModelInfo) -> String {
    let weights = info.sha256.get(..16).unwrap_or(&info.sha256);
    let pixels =
        if info.is_standard { String::new() } else { format!(" {:?}", info.preprocessing) };
    format!("on {}, weights {weights}{pixels}", info.kernel.name())
}

/// An answer without floats, which no history holds.
pub fn label(found: &Label) -> ai::Label {
    // Six decimals without the point are millionths.
    let millionths = format!("{:.6}", found.score).replace('.', "");
    let score = Score::from_millionths(millionths.parse().expect("a number from 0 to 1"));
    ai::Label { label: found.label.as_str().into(), score }
}

/// A drawing as a client sends it: histories and scripts tell it by its name.
pub fn picture(drawing: &Drawing) -> Body {
    Body::named(BodySource::Picture(drawing.name.into()), drawing.png())
}

/// The bytes of the drawing of a name, or the names that there are.
pub fn draw(name: &str) -> Result<Vec<u8>, String> {
    let known = || closest(name, gallery::ALL.iter().map(|drawing| drawing.name));
    gallery::find(name).map(Drawing::png).ok_or_else(known)
}
