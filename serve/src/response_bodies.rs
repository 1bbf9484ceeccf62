//! Bodies on their way to a client: those of a file are read piece by piece, as fast as the client takes them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use thunderhead_sim as sim;

use crate::Environment;

/// What is sent to a client.
pub type Sent = UnsyncBoxBody<Bytes, io::Error>;

/// How many bytes are read at a time.
const PIECE: usize = 64 * 1024;

/// Bytes that are at hand.
pub fn whole(bytes: impl Into<Bytes>) -> Sent {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body of the system.
pub fn sent(body: &sim::Body, environment: Environment) -> Sent {
    match body.at_hand() {
        Some(_) => whole(Bytes::from_owner(Owned(body.clone()))),
        None => Pieces { body: body.clone(), at: 0, next: None, environment }.boxed_unsync(),
    }
}

/// A body whose bytes are shared instead of copied.
struct Owned(sim::Body);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

type Reading = Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send>>;

/// The pieces of a body. One is in memory at a time, and the next is read when the connection has room for it.
struct Pieces {
    body: sim::Body,
    at: usize,
    next: Option<Reading>,
    environment: Environment,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        if this.at == this.body.len() {
            return Poll::Ready(None);
        }
        let next = this.next.get_or_insert_with(|| {
            let (body, at, environment) = (this.body.clone(), this.at, this.environment);
            Box::pin(async move { environment.beside(move || body.piece(at, PIECE)).await })
        });
        let piece = ready!(next.as_mut().poll(cx));
        this.next = None;
        Poll::Ready(Some(piece.map(|piece| {
            this.at += piece.len();
            Frame::data(Bytes::from(piece))
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.at == self.body.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.body.len() - self.at) as u64)
    }
}
