//! Remembers the labels of content that has been seen before.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use thunderhead_pictures::ImageError;

use crate::classifier::{Classifier, Label};
use crate::error::Error;

/// A classifier that computes the labels of the same bytes once.
///
/// A simulation shows it the same few pictures many thousand times. A broken image is remembered
/// as well; a failure of the network is not.
pub struct Memo {
    classifier: Classifier,
    seen: Mutex<BTreeMap<[u8; 32], Answer>>,
}

/// What is remembered of an image.
type Answer = Result<Vec<Label>, ImageError>;

impl Memo {
    /// Wraps a classifier with an empty memory.
    pub fn new(classifier: Classifier) -> Memo {
        Memo { classifier, seen: Mutex::default() }
    }

    /// The labels of an image, from memory if it has been seen.
    pub fn classify(&self, content: &[u8]) -> Result<Vec<Label>, Error> {
        let key: [u8; 32] = Sha256::digest(content).into();
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = seen.get(&key) {
            return answer.clone().map_err(Error::Image);
        }
        // Not held while the network runs: two threads may then compute the same answer, which
        // costs time but changes nothing.
        drop(seen);
        let answer = match self.classifier.classify(content) {
            Ok(labels) => Ok(labels),
            Err(Error::Image(error)) => Err(error),
            Err(other) => return Err(other),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(key, answer.clone());
        answer.map_err(Error::Image)
    }

    /// How many different contents are remembered.
    pub fn len(&self) -> usize {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing is remembered yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The classifier inside.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }
}
