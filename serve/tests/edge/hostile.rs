//! Clients that mean harm or know no better: each is refused, and nobody else notices.

use std::io::{Read, Write};
use std::net::TcpStream;

use thunderhead_serve::{Config, Stop};

use super::client::Client;
use super::server::{Server, config, folder, start};

/// What is sent, with HOST and COOKIE in place of the true ones, and the status of the answer; 0 when the connection is
/// closed without one.
const REQUESTS: [(&str, &str, u16); 22] = [
    ("no HTTP", "this is no HTTP\r\n\r\n", 400),
    ("no host", "GET /acme HTTP/1.1\r\nCOOKIE\r\n\r\n", 421),
    ("another's host", "GET /acme HTTP/1.1\r\nHost: evil.example\r\nCOOKIE\r\n\r\n", 421),
    (
        "a length below nothing",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nContent-Length: -1\r\n\r\n",
        400,
    ),
    (
        "two lengths",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        400,
    ),
    (
        "chunks of no length",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        400,
    ),
    (
        "a chunk longer than any",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        400,
    ),
    ("no session", "GET /acme HTTP/1.1\r\nHOST\r\n\r\n", 401),
    (
        "no session, and a body to come",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nContent-Length: 9000000\r\n\r\n",
        401,
    ),
    (
        "a session that he made",
        "GET /acme HTTP/1.1\r\nHOST\r\nCookie: thunderhead=ann@acme.9.0\r\n\r\n",
        401,
    ),
    ("another organisation", "GET /globex HTTP/1.1\r\nHOST\r\nCOOKIE\r\n\r\n", 403),
    (
        "another site's page",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nOrigin: http://evil.example\r\n\r\n",
        403,
    ),
    (
        "a page that hides its site",
        "DELETE /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nOrigin: null\r\n\r\n",
        403,
    ),
    (
        "a browser says it of itself",
        "POST /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nSec-Fetch-Site: cross-site\r\n\r\n",
        403,
    ),
    ("a way out", "GET /acme/../globex/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\n\r\n", 400),
    ("a way out, disguised", "GET /acme/%2e%2E/globex/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\n\r\n", 400),
    (
        "a body too large",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nContent-Length: 33554433\r\n\r\n",
        413,
    ),
    (
        "a compressed bomb",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        415,
    ),
    (
        "a bomb in its transfer",
        "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        400,
    ),
    (
        "a long key to sign in",
        "POST /-/sign-in HTTP/1.1\r\nHOST\r\nContent-Length: 5000\r\n\r\nLONG",
        400,
    ),
    (
        "a socket without one",
        "GET /agents/organization/acme HTTP/1.1\r\nHOST\r\nCOOKIE\r\n\r\n",
        426,
    ),
    (
        "a socket of another's",
        "GET /agents/organization/globex HTTP/1.1\r\nHOST\r\nCOOKIE\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        403,
    ),
];

fn signs_in() -> (Server, Client) {
    let server = start(Config { tells: false, ..config("uploads", &folder("hostile"), None) });
    let key = server.sign_in.clone().unwrap();
    let mut ann = Client::connect(server.address).unwrap();
    let body = format!(r#"{{"user":"ann@acme","key":"{key}"}}"#);
    assert_eq!(ann.ask("POST", "/-/sign-in", body.as_bytes()).unwrap().0, 204);
    (server, ann)
}

/// Sends something and leaves it at that.
fn open(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

fn status(mut stream: TcpStream) -> u16 {
    let mut answer = [0; 12];
    match stream.read_exact(&mut answer) {
        Ok(()) => String::from_utf8_lossy(&answer[9..]).parse().unwrap(),
        Err(_) => 0,
    }
}

#[test]
fn hostile_clients_are_refused_and_everybody_else_is_answered() {
    let (server, mut ann) = signs_in();
    let host = format!("Host: {}", server.address);
    let cookie = format!("Cookie: {}", ann.cookie.clone().unwrap());
    let fill = |text: &str| {
        let text = text.replace("HOST", &host).replace("COOKIE", &cookie);
        text.replace("LONG", &"x".repeat(5_000)).into_bytes()
    };
    // Many who begin and do not go on: in the middle of a line, of a head, of a small body, and of a large one.
    let large = "PUT /acme/slow HTTP/1.1\r\nHOST\r\nCOOKIE\r\nContent-Length: 33554432\r\n\r\n";
    let begun = [
        fill("GET /ac"),
        fill("GET /acme HTTP/1.1\r\nHOST\r\nX-Long: "),
        fill("PUT /acme/slow HTTP/1.1\r\nHOST\r\nCOOKIE\r\nContent-Length: 10\r\n\r\nhal"),
        [fill(large), vec![0; 200_000]].concat(),
        fill(
            "PUT /acme/slow HTTP/1.1\r\nHOST\r\nCOOKIE\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        ),
    ];
    let slow: Vec<TcpStream> =
        begun.iter().cycle().take(80).map(|begin| open(&server, begin)).collect();
    for (turn, (what, bytes, expected)) in REQUESTS.iter().enumerate() {
        assert_eq!(status(open(&server, &fill(bytes))), *expected, "{what}");
        let (path, picture) = (format!("/acme/{turn}.jpg"), format!("picture {turn}"));
        assert_eq!(ann.ask("PUT", &path, picture.as_bytes()).unwrap().0, 201, "after {what}");
        assert_eq!(ann.ask("GET", &path, b"").unwrap(), (200, picture.into_bytes()));
    }
    // One who does not say how much is to come, and does not stop.
    let mut endless = open(
        &server,
        &fill(
            "PUT /acme/a HTTP/1.1\r\nHOST\r\nCOOKIE\r\nTransfer-Encoding: chunked\r\n\r\n2000001\r\n",
        ),
    );
    endless.write_all(&vec![0; (32 << 20) + 1]).unwrap();
    assert_eq!(status(endless), 413);
    assert_eq!(ann.ask("GET", "/acme/slow", b"").unwrap().0, 404, "half a picture is none");
    let long = format!("GET /acme/{} HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n", "x".repeat(3_000));
    assert_eq!(status(open(&server, long.as_bytes())), 414);
    let (_, metrics) = ann.ask("GET", "/metrics", b"").unwrap();
    assert!(String::from_utf8(metrics).unwrap().contains("thunderhead_commits_total"));
    drop(slow);
    server.end(Stop::Soon);
}
