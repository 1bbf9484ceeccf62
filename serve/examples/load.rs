//! Uploads to a served `uploads`, and what that costs: memory, the rate of each tenth, and how long a start takes after
//! the server was killed.
//!
//! ```sh
//! cargo run --release -p thunderhead-serve --example load -- 200000 20000 /tmp/load
//! ```
//!
//! The arguments are how many uploads there are, under how many names, and a folder, which must not exist. With fewer
//! names than uploads pictures are replaced, so that what is stored stops growing.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

#[path = "../tests/support/client.rs"]
mod client;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use client::Client;
use thunderhead::systems;
use thunderhead_serve::{Commits, Config, Stop};

const CONNECTIONS: usize = 32;
const BYTES: usize = 20_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [serve, data] if serve == "serve" => run(Path::new(data)),
        [uploads, names, data] => {
            measure(uploads.parse().unwrap(), names.parse().unwrap(), Path::new(data));
        }
        _ => println!("usage: load UPLOADS NAMES FOLDER"),
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
    println!("{:>10} {:>10} {:>10}", "uploads", "per second", "MiB");
    let tenth = uploads / 10;
    let mut rates = Vec::new();
    for part in 0..10 {
        let started = Instant::now();
        load(server.address, part * tenth..(part + 1) * tenth, names);
        let rate = tenth as u128 * 1_000 / started.elapsed().as_millis().max(1);
        println!("{:>10} {rate:>10} {:>10}", (part + 1) * tenth, server.memory());
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

/// Uploads these, over several connections at a time.
fn load(address: SocketAddr, uploads: std::ops::Range<usize>, names: usize) {
    let next = AtomicUsize::new(uploads.start);
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut client = Client::connect(address).unwrap();
                let mut body = vec![b'x'; BYTES];
                loop {
                    let upload = next.fetch_add(1, Ordering::Relaxed);
                    if upload >= uploads.end {
                        return;
                    }
                    let text = upload.to_string();
                    body[..text.len()].copy_from_slice(text.as_bytes());
                    let path = format!("/acme/{}.jpg", upload % names);
                    assert_eq!(client.ask("PUT", &path, &body).unwrap().0, 201);
                }
            });
        }
    });
}
