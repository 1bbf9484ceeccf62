//! A client's end of a connection to a durable object. Messages sent while it is down are lost.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

use crate::engine::env::Env;
use crate::engine::ids::SocketId;
use crate::engine::task::Waits;
use crate::protocol::op::Op;
use crate::values::body::Body;

/// A client's end of a connection.
#[derive(Clone)]
pub struct WebSocket {
    env: Env,
    id: SocketId,
}

impl WebSocket {
    pub(crate) fn new(env: Env, id: SocketId) -> WebSocket {
        WebSocket { env, id }
    }

    /// The number of the connection, which the object uses too.
    pub fn id(&self) -> u32 {
        self.id.0
    }

    /// The next message; none when the connection is gone.
    pub async fn recv(&self) -> Option<Body> {
        poll_fn(|cx| {
            let mut state = self.env.world().state();
            let task = state.tasks.waiting(cx);
            let Some(socket) = state.objects.sockets.find(self.id) else {
                return Poll::Ready(None);
            };
            if let Some(message) = socket.inbox.pop_front() {
                return Poll::Ready(Some(message));
            }
            if !socket.open {
                return Poll::Ready(None);
            }
            socket.reader = Some(task);
            state.tasks[task].waits = Waits::Elsewhere;
            // A client that listens is not stuck: another message need not come.
            state.tasks[task].listens = true;
            Poll::Pending
        })
        .await
    }

    /// Sends to the object; the client does not learn whether the message arrives.
    pub fn send(&self, message: impl Into<Body>) {
        let mut state = self.env.world().state();
        let Some(socket) = state.objects.sockets.find_open(self.id) else { return };
        let (client, object) = (socket.client, socket.object);
        let name = state.host(object).name.clone();
        let op = Op::SocketMessage { object: name, socket: self.id.0, message: message.into() };
        state.request_unawaited(client, Some(object), op);
    }

    /// Closes the connection.
    pub fn close(&self) {
        self.env.world().state().close_socket(self.id);
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebSocket({})", self.id.0)
    }
}
