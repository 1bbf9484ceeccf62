//! Large bodies in a long history: told once, and referred to by their hash when they come again.
//!
//! An upload is in ten events or more, and each would tell all of its bytes.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Body;
use crate::values::hex::{hex, unhex};
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;

/// Bodies below this are told each time: a reference would not be much shorter.
const LEAST: usize = 256;
/// How many bodies are remembered as told. One that comes again after so many others is told again.
const REMEMBERED: usize = 4_096;

type Hash = [u8; 32];

/// The place of a body that was told before.
#[derive(Serialize, Deserialize)]
pub(super) struct Reference {
    sha256: String,
    /// What it is, for a reader who does not look for it.
    is: String,
}

/// What a history has told so far, seen by what writes it.
#[derive(Debug, Default)]
pub(crate) struct Written {
    known: SortedSet<Hash>,
    order: VecDeque<Hash>,
}

/// The bodies that a reader of the history has come upon.
#[derive(Debug, Default)]
pub(crate) struct Read(SortedMap<Hash, Body>);

enum Told {
    Written(Written),
    Read(Read),
}

thread_local! {
    /// What is being written or read. A body is deep within an event, and serde takes nothing along on the way there.
    static TOLD: RefCell<Option<Told>> = const { RefCell::new(None) };
}

impl Written {
    /// Writes with references to what was told before.
    pub fn write<T>(&mut self, write: impl FnOnce() -> T) -> T {
        TOLD.set(Some(Told::Written(std::mem::take(self))));
        let written = write();
        if let Some(Told::Written(told)) = TOLD.take() {
            *self = told;
        }
        written
    }

    /// Remembers a body. Returns whether it was told before.
    fn tell(&mut self, hash: Hash) -> bool {
        if !self.known.insert(hash) {
            return true;
        }
        self.order.push_back(hash);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        false
    }
}

impl Read {
    /// Reads what [`Written::write`] wrote. Bodies that are equal share their bytes.
    pub fn read<T>(&mut self, read: impl FnOnce() -> T) -> T {
        TOLD.set(Some(Told::Read(std::mem::take(self))));
        let found = read();
        if let Some(Told::Read(told)) = TOLD.take() {
            *self = told;
        }
        found
    }
}

/// What is written in place of a body, if it was told before.
pub(super) fn reference(body: &Body) -> Option<Reference> {
    if body.len() < LEAST {
        return None;
    }
    TOLD.with_borrow_mut(|told| {
        let Some(Told::Written(told)) = told else { return None };
        let known = body.digests().map(|known| known.sha256);
        let hash = known.unwrap_or_else(|| Sha256::digest(body.look()).into());
        told.tell(hash)
            .then(|| Reference { sha256: hex(&hash), is: super::media::describe(&body.look()) })
    })
}

/// The body that a reference stands for.
pub(super) fn resolve(reference: &Reference) -> Result<Body, String> {
    let hash = unhex(&reference.sha256).and_then(|hash| Hash::try_from(hash).ok());
    let hash = hash.ok_or("a hash has 64 hex digits")?;
    let found = TOLD.with_borrow(|told| match told {
        Some(Told::Read(Read(told))) => told.get(&hash).cloned(),
        _ => None,
    });
    found.ok_or_else(|| format!("nothing before it has the bytes of {}", reference.sha256))
}

/// A body that was read: that of equal bytes that came before, if there is one.
pub(super) fn shared(body: Body) -> Body {
    if body.len() < LEAST {
        return body;
    }
    TOLD.with_borrow_mut(|told| match told {
        Some(Told::Read(Read(told))) => {
            told.entry(Sha256::digest(body.bytes()).into()).or_insert(body).clone()
        }
        _ => body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(body: &Body) -> String {
        serde_json::to_string(body).unwrap()
    }

    #[test]
    fn a_large_body_is_told_once_and_is_one_when_it_is_read() {
        let (large, small) = (Body::from("x".repeat(LEAST)), Body::from("x".repeat(LEAST - 1)));
        let mut written = Written::default();
        let lines = written.write(|| [&large, &small, &large, &small].map(json));
        assert_eq!([&lines[0], &lines[1]], [&json(&large), &json(&small)]);
        assert!(lines[2].contains("sha256") && lines[2].contains("256 bytes"), "{}", lines[2]);
        assert_eq!(lines[1], lines[3], "a small body is told again");
        let read = |line: &String| serde_json::from_str::<Body>(line).unwrap();
        let found = Read::default().read(|| lines.each_ref().map(read));
        assert_eq!(found, [large.clone(), small.clone(), large, small]);
        assert_eq!(found[0].bytes().as_ptr(), found[2].bytes().as_ptr());
    }

    #[test]
    fn outside_of_a_history_every_body_is_told_and_a_reference_is_an_error() {
        let large = Body::from("x".repeat(LEAST));
        let line = Written::default().write(|| [&large, &large].map(json)).map(|line| line);
        assert_eq!([json(&large), json(&large)], [line[0].clone(), line[0].clone()]);
        let error = serde_json::from_str::<Body>(&line[1]).unwrap_err().to_string();
        assert!(error.contains("nothing before it has the bytes"), "{error}");
        assert!(serde_json::from_str::<Body>(r#"{"sha256":"12","is":"1 byte"}"#).is_err());
    }

    #[test]
    fn what_is_long_ago_is_told_again() {
        let mut written = Written::default();
        let body = |at: usize| Body::from(format!("{at:>256}"));
        let told = |written: &mut Written, at| {
            written.write(|| json(&body(at)) == format!("\"{at:>256}\""))
        };
        assert!(told(&mut written, 0) && !told(&mut written, 0));
        assert!((1..=REMEMBERED).all(|at| told(&mut written, at)));
        assert!(told(&mut written, 0));
        assert_eq!((written.known.len(), written.order.len()), (REMEMBERED, REMEMBERED));
    }
}
