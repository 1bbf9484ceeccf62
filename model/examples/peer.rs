//! One engine of the comparison in `benches/peers`: reads a count, runs it, prints the times.
//!
//! The arguments are a kernel, a number of threads and, if given, a picture; the first line of
//! output describes the engine, and each line of input is answered by a list of milliseconds.

use std::io::{BufRead, Write};
use std::time::Instant;

use serde_json::json;
use thunderhead_model::{Classifier, Kernel, Settings, gallery};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, threads, picture @ ..] = &arguments[..] else {
        return Err("usage: peer KERNEL THREADS [PICTURE]".into());
    };
    let kernel = Kernel::ALL.into_iter().find(|known| known.name() == kernel);
    let settings = Settings { kernel, threads: threads.parse()?, ..Settings::default() };
    let content = match picture.first() {
        Some(path) => std::fs::read(path)?,
        None => gallery::ALL[0].png(),
    };
    let start = Instant::now();
    let classifier = Classifier::load(settings, &mut |_| ())?;
    let labels = classifier.classify(&content)?;
    let first_answer = start.elapsed().as_secs_f64() * 1e3;
    println!(
        "{}",
        json!({
            "kernel": classifier.info().kernel,
            "firstAnswerMs": first_answer,
            "peakMb": status_mb("VmHWM:"),
            "residentMb": status_mb("VmRSS:"),
            "label": labels[0].label,
        })
    );
    let input = classifier.prepare(&content)?;
    for line in std::io::stdin().lock().lines() {
        let mut times = Vec::new();
        for _ in 0..line?.trim().parse::<usize>()? {
            let start = Instant::now();
            classifier.infer(&input)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        println!("{}", json!(times));
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// A figure of this process in megabytes, where the system tells.
fn status_mb(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}
