//! Streams.

use serde_json::json;
use thunderhead_stream::{Direction, Error, Kind, Message, NewMessage, Store};

use super::{T0, add, commands};
use crate::support::fixture::{Fixture, at_once};

async fn ids(store: &impl Store, workflow_id: &str) -> Vec<(i64, String)> {
    let stream = store.read_stream(workflow_id, 0).await.unwrap();
    stream.into_iter().map(|message| (message.position, message.message_id)).collect()
}

pub async fn a_batch_has_consecutive_positions_from_one(fixture: &impl Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.append("w", 0, &commands("a", 2), T0).await, Ok(2));
    assert_eq!(store.append("w", 2, &commands("b", 1), T0).await, Ok(3));
    assert_eq!(store.append("v", 0, &commands("c", 1), T0).await, Ok(1));
    let expected = [(1, "a-1"), (2, "a-2"), (3, "b-1")].map(|(at, id)| (at, id.to_owned()));
    assert_eq!(ids(&store, "w").await, expected);
}

pub async fn what_was_appended_is_read_as_it_was(fixture: &impl Fixture) {
    let store = fixture.open().await;
    let data = json!({
        "text": "Grüße\n\"☃\" 'x' \\u0041 \u{1F600}", "list": [null, true, -1, i64::MAX, 1.5], "": {},
    });
    let mut message = NewMessage::input_event("id", "Ein Ereignis", data.clone());
    message.message_metadata = json!({ "by": ["you"] });
    store.append("gäste/7", 0, &[message], T0).await.unwrap();
    // Another connection reads what is stored, not what was remembered.
    let stream = fixture.open().await.read_stream("gäste/7", 0).await.unwrap();
    let expected = Message {
        workflow_id: "gäste/7".into(),
        position: 1,
        kind: Kind::Event,
        direction: Direction::Input,
        message_id: "id".into(),
        message_type: "Ein Ereignis".into(),
        message_data: data,
        message_metadata: json!({ "by": ["you"] }),
        processed: None,
        created_at: T0,
        processed_at: None,
    };
    assert_eq!(stream, [expected]);
    for (number, moment) in [0, 1, 999, 253_402_300_799_999].into_iter().enumerate() {
        let workflow = format!("at {moment}");
        let batch = commands(&format!("time-{number}"), 1);
        store.append(&workflow, 0, &batch, moment).await.unwrap();
        assert_eq!(store.read_stream(&workflow, 0).await.unwrap()[0].created_at, moment);
    }
}

pub async fn a_stream_is_read_from_any_position(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 3, T0).await;
    for (from, count) in [(-1, 3), (0, 3), (1, 3), (2, 2), (3, 1), (4, 0)] {
        assert_eq!(store.read_stream("w", from).await.unwrap().len(), count, "from {from}");
    }
    assert_eq!(store.read_stream("nobody", 0).await, Ok(vec![]));
}

pub async fn another_version_is_a_conflict_that_says_which(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 2, T0).await;
    for wrong in [-1, 0, 1, 3, i64::MAX] {
        let answer = store.append("w", wrong, &commands("b", 2), T0).await;
        assert_eq!(answer, Err(Error::Conflict { actual: 2 }), "at {wrong}");
    }
    let answer = store.append("v", 1, &commands("b", 2), T0).await;
    assert_eq!(answer, Err(Error::Conflict { actual: 0 }));
    assert_eq!(store.append("w", 2, &commands("b", 2), T0).await, Ok(4));
}

pub async fn the_same_batch_again_is_answered_as_the_first_time(fixture: &impl Fixture) {
    let store = fixture.open().await;
    store.append("w", 0, &commands("a", 2), T0).await.unwrap();
    store.append("w", 2, &commands("b", 2), T0).await.unwrap();
    store.append("w", 4, &commands("c", 1), T0).await.unwrap();
    for version in [0, 2, 4, 5, 9] {
        assert_eq!(store.append("w", version, &commands("b", 2), T0 + 1).await, Ok(4));
    }
    assert_eq!(ids(&store, "w").await.len(), 5);
}

pub async fn a_batch_that_is_there_in_part_is_refused(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "a", 2, T0).await;
    let backwards: Vec<_> = commands("a", 2).into_iter().rev().collect();
    let apart = [commands("a", 1), commands("x", 1), commands("a", 2)[1..].to_vec()].concat();
    for (workflow, batch) in [
        ("a", commands("a", 3)),
        ("a", backwards),
        ("a", [commands("x", 1), commands("a", 2)].concat()),
        ("a", apart),
        ("b", commands("a", 2)),
    ] {
        for version in [0, 2] {
            let answer = store.append(workflow, version, &batch, T0).await;
            assert!(matches!(answer, Err(Error::DuplicateId { .. })), "{answer:?}");
        }
    }
    // A part of a batch, beginning anywhere in it, is what was appended then and there.
    assert_eq!(store.append("a", 2, &commands("a", 2)[1..], T0).await, Ok(2));
    assert_eq!(ids(&store, "a").await.len(), 2);
}

pub async fn what_one_database_could_not_keep_is_refused_by_all(fixture: &impl Fixture) {
    let store = fixture.open().await;
    let with = |data| vec![NewMessage::input_event("id", "T", data)];
    let nested = (0..101).fold(json!(null), |inner, _| json!([inner]));
    for batch in [
        vec![],
        with(json!("\0")),
        with(json!({ "a": ["\0"] })),
        with(json!({ "\0": 1 })),
        with(nested),
        vec![NewMessage::input_event("", "T", json!(1))],
        vec![NewMessage::input_event(&"i".repeat(513), "T", json!(1))],
        vec![NewMessage::input_event("id", "T\0", json!(1))],
        [commands("a", 1), commands("a", 1)].concat(),
    ] {
        let answer = store.append("w", 0, &batch, T0).await;
        assert!(matches!(answer, Err(Error::Invalid(_))), "{answer:?}");
    }
    for workflow in ["", "w\0", &"w".repeat(513)] {
        let answer = store.append(workflow, 0, &commands("a", 1), T0).await;
        assert!(matches!(answer, Err(Error::Invalid(_))), "{answer:?}");
    }
    // What is just within the limits is kept.
    let nested = (0..100).fold(json!(null), |inner, _| json!([inner]));
    let longest = NewMessage::input_event(&"ü".repeat(256), "", nested);
    assert_eq!(store.append(&"w".repeat(512), 0, std::slice::from_ref(&longest), T0).await, Ok(1));
    let stream = store.read_stream(&"w".repeat(512), 0).await.unwrap();
    assert_eq!(stream[0].message_data, longest.message_data);
}

pub async fn appending_at_once_leaves_no_gap_and_loses_nothing(fixture: &impl Fixture) {
    const THREADS: usize = 4;
    const BATCHES: usize = 20;
    let conflicts: usize = at_once(fixture, THREADS, async |store, thread| {
        let (mut version, mut conflicts) = (0, 0);
        for number in 0..BATCHES {
            let batch = commands(&format!("{thread}-{number}"), 1 + number % 3);
            loop {
                match store.append("w", version, &batch, T0).await {
                    Ok(reached) => break version = reached,
                    Err(Error::Conflict { actual }) => {
                        assert_ne!(actual, version, "that would not have been a conflict");
                        (version, conflicts) = (actual, conflicts + 1);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
        conflicts
    })
    .into_iter()
    .sum();
    let stream = ids(&fixture.open().await, "w").await;
    let positions: Vec<i64> = stream.iter().map(|(position, _)| *position).collect();
    let length = THREADS * (0..BATCHES).map(|number| 1 + number % 3).sum::<usize>();
    assert_eq!(positions, (1..=length as i64).collect::<Vec<_>>());
    // All of them begin with version 0, which is right for one.
    assert!(conflicts >= THREADS - 1, "{conflicts} conflicts");
}

pub async fn a_conflict_never_names_the_version_that_was_expected(fixture: &impl Fixture) {
    // Two take turns, each trying over and over before its turn has come.
    let wrong = at_once(fixture, 2, async |store, thread| {
        let mut wrong = Vec::new();
        for version in (0..200).skip(thread).step_by(2) {
            let batch = commands(&format!("v{version}"), 1);
            while let Err(error) = store.append("w", version, &batch, T0).await {
                if !matches!(error, Error::Conflict { actual } if actual < version) {
                    wrong.push((version, error));
                }
            }
        }
        wrong
    });
    assert_eq!(wrong.concat(), []);
}

pub async fn the_same_batch_from_many_at_once_is_there_once(fixture: &impl Fixture) {
    for round in 0..20 {
        let (workflow, batch) = (format!("w{round}"), commands(&format!("r{round}"), 3));
        let answers =
            at_once(fixture, 4, async |store, _| store.append(&workflow, 0, &batch, T0).await);
        assert_eq!(answers, [Ok(3), Ok(3), Ok(3), Ok(3)]);
        assert_eq!(ids(&fixture.open().await, &workflow).await.len(), 3);
    }
}

pub async fn many_can_open_an_empty_database_at_once(fixture: &impl Fixture) {
    at_once(fixture, 8, async |store, thread| {
        store.append(&format!("w{thread}"), 0, &commands(&format!("{thread}"), 1), T0).await
    })
    .into_iter()
    .for_each(|answer| assert_eq!(answer, Ok(1)));
}
