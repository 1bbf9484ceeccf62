//! The contract that every store keeps.

use crate::backoff::Next;
use crate::error::Error;
use crate::message::{Key, Message, NewMessage};

/// Streams of messages, and the commands in them that are still to be carried out.
///
/// Times are milliseconds since 1970 and come from the caller, so that one processor is the same
/// code in a simulation and in the world. A store whose database has a clock of its own may go by
/// that instead, for all operations alike; then callers' clocks may differ. Every operation may be
/// repeated after [`Error::Unavailable`].
#[expect(async_fn_in_trait, reason = "a store of the simulator stays on its one thread")]
pub trait Store {
    /// Adds a batch at the end of a stream that has `expected_version` messages, and answers with
    /// how many it has then: all of the batch or nothing, at consecutive positions.
    ///
    /// A batch whose messages are all there already, by their ids and in this order, is answered
    /// as it was the first time, whatever version is expected now and whatever else it says.
    async fn append(
        &self,
        workflow_id: &str,
        expected_version: i64,
        messages: &[NewMessage],
        now: i64,
    ) -> Result<i64, Error>;

    /// The messages of a stream from a position on, in order; 0 and 1 both mean all of it.
    async fn read_stream(&self, workflow_id: &str, from: i64) -> Result<Vec<Message>, Error>;

    /// Output commands that are not processed, of one workflow or of all, in order of
    /// [`Message::key`], beginning behind `after`: leased and parked ones too.
    async fn pending_commands(
        &self,
        workflow_id: Option<&str>,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<Vec<Message>, Error>;

    /// Leases up to `limit` commands that are due to a processor until `now + lease`: not
    /// processed, not parked, not leased, their back-off over. Those that have been due for longest
    /// come first; the answer is in order of [`Message::key`].
    async fn claim(
        &self,
        processor: &str,
        now: i64,
        lease: i64,
        limit: u32,
    ) -> Result<Vec<Claim>, Error>;

    /// Notes that a claim is about to be carried out. If nobody hears of it from then on, it counts as a death.
    /// Answers false, and changes nothing, when the lease is not held any more.
    async fn begin(&self, claim: &Claim) -> Result<bool, Error>;

    /// Says that the processor which had begun a claim is alive, though it has lost the lease: claims before this
    /// moment are neither vanished nor deaths any more. Answers whether the command is still pending.
    async fn came_back(&self, claim: &Claim) -> Result<bool, Error>;

    /// Sets the flag of a command from false to true, and says whether it was this call that did.
    /// Its lease and its failures are forgotten.
    async fn mark_command_processed(&self, command: &Key, now: i64) -> Result<bool, Error>;

    /// Sets the flag of a command from true to false, and says whether it was this call that did.
    /// It is due at once, as if it had never been claimed; but claims are counted on, so that no number is given out
    /// again.
    async fn mark_command_unprocessed(&self, command: &Key) -> Result<bool, Error>;

    /// Ends a lease because carrying out the command failed, and says what comes next. Answers
    /// false, and changes nothing, when the lease has meanwhile gone to another or the command has
    /// been processed, parked or failed.
    async fn record_failure(
        &self,
        claim: &Claim,
        error: &str,
        next: Next,
        now: i64,
    ) -> Result<bool, Error>;

    /// Gives a lease back unused: the command is due again at `now`, and this claim is neither vanished nor a death.
    /// Its number is not given out again. Answers false, and changes nothing, when the lease is not held any more.
    async fn release(&self, claim: &Claim, now: i64) -> Result<bool, Error>;

    /// Commands that are parked, in order of [`Message::key`], beginning behind `after`.
    async fn parked(&self, after: Option<&Key>, limit: u32) -> Result<Vec<Parked>, Error>;

    /// Makes a parked command due at `now`, its failures forgotten, and says whether it was parked.
    /// Claims are counted on.
    async fn unpark(&self, command: &Key, now: i64) -> Result<bool, Error>;
}

/// A command that is leased to a processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The command.
    pub message: Message,
    /// Who holds the lease.
    pub processor: String,
    /// The moment from which others may claim it again, by the clock that the store goes by.
    pub until: i64,
    /// The how-many-eth claim this is, counting from 1: tells this lease from earlier ones.
    pub attempt: i64,
    /// How many claims before ended with a failure that was recorded.
    pub failures: i64,
    /// How many claims in a row before this one ended with nobody hearing of it: the processor died, or was so slow
    /// that its lease ran out.
    pub vanished: i64,
    /// How many of those had begun ([`Store::begin`]).
    pub deaths: i64,
}

impl Claim {
    /// Claims in the order in which a store answers.
    pub fn in_order(mut claims: Vec<Claim>) -> Vec<Claim> {
        claims.sort_by_cached_key(|claim| claim.message.key());
        claims
    }
}

/// A command that has failed too often to be tried again by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Parked {
    /// The command.
    pub message: Message,
    /// How often it was claimed.
    pub attempts: i64,
    /// How often a failure was recorded.
    pub failures: i64,
    /// What the last failure said.
    pub error: String,
    /// When it was parked.
    pub parked_at: i64,
}
