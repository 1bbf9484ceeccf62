//! `thunderhead show DIR`: what a browser is answered.

mod support;

use std::path::Path;

use support::{Server, files, scratch, thunderhead};

/// A server of a directory; it ends with the test.
struct Shown(Server);

impl Shown {
    fn start(folder: &Path, dir: &str) -> Shown {
        Shown(Server::start(folder, &["show", dir, "--port", "0"]))
    }

    fn asks(&self, request: &str) -> String {
        self.0.asks(request)
    }

    fn get(&self, path: &str) -> String {
        self.asks(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.0.address))
    }
}

#[test]
fn a_directory_of_failures_is_a_list_that_opens_each() {
    let folder = scratch("show");
    let args = ["explore", "relay", "--variant", "acks-early", "--out", "found"];
    assert_eq!(thunderhead(&folder, &args).code, 1);
    let found = folder.join("found");
    let failure = files(&found).pop().expect("acks-early is refuted");
    let name = failure.file_name().unwrap().to_str().unwrap().to_string();
    std::fs::write(found.join("<img src=x>.toml"), "story = \"<script>alert(1)</script>\"")
        .unwrap();
    std::fs::write(found.join("notes.txt"), "").unwrap();
    let text = std::fs::read_to_string(&failure).unwrap();
    let script = text.split("[failure]").next().unwrap();
    std::fs::write(found.join("script.toml"), script).unwrap();

    let shown = Shown::start(&folder, "found");
    let list = shown.get("/");
    assert!(list.starts_with("HTTP/1.1 200 OK\r\n"), "{list}");
    assert!(list.contains("Content-Security-Policy: default-src 'none';"), "{list}");
    assert!(list.contains("<h1>1 failure in found</h1>"), "{list}");
    assert!(list.contains(&format!("href=\"/file/{name}\"")), "{list}");
    assert!(list.contains("every upload has its receipt"), "{list}");
    assert!(list.contains("notes.txt</strong> it is no failure file"), "{list}");
    assert!(list.contains("script.toml</strong> it is a script, and no failure"), "{list}");
    assert!(list.contains("&lt;img src=x&gt;.toml</strong>"), "{list}");
    assert!(!list.contains("<img") && !list.contains("<script>alert"), "{list}");

    let page = shown.get(&format!("/file/{name}"));
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("<strong>eventually every upload has its receipt</strong>"), "{page}");
    assert!(page.contains("href=\"/\">all failures</a>") && page.contains("id=\"at\""), "{page}");

    let unshown = shown.get("/file/%3Cimg%20src%3Dx%3E.toml");
    assert!(unshown.starts_with("HTTP/1.1 422 "), "{unshown}");
    for path in ["/file/../../etc/passwd", "/file/%2e%2e%2fCargo.toml", "/Cargo.toml", "/file/"] {
        assert!(shown.get(path).starts_with("HTTP/1.1 404 "), "{path}");
    }
    let other = shown.asks("GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n");
    assert!(other.starts_with("HTTP/1.1 403 ") && !other.contains("receipt"), "{other}");
    let endless = format!("GET /{} HTTP/1.1\r\n", "x".repeat(16 * 1024));
    assert!(shown.asks(&endless[..16 * 1024]).starts_with("HTTP/1.1 431 "));

    // What a search writes meanwhile is there when the list is asked for again.
    std::fs::copy(&failure, found.join("again.toml")).unwrap();
    assert!(shown.get("/").contains("<h1>2 failures in found</h1>"));
}

#[test]
fn a_directory_without_failures_is_told() {
    let folder = scratch("show-nothing");
    std::fs::create_dir(folder.join("empty")).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    for (dir, why) in [
        ("missing", "missing: No such file or directory"),
        ("empty", "empty: there are no failures in it"),
        ("file", "file: it is a file and no directory"),
    ] {
        let done = thunderhead(&folder, &["show", dir, "--port", "0"]);
        assert_eq!((done.code, &*done.stdout), (2, ""), "{}", done.stderr);
        assert!(done.stderr.contains(why) && done.stderr.contains("--out"), "{}", done.stderr);
    }
}
