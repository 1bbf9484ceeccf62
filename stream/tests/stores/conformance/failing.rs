//! Commands that fail.

use thunderhead_stream::{Next, Store};

use super::{T0, add, claim, key, pending};
use crate::support::fixture::Fixture;

pub async fn a_failed_command_is_due_after_its_pause(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    for failures in 0..3 {
        let now = T0 + failures * 50;
        let claims = store.claim("p", now, 1_000, 1).await.unwrap();
        assert_eq!((claims[0].attempt, claims[0].failures), (failures + 1, failures));
        assert_eq!((claims[0].vanished, claims[0].deaths), (0, 0));
        assert_eq!(store.begin(&claims[0]).await, Ok(true));
        let next = Next::RetryAfter(50);
        assert_eq!(store.record_failure(&claims[0], "not today\0", next, now).await, Ok(true));
        assert_eq!(store.record_failure(&claims[0], "twice", next, now).await, Ok(false));
        assert_eq!(claim(&store, "p", now + 49, 1_000).await, [""; 0]);
    }
    assert_eq!(pending(&store).await, ["w/1"]);
    assert_eq!(store.parked(None, 10).await, Ok(vec![]));
}

pub async fn a_failure_of_an_old_lease_changes_nothing(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let old = store.claim("p", T0, 10, 1).await.unwrap();
    // The processor that was too slow may be the one that claims again.
    let new = store.claim("p", T0 + 10, 10, 1).await.unwrap();
    assert_eq!(store.record_failure(&old[0], "late", Next::Park, T0).await, Ok(false));
    assert_eq!(store.parked(None, 10).await, Ok(vec![]));
    // A lease that has ended and is nobody else's can still tell how it went.
    let next = Next::RetryAfter(99);
    assert_eq!(store.record_failure(&new[0], "no", next, T0).await, Ok(true));
}

pub async fn a_processed_command_cannot_fail(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let claims = store.claim("p", T0, 10, 1).await.unwrap();
    store.mark_command_processed(&key("w/1"), T0).await.unwrap();
    assert_eq!(store.record_failure(&claims[0], "no", Next::Park, T0).await, Ok(false));
    assert_eq!(store.unpark(&key("w/1"), T0).await, Ok(false));
    assert_eq!(claim(&store, "p", T0 + 99, 10).await, [""; 0]);
}

pub async fn a_parked_command_waits_until_it_is_unparked(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 2, T0).await;
    let claims = store.claim("p", T0, 10, 1).await.unwrap();
    assert_eq!(store.unpark(&key("w/1"), T0).await, Ok(false));
    assert_eq!(store.record_failure(&claims[0], "no", Next::Park, T0 + 7).await, Ok(true));
    assert_eq!(claim(&store, "p", T0 + 1_000_000, 10).await, ["w/2"]);
    let parked = store.parked(None, 10).await.unwrap();
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].message, claims[0].message);
    assert_eq!((parked[0].attempts, parked[0].failures), (1, 1));
    assert_eq!((parked[0].error.as_str(), parked[0].parked_at), ("no", T0 + 7));

    assert_eq!(store.unpark(&key("w/1"), T0 + 20).await, Ok(true));
    assert_eq!(store.unpark(&key("w/1"), T0 + 20).await, Ok(false));
    assert_eq!(store.parked(None, 10).await, Ok(vec![]));
    assert_eq!(claim(&store, "p", T0 + 19, 10).await, [""; 0]);
    let claims = store.claim("p", T0 + 20, 10, 1).await.unwrap();
    assert_eq!((claims[0].attempt, claims[0].failures, claims[0].vanished), (2, 0, 0));
    // A parked command can be marked by someone who knows better, and is parked no more.
    store.record_failure(&claims[0], "no", Next::Park, T0).await.unwrap();
    assert_eq!(store.mark_command_processed(&key("w/1"), T0).await, Ok(true));
    assert_eq!(store.parked(None, 10).await, Ok(vec![]));
}

pub async fn pages_of_parked_commands_make_up_the_whole(fixture: &impl Fixture) {
    let store = fixture.open().await;
    for workflow in ["b", "a"] {
        add(&store, workflow, 3, T0).await;
    }
    for claim in store.claim("p", T0, 10, 5).await.unwrap() {
        store.record_failure(&claim, "no", Next::Park, T0).await.unwrap();
    }
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let page = store.parked(after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.message.key());
        keys.extend(page.iter().map(|parked| parked.message.key().to_string()));
    }
    assert_eq!(keys, ["a/1", "a/2", "a/3", "b/1", "b/2"]);
}
