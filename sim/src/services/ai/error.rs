//! The documented errors of Workers AI.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An error with its internal code; the platform's HTTP status follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Error(u32);

/// Code, HTTP status, description, and whether trying again may help.
const ERRORS: &[(u32, u16, &str, bool)] = &[
    (3003, 400, "Incomplete request", false),
    (3006, 413, "Request is too large", false),
    (3007, 408, "Request timeout", true),
    (3008, 408, "Request was aborted", true),
    (3023, 403, "Account blocked", false),
    (3036, 429, "You have used up your daily free allocation of 10,000 neurons", false),
    (3040, 429, "Capacity temporarily exceeded, please try again.", true),
    (5004, 400, "Invalid data", false),
    (5007, 400, "No such model", false),
];

/// What a storm may answer instead of labels.
pub fn transient_errors() -> &'static [u32] {
    &[3040, 3007, 3008]
}

/// The codes of all documented errors.
pub(super) const DOCUMENTED: [u32; ERRORS.len()] = {
    let mut codes = [0; ERRORS.len()];
    let mut at = 0;
    while at < codes.len() {
        codes[at] = ERRORS[at].0;
        at += 1;
    }
    codes
};

impl Error {
    /// The error of that code.
    ///
    /// ```
    /// use thunderhead_sim::ai::Error;
    ///
    /// let error = Error::service(3040);
    /// assert_eq!(error.to_string(), "3040: Capacity temporarily exceeded, please try again.");
    /// assert_eq!(error.status(), 429);
    /// assert!(error.is_transient());
    /// ```
    pub fn service(code: u32) -> Error {
        Error(code)
    }

    /// The internal code.
    pub fn code(&self) -> u32 {
        self.0
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.known().map_or(500, |(_, status, ..)| *status)
    }

    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        self.known().is_some_and(|(.., transient)| *transient)
    }

    fn known(&self) -> Option<&'static (u32, u16, &'static str, bool)> {
        ERRORS.iter().find(|(code, ..)| *code == self.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.known().map_or("Unknown internal error", |(_, _, text, _)| *text);
        write!(f, "{}: {text}", self.0)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_storm_answers_is_transient() {
        assert!(transient_errors().iter().all(|code| Error::service(*code).is_transient()));
    }
}
