//! Keeps panics of the system under test off the terminal: the engine records them as events.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// The message of the last panic on this thread; present while panics are kept quiet.
    static KEPT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Does `work` without printing the panics that the engine catches and records.
///
/// A panic that the engine does not catch is a bug of the harness: it is printed and resumed.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| match KEPT.take() {
            Some(_) => KEPT.set(Some(info.to_string())),
            None => loud(info),
        }));
    });
    KEPT.set(Some(String::new()));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    let kept = KEPT.take();
    done.unwrap_or_else(|panic| {
        eprintln!("{}", kept.unwrap_or_default());
        panic::resume_unwind(panic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_that_is_not_caught_inside_comes_out() {
        let outcome = panic::catch_unwind(|| quietly(|| panic!("ours")));
        assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"ours"));
        assert!(quietly(|| panic::catch_unwind(|| panic!("theirs")).is_err()));
    }
}
