//! Bodies that are sent in parts, while they are made.

use std::future::Future;

use crate::bindings::connection_end::ConnectionEnd;
use crate::engine::env::Env;
use crate::protocol::frame::Frame;
use crate::protocol::headers::Headers;
use crate::protocol::http::{Request, Response, STREAM};
use crate::protocol::outcome::Error;
use crate::values::body::Body;

/// Where the parts of a body are written.
#[derive(Clone, Debug)]
pub struct BodyWriter(ConnectionEnd);

impl BodyWriter {
    /// Sends a part, and waits while the reader is far behind.
    ///
    /// # Errors
    ///
    /// [`Error::NetworkLost`] when the reader is gone or wants no more.
    pub async fn write(&self, part: impl Into<Body>) -> Result<(), Error> {
        self.0.send(Frame::Part(part.into()));
        self.0.room_for_more().await.then_some(()).ok_or(Error::NetworkLost)
    }
}

/// The body of a request or a response, as it arrives.
#[derive(Debug)]
pub enum BodyReader {
    /// It came with its message; none when it was read.
    Whole(Option<Body>),
    /// It comes in parts.
    Parts(ConnectionEnd),
}

impl BodyReader {
    /// The next part; none when the body is whole.
    ///
    /// # Errors
    ///
    /// [`Error::NetworkLost`] when the body was broken off.
    pub async fn next(&mut self) -> Result<Option<Body>, Error> {
        match self {
            BodyReader::Whole(body) => Ok(body.take().filter(|body| !body.is_empty())),
            BodyReader::Parts(end) => match end.next().await {
                Some(Frame::Part(part)) => Ok(Some(part)),
                Some(Frame::Broken) => Err(Error::NetworkLost),
                _ => Ok(None),
            },
        }
    }

    /// Says that no more of it is wanted.
    pub fn cancel(self, reason: &str) {
        if let BodyReader::Parts(end) = self {
            end.send(Frame::Cancel { reason: reason.into() });
        }
    }
}

impl Env {
    /// A response with status 200 whose body `produce` makes while it is sent. When that fails, the body is broken off:
    /// its reader has a status and a part of a body, and learns that the rest is lost.
    ///
    /// ```
    /// use std::time::Duration;
    /// use thunderhead_sim::{ClientRequest, Scenario, Source, Tape, Time, simulate};
    ///
    /// let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    /// let scenario = Scenario { requests, ..Scenario::default() };
    /// let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
    ///     cloud.worker("web").fetch(|env, _request| async move {
    ///         let clock = env.clone();
    ///         Ok(env.stream(|body| async move {
    ///             body.write("one, ").await?;
    ///             clock.sleep(Duration::from_secs(40)).await;
    ///             body.write("two").await
    ///         }))
    ///     });
    /// });
    /// assert!(run.unwrap().trace.to_string().contains("stream.part stream 0 \"one, \""));
    /// ```
    pub fn stream<W>(&self, produce: impl FnOnce(BodyWriter) -> W) -> Response
    where
        W: Future<Output = Result<(), Error>> + 'static,
    {
        Response::new(200, "").with_header(STREAM, &self.send_stream(produce))
    }

    /// The request with a body that `produce` makes while it is sent. It is sent once: who tries again needs another.
    pub fn stream_request<W>(
        &self,
        request: Request,
        produce: impl FnOnce(BodyWriter) -> W,
    ) -> Request
    where
        W: Future<Output = Result<(), Error>> + 'static,
    {
        request.with_header(STREAM, &self.send_stream(produce))
    }

    /// The number of the stream.
    fn send_stream<W>(&self, produce: impl FnOnce(BodyWriter) -> W) -> String
    where
        W: Future<Output = Result<(), Error>> + 'static,
    {
        let [writer, reader] = self.body_pair();
        reader.send_away();
        let work = produce(BodyWriter(writer.clone()));
        let env = self.clone();
        self.keep_open(async move {
            let Err(error) = work.await else { return writer.send(Frame::End) };
            writer.drop_connection();
            // That the reader is gone is no failure.
            if error != Error::NetworkLost {
                env.log(format!("a body was broken off: {error}"));
            }
        });
        (reader.number() / 2).to_string()
    }

    /// The body of a response, whether it came with the response or comes in parts.
    pub fn body(&self, response: &Response) -> BodyReader {
        self.reader(&response.headers, &response.body)
    }

    /// The body of a request, whether it came with the request or comes in parts.
    pub fn request_body(&self, request: &Request) -> BodyReader {
        self.reader(&request.headers, &request.body)
    }

    fn reader(&self, headers: &Headers, body: &Body) -> BodyReader {
        match self.body_end(headers) {
            Some(end) => BodyReader::Parts(end),
            None => BodyReader::Whole(Some(body.clone())),
        }
    }

    /// The response with all of its body.
    ///
    /// # Errors
    ///
    /// [`Error::NetworkLost`] when the body was broken off.
    pub async fn whole(&self, mut response: Response) -> Result<Response, Error> {
        let BodyReader::Parts(end) = self.body(&response) else { return Ok(response) };
        let (mut parts, mut all) = (BodyReader::Parts(end), Vec::new());
        while let Some(part) = parts.next().await? {
            all.extend_from_slice(part.bytes());
        }
        response.headers.delete(STREAM);
        response.body = all.into();
        Ok(response)
    }
}
