//! Two sites outside, which a served `comparisons` asks over TCP and over TLS. They are on loopback, to which it may
//! send nothing, so a name leads to a public address, and a connection to that address leads to them.
//!
//! Both have a certificate that they signed themselves; that of the left one is trusted. `openssl ca -selfsign` made
//! them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use thunderhead_serve::Outside;

const LEFT: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));
const RIGHT: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 15));
const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

pub const OUTSIDE: Outside = Outside {
    resolve,
    route,
    trusted: || vec![certificate(include_bytes!("certificates/trusted.pem"))],
};

/// The ports that the sites listen on: without TLS, and with that of the left one and of the right one.
static PLAIN: LazyLock<u16> = LazyLock::new(|| listen(answer));
static TLS_LEFT: LazyLock<u16> =
    LazyLock::new(|| listen_with_tls(include_bytes!("certificates/trusted.pem")));
static TLS_RIGHT: LazyLock<u16> =
    LazyLock::new(|| listen_with_tls(include_bytes!("certificates/stranger.pem")));
/// What the sites were asked: `HOST PATH`.
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How often a path of this beginning was asked for, by `HOST PATH`.
pub fn asked(beginning: &str) -> usize {
    let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    asked.iter().filter(|line| line.starts_with(beginning)).count()
}

fn resolve(name: &str) -> std::io::Result<Vec<IpAddr>> {
    match name {
        "prod.example" | "www.example" => Ok(vec![LEFT]),
        "staging.example" => Ok(vec!["2001:db8::1".parse().unwrap(), RIGHT]),
        "inside.example" => Ok(vec![INSIDE]),
        "down.example" => Err(std::io::ErrorKind::TimedOut.into()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn route(address: SocketAddr) -> SocketAddr {
    let port = match (address.ip(), address.port()) {
        (LEFT | RIGHT, 80) => *PLAIN,
        (LEFT, 443) => *TLS_LEFT,
        (RIGHT, 443) => *TLS_RIGHT,
        _ => panic!("{address} is asked"),
    };
    (Ipv4Addr::LOCALHOST, port).into()
}

fn certificate(pem: &[u8]) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem).unwrap()
}

fn listen(answer: impl Fn(TcpStream) -> Option<()> + Send + Clone + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            std::thread::spawn(move || answer(stream.unwrap()));
        }
    });
    port
}

fn listen_with_tls(pem: &[u8]) -> u16 {
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("certificates/key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate(pem)], key).unwrap());
    listen(move |stream| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        answer(StreamOwned::new(connection, stream))
    })
}

/// Answers one request. One for `/silent…` is answered when it comes a second time.
fn answer(stream: impl Read + Write) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut lines = stream.by_ref().lines().map_while(Result::ok);
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
    let mut stream = stream.into_inner();
    write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}").ok()
}
