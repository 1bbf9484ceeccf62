//! The processor that holds: claim, let the handler take effect once, mark.

use crate::backoff::{Backoff, Next};
use crate::error::Error;
use crate::message::Message;
use crate::store::{Claim, Store};

/// Carries out commands of a store, beside any number of others.
///
/// A lease keeps processors out of each other's way; it does not make anything happen once. That
/// is the handler's part: it records the message id in the same transaction as its effect, and
/// does nothing when the id is there. Marking comes after, so a crash anywhere means that the command
/// is carried out again, to no effect, and then marked.
#[derive(Clone, Debug, PartialEq)]
pub struct Processor {
    /// Who holds the leases.
    pub name: String,
    /// How long a lease lasts, in milliseconds: well above what a batch takes.
    pub lease_ms: i64,
    /// How many commands are claimed at once.
    pub batch: u32,
    /// When commands that fail are tried again.
    pub backoff: Backoff,
    /// A command that was begun so often in a row with nobody coming back is taken for one that kills its
    /// processor, and parked.
    pub max_deaths: i64,
    /// A claim that was begun and whose end the store could not be told; nothing at first. The next turn begins
    /// with telling it, so that a database in trouble is not taken for the death of a processor.
    pub untold: Option<Claim>,
}

/// What a processor did in one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Commands that were leased.
    pub claimed: usize,
    /// Commands that were carried out and marked by this processor.
    pub marked: usize,
    /// Commands that failed and will be tried again.
    pub failed: usize,
    /// Commands that were parked.
    pub parked: usize,
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened, for whoever looks at the command when it is parked.
    pub error: String,
    /// Whether something else is to blame, such as a database that does not answer. Then the command is tried again
    /// for as long as that lasts, and never parked for it.
    pub passing: bool,
}

impl Failure {
    /// A failure that is not the command's own.
    pub fn passing(error: impl Into<String>) -> Failure {
        Failure { error: error.into(), passing: true }
    }
}

/// A failure that is the command's own, as far as anybody knows.
impl From<String> for Failure {
    fn from(error: String) -> Failure {
        Failure { error, passing: false }
    }
}

impl Processor {
    /// Claims one batch and carries it out, command by command. An error of the store ends the
    /// turn; leases that are left run out by themselves.
    ///
    /// A claim that vanished may have killed its processor, or only have waited behind one that
    /// did, or its answer was late. So commands that vanished twice are carried out one at a time, all others
    /// given back before, and the store is told that it begins: then only the culprit dies again.
    pub async fn turn<S: Store, E: Into<Failure>>(
        &mut self,
        store: &S,
        clock: impl Fn() -> i64,
        mut handler: impl AsyncFnMut(&Message) -> Result<(), E>,
    ) -> Result<Turn, Error> {
        if let Some(claim) = &self.untold {
            store.came_back(claim).await?;
            self.untold = None;
        }
        // The store may go by another clock than this one. That so much time has passed since the claim was asked
        // for is true by both.
        let asked = clock();
        let ends = asked.saturating_add(self.lease_ms);
        let claims = store.claim(&self.name, asked, self.lease_ms, self.batch).await?;
        let mut turn = Turn { claimed: claims.len(), ..Turn::default() };
        let (suspects, others): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|claim| claim.vanished >= SUSPICIOUS);
        let mut others = others.iter();
        // Behind the end of the lease others carry it out as well: harmless, but wasted.
        while clock() < ends
            && let Some(claim) = others.next()
        {
            self.carry_out(store, &clock, &mut handler, claim, &mut turn).await?;
        }
        let mut suspects = suspects.iter();
        let suspect = if clock() < ends { suspects.next() } else { None };
        for claim in others.chain(suspects) {
            store.release(claim, clock()).await?;
        }
        if let Some(claim) = suspect {
            let is_held = || clock() < ends;
            self.suspect(store, &clock, is_held, &mut handler, claim, &mut turn).await?;
        }
        Ok(turn)
    }

    /// Carries out a command that may have killed its processors, unless that has happened too often.
    async fn suspect<S: Store, E: Into<Failure>>(
        &mut self,
        store: &S,
        clock: impl Fn() -> i64,
        is_held: impl Fn() -> bool,
        handler: &mut impl AsyncFnMut(&Message) -> Result<(), E>,
        claim: &Claim,
        turn: &mut Turn,
    ) -> Result<(), Error> {
        if claim.deaths >= self.max_deaths {
            turn.parked +=
                usize::from(store.record_failure(claim, DEADLY, Next::Park, clock()).await?);
            return Ok(());
        }
        self.untold = Some(claim.clone());
        if store.begin(claim).await? {
            let heard = match is_held() {
                true => self.carry_out(store, &clock, handler, claim, turn).await?,
                false => store.release(claim, clock()).await?,
            };
            if !heard {
                store.came_back(claim).await?;
            }
        }
        self.untold = None;
        Ok(())
    }

    /// Carries out one command, and answers whether the store has taken note of how it ended.
    async fn carry_out<S: Store, E: Into<Failure>>(
        &self,
        store: &S,
        clock: impl Fn() -> i64,
        handler: &mut impl AsyncFnMut(&Message) -> Result<(), E>,
        claim: &Claim,
        turn: &mut Turn,
    ) -> Result<bool, Error> {
        let failure = match handler(&claim.message).await {
            Ok(()) => {
                let key = claim.message.key();
                turn.marked += usize::from(store.mark_command_processed(&key, clock()).await?);
                return Ok(true);
            }
            Err(failure) => failure.into(),
        };
        let failures = claim.failures + 1;
        let next = match failure.passing {
            true => Next::RetryAfter(self.backoff.pause(failures)),
            false => self.backoff.next(failures),
        };
        let recorded = store.record_failure(claim, &failure.error, next, clock()).await?;
        match next {
            Next::RetryAfter(_) => turn.failed += usize::from(recorded),
            Next::Park => turn.parked += usize::from(recorded),
        }
        Ok(recorded)
    }
}

/// How often a claim has to vanish before that is hardly an accident.
const SUSPICIOUS: i64 = 2;
/// What is recorded of a command that was begun and never heard of again.
const DEADLY: &str = "begun again and again, and nobody came back";
