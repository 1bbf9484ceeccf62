//! Medians and the tables they are printed in.
#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]

use std::fmt;
use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, SamplingMode};

/// The median time of one `run`; none when the command line leaves it out.
pub fn median(
    group: &mut BenchmarkGroup<WallTime>,
    name: &str,
    samples: usize,
    mut run: impl FnMut(),
) -> Option<Duration> {
    let mut taken = Vec::new();
    group.sampling_mode(SamplingMode::Flat).sample_size(samples);
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            let start = clock();
            (0..iterations).for_each(|_| run());
            let took = clock() - start;
            taken.push(took / u32::try_from(iterations).expect("a sample takes seconds"));
            took
        });
    });
    // Warming up goes through the same closure and comes first.
    let mut measured = taken.split_off(taken.len().saturating_sub(samples));
    measured.sort_unstable();
    measured.get(measured.len() / 2).copied()
}

/// Time that this thread has spent on a processor, so that a busy machine does not count. Where the
/// system does not say, the time on the wall.
pub fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let spent = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = spent.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// How often something that takes `one` fits in a second.
pub fn per_second(one: Duration) -> u128 {
    Duration::from_secs(1).as_nanos() / one.as_nanos().max(1)
}

/// The average time of one of `runs` runs.
pub fn average(runs: u32, mut run: impl FnMut()) -> Duration {
    let start = clock();
    (0..runs).for_each(|_| run());
    (clock() - start) / runs
}

/// How many times longer `one` takes than `base`, with one decimal: the median over rounds in which
/// both run, so that a machine that is busy for a while slows both.
pub fn ratio(
    rounds: usize,
    mut one: impl FnMut() -> Duration,
    mut base: impl FnMut() -> Duration,
) -> String {
    let tenths = |_| {
        let (one, base) = (one().as_nanos(), base().as_nanos().max(1));
        (one * 10 + base / 2) / base
    };
    let mut rounds: Vec<u128> = (0..rounds).map(tenths).collect();
    rounds.sort_unstable();
    let median = rounds[rounds.len() / 2];
    format!("{}.{}", median / 10, median % 10)
}

/// Rows of text under a header, as Markdown.
pub struct Table<const COLUMNS: usize>(Vec<[String; COLUMNS]>);

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub fn new(header: [&str; COLUMNS]) -> Table<COLUMNS> {
        Table(vec![header.map(String::from)])
    }

    pub fn row(&mut self, cells: [String; COLUMNS]) {
        self.0.push(cells);
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
            self.0.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        });
        for (at, row) in self.0.iter().enumerate() {
            for (cell, width) in row.iter().zip(widths) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
            if at == 0 {
                widths.iter().try_for_each(|width| write!(f, "|{:-<1$}", "", width + 2))?;
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}
