//! What commands promise: see `COMMANDS`.
//!
//! Names in the trace: the worker `web`, hosts `processor-N`, and tables: the stream `workflow_messages`, the state
//! beside it `workflow_states`, leases and parking in `command_deliveries`, the accounts `guests`, and
//! `checkouts`, whose rows are the effects of commands.

mod effects;
mod flags;
mod oracle;
mod outcomes;
mod pending;
mod poison;
mod reading;
mod sightings;
mod state;
#[cfg(test)]
mod testing;
mod world;

use crate::promise::Promise;

/// The promises of commands.
pub const COMMANDS: &[&Promise] = &[
    &effects::NONE_LOST,
    &effects::NONE_TWICE,
    &flags::SET_ONCE,
    &flags::DENSE,
    &state::LIVE,
    &pending::EXACT,
    &poison::HOLDS_UP_NOBODY,
    &poison::ALONE_IS_PARKED,
    &outcomes::HEARD,
    &outcomes::TRUE,
    &sightings::ASKED_AGAIN,
    &sightings::LEASE_RAN_OUT,
    &sightings::PARKED,
    &sightings::BROUGHT_BACK,
    &sightings::STAYS,
    &sightings::DIED_BETWEEN,
    &sightings::MARKED_SECOND,
    &sightings::CONFLICT,
    &sightings::MANY,
];
