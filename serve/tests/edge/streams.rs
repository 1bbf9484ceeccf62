//! Large bodies, piece by piece: what breaks off leaves nothing, and what is slow holds up nobody.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use md5::{Digest, Md5};
use thunderhead_serve::{Config, Stop};
use thunderhead_sim::hex;

use super::client::Client;
use super::server::{Server, config, folder, start};

/// More than the buffers of the server and of both sockets take.
const LARGE: usize = 24 << 20;

fn serves(data: &Path) -> Server {
    // A history would tell of each byte.
    start(Config { tells: false, ..config("uploads", data, Some("ann@acme")) })
}

/// How many bodies have not arrived yet, or belong to a request that is not over.
fn arriving(data: &Path) -> usize {
    std::fs::read_dir(data.join("arriving")).unwrap().count()
}

/// Asks for something else until this holds: nobody says when a client is noticed to be gone.
fn meanwhile(server: &Server, holds: impl Fn() -> bool) {
    for _ in 0..5_000 {
        if holds() {
            return;
        }
        assert_eq!(server.ask("PUT", "/acme/dog.jpg", "a dog").0, 201, "nobody waits for it");
    }
    panic!("it never holds");
}

/// Bytes in which every place is different from those around it.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 + at / 1_009) as u8).collect()
}

/// A connection with a request on it of which the answer is not read yet.
fn open(server: &Server, head: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(server.address).unwrap();
    let text = format!("{head} HTTP/1.1\r\nHost: {}\r\n", server.address);
    (&stream).write_all(text.as_bytes()).unwrap();
    BufReader::new(stream)
}

fn send(stream: &mut BufReader<TcpStream>, bytes: &[u8]) {
    stream.get_mut().write_all(bytes).unwrap();
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing() {
    let data = folder("broken-off");
    let server = serves(&data);
    for head in ["Content-Length: 900000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n493E0\r\n"] {
        let mut upload = open(&server, "PUT /acme/cat.jpg");
        send(&mut upload, head.as_bytes());
        send(&mut upload, &bytes(300_000));
        meanwhile(&server, || arriving(&data) == 1);
        drop(upload);
        meanwhile(&server, || arriving(&data) == 0);
        assert_eq!(server.ask("GET", "/acme/cat.jpg", "").0, 404);
    }
    // Nor does one that is whole and refused.
    let (status, _) = Client::connect(server.address)
        .and_then(|mut client| client.ask("PUT", "/globex/cat.jpg", &bytes(300_000)))
        .unwrap();
    assert_eq!(status, 403);
    meanwhile(&server, || arriving(&data) == 0);
    server.end(Stop::Soon);
    std::fs::write(data.join("arriving/7"), "left by a crash").unwrap();
    let server = serves(&data);
    assert_eq!(arriving(&data), 0);
    server.end(Stop::Soon);
}

#[test]
fn a_large_picture_is_fetched_as_it_was_sent_whole_and_in_part() {
    let data = folder("large");
    let (sent, server) = (bytes(300_000), serves(&data));
    let mut client = Client::connect(server.address).unwrap();
    let png = [("Content-Type", "image/png")];
    assert_eq!(client.ask_with("PUT", "/acme/cat.png", &png, &sent).unwrap().0, 201);
    assert_eq!(arriving(&data), 0, "it has become the file of the object");
    let etag = format!("etag: \"{}\"", hex(&Md5::digest(&sent)));
    let mut fetch = |range: &str| {
        let range = [("Range", range)];
        let given = if range[0].1.is_empty() { &[][..] } else { &range[..] };
        let (status, head, body) = client.ask_with("GET", "/acme/cat.png", given, b"").unwrap();
        assert!(head.contains("content-type: image/png"), "{head}");
        assert!(head.contains(&etag), "{head}");
        let range = head.lines().find_map(|line| line.strip_prefix("content-range: "));
        (status, range.map(String::from), body)
    };
    assert_eq!(fetch(""), (200, None, sent.clone()));
    for (asked, said, from, to) in [
        ("bytes=0-0", "bytes 0-0/300000", 0, 1),
        ("bytes=100000-250000", "bytes 100000-250000/300000", 100_000, 250_001),
        ("bytes=-70000", "bytes 230000-299999/300000", 230_000, 300_000),
    ] {
        assert_eq!(fetch(asked), (206, Some(said.into()), sent[from..to].to_vec()), "{asked}");
    }
    let (status, head, _) =
        client.ask_with("GET", "/acme/cat.png", &[("Range", "bytes=300000-")], b"").unwrap();
    assert!(status == 416 && head.contains("content-range: bytes */300000"), "{head}");
    server.end(Stop::AtRest);
    let server = serves(&data);
    let mut client = Client::connect(server.address).unwrap();
    let (status, body) = client.ask("GET", "/acme/cat.png", b"").unwrap();
    assert!(status == 200 && body == sent);
    assert!(
        client.ask("GET", "/acme", b"").unwrap().1.windows(10).any(|word| word == b"classified")
    );
    server.end(Stop::Soon);
}

/// How many files of the directory are open though they have been removed. They take room until they are closed.
fn removed_and_open(data: &Path) -> usize {
    let data = data.canonicalize().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let files = open.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
    let removed = |file: &std::path::PathBuf| file.to_string_lossy().ends_with(" (deleted)");
    files.filter(|file| file.starts_with(&data) && removed(file)).count()
}

#[test]
fn the_files_of_pictures_that_were_replaced_are_closed() {
    let data = folder("closed");
    let server = serves(&data);
    let mut client = Client::connect(server.address).unwrap();
    for round in 0..10 {
        let picture = vec![round; 100_000];
        assert_eq!(client.ask("PUT", "/acme/cat.jpg", &picture).unwrap().0, 201);
    }
    // Few enough that the server still remembers all of them.
    let mut left = 100;
    while removed_and_open(&data) > 0 {
        assert!(left > 0, "{} files are held", removed_and_open(&data));
        left -= 1;
        assert_eq!(client.ask("GET", "/acme", b"").unwrap().0, 200);
    }
    server.end(Stop::Soon);
}

#[test]
fn a_slow_reader_gets_what_he_asked_for_though_it_is_replaced_meanwhile() {
    let data = folder("slow-reader");
    let (sent, server) = (bytes(LARGE), serves(&data));
    let mut client = Client::connect(server.address).unwrap();
    assert_eq!(client.ask("PUT", "/acme/cat.jpg", &sent).unwrap().0, 201);
    let mut slow = open(&server, "GET /acme/cat.jpg");
    send(&mut slow, b"\r\n");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        slow.read_line(&mut head).unwrap();
    }
    assert!(head.starts_with("HTTP/1.1 200") && head.contains(&format!("content-length: {LARGE}")));
    // Everybody else is served while he reads nothing.
    for turn in 0..20 {
        let (name, body) = (format!("/acme/{turn}.jpg"), format!("picture {turn}"));
        assert_eq!(server.ask("PUT", &name, &body).0, 201);
        assert_eq!(server.ask("GET", &name, ""), (200, body));
    }
    assert_eq!(client.ask("PUT", "/acme/cat.jpg", b"another cat").unwrap().0, 201);
    assert_eq!(client.ask("GET", "/acme/cat.jpg", b"").unwrap().1, b"another cat");
    assert_eq!(client.ask("DELETE", "/acme/cat.jpg", b"").unwrap().0, 204);
    let mut read = vec![0; LARGE];
    slow.read_exact(&mut read).unwrap();
    assert!(read == sent);
    server.end(Stop::Soon);
}

#[test]
fn a_body_that_fits_no_disk_is_refused_and_the_server_goes_on() {
    let data = folder("no-room");
    let server = serves(&data);
    // Nothing can be written where a file is in place of the folder.
    std::fs::remove_dir(data.join("arriving")).unwrap();
    std::fs::write(data.join("arriving"), "").unwrap();
    let mut client = Client::connect(server.address).unwrap();
    assert_eq!(client.ask("PUT", "/acme/cat.jpg", &bytes(300_000)).unwrap().0, 507);
    assert_eq!(server.ask("PUT", "/acme/dog.jpg", "a dog").0, 201);
    server.end(Stop::Soon);
}
