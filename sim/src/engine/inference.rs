//! Pictures that a live world gives others to look at, so that it goes on meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::ids::CallId;
use crate::services::ai::{Classifier, Error, Label};
use crate::values::body::Body;

/// The platform's error for a request that came to no end; trying again may help.
const ABORTED: u32 = 3008;

/// A picture that is to be looked at, on any thread.
#[must_use = "who asked waits for the answer"]
pub struct Inference {
    call: CallId,
    image: Body,
    classifier: Classifier,
}

/// What came of it, for [`Machine::answer`](crate::Machine::answer).
#[must_use = "who asked waits for the answer"]
#[derive(Debug)]
pub struct Inferred {
    pub(crate) call: CallId,
    pub(crate) labels: Result<Vec<Label>, Error>,
}

impl Inference {
    pub(crate) fn new(call: CallId, image: Body, classifier: Classifier) -> Inference {
        Inference { call, image, classifier }
    }

    /// Looks at the picture. A classifier that panics has aborted the request and nothing else.
    pub fn run(self) -> Inferred {
        let Inference { call, image, classifier } = self;
        let labels = catch_unwind(AssertUnwindSafe(|| classifier(&image)));
        Inferred { call, labels: labels.unwrap_or_else(|_| Err(Error::service(ABORTED))) }
    }
}

impl std::fmt::Debug for Inference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inference({})", self.image)
    }
}
