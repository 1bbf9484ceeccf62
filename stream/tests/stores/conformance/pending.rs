//! What is still to be carried out.

use serde_json::json;
use thunderhead_stream::{Key, NewMessage, Next, Store};

use super::{T0, add, key, pending};
use crate::support::fixture::Fixture;

pub async fn only_output_commands_have_the_flag(fixture: &impl Fixture) {
    let store = fixture.open().await;
    let batch = [
        NewMessage::input_command("a", "A", json!(1)),
        NewMessage::output_command("b", "B", json!(2)),
        NewMessage::input_event("c", "C", json!(3)),
        NewMessage::output_event("d", "D", json!(4)),
    ];
    store.append("w", 0, &batch, T0).await.unwrap();
    let stream = store.read_stream("w", 0).await.unwrap();
    let flags: Vec<_> = stream.iter().map(|message| message.processed).collect();
    assert_eq!(flags, [None, Some(false), None, None]);
    assert_eq!(pending(&store).await, ["w/2"]);
    for position in [1, 3, 4, 5] {
        let command = Key::new("w", position);
        assert_eq!(store.mark_command_processed(&command, T0).await, Ok(false));
        assert_eq!(store.mark_command_unprocessed(&command).await, Ok(false));
    }
    let claims = store.claim("p", T0, 1, 10).await.unwrap();
    assert_eq!(claims[0].message, stream[1]);
    assert_eq!(claims.len(), 1);
}

pub async fn pending_are_those_not_processed_in_order(fixture: &impl Fixture) {
    let store = fixture.open().await;
    // In the order of bytes, which is that of no language.
    for workflow in ["b", "a", "B", "ä", "a-b", "ab", "Z"] {
        add(&store, workflow, 2, T0).await;
    }
    store.mark_command_processed(&key("a/1"), T0).await.unwrap();
    store.mark_command_processed(&key("Z/2"), T0).await.unwrap();
    // Neither a lease nor a failure makes a command less pending.
    let claims = store.claim("p", T0, 1_000, 4).await.unwrap();
    store.record_failure(&claims[0], "no", Next::Park, T0).await.unwrap();
    store.record_failure(&claims[1], "no", Next::RetryAfter(9), T0).await.unwrap();
    let expected =
        ["B/1", "B/2", "Z/1", "a/2", "a-b/1", "a-b/2", "ab/1", "ab/2", "b/1", "b/2", "ä/1", "ä/2"];
    assert_eq!(pending(&store).await, expected);
    let of_one = store.pending_commands(Some("a"), None, 10).await.unwrap();
    assert_eq!(of_one, store.read_stream("a", 2).await.unwrap());
}

pub async fn pages_make_up_the_whole(fixture: &impl Fixture) {
    let store = fixture.open().await;
    for workflow in ["b", "a", "c"] {
        add(&store, workflow, 5, T0).await;
    }
    let whole = store.pending_commands(None, None, 100).await.unwrap();
    assert_eq!(whole.len(), 15);
    for limit in [1, 2, 4, 5, 15, 16] {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = store.pending_commands(None, after.as_ref(), limit).await.unwrap();
            assert!(page.len() <= limit as usize);
            let Some(last) = page.last() else { break };
            after = Some(last.key());
            pages.extend(page);
        }
        assert_eq!(pages, whole, "with {limit} to a page");
    }
    assert_eq!(store.pending_commands(None, None, 0).await, Ok(vec![]));
}

pub async fn a_page_of_one_workflow_begins_behind_any_key(fixture: &impl Fixture) {
    let store = fixture.open().await;
    for workflow in ["a", "b", "c"] {
        add(&store, workflow, 3, T0).await;
    }
    for (after, expected) in [("a/2", 3), ("b/0", 3), ("b/1", 2), ("b/3", 0), ("c/1", 0)] {
        let page = store.pending_commands(Some("b"), Some(&key(after)), 10).await.unwrap();
        assert_eq!(page.len(), expected, "behind {after}");
        assert!(page.iter().all(|message| message.workflow_id == "b"));
    }
}
