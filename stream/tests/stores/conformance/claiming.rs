//! Leases.

use std::sync::Barrier;

use thunderhead_stream::{Claim, Store};

use super::{T0, add, claim, commands};
use crate::support::fixture::{Fixture, at_once};

pub async fn a_lease_keeps_others_out_until_it_ends(fixture: &impl Fixture) {
    let (store, other) = (fixture.open().await, fixture.open().await);
    add(&store, "w", 2, T0).await;
    let claims = store.claim("p", T0, 100, 1).await.unwrap();
    let message = store.read_stream("w", 1).await.unwrap()[0].clone();
    let until = T0 + 100;
    let expected = Claim {
        message,
        processor: "p".into(),
        until,
        attempt: 1,
        failures: 0,
        vanished: 0,
        deaths: 0,
    };
    assert_eq!(claims, std::slice::from_ref(&expected));
    assert_eq!(claim(&other, "q", T0, 500).await, ["w/2"]);
    for name in ["p", "q"] {
        assert_eq!(claim(&other, name, until - 1, 100).await, [""; 0], "{name}");
    }
    let claims = other.claim("q", until, 100, 5).await.unwrap();
    let until = until + 100;
    let again = Claim { processor: "q".into(), until, attempt: 2, vanished: 1, ..expected };
    assert_eq!(claims, [again]);
}

pub async fn what_has_been_due_for_longest_is_claimed_first(fixture: &impl Fixture) {
    let store = fixture.open().await;
    for (workflow, later) in [("z", 0), ("a", 1), ("m", 0)] {
        add(&store, workflow, 2, T0 + later).await;
    }
    let first = store.claim("p", T0 + 9, 100, 3).await.unwrap();
    let first: Vec<_> = first.iter().map(|claim| claim.message.key().to_string()).collect();
    assert_eq!(first, ["m/1", "m/2", "z/1"]);
    assert_eq!(claim(&store, "p", T0 + 9, 100).await, ["a/1", "a/2", "z/2"]);
    assert_eq!(store.claim("p", T0 + 999, 100, 0).await, Ok(vec![]));
}

pub async fn a_command_of_tomorrow_is_not_due_today(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0 + 1).await;
    assert_eq!(claim(&store, "p", T0, 100).await, [""; 0]);
    assert_eq!(claim(&store, "p", T0 + 1, 100).await, ["w/1"]);
}

pub async fn those_that_claim_at_once_share_nothing_and_leave_nothing(fixture: &impl Fixture) {
    const COMMANDS: usize = 200;
    const THREADS: usize = 4;
    let store = fixture.open().await;
    store.append("w", 0, &commands("c", COMMANDS), T0).await.unwrap();
    // Nobody claims a second time before everybody has claimed once, so none is quick enough to have them all.
    let (before, after) = (Barrier::new(THREADS), Barrier::new(THREADS));
    let claimed = at_once(fixture, THREADS, async |store, thread| {
        let claim = async || store.claim(&format!("p{thread}"), T0, 1_000, 3).await;
        before.wait();
        let mut claims = claim().await;
        // Those who wait are let go before a failure is looked at.
        after.wait();
        let mut claimed = Vec::new();
        loop {
            let positions = claims.unwrap().into_iter().map(|claim| claim.message.position);
            let already = claimed.len();
            claimed.extend(positions);
            if claimed.len() == already {
                return claimed;
            }
            claims = claim().await;
        }
    });
    assert!(claimed.iter().all(|claimed| claimed.len() >= 3), "everybody's first claim is full");
    let mut all = claimed.concat();
    all.sort_unstable();
    assert_eq!(all, (1..=COMMANDS as i64).collect::<Vec<_>>());
}

pub async fn a_claim_that_had_begun_when_it_vanished_is_a_death(fixture: &impl Fixture) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let mut claims = Vec::new();
    let mut now = T0;
    for (begins, vanished, deaths) in [(false, 0, 0), (true, 1, 0), (false, 2, 1), (true, 3, 1)] {
        let [held] = &store.claim("p", now, 10, 1).await.unwrap()[..] else { panic!("one is due") };
        assert_eq!((held.vanished, held.deaths), (vanished, deaths));
        // Who has heard no answer says it again.
        for _ in 0..if begins { 2 } else { 0 } {
            assert_eq!(store.begin(held).await, Ok(true));
        }
        claims.push(held.clone());
        now += 10;
    }
    assert_eq!(store.begin(&claims[0]).await, Ok(false), "it is another's");
    // One is alive that was believed dead. The present holder has begun, and is not heard of.
    assert_eq!(store.came_back(&claims[1]).await, Ok(true));
    let [held] = &store.claim("p", now, 10, 1).await.unwrap()[..] else { panic!("one is due") };
    assert_eq!((held.attempt, held.vanished, held.deaths), (5, 1, 1));
    store.mark_command_processed(&held.message.key(), now).await.unwrap();
    assert_eq!(store.begin(held).await, Ok(false), "it is processed");
    assert_eq!(store.came_back(held).await, Ok(false), "it is processed");
}

pub async fn a_released_command_is_due_and_its_attempt_is_not_given_out_again(
    fixture: &impl Fixture,
) {
    let store = fixture.open().await;
    add(&store, "w", 1, T0).await;
    let [held] = &store.claim("p", T0, 100, 1).await.unwrap()[..] else { panic!("one is due") };
    assert_eq!(store.begin(held).await, Ok(true));
    assert_eq!(store.release(held, T0 + 1).await, Ok(true));
    assert_eq!(store.release(held, T0 + 1).await, Ok(false));
    assert_eq!(claim(&store, "q", T0, 100).await, [""; 0], "it is due from the release on");
    // The same processor again: only the number tells the old lease from the new one.
    let again = store.claim("p", T0 + 1, 100, 1).await.unwrap();
    assert_eq!((again[0].attempt, again[0].failures), (2, 0));
    assert_eq!((again[0].vanished, again[0].deaths), (0, 0));
    assert_eq!(store.release(held, T0 + 2).await, Ok(false), "it is another's");
    store.mark_command_processed(&held.message.key(), T0 + 2).await.unwrap();
    assert_eq!(store.release(&again[0], T0 + 2).await, Ok(false), "it is processed");
}
