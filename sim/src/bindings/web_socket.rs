//! Connections between clients and durable objects. What a dropped client misses is gone.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

use crate::engine::env::Env;
use crate::engine::task::Waits;
use crate::protocol::op::Op;
use crate::values::body::Body;

/// A client's end of a connection.
#[derive(Clone)]
pub struct WebSocket {
    env: Env,
    id: u32,
}

impl WebSocket {
    pub(crate) fn new(env: Env, id: u32) -> WebSocket {
        WebSocket { env, id }
    }

    /// Its number, as the object knows it.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The next message; none when the connection is gone.
    pub async fn recv(&self) -> Option<Body> {
        poll_fn(|cx| {
            let mut state = self.env.world().state();
            let task = state.waiting(cx);
            let socket = &mut state.sockets[self.id as usize];
            if let Some(message) = socket.inbox.pop_front() {
                return Poll::Ready(Some(message));
            }
            if !socket.open {
                return Poll::Ready(None);
            }
            socket.reader = Some(task);
            state.tasks[task as usize].waits = Waits::Elsewhere;
            // A client that listens is not stuck: nobody promised it another message.
            state.tasks[task as usize].listens = true;
            Poll::Pending
        })
        .await
    }

    /// Sends to the object; nothing says whether it arrived.
    pub fn send(&self, message: impl Into<Body>) {
        let mut state = self.env.world().state();
        let Some(socket) = state.sockets.get(self.id as usize).filter(|socket| socket.open) else {
            return;
        };
        let (client, object) = (socket.client, socket.object);
        let name = state.host(object).name.clone();
        let op = Op::SocketMessage { object: name, socket: self.id, message: message.into() };
        let current = state.current.take();
        state.request(client, Some(object), None, op);
        state.current = current;
    }

    /// Hangs up.
    pub fn close(&self) {
        self.env.world().state().close_socket(self.id);
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebSocket({})", self.id)
    }
}
