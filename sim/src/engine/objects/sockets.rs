//! Connections between clients and objects, as the world keeps them.

use std::collections::VecDeque;

use crate::engine::world::State;
use crate::values::body::Body;

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
