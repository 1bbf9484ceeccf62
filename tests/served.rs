//! `thunderhead serve SYSTEM`, its checks and `judge`, in a program that has them.
#![cfg(all(unix, feature = "serve"))]

mod support;

use std::path::Path;
use std::process::Command;

use support::{Server, scratch, thunderhead};

/// A server of `uploads`.
struct Served(Server);

impl Served {
    fn start(folder: &Path) -> Served {
        let args = ["serve", "uploads", "--user", "ann@acme", "--trace", "--listen", "127.0.0.1:0"];
        Served(Server::start(folder, &args))
    }

    fn ask(&self, line: &str, body: &str) -> String {
        let (address, length) = (&self.0.address, body.len());
        self.0.asks(&format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nContent-Type: image/png\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        ))
    }

    /// Asks it to end, and has its exit code.
    fn interrupt(self) -> Option<i32> {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("started").success());
        self.0.exit_code()
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
