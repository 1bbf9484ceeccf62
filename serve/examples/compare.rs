//! Loads servers one after another, and prints how many uploads each answers and labels in a second, and how long one
//! waits for an answer.
//!
//! ```sh
//! cargo run --release -p thunderhead-serve --example compare -- 3 ours=127.0.0.1:8787 theirs=127.0.0.1:8788
//! ```
//!
//! loads each for three seconds. `benches/peers/served` starts the servers too.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

#[path = "../tests/support/client.rs"]
mod client;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::Client;

const CONNECTIONS: usize = 32;
const BYTES: usize = 20_000;
/// How often the list is asked for while the last labels are waited for.
const LOOKS: Duration = Duration::from_millis(100);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, servers @ ..] = &args[..] else {
        println!("usage: compare SECONDS NAME=ADDRESS...");
        return;
    };
    let time = Duration::from_secs(seconds.parse().unwrap());
    println!(
        "{:>10} {:>11} {:>10} {:>10} {:>10}",
        "server", "answered/s", "labelled/s", "median µs", "p99 µs"
    );
    for server in servers {
        let (name, address) = server.split_once('=').unwrap();
        let Figures { answered, labelled, median, p99 } = load(address.parse().unwrap(), time);
        println!("{name:>10} {answered:>11} {labelled:>10} {median:>10} {p99:>10}");
    }
}

struct Figures {
    /// Uploads a second until the last was answered.
    answered: u128,
    /// Uploads a second until the last had its label.
    labelled: u128,
    median: u128,
    p99: u128,
}

/// Uploads pictures, each under a name of its own.
fn load(address: SocketAddr, time: Duration) -> Figures {
    let (next, waits) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut client = Client::connect(address).unwrap();
                let (mut body, mut waited) = (vec![b'x'; BYTES], Vec::new());
                while started.elapsed() < time {
                    let upload = next.fetch_add(1, Ordering::Relaxed).to_string();
                    body[..upload.len()].copy_from_slice(upload.as_bytes());
                    let asked = Instant::now();
                    let path = format!("/acme/{upload}.jpg");
                    let (status, _) = client.ask("PUT", &path, &body).unwrap();
                    waited.push(asked.elapsed().as_micros());
                    assert!(matches!(status, 201 | 202), "an upload is answered with {status}");
                }
                waits.lock().unwrap().extend(waited);
            });
        }
    });
    let (uploads, answered) = (next.into_inner(), started.elapsed());
    let mut client = Client::connect(address).unwrap();
    while labelled(&mut client) < uploads {
        std::thread::sleep(LOOKS);
    }
    let rate = |time: Duration| uploads as u128 * 1_000 / time.as_millis();
    let labelled = rate(started.elapsed());
    let mut waits = waits.into_inner().unwrap();
    waits.sort_unstable();
    let at = |percent| waits[(waits.len() - 1) * percent / 100];
    Figures { answered: rate(answered), labelled, median: at(50), p99: at(99) }
}

/// How many uploads have a label.
fn labelled(client: &mut Client) -> usize {
    let (status, body) = client.ask("GET", "/acme", b"").unwrap();
    assert_eq!(status, 200);
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&body).unwrap();
    rows.iter().filter(|row| matches!(row["status"].as_str(), Some("classified" | "done"))).count()
}
