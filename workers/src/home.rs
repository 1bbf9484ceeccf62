//! Where other isolates find what the JavaScript of a host keeps for them, through all lives of that host.

use std::cell::Cell;

/// The place of a host, and how much its lives have kept for others.
#[derive(Debug, Default)]
pub struct Home {
    /// The place as JSON; empty where nobody can call.
    pub place: String,
    /// The last number under which a life of the host has kept something.
    last: Cell<u32>,
}

impl Home {
    /// The home of a host that has kept nothing yet.
    pub fn at(place: String) -> Home {
        Home { place, last: Cell::new(0) }
    }

    /// The number under which an isolate, whose last one was `last`, keeps the next thing. No earlier life had it: a
    /// stub for what is lost must not find something else.
    pub fn number(&self, last: u32) -> u32 {
        let next = self.last.get().max(last) + 1;
        self.last.set(next);
        next
    }
}
