//! Hostile input for as long as it is told: see the documentation of the library.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "how long an input takes is what is measured, and a thread sees when one hangs"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use thunderhead_fuzz::{ALL, Input, files};

// As in the program whose time and memory are judged here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An input that takes more time of the processor hangs. A busy machine has no part in that.
const LONGEST: Duration = Duration::from_secs(5);
/// So does one that takes more time of the day, whatever it waits for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// The most memory that the process may have used, in kilobytes.
const MEMORY_KB: u64 = 500_000;
/// How often the figures are printed.
const REPORT: Duration = Duration::from_secs(60);

/// Makes hostile inputs from valid ones and from the corpus, reads them, and keeps what fails.
#[derive(Debug, Parser)]
struct Args {
    /// What is read.
    #[arg(value_parser = input)]
    input: Input,
    /// How long.
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// The folder of inputs to begin with, where what fails is written [default: fuzz/corpus/INPUT].
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// The number of the first new input: another number gives others.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn input(name: &str) -> Result<Input, String> {
    let known = ALL.map(|input| input.name).join(", ");
    ALL.into_iter().find(|input| input.name == name).ok_or(format!("known are: {known}"))
}

/// The input that is being read, and since when: by the time of the day and of the processor.
type Current = Arc<Mutex<(Instant, Duration, Vec<u8>)>>;

fn main() -> ExitCode {
    let args = Args::parse();
    let corpus = args.corpus.clone().unwrap_or_else(|| args.input.corpus());
    // A panic is caught and reported with its input.
    std::panic::set_hook(Box::new(|_| {}));
    let current: Current = Arc::new(Mutex::new((Instant::now(), used(), Vec::new())));
    watch(current.clone(), corpus.clone());
    let mut figures = Figures::default();
    let mut known: Vec<Vec<u8>> = (args.input.examples)();
    for (name, bytes) in files(&corpus) {
        figures.read(&args.input, &current, &bytes, &corpus, &name);
        known.push(bytes);
    }
    let words = (args.input.words)();
    let (begun, mut reported) = (Instant::now(), Instant::now());
    for seed in args.seed.. {
        if begun.elapsed() >= Duration::from_secs(60 * args.minutes) {
            break;
        }
        let bytes = (args.input.mutated)(seed, &known, &words);
        figures.read(&args.input, &current, &bytes, &corpus, &format!("seed {seed}"));
        if reported.elapsed() >= REPORT {
            figures.print(args.input.name);
            reported = Instant::now();
        }
    }
    figures.print(args.input.name);
    ExitCode::from(u8::from(figures.failed > 0))
}

#[derive(Default)]
struct Figures {
    inputs: u64,
    failed: u64,
    longest: Duration,
}

impl Figures {
    fn read(&mut self, input: &Input, current: &Current, bytes: &[u8], corpus: &Path, what: &str) {
        let begun = used();
        *current.lock().unwrap_or_else(PoisonError::into_inner) =
            (Instant::now(), begun, bytes.to_vec());
        let before = peak_kb();
        let read = catch_unwind(AssertUnwindSafe(|| (input.check)(bytes)));
        let took = used().saturating_sub(begun);
        self.inputs += 1;
        if took > self.longest {
            self.longest = took;
            println!("{}: {what} took {took:?}, peak {} kB", input.name, peak_kb());
        }
        let wrong = match read {
            Err(_) => Some(("panic", "it panicked".to_string())),
            Ok(Err(wrong)) => Some(("wrong", wrong)),
            Ok(Ok(())) if before <= MEMORY_KB && peak_kb() > MEMORY_KB => {
                Some(("memory", format!("the process has used {} kB", peak_kb())))
            }
            Ok(Ok(())) => None,
        };
        if let Some((kind, why)) = wrong {
            self.failed += 1;
            let why: String = why.chars().take(2_000).collect();
            println!("{}: {what}: {why}\n  {}", input.name, keep(corpus, kind, bytes));
        }
    }

    fn print(&self, name: &str) {
        let Figures { inputs, failed, longest } = self;
        println!(
            "{name}: {inputs} inputs, {failed} failed, longest {longest:?}, peak {} kB",
            peak_kb()
        );
    }
}

/// Ends the process when an input hangs, and keeps that input.
fn watch(current: Current, corpus: PathBuf) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let (since, begun, bytes) = &*current.lock().unwrap_or_else(PoisonError::into_inner);
            let hangs = used().saturating_sub(*begun) > LONGEST || since.elapsed() > LONGEST_WAIT;
            if hangs && !bytes.is_empty() {
                println!(
                    "an input takes longer than {LONGEST:?}\n  {}",
                    keep(&corpus, "hang", bytes)
                );
                std::process::exit(1);
            }
        }
    });
}

/// Writes an input to the corpus; says where.
fn keep(corpus: &Path, kind: &str, bytes: &[u8]) -> String {
    let path = corpus.join(format!("{kind}-{:016x}", thunderhead_sim::StableHasher::of(bytes)));
    let written = std::fs::create_dir_all(corpus).and_then(|()| std::fs::write(&path, bytes));
    match written {
        Ok(()) => format!("kept as {}", path.display()),
        Err(error) => format!("not kept as {}: {error}", path.display()),
    }
}

/// The time of the processor that this process has used so far, which Linux counts in hundredths of a second.
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program is in brackets and may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let hundredths: u64 =
        fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * hundredths)
}

/// The most memory that this process has used so far.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
