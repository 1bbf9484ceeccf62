//! `thunderhead serve SYSTEM`, its checks and `judge`, in a program that has them.
#![cfg(all(unix, feature = "serve"))]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use support::{scratch, thunderhead};

/// A server of `uploads`; it is killed with the test.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Path) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_thunderhead"))
            .args(["serve", "uploads", "--user", "ann@acme", "--trace", "--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program is there");
        let mut line = String::new();
        let out = child.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect(&line).to_string();
        Served { child, address }
    }

    /// The whole answer to a request.
    fn ask(&self, line: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let Served { address, .. } = self;
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {address}\r\nContent-Type: image/png\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Asks it to end, and has its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("started").success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_killed_server_has_what_it_acknowledged_and_its_directory_is_sound() {
    let folder = scratch("served");
    let served = Served::start(&folder);
    let stored = served.ask("PUT /acme/cat.png", "meow");
    assert!(stored.starts_with("HTTP/1.1 2"), "{stored}");
    drop(served);

    let served = Served::start(&folder);
    let fetched = served.ask("GET /acme/cat.png", "");
    assert!(fetched.starts_with("HTTP/1.1 200 "), "{fetched}");
    assert!(fetched.ends_with("\r\n\r\nmeow"), "{fetched}");
    let busy = thunderhead(&folder, &["serve", "--verify", "data"]);
    assert_eq!(busy.code, 2, "{}", busy.stdout);
    assert_eq!(served.interrupt(), Some(0));

    let verified = thunderhead(&folder, &["serve", "--verify", "data", "--json"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
    assert!(verified["rows"].as_u64() > Some(0), "{verified}");
    let judged = thunderhead(&folder, &["judge", "data", "--json"]).json();
    assert_eq!(judged["ok"], true, "{judged}");
    assert!(judged["events"].as_u64() > Some(10), "{judged}");
}
