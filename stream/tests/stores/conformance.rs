//! The contract of a store, as facts that are tried on every database, and on one behind a pooler.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod appending;
mod claiming;
mod deleting;
mod failing;
mod marking;
mod pending;
mod processing;

use serde_json::json;
use thunderhead_stream::{Key, NewMessage, Store};

/// Declares the tests of every fact, once for each database.
macro_rules! on_every_database {
    ($($subject:ident: $($fact:ident),* $(,)?;)*) => {
        on_every_database!(sqlite Sqlite $($subject: $($fact),*;)*);
        on_every_database!(postgres Postgres $($subject: $($fact),*;)*);
        on_every_database!(pooled Pooled $($subject: $($fact),*;)*);
    };
    ($database:ident $fixture:ident $($subject:ident: $($fact:ident),*;)*) => {
        mod $database {
            $(mod $subject {
                $(#[tokio::test]
                async fn $fact() {
                    let fixture = crate::support::fixture::$fixture::new().await;
                    crate::conformance::$subject::$fact(&fixture).await;
                })*
            })*
        }
    };
}

on_every_database! {
    appending:
        a_batch_has_consecutive_positions_from_one,
        what_was_appended_is_read_as_it_was,
        a_stream_is_read_from_any_position,
        another_version_is_a_conflict_that_says_which,
        the_same_batch_again_is_answered_as_the_first_time,
        a_batch_that_is_there_in_part_is_refused,
        what_one_database_could_not_keep_is_refused_by_all,
        appending_at_once_leaves_no_gap_and_loses_nothing,
        a_conflict_never_names_the_version_that_was_expected,
        the_same_batch_from_many_at_once_is_there_once,
        many_can_open_an_empty_database_at_once;
    pending:
        only_output_commands_have_the_flag,
        pending_are_those_not_processed_in_order,
        pages_make_up_the_whole,
        a_page_of_one_workflow_begins_behind_any_key;
    marking:
        the_flag_is_set_once,
        of_many_that_mark_at_once_one_did,
        an_unmarked_command_is_pending_and_due_again,
        the_number_of_an_attempt_is_not_given_out_again_after_the_flag_was_taken_back;
    claiming:
        a_lease_keeps_others_out_until_it_ends,
        what_has_been_due_for_longest_is_claimed_first,
        a_command_of_tomorrow_is_not_due_today,
        those_that_claim_at_once_share_nothing_and_leave_nothing,
        a_claim_that_had_begun_when_it_vanished_is_a_death,
        a_released_command_is_due_and_its_attempt_is_not_given_out_again;
    failing:
        a_failed_command_is_due_after_its_pause,
        a_failure_of_an_old_lease_changes_nothing,
        a_processed_command_cannot_fail,
        a_parked_command_waits_until_it_is_unparked,
        pages_of_parked_commands_make_up_the_whole;
    processing:
        state_is_rebuilt_from_the_stream,
        every_command_is_carried_out_and_marked,
        a_poison_command_does_not_hold_up_the_others,
        what_is_to_blame_for_a_passing_failure_is_waited_for,
        a_command_that_kills_its_processor_is_parked_alone,
        lost_claims_park_nothing_that_nobody_has_begun,
        what_is_not_begun_when_the_lease_ends_is_given_back,
        who_is_only_slow_is_not_dead,
        a_store_that_cannot_be_told_is_told_in_the_next_turn;
    deleting:
        a_deleted_workflow_takes_its_commands_with_it;
}

/// A moment to begin from.
const T0: i64 = 1_763_000_000_123;

/// Commands with ids made of a prefix and a number from 1.
fn commands(prefix: &str, count: usize) -> Vec<NewMessage> {
    let ids = (1..=count).map(|number| format!("{prefix}-{number}"));
    ids.map(|id| NewMessage::output_command(&id, "CheckOut", json!({ "guest": id }))).collect()
}

/// A stream of a few commands, at one moment.
async fn add(store: &impl Store, workflow_id: &str, count: usize, now: i64) {
    let batch = commands(workflow_id, count);
    assert_eq!(store.append(workflow_id, 0, &batch, now).await, Ok(count as i64));
}

/// The keys of all pending commands.
async fn pending(store: &impl Store) -> Vec<String> {
    let messages = store.pending_commands(None, None, 1_000).await.unwrap();
    messages.iter().map(|message| message.key().to_string()).collect()
}

/// The keys of the commands that are claimed.
async fn claim(store: &impl Store, processor: &str, now: i64, lease: i64) -> Vec<String> {
    let claims = store.claim(processor, now, lease, 1_000).await.unwrap();
    claims.iter().map(|claim| claim.message.key().to_string()).collect()
}

/// A key from its text.
fn key(text: &str) -> Key {
    let (workflow_id, position) = text.rsplit_once('/').unwrap();
    Key::new(workflow_id, position.parse().unwrap())
}
