//! Every store answers as a model does that fits on a screen, whatever is asked in whatever order.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod model;

use model::Model;
use proptest::prelude::*;
use serde_json::json;
use thunderhead_stream::postgres::connect;
use thunderhead_stream::{
    Claim, Direction, Error, Key, Kind, Message, NewMessage, Next, SqliteStore, Store,
};

use crate::support::fixture::{Fixture, Postgres, block_on};

const WORKFLOWS: [&str; 3] = ["b", "B", "a"];

/// Something asked of a store. Places are counted among what is there, and wrap around.
#[derive(Clone, Debug)]
enum Ask {
    Append { workflow: usize, off: i64, ids: Vec<(u8, Kind, Direction)> },
    Claim { processor: u8, lease: i64, limit: u32 },
    Begin(usize),
    ComeBack(usize),
    Mark(usize),
    Unmark(usize),
    Fail { claim: usize, pause: Option<i64> },
    Release(usize),
    Unpark(usize),
    Wait(i64),
}

fn ask() -> impl Strategy<Value = Ask> {
    // Few ids, so that batches meet; mostly commands, since they are what the rest is about.
    let kind = prop_oneof![3 => Just(Kind::Command), 1 => Just(Kind::Event)];
    let direction = prop_oneof![3 => Just(Direction::Output), 1 => Just(Direction::Input)];
    let message = (0..16_u8, kind, direction);
    let off = prop_oneof![4 => Just(0), 1 => -2..=2_i64];
    prop_oneof![
        4 => (0..3_usize, off, prop::collection::vec(message, 1..4))
            .prop_map(|(workflow, off, ids)| Ask::Append { workflow, off, ids }),
        4 => (0..2_u8, 0..30_i64, 0..4_u32)
            .prop_map(|(processor, lease, limit)| Ask::Claim { processor, lease, limit }),
        2 => any::<usize>().prop_map(Ask::Begin),
        1 => any::<usize>().prop_map(Ask::ComeBack),
        3 => any::<usize>().prop_map(Ask::Mark),
        1 => any::<usize>().prop_map(Ask::Unmark),
        3 => (any::<usize>(), prop::option::of(0..30_i64))
            .prop_map(|(claim, pause)| Ask::Fail { claim, pause }),
        1 => any::<usize>().prop_map(Ask::Release),
        2 => any::<usize>().prop_map(Ask::Unpark),
        2 => (1..30_i64).prop_map(Ask::Wait),
    ]
}

/// Asks store and model alike, and compares what they answer and what they hold.
async fn agree(store: &impl Store, asks: &[Ask]) {
    let mut model = Model::default();
    let mut claims: Vec<Claim> = Vec::new();
    let mut now = 1_763_000_000_000;
    for (number, ask) in asks.iter().enumerate() {
        let place = |index: usize| {
            let keys = model.keys();
            keys.get(index % keys.len().max(1)).cloned().unwrap_or(Key::new("nobody", 1))
        };
        let context = format!("at ask {number}, {ask:?}");
        match ask {
            Ask::Append { workflow, off, ids } => {
                let (workflow, batch) = (WORKFLOWS[*workflow], batch(ids));
                let version = model.version(workflow) + off;
                let answer = store.append(workflow, version, &batch, now).await;
                let expected = model.append(workflow, version, &batch, now);
                match (&answer, &expected) {
                    // Which of several is named is nobody's promise.
                    (Err(Error::DuplicateId { .. }), Err(Error::DuplicateId { .. })) => {}
                    _ => assert_eq!(answer, expected, "{context}"),
                }
            }
            Ask::Claim { processor, lease, limit } => {
                let processor = format!("p{processor}");
                let answer = store.claim(&processor, now, *lease, *limit).await.unwrap();
                assert_eq!(answer, model.claim(&processor, now, *lease, *limit), "{context}");
                claims.extend(answer);
            }
            Ask::Begin(claim) => {
                let Some(claim) = claims.get(claim % claims.len().max(1)) else { continue };
                assert_eq!(store.begin(claim).await, Ok(model.begin(claim)), "{context}");
            }
            Ask::ComeBack(claim) => {
                let Some(claim) = claims.get(claim % claims.len().max(1)) else { continue };
                assert_eq!(store.came_back(claim).await, Ok(model.came_back(claim)), "{context}");
            }
            Ask::Mark(index) => {
                let key = place(*index);
                let answer = store.mark_command_processed(&key, now).await;
                assert_eq!(answer, Ok(model.set_flag(&key, true, Some(now))), "{context}");
            }
            Ask::Unmark(index) => {
                let key = place(*index);
                let answer = store.mark_command_unprocessed(&key).await;
                assert_eq!(answer, Ok(model.set_flag(&key, false, None)), "{context}");
            }
            Ask::Fail { claim, pause } => {
                let Some(claim) = claims.get(claim % claims.len().max(1)) else { continue };
                let next = pause.map_or(Next::Park, Next::RetryAfter);
                let answer = store.record_failure(claim, "no", next, now).await;
                assert_eq!(answer, Ok(model.fail(claim, next, now)), "{context}");
            }
            Ask::Release(claim) => {
                let Some(claim) = claims.get(claim % claims.len().max(1)) else { continue };
                let answer = store.release(claim, now).await;
                assert_eq!(answer, Ok(model.release(claim, now)), "{context}");
            }
            Ask::Unpark(index) => {
                let key = place(*index);
                assert_eq!(store.unpark(&key, now).await, Ok(model.unpark(&key, now)), "{context}");
            }
            Ask::Wait(pause) => now += pause,
        }
        assert_eq!(store.pending_commands(None, None, 99).await.unwrap(), model.pending());
        assert_eq!(store.parked(None, 99).await.unwrap(), model.parked(), "{context}");
    }
    for workflow in WORKFLOWS {
        assert_eq!(store.read_stream(workflow, 0).await.unwrap(), model.stream(workflow));
    }
}

/// Messages with ids from a small number of them, each once.
fn batch(ids: &[(u8, Kind, Direction)]) -> Vec<NewMessage> {
    let mut batch: Vec<NewMessage> = Vec::new();
    for (id, kind, direction) in ids {
        let mut message = NewMessage::input_event(&format!("m{id}"), "T", json!({ "id": id }));
        (message.kind, message.direction) = (*kind, *direction);
        if batch.iter().all(|other| other.message_id != message.message_id) {
            batch.push(message);
        }
    }
    batch
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec(ask(), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn sqlite_answers_as_the_model_does(asks in asks()) {
        block_on(agree(&SqliteStore::in_memory().unwrap(), &asks));
    }
}

#[test]
fn postgres_answers_as_the_model_does() {
    // One connection for all: making a database takes longer than asking it fifty times.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (store, client) = runtime.block_on(async {
        let fixture = Postgres::new().await;
        (fixture.open().await, connect(fixture.settings()).await.unwrap())
    });
    proptest!(ProptestConfig::with_cases(200), |(asks in asks())| {
        runtime.block_on(async {
            let empty = "TRUNCATE workflow_messages, command_deliveries";
            client.batch_execute(empty).await.unwrap();
            agree(&store, &asks).await;
        });
    });
}

/// What a message is expected to be.
fn placed(new: &NewMessage, workflow_id: &str, position: i64, now: i64) -> Message {
    let new = new.clone();
    Message {
        workflow_id: workflow_id.to_owned(),
        position,
        kind: new.kind,
        direction: new.direction,
        processed: new.is_executed().then_some(false),
        message_id: new.message_id,
        message_type: new.message_type,
        message_data: new.message_data,
        message_metadata: new.message_metadata,
        created_at: now,
        processed_at: None,
    }
}
