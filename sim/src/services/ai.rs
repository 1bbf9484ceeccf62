//! Workers AI: image classification through a classifier that the caller plugs in.
//!
//! The platform does not promise how many labels come back, nor that any do, nor that a score is the
//! same twice; so a storm may answer with fewer, and scores are whole millionths that a trace can
//! hold without rounding.

mod error;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::{Error, transient_errors};

use crate::values::body::Body;
use crate::values::call::{Call, CallClass};
use crate::values::hash::StableHasher;
use crate::values::sorted_map::SortedMap;

/// The model that is simulated.
pub const RESNET_50: &str = "@cf/microsoft/resnet-50";

/// How many labels the model answers with when nothing is wrong.
pub const LABELS: usize = 5;

/// The largest picture that is taken, in bytes.
pub const INPUT_BYTES_MAX: usize = 4 << 20;

/// One guess about a picture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// The name of the thing, in capitals.
    pub label: Arc<str>,
    /// How sure the model is.
    pub score: Score,
}

/// A probability in millionths.
///
/// ```
/// use thunderhead_sim::ai::Score;
///
/// assert_eq!(Score::from_millionths(754_000).to_string(), "0.754000");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Score(u32);

impl Score {
    /// So many millionths; at most one.
    pub fn from_millionths(millionths: u32) -> Score {
        Score(millionths.min(1_000_000))
    }

    /// The probability in millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.label, self.score)
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Op {
    /// The name of the model.
    pub model: Arc<str>,
    /// The bytes of the picture.
    pub image: Body,
}

const RUN: Call = Call { id: 1, name: "ai.run", codes: &error::DOCUMENTED };

/// Every kind of call to this service.
pub const CALLS: &[Call] = &[RUN];

impl Op {
    /// The kind of call that it is.
    pub fn call(&self) -> Call {
        RUN
    }

    /// The boundary that it crosses.
    pub fn class(&self) -> CallClass {
        CallClass::Ai
    }

    /// The errors that the platform may answer with instead of labels.
    pub fn refusals(&self) -> Vec<Error> {
        transient_errors().iter().map(|code| Error::service(*code)).collect()
    }

    /// The documented error with that code.
    pub fn refusal(&self, code: u32) -> Option<Error> {
        error::DOCUMENTED.contains(&code).then(|| Error::service(code))
    }

    /// The model that it is about, as scripts name it.
    pub fn target(&self) -> String {
        self.model.to_string()
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} ", self.model)?;
        self.image.fmt(f)
    }
}

/// Turns the bytes of a picture into labels, most likely first; on any thread, because a system that runs for real asks
/// it beside the engine.
pub type Classifier = Arc<dyn Fn(&Body) -> Result<Vec<Label>, Error> + Send + Sync>;

/// The inference service.
pub struct Ai {
    /// What the classifier is called; nothing for the stand-in.
    name: Option<Arc<str>>,
    classifier: Classifier,
    /// Inference is memoised by content: in a storm the same picture is classified many times.
    known: SortedMap<Body, Result<Vec<Label>, Error>>,
    /// Whether pictures are forgotten when they are answered, in a process that runs for long.
    forgets: bool,
}

impl Ai {
    /// A service that classifies with `classifier`, by its name.
    pub fn new(name: &str, classifier: Classifier) -> Ai {
        Ai { name: Some(name.into()), classifier, known: SortedMap::new(), forgets: false }
    }

    /// What the classifier is called; nothing for the stand-in, which answers by content alone.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// From now on every picture is classified anew: to remember all that were ever seen would fill the memory.
    pub(crate) fn forget_pictures(&mut self) {
        self.forgets = true;
    }

    /// How many pictures are remembered.
    pub(crate) fn remembered(&self) -> usize {
        self.known.len()
    }

    /// What it classifies with.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// Refuses what no model is asked about.
    pub fn check(op: &Op) -> Result<(), Error> {
        if &*op.model != RESNET_50 {
            return Err(Error::service(5007));
        }
        if op.image.len() > INPUT_BYTES_MAX {
            return Err(Error::service(3006));
        }
        if op.image.is_empty() {
            return Err(Error::service(3003));
        }
        Ok(())
    }

    /// Answers an operation.
    pub fn apply(&mut self, op: &Op) -> Result<Vec<Label>, Error> {
        Ai::check(op)?;
        if let Some(known) = self.known.get(&op.image) {
            return known.clone();
        }
        let labels = (self.classifier)(&op.image);
        if !self.forgets {
            self.known.insert(op.image.clone(), labels.clone());
        }
        labels
    }
}

impl Default for Ai {
    fn default() -> Ai {
        let classifier: Classifier = Arc::new(|image| Ok(by_content(image)));
        Ai { name: None, classifier, known: SortedMap::new(), forgets: false }
    }
}

impl fmt::Debug for Ai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ai({} pictures known)", self.known.len())
    }
}

/// Labels that depend on the bytes alone: fast, and the same in every process.
pub fn by_content(image: &Body) -> Vec<Label> {
    const NAMES: [&str; 8] = [
        "EGYPTIAN CAT",
        "ESPRESSO",
        "TRIPOD",
        "MOPED",
        "PALACE",
        "ANALOG CLOCK",
        "TRAFFIC LIGHT",
        "CROSSWORD PUZZLE",
    ];
    let hash = StableHasher::of(&*image.look());
    let first = 500_000 + (hash >> 8) as u32 % 450_000;
    let labels = (0..LABELS).map(|rank| {
        let label = NAMES[(hash as usize).wrapping_add(rank) % NAMES.len()].into();
        // Each guess is a quarter as likely as the one before, so the order is strict.
        Label { label, score: Score::from_millionths(first >> (2 * rank)) }
    });
    labels.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    fn run(image: impl Into<Body>) -> Result<Vec<Label>, Error> {
        Ai::default().apply(&Op { model: RESNET_50.into(), image: image.into() })
    }

    #[test]
    fn labels_come_most_likely_first_and_depend_on_the_bytes_alone() {
        let labels = run("a cat").unwrap();
        assert_eq!(labels.len(), LABELS);
        assert!(labels.windows(2).all(|pair| pair[0].score > pair[1].score));
        assert_eq!(labels, run("a cat").unwrap());
        assert_ne!(labels, run("a dog").unwrap());
    }

    #[test]
    fn what_is_no_picture_is_refused_with_its_code() {
        assert_eq!(run("").unwrap_err().code(), 3003);
        assert_eq!(run(vec![0; INPUT_BYTES_MAX + 1]).unwrap_err().code(), 3006);
        let op = Op { model: "@cf/other".into(), image: Body::from("x") };
        assert_eq!(Ai::default().apply(&op).unwrap_err().code(), 5007);
    }

    #[test]
    fn a_picture_is_classified_once_however_often_it_is_asked_about() {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = asked.clone();
        let mut ai = Ai::new(
            "counting",
            Arc::new(move |image| {
                counter.fetch_add(1, Relaxed);
                Ok(by_content(image))
            }),
        );
        let op = Op { model: RESNET_50.into(), image: Body::from("x") };
        assert_eq!(ai.apply(&op), ai.apply(&op));
        assert_eq!(asked.load(Relaxed), 1);
    }
}
