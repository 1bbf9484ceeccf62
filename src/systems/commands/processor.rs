//! The processors: up to four hosts that poll the streams and carry out commands.
//!
//! The reference runs the processor of `thunderhead-stream`; the plan's alternatives are other turns in the
//! same loop.

use std::cell::Cell;
use std::time::Duration;

use thunderhead_sim::{Cloud, Env};
use thunderhead_stream::{self as stream, Backoff, Failure, Message, Processor, Store};

use super::guests::{CheckOut, CheckOutError, Departure};
use super::mistakes;
use super::names::{ACCOUNTS, LOCKS, STREAMS};
use super::plan::{checkpoint, events, flagged, locked, unversioned};
use super::store::D1Store;
use super::{guests, inbox};

/// How commands are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// The effect and the message id are one, then the command is marked; leases save work.
    Reference,
    /// The plan's first solution.
    ExecuteThenMark,
    /// What the plan recommends.
    MarkThenExecute,
    /// The plan's second solution, with lock ids that are the same in every process, or as it has them.
    AdvisoryLocks {
        /// Whether they are the same.
        stable: bool,
    },
    /// The pattern that the plan starts from.
    Checkpoint,
    /// The plan's append-only alternative.
    ExecutionEvents,
    /// The reference, but that it appends as the plan does: without an expected version.
    Unversioned,
}

/// How many hosts there are at most.
const PROCESSORS: u32 = 4;
/// How soon a processor polls again when there was something to do.
pub const SOON: Duration = Duration::from_millis(250);
/// Pauses grow as long as there is nothing to do, by so much each time.
const SLOWER: u32 = 4;
/// The pause behind which a processor ends its shift, or no run would end: more than two months of nothing, when
/// requests are three weeks apart at most.
const SHIFT: Duration = Duration::from_secs(1 << 22);
/// The same for the plan's alternatives: more than twenty minutes, when a request may arrive ten minutes late. They do
/// not tell a command that always fails from a database in trouble, and a run has to end all the same.
const SHORT_SHIFT: Duration = Duration::from_secs(1_024);
/// The longest pause of the reference after a turn that failed, since there may be something to do.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1_024);
/// How many commands are taken at once.
pub const BATCH: u32 = 10;
/// Longer than a batch takes, and not much longer than one lost call: a lease that is lost is found soon, and
/// one that runs out while its holder is still at work does no harm.
const LEASE_MS: i64 = 15_000;
/// A command that fails by itself is parked at its eighth failure, after two minutes and more. One that fails because a
/// database is in trouble is not parked, though that may last for days.
const BACKOFF: Backoff = Backoff { first_ms: 1_000, longest_ms: 3_600_000, max_failures: 8 };
/// A command that kills its processor is parked after ten deaths in a row. Until one of four processors is heard of,
/// each of them can be waiting for an answer, and crashes can have struck three more: that is fewer.
const MAX_DEATHS: i64 = 10;

/// Adds the hosts, and what this way of working needs.
pub fn mount(cloud: &mut Cloud, approach: Approach) {
    match approach {
        Approach::Reference if mistakes::NO_INDEX.is_made_in(cloud) => {}
        Approach::Reference => cloud.migrate(ACCOUNTS, &[guests::ONCE]),
        Approach::Unversioned => {
            cloud.migrate(ACCOUNTS, &[guests::ONCE]);
            unversioned::choose(cloud);
        }
        Approach::Checkpoint => {
            cloud.migrate(STREAMS, &[checkpoint::CHECKPOINTS]);
            cloud.migrate(ACCOUNTS, &[checkpoint::EXECUTIONS]);
        }
        Approach::AdvisoryLocks { .. } => cloud.durable_object::<locked::LockServer>(LOCKS),
        _ => {}
    }
    for number in 1..=PROCESSORS {
        let name = format!("processor-{number}");
        cloud.worker(&name.clone()).boot(move |env| {
            let name = name.clone();
            async move {
                let mut session = locked::Session::new(&env, &name);
                if let Approach::AdvisoryLocks { .. } = approach {
                    session.open().await;
                }
                if is_hired(&env, number) {
                    work(&env, &name, approach, session).await;
                }
            }
        });
    }
}

/// One to four of them work, as the platform scales them; two when it is left alone.
fn is_hired(env: &Env, number: u32) -> bool {
    match number {
        1 => true,
        2 => env.random(2) == 0,
        _ => env.random(2) == 1,
    }
}

async fn work(env: &Env, name: &str, approach: Approach, mut session: locked::Session<'_>) {
    let (shift, after_failure) = match approach {
        Approach::Reference if mistakes::GOES_HOME.is_made(env) => {
            (SHORT_SHIFT, PAUSE_AFTER_FAILURE)
        }
        Approach::Reference | Approach::Unversioned => (SHIFT, PAUSE_AFTER_FAILURE),
        _ => (SHORT_SHIFT, Duration::MAX),
    };
    let mut processor = processor(env, name);
    let mut pause = SOON;
    while pause <= shift {
        let mut done = 0;
        let turn = match approach {
            Approach::Reference | Approach::Unversioned => {
                reference(env, &mut processor, &mut done).await
            }
            Approach::ExecuteThenMark => flagged::execute_then_mark(env, &mut done).await,
            Approach::MarkThenExecute => flagged::mark_then_execute(env, &mut done).await,
            Approach::AdvisoryLocks { stable } => session.turn(stable, &mut done).await,
            Approach::Checkpoint => checkpoint::turn(env, &mut done).await,
            Approach::ExecutionEvents => events::turn(env, &mut done).await,
        };
        if done > 0 && mistakes::STOPS_WHEN_DONE.is_made(env) {
            return;
        }
        pause = if done > 0 { SOON } else { pause * SLOWER };
        if let Err(failure) = turn {
            env.log(format!("turn ends: {failure}"));
            pause = pause.min(after_failure);
        }
        env.sleep(pause).await;
    }
}

fn processor(env: &Env, name: &str) -> Processor {
    Processor {
        name: name.into(),
        lease_ms: if mistakes::NO_LEASE.is_made(env) { 1 } else { LEASE_MS },
        batch: BATCH,
        backoff: Backoff { max_failures: max_failures(env), ..BACKOFF },
        max_deaths: MAX_DEATHS,
        untold: None,
    }
}

async fn reference(
    env: &Env,
    processor: &mut Processor,
    done: &mut usize,
) -> Result<(), CheckOutError> {
    let poisoned = Cell::new(false);
    let handler = async |message: &Message| {
        let silent = poisoned.get() && mistakes::SILENT_BEHIND_POISON.is_made(env);
        carry_out(env, message, silent).await.map_err(|error| {
            poisoned.set(poisoned.get() || matches!(error, CheckOutError::Poison(_)));
            match mistakes::PARKS_SOON.is_made(env) {
                true => error.to_string().into(),
                false => Failure::from(error),
            }
        })
    };
    let turn = processor.turn(&D1Store::new(env), || now(env), handler).await?;
    *done += turn.marked + turn.failed + turn.parked;
    match turn.claimed > 0 && *done == 0 {
        // No reason to be back soon, and none to go home.
        true => Err(CheckOutError::Unavailable("the claims came to nothing".into())),
        false => Ok(()),
    }
}

/// The handler of the reference. It tells the workflow how the command ended, unless it makes the mistake to be silent.
async fn carry_out(env: &Env, message: &Message, silent: bool) -> Result<(), CheckOutError> {
    if mistakes::MARKS_FIRST.is_made(env) {
        D1Store::new(env).mark_command_processed(&message.key(), now(env)).await?;
    }
    if mistakes::TELLS_FIRST.is_made(env) {
        report(env, message, Ok(Departure::Left)).await?;
    }
    let carried_out = guests::check_out_once(env, command(message)).await;
    if mistakes::UNMARKS_FAILURES.is_made(env) && carried_out.is_err() {
        D1Store::new(env).mark_command_unprocessed(&message.key()).await?;
    }
    if silent {
        return carried_out.map(|_| ());
    }
    if mistakes::TELLS_IF_IT_CAN.is_made(env) {
        let _ = report(env, message, carried_out).await;
        return Ok(());
    }
    report(env, message, carried_out).await
}

impl From<CheckOutError> for Failure {
    fn from(error: CheckOutError) -> Failure {
        match error {
            CheckOutError::Unavailable(why) => Failure::passing(why),
            CheckOutError::Poison(why) => why.into(),
        }
    }
}

fn max_failures(env: &Env) -> i64 {
    match () {
        () if mistakes::PARKS_SOON.is_made(env) => 2,
        () if mistakes::NEVER_PARKS.is_made(env) => i64::MAX,
        () => BACKOFF.max_failures,
    }
}

/// Carries out a command as the plan's handler does, and tells the workflow how it ended.
pub async fn execute(env: &Env, message: &Message) -> Result<(), CheckOutError> {
    report(env, message, guests::check_out_by_state(env, command(message)).await).await
}

/// What happened comes back to the workflow as an event.
pub async fn report(
    env: &Env,
    message: &Message,
    carried_out: Result<Departure, CheckOutError>,
) -> Result<(), CheckOutError> {
    let CheckOut { message_id, guest } = command(message);
    let event = inbox::outcome(message_id, guest, carried_out?);
    Ok(inbox::feed(env, &message.workflow_id, &event).await?)
}

pub fn command(message: &Message) -> CheckOut<'_> {
    let guest = message.message_data["guest"].as_str().unwrap_or_default();
    CheckOut { message_id: &message.message_id, guest }
}

impl From<stream::Error> for CheckOutError {
    fn from(error: stream::Error) -> CheckOutError {
        match error {
            stream::Error::Unavailable(_) => CheckOutError::Unavailable(error.to_string()),
            other => CheckOutError::Poison(other.to_string()),
        }
    }
}

pub fn now(env: &Env) -> i64 {
    env.now().unix_ms().cast_signed()
}
