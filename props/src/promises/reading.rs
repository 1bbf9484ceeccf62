//! A history while it is judged.

use std::ops::Deref;

use thunderhead_sim::Trace;

use super::{commands, generations, uploads};

/// A history, and what was read from it for more than one promise.
///
/// The promises of a system begin with the same questions. When each of them went through the whole history for its own
/// answers, that took a third of a search.
pub struct Reading<'a> {
    pub(super) trace: &'a Trace,
    pub(super) commands: commands::Known<'a>,
    pub(super) generations: generations::Known<'a>,
    pub(super) uploads: uploads::Known<'a>,
}

impl<'a> Reading<'a> {
    /// A history of which nothing has been read yet.
    pub fn of(trace: &'a Trace) -> Reading<'a> {
        Reading {
            trace,
            commands: commands::Known::default(),
            generations: generations::Known::default(),
            uploads: uploads::Known::default(),
        }
    }
}

impl Deref for Reading<'_> {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        self.trace
    }
}
