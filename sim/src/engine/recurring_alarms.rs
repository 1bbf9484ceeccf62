//! Alarms that are set again and again. An application that sweeps once a day never comes to rest, and has nothing left
//! to do all the same.

use crate::engine::agenda::{Agenda, Scheduled};

/// How long alarms go on when nothing else is left.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// How many alarms may go off with nothing else pending; without a number, all of them.
    pub most: Option<u32>,
    /// How many have, since a client last sent something.
    alone: u32,
}

impl Repeats {
    /// Takes note of the event that comes next. Returns whether the run has gone on by its alarms alone for long
    /// enough.
    pub fn are_all(&mut self, next: &Scheduled, agenda: &Agenda) -> bool {
        let Some(most) = self.most else { return false };
        let is_alarm = |event: &Scheduled| matches!(event, Scheduled::Alarm { .. });
        if matches!(next, Scheduled::Request { .. }) {
            self.alone = 0;
        } else if is_alarm(next) && agenda.events().all(is_alarm) {
            self.alone += 1;
        }
        self.alone > most
    }
}
