//! How much memory large bodies take. A process of its own, because that is measured of a whole one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "no small requests are made")]
#[path = "support/client.rs"]
mod client;
#[path = "edge/server.rs"]
#[allow(dead_code, reason = "no small requests are made")]
mod server;
#[path = "edge/sites.rs"]
#[allow(dead_code, reason = "no site is asked")]
mod sites;

use std::io::{Read, Write};
use std::net::TcpStream;

use server::{Server, config, folder, start};
use thunderhead_serve::{Config, Stop};

/// The most bytes that a body may have.
const BODY: usize = 32 << 20;
const CLIENTS: usize = 8;

/// The most memory that this process has had, in KiB.
fn most() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn ask(server: &Server, method: &str, number: usize, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (path, host) = (format!("/acme/{number}.jpg"), server.address);
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Reads what there is of an answer until these words have come.
fn heard(stream: &mut TcpStream, words: &str) {
    let (mut text, mut piece) = (Vec::new(), [0; 1_024]);
    while !text.windows(words.len()).any(|part| part == words.as_bytes()) {
        let got = stream.read(&mut piece).unwrap();
        assert!(got > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..got]);
    }
}

#[test]
fn many_large_bodies_at_a_time_take_little_memory() {
    let data = folder("memory");
    let server = start(Config { tells: false, ..config("uploads", &data, Some("ann@acme")) });
    let before = most();
    let mut uploads: Vec<TcpStream> =
        (0..CLIENTS).map(|number| ask(&server, "PUT", number, BODY)).collect();
    let piece = vec![7; 1 << 20];
    // All of them are under way at the same time, and complete at the same time.
    for _ in 0..BODY / piece.len() {
        uploads.iter_mut().for_each(|upload| upload.write_all(&piece).unwrap());
    }
    uploads.iter_mut().for_each(|upload| heard(upload, "HTTP/1.1 201"));
    // Readers who begin and do not go on.
    let mut readers: Vec<TcpStream> =
        (0..CLIENTS * 4).map(|number| ask(&server, "GET", number % CLIENTS, 0)).collect();
    let length = format!("content-length: {BODY}");
    readers.iter_mut().for_each(|reader| heard(reader, &length));
    let (all, grown) = ((CLIENTS * BODY) >> 10, most() - before);
    // What looks at a picture reads it whole, one at a time.
    assert!(grown < all / 2, "{grown} KiB for {CLIENTS} uploads and {} readers", CLIENTS * 4);
    drop(readers);
    server.end(Stop::Soon);
    drop(std::fs::remove_dir_all(data));
}
