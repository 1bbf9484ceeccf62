//! What commands promise: see `COMMANDS`.
//!
//! Names in the trace: the worker `web`, hosts `processor-N`, and tables: the stream `workflow_messages`, the state
//! beside it `workflow_states`, leases and parking in `command_deliveries`, the accounts `guests`, and
//! `checkouts`, whose rows are the effects of commands.

mod contents;
mod effects;
mod facts;
mod flags;
#[cfg(test)]
mod mutants;
mod oracle;
mod outcomes;
mod pending;
mod poison;
mod sometimes;
mod state;
mod stays;

use std::cell::OnceCell;

use crate::promise::Promise;

/// The promises of commands.
pub const COMMANDS: &[&Promise] = &[
    &effects::NONE_LOST,
    &effects::NONE_TWICE,
    &stays::END_ONCE,
    &flags::SET_ONCE,
    &flags::DENSE,
    &state::LIVE,
    &pending::EXACT,
    &poison::HOLDS_UP_NOBODY,
    &poison::ALONE_IS_PARKED,
    &outcomes::HEARD,
    &outcomes::TRUE,
    &sometimes::ASKED_AGAIN,
    &sometimes::LEASE_RAN_OUT,
    &sometimes::PARKED,
    &sometimes::BROUGHT_BACK,
    &sometimes::STAYS,
    &sometimes::DIED_BETWEEN,
    &sometimes::MARKED_SECOND,
    &sometimes::CONFLICT,
    &sometimes::MANY,
];

/// What the promises read of a history once, for all of them.
#[derive(Default)]
pub(super) struct Known<'a> {
    facts: OnceCell<Vec<(usize, facts::Fact<'a>)>>,
    at_the_end: OnceCell<contents::Contents<'a>>,
}
