//! The flag.

use thunderhead_stream::{Key, Next, Store};

use super::{T0, add, claim, key, pending};
use crate::support::fixture::{Fixture, at_once};

pub async fn the_flag_is_set_once(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 2, T0).await;
    assert_eq!(store.mark_command_processed(&key("w/1"), T0 + 5).await, Ok(true));
    assert_eq!(store.mark_command_processed(&key("w/1"), T0 + 6).await, Ok(false));
    assert_eq!(store.mark_command_processed(&key("w/3"), T0).await, Ok(false));
    assert_eq!(store.mark_command_processed(&key("v/1"), T0).await, Ok(false));
    let stream = store.read_stream("w", 0).await.unwrap();
    assert_eq!((stream[0].processed, stream[0].processed_at), (Some(true), Some(T0 + 5)));
    assert_eq!((stream[1].processed, stream[1].processed_at), (Some(false), None));
    assert_eq!(pending(&store).await, ["w/2"]);
    assert_eq!(claim(&store, "p", T0, 1).await, ["w/2"]);
}

pub async fn of_many_that_mark_at_once_one_did(fixture: &impl Fixture) {
    const COMMANDS: i64 = 50;
    add(&fixture.open().await, "w", COMMANDS as usize, T0).await;
    let answers = at_once(fixture, 4, async |store, _| {
        let mut marked = 0;
        for position in 1..=COMMANDS {
            let command = Key::new("w", position);
            marked += i64::from(store.mark_command_processed(&command, T0).await.unwrap());
        }
        marked
    });
    assert_eq!(answers.iter().sum::<i64>(), COMMANDS, "{answers:?}");
}

pub async fn an_unmarked_command_is_pending_and_due_again(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    assert_eq!(store.mark_command_unprocessed(&key("w/1")).await, Ok(false));
    store.claim("p", T0, 1_000, 1).await.unwrap();
    store.mark_command_processed(&key("w/1"), T0 + 1).await.unwrap();
    assert_eq!(store.mark_command_unprocessed(&key("w/1")).await, Ok(true));
    assert_eq!(store.mark_command_unprocessed(&key("w/1")).await, Ok(false));
    assert_eq!(store.read_stream("w", 0).await.unwrap()[0].processed_at, None);
    assert_eq!(pending(&store).await, ["w/1"]);
    let claims = store.claim("q", T0, 1_000, 1).await.unwrap();
    assert_eq!((claims[0].attempt, claims[0].failures), (2, 0));
}

pub async fn the_number_of_an_attempt_is_not_given_out_again_after_the_flag_was_taken_back(
    fixture: &impl Fixture,
) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let mut old = Vec::new();
    for attempt in 1..=3 {
        let claims = store.claim("p", T0, 1_000, 1).await.unwrap();
        assert_eq!((claims[0].attempt, claims[0].vanished, claims[0].deaths), (attempt, 0, 0));
        // Nobody who holds an earlier claim ends this one, though it is the same processor's.
        for stale in &old {
            assert_eq!(store.begin(stale).await, Ok(false));
            assert_eq!(store.record_failure(stale, "no", Next::Park, T0).await, Ok(false));
            assert_eq!(store.release(stale, T0).await, Ok(false));
        }
        assert_eq!(store.parked(None, 9).await, Ok(vec![]));
        store.mark_command_processed(&key("w/1"), T0).await.unwrap();
        store.mark_command_unprocessed(&key("w/1")).await.unwrap();
        old.extend(claims);
    }
    // The flag goes up and down without a claim in between.
    store.mark_command_processed(&key("w/1"), T0).await.unwrap();
    store.mark_command_unprocessed(&key("w/1")).await.unwrap();
    assert_eq!(store.claim("p", T0, 1_000, 1).await.unwrap()[0].attempt, 4);
}
