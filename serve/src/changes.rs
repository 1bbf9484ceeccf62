//! A stream of events that says that something was committed, for a page that then looks again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use tokio::sync::{mpsc, watch};

use crate::response_bodies::Sent;

/// A page hears of changes at most so often.
const PACE: Duration = Duration::from_millis(100);
/// How often it hears that there is no change, so that a connection that is lost is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Tells of each change in the number of commits, until the server closes or the client is gone.
pub fn stream(changes: watch::Receiver<u64>, closed: watch::Receiver<bool>) -> Response<Sent> {
    let (lines, receiver) = mpsc::channel(1);
    tokio::spawn(tell(changes, closed, lines));
    let mut response = Response::new(Lines(receiver).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

async fn tell(
    mut changes: watch::Receiver<u64>,
    mut closed: watch::Receiver<bool>,
    lines: mpsc::Sender<String>,
) {
    loop {
        let line = tokio::select! {
            // In this order, so that a simulation takes the same turn each time.
            biased;
            _ = closed.wait_for(|closed| *closed) => return,
            changed = changes.changed() => match changed {
                Ok(()) => format!("data: {}\n\n", *changes.borrow_and_update()),
                Err(_) => return,
            },
            () = tokio::time::sleep(HEARTBEAT) => ":\n\n".into(),
        };
        if lines.send(line).await.is_err() {
            return;
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Lines as they come, as the frames of a body.
struct Lines(mpsc::Receiver<String>);

impl Body for Lines {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|line| line.map(|line| Ok(Frame::data(Bytes::from(line)))))
    }
}
