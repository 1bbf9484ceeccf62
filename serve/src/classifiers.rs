//! The threads that classify pictures, so that the engine goes on meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use thunderhead_sim::{Inference, Inferred};

/// As many threads as the machine has processors. A picture that finds none of them free waits.
pub struct Classifiers {
    /// None when no more pictures come.
    given: Option<Sender<Inference>>,
    seen: Receiver<Inferred>,
    closed: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Classifiers {
    /// Starts the threads. Each calls `wake` when it has classified a picture.
    pub fn open(wake: impl Fn() + Clone + Send + 'static) -> Classifiers {
        let (given, taken) = mpsc::channel::<Inference>();
        let (done, seen) = mpsc::channel();
        let (taken, closed) = (Arc::new(Mutex::new(taken)), Arc::new(AtomicBool::new(false)));
        let number = std::thread::available_parallelism().map_or(1, usize::from);
        let start = || {
            let (taken, done, closed, wake) =
                (taken.clone(), done.clone(), closed.clone(), wake.clone());
            std::thread::spawn(move || {
                // Only one thread waits for the next picture; the others wait for their turn to do so.
                let next = || taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(inference) = next()
                    && !closed.load(Relaxed)
                {
                    if done.send(inference.run()).is_err() {
                        return;
                    }
                    wake();
                }
            })
        };
        let threads = (0..number).map(|_| start()).collect();
        Classifiers { given: Some(given), seen, closed, threads }
    }

    /// Has a picture classified, after those that were given before.
    pub fn classify(&self, inference: Inference) {
        if let Some(given) = &self.given {
            // The threads live as long as this does, and take whatever comes.
            drop(given.send(inference));
        }
    }

    /// What was classified since this was last asked.
    pub fn classified(&self) -> impl Iterator<Item = Inferred> {
        self.seen.try_iter()
    }
}

impl Drop for Classifiers {
    /// Ends the threads. Those that are classifying are waited for, and the pictures behind are left.
    fn drop(&mut self) {
        self.closed.store(true, Relaxed);
        drop(self.given.take());
        for thread in self.threads.drain(..) {
            // A thread catches the panics of what it runs.
            drop(thread.join());
        }
    }
}
