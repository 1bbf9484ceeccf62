//! Uploads to a served `uploads`, and what that costs: memory, the rate of each tenth, and how long a start takes after
//! the server was killed.
//!
//! ```sh
//! cargo run --release -p thunderhead-serve --example load -- 200000 20000 /tmp/load
//! ```
//!
//! The arguments are how many uploads there are, under how many names, and a folder, which must not exist. Each name is
//! uploaded once before, so that every measured upload replaces a picture: what is stored does not grow, and all tenths
//! have the same work.
//!
//! ```sh
//! cargo run --release -p thunderhead-serve --example load -- median 300 /tmp/median
//! ```
//!
//! asks over one connection, and compares in turns how long an upload takes and how long the disk takes to sync as
//! much.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

#[path = "../tests/support/client.rs"]
mod client;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::Client;
use thunderhead::systems;
use thunderhead_serve::{Commits, Config, Outside, Stop};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONNECTIONS: usize = 32;
const BYTES: usize = 20_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [serve, data] if serve == "serve" => run(Path::new(data)),
        [median, rounds, data] if median == "median" => {
            compare(rounds.parse().unwrap(), Path::new(data));
        }
        [uploads, names, data] => {
            measure(uploads.parse().unwrap(), names.parse().unwrap(), Path::new(data));
        }
        _ => println!("usage: load UPLOADS NAMES FOLDER, or load median ROUNDS FOLDER"),
    }
}

/// The server, in a process of its own, until its standard input ends.
fn run(data: &Path) {
    let system = systems::find("uploads").unwrap();
    let config = Config {
        system: system.clone(),
        variant: system.reference().clone(),
        data: data.into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        user: Some("ann@acme".parse().unwrap()),
        tells: false,
        outside: Outside::REAL,
        commits: Commits::Together,
        mistake: None,
        halt: None,
    };
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        let _ = ended.send(());
    });
    let stop = async {
        drop(end.await);
        Stop::Soon
    };
    thunderhead_serve::serve(config, stop, |ready| println!("{}", ready.address)).unwrap();
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(data: &Path) -> Server {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("serve").arg(data).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Server { child, address: line.trim().parse().unwrap() }
    }

    /// How long the process has worked, in milliseconds: unlike the rate, it depends little on what else runs here.
    fn processor(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = status.rsplit_once(')').unwrap().1.split_whitespace().collect();
        // User and system time, in hundredths of a second.
        10 * (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap())
    }

    /// How much memory the process has, in MiB.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
}

fn measure(uploads: usize, names: usize, data: &Path) {
    assert!(!data.exists(), "{} exists already", data.display());
    let mut server = Server::start(data);
    load(server.address, 0..names, names);
    println!("{:>10} {:>10} {:>10} {:>10}", "uploads", "per second", "MiB", "CPU ms");
    let tenth = uploads / 10;
    let mut rates = Vec::new();
    for part in 0..10 {
        let (started, worked) = (Instant::now(), server.processor());
        let first = names + part * tenth;
        load(server.address, first..first + tenth, names);
        let rate = tenth as u128 * 1_000 / started.elapsed().as_millis().max(1);
        let (uploads, worked) = ((part + 1) * tenth, server.processor() - worked);
        println!("{uploads:>10} {rate:>10} {:>10} {worked:>10}", server.memory());
        rates.push(rate);
    }
    println!("the last tenth at {} % of the first", rates[9] * 100 / rates[0].max(1));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let started = Instant::now();
    let mut server = Server::start(data);
    println!(
        "a start takes {} ms, then there are {} MiB",
        started.elapsed().as_millis(),
        server.memory()
    );
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// How long an upload takes for one who waits for each, small and large, in times of what the disk takes to sync as
/// many bytes, and 4 KiB.
fn compare(rounds: usize, data: &Path) {
    assert!(!data.exists(), "{} exists already", data.display());
    let mut server = Server::start(data);
    let mut client = Client::connect(server.address).unwrap();
    let mut probe = File::create(data.join("probe")).unwrap();
    let mut sync = |bytes: usize, round: usize| {
        let started = Instant::now();
        probe.write_all(&vec![round as u8; bytes]).unwrap();
        probe.sync_all().unwrap();
        started.elapsed()
    };
    let (mut page, mut times) = (Vec::new(), SIZES.map(|_| (Vec::new(), Vec::new())));
    for round in 0..rounds {
        page.push(sync(4096, round));
        for (bytes, (syncs, uploads)) in SIZES.into_iter().zip(&mut times) {
            syncs.push(sync(bytes, round));
            let mut body = vec![0; bytes];
            draw(&mut body, round + 1);
            let started = Instant::now();
            let answer = client.ask("PUT", &format!("/acme/{bytes}-{}", round % 100), &body);
            uploads.push(started.elapsed());
            assert_eq!(answer.unwrap().0, 201);
        }
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_micros().max(1)
    };
    let page = median(page);
    println!("medians of {rounds}; the disk syncs 4096 bytes in {page} µs");
    for (bytes, (syncs, uploads)) in SIZES.into_iter().zip(times) {
        let (sync, took) = (median(syncs), median(uploads));
        let (same, least) = (took * 100 / sync, took * 100 / page);
        println!(
            "{bytes} bytes: synced in {sync} µs, uploaded in {took} µs: {same} % of that, {least} % of 4096 bytes"
        );
    }
}

const SIZES: [usize; 2] = [2_000, BYTES];

/// A picture that has nothing in common with another, so that no page of it is on disk already.
fn draw(body: &mut [u8], seed: usize) {
    let mut state = seed as u64;
    for word in body.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
    }
}

/// Uploads these, over several connections at a time.
fn load(address: SocketAddr, uploads: std::ops::Range<usize>, names: usize) {
    let next = AtomicUsize::new(uploads.start);
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut client = Client::connect(address).unwrap();
                let mut body = vec![0; BYTES];
                loop {
                    let upload = next.fetch_add(1, Ordering::Relaxed);
                    if upload >= uploads.end {
                        return;
                    }
                    draw(&mut body, upload + 1);
                    let path = format!("/acme/{}.jpg", upload % names);
                    assert_eq!(client.ask("PUT", &path, &body).unwrap().0, 201);
                }
            });
        }
    });
}
