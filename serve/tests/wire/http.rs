//! HTTP on turmoil's network, as little as a client needs: one request at a time, and an error when no whole answer
//! comes.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;
use turmoil::net::TcpStream;

pub const SERVER: &str = "server";
pub const PORT: u16 = 80;

/// How a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    AtOnce,
    /// In pieces, with pauses.
    InPieces,
    /// The client goes away in the middle of the body.
    BrokenOff,
}

/// A connection that is kept for as long as it works.
pub struct Connection {
    stream: TcpStream,
    /// What has been read beyond the last answer.
    read: Vec<u8>,
    /// How often the network has been in trouble when this was opened.
    pub opened_after: usize,
}

impl Connection {
    pub async fn open(opened_after: usize) -> io::Result<Connection> {
        let stream = TcpStream::connect((SERVER, PORT)).await?;
        Ok(Connection { stream, read: Vec::new(), opened_after })
    }

    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &[u8],
        manner: Manner,
    ) -> io::Result<()> {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        );
        match manner {
            Manner::AtOnce => self.stream.write_all(&[head.as_bytes(), body].concat()).await,
            Manner::InPieces => {
                self.stream.write_all(head.as_bytes()).await?;
                for piece in body.chunks(length / 3 + 1) {
                    sleep(Duration::from_millis(40)).await;
                    self.stream.write_all(piece).await?;
                }
                Ok(())
            }
            Manner::BrokenOff => {
                let half = [head.as_bytes(), &body[..length / 2]].concat();
                self.stream.write_all(&half).await?;
                sleep(Duration::from_millis(40)).await;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }

    /// The status and the body of the next answer.
    pub async fn answer(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let wrong = || io::Error::from(io::ErrorKind::InvalidData);
        let head = self.until(b"\r\n\r\n").await?;
        let head = String::from_utf8(head).map_err(|_| wrong())?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut length = 0;
        for line in head.lines() {
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| wrong())?;
            }
        }
        while self.read.len() < length {
            self.more().await?;
        }
        Ok((status.ok_or_else(wrong)?, self.read.drain(..length).collect()))
    }

    /// Everything up to this mark, and the mark.
    pub async fn until(&mut self, mark: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.read.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.read.drain(..at + mark.len()).collect());
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}
