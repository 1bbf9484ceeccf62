//! Workflows that somebody deletes.

use thunderhead_stream::{Next, Store};

use super::{T0, add, claim, key, pending};
use crate::support::fixture::Fixture;

pub async fn a_deleted_workflow_takes_its_commands_with_it(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "gone", 3, T0).await;
    add(&store, "kept", 2, T0).await;
    let held = store.claim("p", T0, 100, 2).await.unwrap();
    assert_eq!(store.record_failure(&held[1], "no", Next::Park, T0).await, Ok(true));
    fixture.execute("DELETE FROM workflow_messages WHERE workflow_id = 'gone'").await;

    // Of three that were pending, one was leased, one parked and one due.
    assert_eq!(pending(&store).await, ["kept/1", "kept/2"]);
    assert_eq!(store.parked(None, 9).await, Ok(vec![]));
    let first = store.claim("p", T0 + 1_000, 100, 1).await.unwrap();
    assert_eq!(first.len(), 1, "no claim is spent on what is gone");
    assert_eq!(claim(&store, "p", T0 + 1_000, 100).await, ["kept/2"]);
    assert_eq!(store.begin(&held[0]).await, Ok(false));
    assert_eq!(store.record_failure(&held[0], "late", Next::Park, T0).await, Ok(false));
    assert_eq!(store.mark_command_processed(&key("gone/1"), T0).await, Ok(false));
    // The workflow begins anew, in the same places and under the same ids.
    add(&store, "gone", 3, T0 + 2_000).await;
    assert_eq!(claim(&store, "p", T0 + 2_000, 9).await.len(), 5);
}
