//! WebSockets of clients to an object of the system. What an object says leaves when the journal lets it go, as answers
//! do; what a client says is an input of the cell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use thunderhead_sim::{Body, Heard};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use crate::cell::Input;
use crate::request_checks::Refused;
use crate::response_bodies::{self, Sent};

/// How many sockets are open at a time.
pub const SOCKETS: usize = 256;
/// How many messages may wait for a client. One that is further behind is cut off, and learns what it missed by asking.
const BEHIND: usize = 64;
/// The most bytes of a message from a client.
const MESSAGE_MOST: usize = 64 << 10;
/// A client that has said nothing for so long is asked whether it is there, and is cut off if it says nothing again.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a client's machine may take to accept a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// A client as the cell and the journal know it.
#[derive(Clone)]
pub struct Caller {
    heard: Sender<Heard>,
    /// Whether something could not be told because the client was too far behind.
    lost: Arc<AtomicBool>,
}

impl Caller {
    /// Tells the client something, unless it is gone or too far behind.
    pub fn tell(&self, heard: Heard) {
        if self.heard.try_send(heard).is_err() {
            self.lost.store(true, Relaxed);
        }
    }
}

/// Whether a client asks for a WebSocket.
pub fn is_asked_for<B>(request: &Request<B>) -> bool {
    let says = |name, word: &str| {
        let values = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    says(header::UPGRADE, "websocket") && says(header::CONNECTION, "upgrade")
}

/// Connects a client with the object of that name, and answers that the connection is a WebSocket from now on.
pub async fn open(
    request: Request<Incoming>,
    object: &'static str,
    name: &str,
    inputs: &Sender<Input>,
    closed: watch::Receiver<bool>,
    permit: OwnedSemaphorePermit,
) -> Result<Response<Sent>, Refused> {
    let accept = accept_key(&request)?;
    let (heard, mut hears) = mpsc::channel(BEHIND);
    let (caller, inputs) = (Caller { heard, lost: Arc::default() }, inputs.clone());
    let lost = caller.lost.clone();
    let called = Input::Connect { object, name: name.into(), caller };
    inputs
        .try_send(called)
        .map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, "the server is busy; try again"))?;
    let (opened, is_open) = oneshot::channel();
    // A task of its own, because the client may go away at any moment, and the object has to hear of that.
    tokio::spawn(async move {
        let _permit = permit;
        let Some(Heard::Opened(socket)) = hears.recv().await else { return };
        let talk = Talk { socket, hears, lost, inputs };
        let is_there = opened.send(()).is_ok();
        match hyper::upgrade::on(request).await {
            Ok(upgraded) if is_there => talk.on(TokioIo::new(upgraded), closed).await,
            _ => talk.hang_up().await,
        }
    });
    let silent = (StatusCode::SERVICE_UNAVAILABLE, "the system does not answer; try again");
    is_open.await.map_err(|_| silent)?;
    let mut response = Response::new(response_bodies::whole(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// What proves to the client that it was understood.
fn accept_key<B>(request: &Request<B>) -> Result<HeaderValue, Refused> {
    let says = |headers: &HeaderMap, name, value: &str| {
        headers.get(name).is_some_and(|said: &HeaderValue| said == value)
    };
    let is_one = *request.method() == Method::GET && request.version() == Version::HTTP_11;
    if !is_one || !says(request.headers(), header::SEC_WEBSOCKET_VERSION, "13") {
        return Err((
            StatusCode::BAD_REQUEST,
            "a WebSocket is asked for by GET, HTTP/1.1 and version 13",
        ));
    }
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let key = key
        .filter(|key| key.len() == 24)
        .ok_or((StatusCode::BAD_REQUEST, "Sec-WebSocket-Key is missing"))?;
    HeaderValue::from_str(&derive_accept_key(key))
        .map_err(|_| (StatusCode::BAD_REQUEST, "Sec-WebSocket-Key is none"))
}

/// A client that is connected.
struct Talk {
    /// The number of the connection, as the engine has it.
    socket: u32,
    hears: Receiver<Heard>,
    lost: Arc<AtomicBool>,
    inputs: Sender<Input>,
}

impl Talk {
    async fn on(
        mut self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        mut closed: watch::Receiver<bool>,
    ) {
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_MOST))
            .max_frame_size(Some(MESSAGE_MOST));
        let mut stream = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let why = self.carry(&mut stream, &mut closed).await;
        self.hang_up().await;
        if let Some(code) = why {
            let frame = CloseFrame { code, reason: "".into() };
            // A client that has gone away is not there to hear it.
            drop(timeout(SEND_TIMEOUT, stream.close(Some(frame))).await);
        }
        // The server waits until this is dropped, and so until the client has been told.
        drop(closed);
    }

    /// Carries messages in both directions. Returns why it ended, unless the client did that.
    async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut WebSocketStream<S>,
        closed: &mut watch::Receiver<bool>,
    ) -> Option<CloseCode> {
        let (mut silent_at, mut asked) = (Instant::now() + SILENCE, false);
        loop {
            let message = tokio::select! {
                // In this order, so that a simulation takes the same turn each time.
                biased;
                _ = closed.wait_for(|closed| *closed) => return Some(CloseCode::Away),
                heard = self.hears.recv() => match heard {
                    Some(Heard::Message(_)) if self.lost.load(Relaxed) => return Some(CloseCode::Again),
                    Some(Heard::Message(body)) => told(&body),
                    // The object has died or wants no more; a client that comes back finds it alive.
                    Some(Heard::Opened(_) | Heard::Closed) | None => return Some(CloseCode::Restart),
                },
                said = stream.next() => {
                    (silent_at, asked) = (Instant::now() + SILENCE, false);
                    let message = match said {
                        Some(Ok(Message::Text(text))) => Body::from(text.as_str()),
                        Some(Ok(Message::Binary(bytes))) => Body::from(bytes.to_vec()),
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                        Some(Ok(_)) => continue,
                    };
                    if self.inputs.try_send(Input::Said(self.socket, message)).is_err() {
                        return Some(CloseCode::Again);
                    }
                    continue;
                }
                () = sleep_until(silent_at) => {
                    if asked {
                        return None;
                    }
                    (silent_at, asked) = (Instant::now() + SILENCE, true);
                    Message::Ping(Default::default())
                }
            };
            match timeout(SEND_TIMEOUT, stream.send(message)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
    }

    /// The object hears that the client is gone.
    async fn hang_up(&self) {
        // A cell that has ended has no connections.
        drop(self.inputs.send(Input::HungUp(self.socket)).await);
    }
}

/// A message as it goes over the wire.
fn told(body: &Body) -> Message {
    match body.text() {
        Some(text) => Message::text(text),
        None => Message::binary(body.bytes().to_vec()),
    }
}
