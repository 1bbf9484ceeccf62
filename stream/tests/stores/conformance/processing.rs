//! The processor, and state.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;

use thunderhead_stream::{Backoff, Failure, Message, Processor, Store, Turn, rebuild};

use super::{T0, add, claim, commands, pending};
use crate::support::fixture::Fixture;

fn processor() -> Processor {
    let backoff = Backoff { first_ms: 100, longest_ms: 1_000, max_failures: 3 };
    Processor { name: "p".into(), lease_ms: 1_000, batch: 4, backoff, max_deaths: 3, untold: None }
}

pub async fn state_is_rebuilt_from_the_stream(fixture: &impl Fixture) {
    let store = fixture.open().await;
    let evolve = |mut ids: Vec<String>, message: &Message| {
        ids.push(message.message_id.clone());
        ids
    };
    let (mut live, mut version) = (Vec::new(), 0);
    for number in 0..5 {
        let batch = commands(&format!("b{number}"), number + 1);
        version = store.append("w", version, &batch, T0).await.unwrap();
        live.extend(batch.into_iter().map(|message| message.message_id));
        let rebuilt = rebuild(evolve, &store.read_stream("w", 0).await.unwrap()).unwrap();
        assert_eq!((&rebuilt.state, rebuilt.version), (&live, version));
    }
    let torn = store.read_stream("w", 2).await.unwrap();
    let error = rebuild(evolve, &torn).unwrap_err().to_string();
    assert_eq!(error, "the stream is damaged: found w/2 where position 1 belongs");
}

pub async fn every_command_is_carried_out_and_marked(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 6, T0).await;
    let done = RefCell::new(Vec::new());
    let handler = async |message: &Message| {
        done.borrow_mut().push(message.position);
        Ok::<(), Failure>(())
    };
    let turn = |marked| Turn { claimed: marked, marked, ..Turn::default() };
    for marked in [4, 2, 0] {
        assert_eq!(processor().turn(&store, || T0 + 1, handler).await, Ok(turn(marked)));
    }
    assert_eq!(*done.borrow(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(pending(&store).await, [""; 0]);
}

pub async fn a_poison_command_does_not_hold_up_the_others(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 9, T0).await;
    let clock = Cell::new(T0);
    let tries = RefCell::new(Vec::new());
    let handler = async |message: &Message| {
        if message.position != 2 {
            return Ok(());
        }
        tries.borrow_mut().push(clock.get() - T0);
        Err("no such guest".to_owned())
    };
    let mut marked = 0;
    for _ in 0..10 {
        marked += processor().turn(&store, || clock.get(), handler).await.unwrap().marked;
        clock.set(clock.get() + 50);
    }
    assert_eq!(marked, 8);
    assert_eq!(*tries.borrow(), [0, 100, 300], "pauses of 100 and 200");
    let parked = store.parked(None, 10).await.unwrap();
    assert_eq!((parked.len(), parked[0].message.position), (1, 2));
    assert_eq!((parked[0].failures, parked[0].error.as_str()), (3, "no such guest"));
    assert_eq!(pending(&store).await, ["w/2"]);
}

pub async fn what_is_to_blame_for_a_passing_failure_is_waited_for(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let clock = Cell::new(T0);
    let tries = RefCell::new(Vec::new());
    let handler = async |_: &Message| {
        let tries = &mut *tries.borrow_mut();
        tries.push(clock.get() - T0);
        if tries.len() <= 6 { Err(Failure::passing("no answer")) } else { Ok(()) }
    };
    let mut marked = 0;
    for _ in 0..100 {
        marked += processor().turn(&store, || clock.get(), handler).await.unwrap().marked;
        clock.set(clock.get() + 50);
    }
    assert_eq!(marked, 1);
    assert_eq!(*tries.borrow(), [0, 100, 300, 700, 1_500, 2_500, 3_500], "though 3 failures park");
    assert_eq!(store.parked(None, 10).await.unwrap(), []);
}

/// One turn of a processor that dies, which is a turn that is dropped, as soon as `killer` has begun.
async fn turn_or_death(store: &impl Store, now: i64, killer: i64, done: &RefCell<BTreeSet<i64>>) {
    let dead = Cell::new(false);
    let handler = async |message: &Message| {
        if message.position == killer {
            dead.set(true);
            std::future::pending::<()>().await;
        }
        done.borrow_mut().insert(message.position);
        Ok::<(), Failure>(())
    };
    let mut processor = processor();
    let death = poll_fn(|_| if dead.get() { Poll::Ready(()) } else { Poll::Pending });
    tokio::select! {
        biased;
        turn = processor.turn(store, || now, handler) => drop(turn.unwrap()),
        () = death => {}
    }
}

pub async fn a_command_that_kills_its_processor_is_parked_alone(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 9, T0).await;
    let killer = 3;
    let done = RefCell::new(BTreeSet::new());
    for turn in 0..40 {
        turn_or_death(&store, T0 + turn * 400, killer, &done).await;
    }
    assert_eq!(*done.borrow(), BTreeSet::from([1, 2, 4, 5, 6, 7, 8, 9]));
    let parked = store.parked(None, 10).await.unwrap();
    assert_eq!((parked.len(), parked[0].message.position), (1, killer));
    // Two claims make it suspect, three die of it, and the sixth parks it. It may have been given back in between.
    assert!((6..=8).contains(&parked[0].attempts), "{} claims", parked[0].attempts);
    assert_eq!(parked[0].failures, 1);
}

pub async fn lost_claims_park_nothing_that_nobody_has_begun(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 2, T0).await;
    let mut now = T0;
    for _ in 0..100 {
        // The answer is lost, and with it the claims.
        assert_eq!(claim(&store, "q", now, 1_000).await, ["w/1", "w/2"]);
        now += 1_000;
    }
    let handler = async |_: &Message| Ok::<(), Failure>(());
    for marked in [1, 1, 0] {
        assert_eq!(processor().turn(&store, || now, handler).await.unwrap().marked, marked);
    }
    assert_eq!(store.parked(None, 10).await.unwrap(), []);
}

pub async fn what_is_not_begun_when_the_lease_ends_is_given_back(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 3, T0).await;
    let clock = Cell::new(T0);
    let handler = async |_: &Message| {
        clock.set(clock.get() + 1_000);
        Ok::<(), Failure>(())
    };
    for left in [2, 1, 0] {
        let turn = processor().turn(&store, || clock.get(), handler).await.unwrap();
        assert_eq!((turn.claimed, turn.marked), (left + 1, 1));
        let claims = store.claim("q", clock.get(), 0, 9).await.unwrap();
        assert_eq!(claims.len(), left);
        for claim in claims {
            assert_eq!((claim.vanished, claim.deaths), (0, 0), "{}", claim.message.key());
            assert_eq!(store.release(&claim, clock.get()).await, Ok(true));
        }
    }
}

pub async fn who_is_only_slow_is_not_dead(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let clock = Cell::new(T0);
    let mut processor = processor();
    for _ in 0..20 {
        // Somebody else has the lease when the processor comes back.
        let handler = async |_: &Message| {
            clock.set(clock.get() + 1_000);
            assert_eq!(claim(&store, "q", clock.get(), 1_000).await, ["w/1"]);
            clock.set(clock.get() + 1_000);
            Err::<(), _>(Failure::passing("no answer"))
        };
        let turn = processor.turn(&store, || clock.get(), handler).await.unwrap();
        assert_eq!(turn, Turn { claimed: 1, ..Turn::default() });
    }
    assert_eq!(store.parked(None, 10).await.unwrap(), []);
}

pub async fn a_store_that_cannot_be_told_is_told_in_the_next_turn(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let clock = Cell::new(T0);
    let mut processor = processor();
    for _ in 0..20 {
        // The turn is given up, as by a time limit, and the processor goes on.
        let begun = Cell::new(false);
        let handler = async |_: &Message| {
            begun.set(true);
            std::future::pending::<Result<(), Failure>>().await
        };
        let given_up = poll_fn(|_| if begun.get() { Poll::Ready(()) } else { Poll::Pending });
        tokio::select! {
            biased;
            turn = processor.turn(&store, || clock.get(), handler) => panic!("{turn:?}"),
            () = given_up => {}
        }
        clock.set(clock.get() + 1_000);
    }
    assert_eq!(store.parked(None, 10).await.unwrap(), []);
}
