//! Threads that play the runs of a search.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use super::shard::BLOCK;
use crate::panics::quietly;

/// Starts `jobs` threads and calls `lead` with a function that deals a batch to them and returns the results in the
/// batch's order. The threads stay until `lead` returns, because each has databases of its own and opening them takes
/// as long as several runs. A thread takes the next piece of work when it has done one, because a run can take ten
/// times as long as another.
#[expect(
    clippy::disallowed_methods,
    reason = "each run stays on one thread; only whole runs are dealt out, and merged in order"
)]
pub fn team<T: Send, R: Send, O>(
    jobs: usize,
    play: impl Fn(T) -> R + Sync,
    lead: impl FnOnce(&mut dyn FnMut(Vec<T>) -> Vec<R>) -> O,
) -> O {
    if jobs <= 1 {
        return lead(&mut |batch| quietly(|| batch.into_iter().map(&play).collect()));
    }
    let (work, waiting) = channel::<(usize, T)>();
    let (played, results) = channel();
    let waiting = Mutex::new(waiting);
    let (play, waiting) = (&play, &waiting);
    std::thread::scope(move |scope| {
        // No batch has work for more.
        for _ in 0..jobs.min(BLOCK as usize) {
            let played = played.clone();
            scope.spawn(move || {
                while let Some((at, item)) = next(waiting) {
                    let result = catch_unwind(AssertUnwindSafe(|| quietly(|| play(item))));
                    if played.send((at, result)).is_err() {
                        break;
                    }
                }
            });
        }
        lead(&mut |batch| {
            let mut done: Vec<Option<R>> = batch.iter().map(|_| None).collect();
            for piece in batch.into_iter().enumerate() {
                work.send(piece).expect("the threads wait for it");
            }
            for _ in 0..done.len() {
                let (at, result) = results.recv().expect("each piece of work has a result");
                done[at] = Some(result.unwrap_or_else(|panic| resume_unwind(panic)));
            }
            done.into_iter().flatten().collect()
        })
    })
}

/// The next piece of work, or none if there will be no more.
fn next<T>(waiting: &Mutex<Receiver<T>>) -> Option<T> {
    waiting.lock().ok()?.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_batch_for_any_number_of_threads() {
        for jobs in [0, 1, 2, 3, 600] {
            let squares = team(
                jobs,
                |n: u32| n * n,
                |deal| {
                    let first = deal((0..100).collect());
                    [first, deal(Vec::new()), deal((100..103).collect())].concat()
                },
            );
            let expected: Vec<u32> = (0..103).map(|n| n * n).collect();
            assert_eq!(squares, expected, "{jobs} threads");
        }
    }

    #[test]
    fn a_thread_that_waits_long_for_one_piece_of_work_holds_up_no_other() {
        let (done, others) = channel();
        let others = Mutex::new(others);
        // The first piece waits until all others are done, which one thread has to do alone.
        let play = |n: u32| match n {
            0 => others.lock().map(|others| others.iter().take(9).sum()).unwrap_or(0),
            n => done.send(n).map_or(0, |()| n),
        };
        let results = team(2, play, |deal| deal((0..10).collect()));
        assert_eq!(results, [45, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_panic_of_a_thread_comes_out_of_the_team() {
        let play = |n: u32| assert!(n != 7, "ours");
        let outcome = catch_unwind(|| team(2, play, |deal| deal((0..20).collect()).len()));
        assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"ours"));
    }
}
