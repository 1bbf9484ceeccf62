//! What the clients have seen, written down on their side.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use super::plan::CLIENTS;

/// A request that was sent. A client that tries again sends another one.
#[derive(Clone, Debug, Hash)]
pub struct Try {
    /// Its body, or what its body begins with. No other try has the same.
    pub tag: String,
    pub method: &'static str,
    /// The name of the picture.
    pub name: String,
    pub body: Vec<u8>,
    /// Whether the client went away in the middle of the body.
    pub broken_off: bool,
    /// Whether the client still waits.
    pub is_open: bool,
    /// What came back.
    pub answer: Option<(u16, Vec<u8>)>,
    /// From when the client tried, and until when it waited.
    pub when: [Duration; 2],
}

impl Try {
    /// The status, if it was the system that answered. An edge that is busy, stopping or tired of waiting has not.
    pub fn answered(&self) -> Option<u16> {
        let status = self.answer.as_ref()?.0;
        matches!(status, 200..=299 | 404).then_some(status)
    }
}

#[derive(Debug, Default)]
pub struct Log {
    /// In the order in which they began.
    pub tries: Vec<Try>,
    /// What was broken so far.
    pub wrong: Vec<String>,
    /// What happened at least once.
    pub seen: BTreeSet<&'static str>,
    /// Whose way to the server is troubled now, and how often it was.
    pub troubled: [bool; CLIENTS + 1],
    pub troubles: [usize; CLIENTS + 1],
    /// When the server has crashed.
    pub crashes: Vec<Duration>,
}

pub type SharedLog = Rc<RefCell<Log>>;
