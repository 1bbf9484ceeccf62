//! The recorded choices of a run. Only what differs from the benign outcome is written down, each
//! at its site and turn, so a tape stays valid where the rest of the run shifts around it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::protocol::site::Site;

/// One choice that was not the benign one: at this site, the `nth` time it was asked, `value`.
///
/// ```
/// use thunderhead_sim::Deviation;
///
/// let text = "verdict relay>r2.put #2 = 3/7";
/// let deviation: Deviation = text.parse().unwrap();
/// assert_eq!((deviation.nth, deviation.value, deviation.of), (2, 3, 7));
/// assert_eq!(deviation.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deviation {
    /// The site of the choice.
    pub site: Site,
    /// The turn at that site, counting from 1.
    pub nth: u32,
    /// What was chosen, never 0.
    pub value: u32,
    /// Out of how many.
    pub of: u32,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} = {}/{}", self.site, self.nth, self.value, self.of)
    }
}

impl FromStr for Deviation {
    type Err = String;

    fn from_str(text: &str) -> Result<Deviation, String> {
        let malformed =
            || format!("`{text}` is not a choice: expected `SITE #TURN = VALUE/OPTIONS`");
        let (site, rest) = text.rsplit_once(" #").ok_or_else(malformed)?;
        let (nth, rest) = rest.split_once(" = ").ok_or_else(malformed)?;
        let (value, of) = rest.split_once('/').ok_or_else(malformed)?;
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| malformed());
        let deviation = Deviation {
            site: site.parse()?,
            nth: number(nth)?,
            value: number(value)?,
            of: number(of)?,
        };
        if deviation.nth == 0 || deviation.value == 0 || deviation.value >= deviation.of {
            return Err(format!("`{text}` is out of range: turns count from 1, values below {of}"));
        }
        Ok(deviation)
    }
}

impl Serialize for Deviation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Deviation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Deviation, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Every choice of a run that was not benign, in the order in which they were drawn.
///
/// A site and turn that the tape does not mention gets 0; a value out of range is clamped.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tape(pub Vec<Deviation>);

impl Tape {
    /// The tape on which everything goes well.
    pub fn benign() -> Tape {
        Tape(Vec::new())
    }

    /// How many choices differ from the benign ones.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether everything goes well on it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_that_says_nothing_or_too_much_is_refused() {
        for text in ["crash relay", "crash relay #0 = 1/2", "crash relay #1 = 0/2"] {
            assert!(text.parse::<Deviation>().is_err(), "{text}");
        }
        let error = "crash relay #1 = 2/2".parse::<Deviation>().unwrap_err();
        assert!(error.contains("out of range"), "{error}");
    }

    #[test]
    fn a_tape_is_a_list_of_lines_in_json() {
        let tape = Tape(vec!["crash relay #1 = 1/2".parse().unwrap()]);
        let json = serde_json::to_string(&tape).unwrap();
        assert_eq!(json, r#"["crash relay #1 = 1/2"]"#);
        assert_eq!(serde_json::from_str::<Tape>(&json).unwrap(), tape);
    }
}
