//! Connections between clients and durable objects. What a dropped client misses is gone.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

use crate::body::Body;
use crate::call::Op;
use crate::env::Env;
use crate::task::Waits;
use crate::world::State;

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

/// A connection as the world keeps it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub client: u16,
    pub object: u16,
    pub open: bool,
    pub inbox: VecDeque<Body>,
    pub reader: Option<u32>,
}

impl State {
    pub fn open_socket(&mut self, client: u16, object: u16) -> u32 {
        let inbox = VecDeque::new();
        self.sockets.push(Socket { client, object, open: true, inbox, reader: None });
        self.sockets.len() as u32 - 1
    }

    /// The connection is gone; a client that listens learns of it.
    pub fn close_socket(&mut self, id: u32) {
        let socket = &mut self.sockets[id as usize];
        socket.open = false;
        if let Some(reader) = socket.reader.take() {
            self.wake(reader);
        }
    }

    /// Every connection of a host is gone.
    pub fn close_sockets_of(&mut self, host: u16) {
        let ids: Vec<u32> = self.sockets_of(host).collect();
        ids.into_iter().for_each(|id| self.close_socket(id));
    }

    pub fn sockets_of(&self, host: u16) -> impl Iterator<Item = u32> + '_ {
        let open = move |(_, socket): &(usize, &Socket)| socket.open && socket.object == host;
        self.sockets.iter().enumerate().filter(open).map(|(id, _)| id as u32)
    }

    /// A message from the object reaches its client.
    pub fn pushed(&mut self, id: u32, message: Body) {
        let socket = &mut self.sockets[id as usize];
        if !socket.open {
            return;
        }
        socket.inbox.push_back(message);
        if let Some(reader) = socket.reader.take() {
            self.wake(reader);
        }
    }
}
