//! A client of few words: one connection, one request at a time, and an error when no whole answer comes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No answer takes so long; it only turns a hang into a failure.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Client {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    /// The session: what the server has set last, and what is sent.
    pub cookie: Option<String>,
    /// What the client authorizes itself with.
    pub authorization: Option<String>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Client { stream: BufReader::new(stream), address, cookie: None, authorization: None })
    }

    /// Sends a request with these headers, and returns the whole answer: its head in lower case, and its body.
    #[allow(dead_code, reason = "most tests need no headers")]
    pub fn ask_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<(u16, String, Vec<u8>)> {
        self.send_with(method, path, headers, body)?;
        self.whole_answer()
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        self.send(method, path, body)?;
        self.answer()
    }

    /// Sends a request.
    pub fn send(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<()> {
        self.send_with(method, path, &[], body)
    }

    fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let (host, length) = (self.address, body.len());
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n"));
        let key = self.authorization.as_ref().map(|key| format!("Authorization: {key}\r\n"));
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{}{}{headers}Content-Length: {length}\r\n\r\n",
            cookie.unwrap_or_default(),
            key.unwrap_or_default()
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body].concat())
    }

    /// The status and the body of the next answer.
    pub fn answer(&mut self) -> io::Result<(u16, Vec<u8>)> {
        self.whole_answer().map(|(status, _, body)| (status, body))
    }

    fn whole_answer(&mut self) -> io::Result<(u16, String, Vec<u8>)> {
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let (mut length, mut head) = (0, String::new());
        loop {
            let line = self.line()?;
            let given =
                line.strip_prefix("set-cookie: ").and_then(|cookie| cookie.split(';').next());
            self.cookie = given.map(String::from).or(self.cookie.take());
            let line = line.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
            }
            head += &format!("{line}\n");
        }
        // What has not changed is not sent, though its length is said.
        let mut body = vec![0; if status == 304 { 0 } else { length }];
        self.stream.read_exact(&mut body)?;
        Ok((status, head, body))
    }

    /// Sends bytes as they are, and returns the status of the answer.
    #[allow(dead_code, reason = "not every test is rude")]
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<u16> {
        self.stream.get_mut().write_all(bytes)?;
        Ok(self.answer()?.0)
    }

    /// Sends the beginning of something.
    #[allow(dead_code, reason = "not every test is rude")]
    pub fn half(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().into())
    }
}
