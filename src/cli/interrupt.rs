//! Ctrl-C: the first one ends a search, which then tells what it has found so far; the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit code of a search that was interrupted before anything was broken, and of a program that was ended by the
/// second signal: what shells give to a program that Ctrl-C has ended.
pub const INTERRUPTED: u8 = 130;

/// Whether somebody wants the search to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where signals cannot be listened to, they end the program as ever.
    pub fn listen() -> Interrupt {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: what ends the program looks at whether there was a signal before.
            let end = flag::register_conditional_shutdown(
                signal,
                INTERRUPTED.into(),
                interrupt.0.clone(),
            );
            let _ = end.and_then(|_| flag::register(signal, interrupt.0.clone()));
        }
        interrupt
    }

    /// Whether a signal came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
