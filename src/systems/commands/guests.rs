//! The guests' accounts, in a database of their own: what commands have their effect on.
//!
//! A check-out is a row of `checkouts`: who left, from which stay, and what was charged.

use thunderhead_sim::d1::D1Result;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error};

use super::mistakes;
use super::names::ACCOUNTS;

/// The tables of the accounts.
pub const SCHEMA: [&str; 2] = [
    "create table guests (
    guest_id text primary key,
    status text not null check (status in ('in', 'out', 'held')),
    stay integer not null,
    owed integer not null,
    disputed integer not null
)",
    "create table checkouts (
    id integer primary key,
    message_id text not null,
    guest_id text not null,
    stay integer not null,
    charged integer not null,
    outcome text not null check (outcome in ('out', 'held', 'refused')),
    at integer not null
)",
];

/// Who is in the house when the run begins. A guest whose bill is in dispute may not leave.
pub const RESIDENTS: &str = "insert into guests values ('ann', 'in', 1, 100, 0), \
    ('bob', 'in', 1, 200, 0), ('cid', 'in', 1, 300, 0), ('dan', 'in', 1, 400, 1), \
    ('eve', 'in', 1, 500, 0)";

/// Makes an effect happen once: the row of a check-out also holds the id of its command.
pub const ONCE: &str = "create unique index checkout_ids on checkouts (message_id)";

const CHECK_OUT_ONCE: &str = "insert into checkouts (message_id, guest_id, stay, charged, outcome, at) \
    select ?1, guest_id, stay, iif(status = 'in' and not disputed, owed, 0), \
        iif(status <> 'in', 'refused', iif(disputed, 'held', 'out')), ?3 \
    from guests where guest_id = ?2 on conflict (message_id) do nothing";
// The stay ties the guest to this check-out: one who has come back since is not touched.
const LEAVE_ONCE: &str = "update guests set status = checkout.outcome, \
        owed = iif(checkout.outcome = 'out', 0, owed) \
    from (select stay, outcome from checkouts where message_id = ?1 and outcome <> 'refused') checkout \
    where guest_id = ?2 and status = 'in' and guests.stay = checkout.stay";
const OUTCOME: &str = "select outcome from checkouts where message_id = ?1";

const FIND: &str = "select status, stay, owed, disputed from guests where guest_id = ?1";
const CHECK_OUT: &str = "insert into checkouts (message_id, guest_id, stay, charged, outcome, at) \
    values (?1, ?2, ?3, ?4, ?5, ?6)";
const LEAVE: &str = "update guests set status = ?2, owed = ?3 where guest_id = ?1";

const CHECK_IN: &str = "insert into guests values (?1, 'in', 1, ?2, 0) \
    on conflict (guest_id) do update set status = 'in', stay = stay + 1, owed = ?2 \
    where status <> 'in'";

/// A command to check out, as its handler sees it.
#[derive(Clone, Copy, Debug)]
pub struct CheckOut<'a> {
    /// The id of the command.
    pub message_id: &'a str,
    /// Who is to leave.
    pub guest: &'a str,
}

/// How carrying out a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The guest has left.
    Left,
    /// The guest stays, for a reason that trying again will not change.
    Stays,
}

/// Why a command could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutError {
    /// The command itself is wrong and fails on every attempt: there is no such guest.
    Poison(String),
    /// A call failed, so the command may have been carried out or not.
    Unavailable(String),
}

impl std::fmt::Display for CheckOutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (CheckOutError::Poison(text) | CheckOutError::Unavailable(text)) = self;
        f.write_str(text)
    }
}

impl From<Error> for CheckOutError {
    fn from(error: Error) -> CheckOutError {
        match &error {
            Error::D1(refused) if !refused.is_transient() => {
                CheckOutError::Poison(error.to_string())
            }
            _ => CheckOutError::Unavailable(error.to_string()),
        }
    }
}

/// The idempotent handler: effect and message id are one transaction, and a repetition returns how the
/// first one ended.
pub async fn check_out_once(env: &Env, command: CheckOut<'_>) -> Result<Departure, CheckOutError> {
    let (id, guest, now) = (Value::from(command.message_id), Value::from(command.guest), now(env));
    let accounts = env.d1(ACCOUNTS);
    let check_out = match mistakes::NO_INDEX.is_made(env) {
        true => CHECK_OUT_ONCE.trim_end_matches(" on conflict (message_id) do nothing"),
        false => CHECK_OUT_ONCE,
    };
    let mut statements =
        vec![accounts.prepare(check_out).bind(vec![id.clone(), guest.clone(), now])];
    if mistakes::LEAVES_LATER.is_made(env) {
        accounts.batch(std::mem::take(&mut statements)).await?;
    }
    let leave = match mistakes::LEAVES_ANY_STAY.is_made(env) {
        true => LEAVE_ONCE.trim_end_matches(" and guests.stay = checkout.stay"),
        false => LEAVE_ONCE,
    };
    statements.push(accounts.prepare(leave).bind(vec![id.clone(), guest]));
    statements.push(accounts.prepare(OUTCOME).bind(vec![id]));
    let results = accounts.batch(statements).await?;
    match results.last().and_then(|result| text(result, "outcome")) {
        None => Err(unknown(command.guest)),
        Some("out") => Ok(Departure::Left),
        Some(_) if mistakes::EVERYBODY_LEFT.is_made(env) => Ok(Departure::Left),
        Some(_) => Ok(Departure::Stays),
    }
}

/// The plan's handler: it reads the guest's status, and does nothing for a guest who has left.
pub async fn check_out_by_state(
    env: &Env,
    command: CheckOut<'_>,
) -> Result<Departure, CheckOutError> {
    let guest = find(env, command.guest).await?;
    match &*guest.status {
        "out" => Ok(Departure::Left),
        "held" => Ok(Departure::Stays),
        _ => save(env, command, &guest).await,
    }
}

/// A handler that is not idempotent: it checks out on every call.
pub async fn check_out_always(
    env: &Env,
    command: CheckOut<'_>,
) -> Result<Departure, CheckOutError> {
    let guest = find(env, command.guest).await?;
    save(env, command, &guest).await
}

struct Guest {
    status: String,
    stay: Value,
    owed: i64,
    disputed: bool,
}

async fn find(env: &Env, guest: &str) -> Result<Guest, CheckOutError> {
    let found = env.d1(ACCOUNTS).prepare(FIND).bind(vec![guest.into()]).all().await?;
    let integer = |column| found.get(0, column).and_then(Value::as_i64).unwrap_or_default();
    let Some(status) = text(&found, "status") else { return Err(unknown(guest)) };
    Ok(Guest {
        status: status.into(),
        stay: integer("stay").into(),
        owed: integer("owed"),
        disputed: integer("disputed") != 0,
    })
}

async fn save(env: &Env, command: CheckOut<'_>, guest: &Guest) -> Result<Departure, CheckOutError> {
    let (id, name) = (Value::from(command.message_id), Value::from(command.guest));
    let outcome = if guest.disputed { "held" } else { "out" };
    let (charged, owed) = if guest.disputed { (0, guest.owed) } else { (guest.owed, 0) };
    let accounts = env.d1(ACCOUNTS);
    let row = vec![id, name.clone(), guest.stay.clone(), charged.into(), outcome.into(), now(env)];
    let saved = accounts.batch(vec![
        accounts.prepare(CHECK_OUT).bind(row),
        accounts.prepare(LEAVE).bind(vec![name, outcome.into(), owed.into()]),
    ]);
    saved.await?;
    Ok(if guest.disputed { Departure::Stays } else { Departure::Left })
}

/// A guest comes, for the first time or again.
pub async fn check_in(env: &Env, guest: &str, owed: i64) -> Result<(), Error> {
    let bindings = vec![guest.into(), owed.into()];
    env.d1(ACCOUNTS).prepare(CHECK_IN).bind(bindings).run().await.map(|_| ())
}

fn unknown(guest: &str) -> CheckOutError {
    CheckOutError::Poison(format!("there is no guest {guest}"))
}

fn text<'a>(result: &'a D1Result, column: &str) -> Option<&'a str> {
    result.get(0, column).and_then(Value::as_str)
}

fn now(env: &Env) -> Value {
    env.now().unix_ms().cast_signed().into()
}
