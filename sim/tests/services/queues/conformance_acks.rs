//! The probes about acks, retries and exceptions that were put to the real local emulator, repeated
//! on the simulated queue, and beside each the answer that production documents.
#![allow(clippy::unwrap_used, reason = "what a test calls may panic as the test may")]
#![allow(non_snake_case, reason = "each test carries the name of the probe that it repeats")]

use std::time::Duration;

use thunderhead_sim::queue::ConsumerConfig;

use super::driver::{Driver, Throw, on_first_call, words};

#[test]
fn async_reject_same_as_throw() {
    on_first_call(&words(["a"]), |_| Err(Throw)).both(&["a#1", "a#2"]);
}

#[test]
fn ack_one_then_throw() {
    let ack_then_throw = on_first_call(&words(["a", "b", "c"]), |batch| {
        batch.messages()[0].ack();
        Err(Throw)
    });
    ack_then_throw
        .emulator(&["a#1 b#1 c#1", "a#2 b#2 c#2"])
        .production(&["a#1 b#1 c#1", "b#2 c#2"]);
}

#[test]
fn retry_then_ack_same() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.messages()[0].retry();
        batch.messages()[0].ack();
        Ok(())
    })
    .both(&["a#1 b#1", "a#2"]);
}

#[test]
fn ack_then_retry_same() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.messages()[0].ack();
        batch.messages()[0].retry();
        Ok(())
    })
    .both(&["a#1 b#1"]);
}

#[test]
fn ackAll_then_retry_one() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.ack_all();
        batch.messages()[0].retry();
        Ok(())
    })
    .both(&["a#1 b#1"]);
}

#[test]
fn retryAll_then_ack_one() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.retry_all();
        batch.messages()[0].ack();
        Ok(())
    })
    .both(&["a#1 b#1", "a#2 b#2"]);
}

#[test]
fn retryAll_then_ackAll() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.retry_all();
        batch.ack_all();
        Ok(())
    })
    .both(&["a#1 b#1", "a#2 b#2"]);
}

#[test]
fn ackAll_then_throw() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.ack_all();
        Err(Throw)
    })
    .emulator(&["a#1 b#1", "a#2 b#2"])
    .production(&["a#1 b#1"]);
}

#[test]
fn retry_one_then_throw() {
    on_first_call(&words(["a", "b"]), |batch| {
        batch.messages()[0].retry();
        Err(Throw)
    })
    .both(&["a#1 b#1", "a#2 b#2"]);
}

#[test]
fn mixed_ack_retry_unmarked() {
    on_first_call(&words(["a", "b", "c"]), |batch| {
        batch.messages()[0].ack();
        batch.messages()[1].retry();
        Ok(())
    })
    .both(&["a#1 b#1 c#1", "b#2"]);
}

#[test]
fn ack_some_then_return() {
    on_first_call(&words(["a", "b", "c"]), |batch| {
        batch.messages()[0].ack();
        Ok(())
    })
    .both(&["a#1 b#1 c#1"]);
}

/// A rejected `waitUntil()` is an outcome of the invocation like any exception.
#[test]
fn waitUntil_rejects() {
    on_first_call(&words(["a"]), |_| Err(Throw)).both(&["a#1", "a#2"]);
}

#[test]
fn waitUntil_slow_then_retry_inside() {
    let mut driver = Driver::emulator();
    let lasts = Duration::from_millis(300);
    driver.consume_slowly("q", ConsumerConfig::miniflare(), lasts, |batch, call| {
        if call == 1 {
            batch.messages()[0].retry();
        }
        Ok(())
    });
    driver.send_all("q", &words(["a"]));
    driver.run();
    assert_eq!(driver.batches("q"), ["a#1", "a#2"]);
    assert_eq!(driver.times("q"), [1_000, 2_300], "the mark counts when the invocation ends");
}
