//! Two sites outside, which a served `comparisons` asks over TCP. They are on loopback, to which it may send nothing, so a
//! name leads to a public address, and a connection to that address leads to them.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{LazyLock, Mutex, PoisonError};

use thunderhead_serve::Outside;

const LEFT: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));
const RIGHT: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 15));
const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

pub const OUTSIDE: Outside = Outside { resolve, route };

/// The port that the sites listen on, and what they were asked: `HOST PATH`.
static PORT: LazyLock<u16> = LazyLock::new(listen);
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How often a path of this beginning was asked for, by `HOST PATH`.
pub fn asked(beginning: &str) -> usize {
    let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    asked.iter().filter(|line| line.starts_with(beginning)).count()
}

fn resolve(name: &str) -> std::io::Result<Vec<IpAddr>> {
    match name {
        "prod.example" => Ok(vec![LEFT]),
        "staging.example" => Ok(vec!["2001:db8::1".parse().unwrap(), RIGHT]),
        "inside.example" => Ok(vec![INSIDE]),
        "down.example" => Err(std::io::ErrorKind::TimedOut.into()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn route(address: SocketAddr) -> SocketAddr {
    assert!([LEFT, RIGHT].contains(&address.ip()) && address.port() == 80, "{address} is asked");
    (Ipv4Addr::LOCALHOST, *PORT).into()
}

fn listen() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || answer(stream.unwrap()));
        }
    });
    port
}

/// Answers one request. One for `/silent…` is answered when it comes a second time.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_string();
    let host = lines.find_map(|line| Some(line.strip_prefix("host: ")?.to_string()))?;
    let line = format!("{host} {path}");
    let before = asked(&line);
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    let head = match &*path {
        "/old" => "302 Found\r\nLocation: /new",
        "/inside" => "302 Found\r\nLocation: http://inside.example/secret",
        _ => "200 OK\r\nServer: a\r\nX-Hop: 1",
    };
    let body = if path == "/long" { "x".repeat(5 << 20) } else { format!("This is {host}.") };
    if path.starts_with("/silent") && before == 0 {
        // Until the other side gives up.
        lines.last();
        return None;
    }
    let length = body.len();
    write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}").ok()
}
