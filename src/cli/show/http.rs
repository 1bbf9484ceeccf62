//! As much of HTTP/1.1 as a browser needs to open a page: `GET`, one answer for each connection.
//!
//! The program has a whole HTTP server only with the feature `serve`, and a page must open without it. Everything here
//! is bounded: how many connections are read at once, how long one takes and how much it may say.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use thunderhead_sim::Escaped;

use crate::cli::stopwatch::Stopwatch;

/// So many connections are read at once. A browser opens some ahead of time and is silent on them, so that one alone
/// would keep everybody waiting.
const READERS: usize = 6;
/// A request, from its first line to the empty one, has at most so many bytes.
const REQUEST_MAX: usize = 16 * 1024;
/// A request must have arrived, and an answer must be taken, within this time.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    body: String,
}

impl Reply {
    /// A page.
    pub fn page(body: String) -> Reply {
        Reply { status: 200, body }
    }

    /// Why there is no page.
    pub fn wrong(status: u16, why: &str) -> Reply {
        let body = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Cannot be shown</title>\n\
             <style>:root {{ color-scheme: light dark }} body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem }} \
             p {{ overflow-wrap: anywhere }}</style>\n<p>{}</p>\n<p><a href=\"/\">all failures</a></p>\n</html>\n",
            Escaped(why)
        );
        Reply { status, body }
    }

    fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            422 => "Unprocessable Content",
            431 => "Request Header Fields Too Large",
            _ => "Bad Request",
        };
        // A page needs nothing from elsewhere, and whatever its contents say, it cannot ask for anything.
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
            self.status,
            self.body.len()
        );
        stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(self.body.as_bytes())
    }
}

/// Somebody who asks for a page and waits for it.
pub struct Visit {
    path: String,
    reply: Sender<Reply>,
}

impl Visit {
    /// What is asked for: it begins with `/`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Gives the answer. Who does not wait for it any more has gone elsewhere.
    pub fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }
}

/// Everybody who asks for a page, one after the other. What is no request for a page of ours is answered here.
pub fn visits(listener: TcpListener, port: u16) -> io::Result<Receiver<Visit>> {
    let (send, visits) = sync_channel(READERS);
    let listener = Arc::new(listener);
    for _ in 0..READERS {
        let (listener, send) = (listener.clone(), send.clone());
        let read = move || while hear(&listener, port, &send).is_some() {};
        std::thread::Builder::new().name("show".into()).spawn(read)?;
    }
    Ok(visits)
}

/// Hears one visitor out; none when nobody is left to answer.
fn hear(listener: &TcpListener, port: u16, send: &SyncSender<Visit>) -> Option<()> {
    let Ok((stream, _)) = listener.accept() else { return Some(()) };
    let reply = match request(&stream, port) {
        Ok(path) => {
            let (reply, answer) = channel();
            send.send(Visit { path, reply }).ok()?;
            answer.recv().ok()?
        }
        Err(Unheard::Wrong(status, why)) => Reply::wrong(status, why),
        Err(Unheard::Silent) => return Some(()),
    };
    // Who has gone away does not miss it.
    let _ = reply.write(&stream);
    Some(())
}

/// Why a request is not answered with a page.
#[derive(Debug, PartialEq)]
enum Unheard {
    /// Nothing came, or not in time.
    Silent,
    /// It is not what is answered here.
    Wrong(u16, &'static str),
}

/// The path that is asked for.
fn request(stream: &TcpStream, port: u16) -> Result<String, Unheard> {
    let mut head = Vec::new();
    let watch = Stopwatch::start();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() >= REQUEST_MAX {
            return Err(Unheard::Wrong(431, "The request is too long."));
        }
        let left = CLIENT_TIMEOUT.saturating_sub(watch.elapsed());
        let some = stream.set_read_timeout(Some(left.max(Duration::from_millis(1))));
        let mut piece = [0; 2048];
        let heard = some.and_then(|()| { stream }.read(&mut piece)).unwrap_or(0);
        if heard == 0 || left.is_zero() {
            return Err(Unheard::Silent);
        }
        head.extend(&piece[..heard]);
    }
    parse(&head, port)
}

fn parse(head: &[u8], port: u16) -> Result<String, Unheard> {
    let unclear = Unheard::Wrong(400, "This is no request that can be understood.");
    let Ok(head) = std::str::from_utf8(head) else { return Err(unclear) };
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, path, "HTTP/1.0" | "HTTP/1.1"] = words[..] else { return Err(unclear) };
    let mut hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    // A page elsewhere that has its own name resolve to this machine must not read what is shown here.
    let ours = |host: &str| {
        let name = host.strip_suffix(&format!(":{port}")).unwrap_or_default();
        name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
    };
    if !hosts.next().is_some_and(ours) || hosts.next().is_some() {
        return Err(Unheard::Wrong(
            403,
            "Failures are shown on 127.0.0.1 and under no other name.",
        ));
    }
    if method != "GET" {
        return Err(Unheard::Wrong(405, "Pages can be read, and nothing else."));
    }
    if !path.starts_with('/') {
        return Err(unclear);
    }
    Ok(path.split(['?', '#']).next().unwrap_or("/").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> Result<String, u16> {
        parse(head.as_bytes(), 80).map_err(|unheard| match unheard {
            Unheard::Wrong(status, _) => status,
            Unheard::Silent => 0,
        })
    }

    #[test]
    fn a_page_of_ours_is_asked_for_by_get_and_under_our_own_name() {
        let host = "Host: 127.0.0.1:80\r\n\r\n";
        assert_eq!(asked(&format!("GET /a?b HTTP/1.1\r\n{host}")), Ok("/a".into()));
        assert_eq!(asked("GET / HTTP/1.1\r\nhost: LocalHost:80\r\n\r\n"), Ok("/".into()));
        assert_eq!(asked(&format!("POST / HTTP/1.1\r\n{host}")), Err(405));
        assert_eq!(asked("GET / HTTP/1.1\r\nHost: evil.example:80\r\n\r\n"), Err(403));
        assert_eq!(asked("GET / HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n"), Err(403));
        assert_eq!(asked("GET / HTTP/1.1\r\n\r\n"), Err(403));
        assert_eq!(asked(&format!("GET / HTTP/1.1\r\nHost: x\r\n{host}")), Err(403));
        assert_eq!(asked(&format!("GET http://x/ HTTP/1.1\r\n{host}")), Err(400));
        assert_eq!(asked(&format!("GET /a b HTTP/1.1\r\n{host}")), Err(400));
        assert_eq!(asked(&format!("GET / HTTP/2\r\n{host}")), Err(400));
    }
}
