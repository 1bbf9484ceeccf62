//! Clients: one kind puts, gets and deletes pictures and tries again, one hears of changes.

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use thunderhead_sim::Rng;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};
use turmoil::net::TcpStream;

use super::http::{Connection, Manner, PORT, SERVER};
use super::log::{SharedLog, Try};
use super::plan::CLIENTS;

/// How many operations a client does in the storm.
const OPERATIONS: usize = 8;
/// How often it tries, in the storm and after it.
const TRIES: usize = 3;
const TRIES_IN_THE_CALM: usize = 6;
/// So many questions are sent by one who reads no answer meanwhile: more than the network holds.
const UNREAD: usize = 40;
/// The most bytes of a picture, but for one in so many, of which half is more than the server holds in memory.
const USUAL: u32 = 600;
const LARGE_IN: u32 = 12;
const LARGE: usize = 140_000;

pub struct Person {
    pub number: usize,
    pub rng: Rng,
    pub log: SharedLog,
    pub calm: watch::Receiver<bool>,
    pub connection: Option<Connection>,
}

impl Person {
    pub async fn run(mut self) -> turmoil::Result {
        for operation in 0..OPERATIONS {
            sleep(Duration::from_millis(self.rng.below(700).into())).await;
            if self.rng.below(12) == 0 {
                self.read_slowly().await;
            }
            // What is lost under a name of its own is not hidden by what comes later.
            let name = if self.rng.below(2) == 0 { operation } else { 100 + operation / 4 };
            let method = match self.rng.below(8) {
                0..4 => "PUT",
                4 if name >= 100 => "DELETE",
                _ => "GET",
            };
            let name = match method {
                "GET" => self.known(),
                _ => format!("c{}-{name}.jpg", self.number),
            };
            for attempt in 0..TRIES {
                let tag = format!("{}.{operation}.{attempt} ", self.number);
                if self.attempt(tag, method, &name, true).await {
                    break;
                }
                sleep(Duration::from_millis((50 + self.rng.below(300)).into())).await;
            }
        }
        self.calm.wait_for(|calm| *calm).await?;
        for attempt in 0..TRIES_IN_THE_CALM {
            let tag = format!("{}.calm.{attempt} ", self.number);
            if self.attempt(tag, "PUT", &format!("c{}-last.jpg", self.number), false).await {
                return Ok(());
            }
        }
        let wrong = format!("client {} is not answered though all is calm", self.number);
        self.log.borrow_mut().wrong.push(wrong);
        Ok(())
    }

    /// A name that this client has used, or none that anybody has.
    fn known(&mut self) -> String {
        let log = self.log.borrow();
        let own = format!("c{}-", self.number);
        let names: Vec<&String> = log
            .tries
            .iter()
            .map(|tried| &tried.name)
            .filter(|name| name.starts_with(&own))
            .collect();
        match names.len() {
            0 => format!("{own}none.jpg"),
            count => names[self.rng.below(count as u32) as usize].clone(),
        }
    }

    /// Sends one request. Returns whether the system answered.
    async fn attempt(
        &mut self,
        tag: String,
        method: &'static str,
        name: &str,
        storm: bool,
    ) -> bool {
        let manner = match self.rng.below(8) {
            0 if storm && method == "PUT" => Manner::BrokenOff,
            1 | 2 => Manner::InPieces,
            _ => Manner::AtOnce,
        };
        let mut body = tag.clone().into_bytes();
        if method == "PUT" {
            let more = self.rng.below(USUAL);
            let length = if more.is_multiple_of(LARGE_IN) { LARGE } else { more as usize };
            body.resize(body.len() + length, b'x');
        }
        let broken_off = manner == Manner::BrokenOff;
        let tried = Try {
            tag,
            method,
            name: name.into(),
            body: body.clone(),
            broken_off,
            is_open: true,
            answer: None,
            when: [turmoil::sim_elapsed().unwrap_or_default(); 2],
        };
        let index = {
            let mut log = self.log.borrow_mut();
            log.tries.push(tried);
            log.tries.len() - 1
        };
        let patience = Duration::from_millis((600 + self.rng.below(1_900)).into());
        let path = format!("/acme/{name}");
        let asked = timeout(patience, self.ask(method, &path, &body, manner)).await;
        let mut log = self.log.borrow_mut();
        if body.len() > LARGE {
            let whole = matches!(&asked, Ok(Ok((201, _))));
            let seen = [(broken_off, "a large body breaks off"), (whole, "a large picture is put")];
            log.seen.extend(seen.iter().filter(|(is_seen, _)| *is_seen).map(|(_, name)| *name));
        }
        let tried = &mut log.tries[index];
        tried.is_open = false;
        tried.when[1] = turmoil::sim_elapsed().unwrap_or_default();
        match asked {
            Ok(Ok(answer)) => tried.answer = Some(answer),
            // What comes on this connection later would be taken for the answer to something else.
            _ => self.connection = None,
        }
        tried.answered().is_some()
    }

    async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: &[u8],
        manner: Manner,
    ) -> io::Result<(u16, Vec<u8>)> {
        let troubles = self.log.borrow().troubles[self.number];
        if self.connection.is_none() {
            self.connection = Some(Connection::open(troubles).await?);
        }
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        connection.send(method, path, body, manner).await?;
        let answer = connection.answer().await?;
        let mut log = self.log.borrow_mut();
        if connection.opened_after < log.troubles[self.number] && !log.troubled[self.number] {
            log.seen.insert("a connection works after a trouble that it lived through");
        }
        Ok(answer)
    }

    /// Asks often on a connection of its own and reads no answer until all questions are sent.
    async fn read_slowly(&mut self) {
        let read = async {
            let mut connection = Connection::open(0).await?;
            for _ in 0..UNREAD {
                connection.send("GET", "/-/session", b"", Manner::AtOnce).await?;
            }
            sleep(Duration::from_secs(1)).await;
            for _ in 0..UNREAD {
                sleep(Duration::from_millis(10)).await;
                if connection.answer().await?.0 != 200 {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            Ok::<_, io::Error>(())
        };
        let read = timeout(Duration::from_secs(4), read).await;
        let seen = match read {
            Ok(Ok(())) => "a slow reader gets all its answers",
            _ => "a slow reader is cut off",
        };
        self.log.borrow_mut().seen.insert(seen);
    }
}

/// Listens for changes, on a stream of events and on a WebSocket in turns, and comes back when the one breaks. It ends
/// when it has heard of a change in the calm.
pub async fn listen(log: SharedLog, calm: watch::Receiver<bool>) -> turmoil::Result {
    let (mut tries, mut heard) = (0, 0);
    loop {
        let is_socket = tries % 2 == 1;
        let hears = async {
            let mut ear = match is_socket {
                true => Ear::socket().await?,
                false => Ear::stream().await?,
            };
            loop {
                ear.next().await?;
                heard += 1;
                if *calm.borrow() {
                    return Ok::<_, io::Error>(());
                }
            }
        };
        // One on which a packet was lost is silent for ever, so it is given up now and then.
        let ended = timeout(Duration::from_secs(3), hears).await;
        tries += 1;
        let seen = |stream, socket| if is_socket { socket } else { stream };
        {
            let mut log = log.borrow_mut();
            if matches!(ended, Ok(Err(_))) && heard > 0 {
                log.seen.insert(seen("a stream of changes breaks", "a socket breaks"));
            }
            if matches!(ended, Ok(Ok(()))) {
                if tries > 1 {
                    log.seen.insert(seen("a stream of changes comes back", "a socket comes back"));
                }
                return Ok(());
            }
            if log.troubled[CLIENTS] {
                log.seen.insert("one who hears of changes is cut off");
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// What one hears of changes on.
enum Ear {
    Stream(Connection),
    Socket(Box<WebSocketStream<TcpStream>>),
}

impl Ear {
    async fn stream() -> io::Result<Ear> {
        let mut connection = Connection::open(0).await?;
        connection.send("GET", "/-/changes", b"", Manner::AtOnce).await?;
        connection.until(b"\r\n\r\n").await?;
        Ok(Ear::Stream(connection))
    }

    async fn socket() -> io::Result<Ear> {
        let stream = TcpStream::connect((SERVER, PORT)).await?;
        let opened = client_async("ws://localhost/agents/organization/acme", stream).await;
        Ok(Ear::Socket(Box::new(opened.map_err(io::Error::other)?.0)))
    }

    /// Waits until it is told that something has changed.
    async fn next(&mut self) -> io::Result<()> {
        match self {
            Ear::Stream(connection) => connection.until(b"data: ").await.map(drop),
            Ear::Socket(socket) => loop {
                match socket.next().await {
                    Some(Ok(Message::Text(_))) => return Ok(()),
                    Some(Ok(message)) if !message.is_close() => {}
                    _ => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            },
        }
    }
}
