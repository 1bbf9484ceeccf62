//! Connections between clients and objects.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use crate::engine::ids::{HostId, SocketId, TaskId};
use crate::values::body::Body;

#[derive(Debug)]
pub(crate) struct Socket {
    pub client: HostId,
    pub object: HostId,
    pub open: bool,
    /// Messages that have reached the client and have not been read.
    pub inbox: VecDeque<Body>,
    /// The client's task that waits for the next message.
    pub reader: Option<TaskId>,
}

/// Every connection that was ever opened in a run.
#[derive(Debug, Default)]
pub(crate) struct Sockets(Vec<Socket>);

impl Sockets {
    pub fn open(&mut self, client: HostId, object: HostId) -> SocketId {
        let id = SocketId::at(self.0.len());
        let inbox = VecDeque::new();
        self.0.push(Socket { client, object, open: true, inbox, reader: None });
        id
    }

    /// Closes a connection. Returns the reader, which has to be woken.
    pub fn close(&mut self, id: SocketId) -> Option<TaskId> {
        let socket = &mut self[id];
        socket.open = false;
        socket.reader.take()
    }

    /// A message from the object reaches its client. Returns the reader, which has to be woken.
    pub fn receive(&mut self, id: SocketId, message: Body) -> Option<TaskId> {
        let socket = &mut self[id];
        if !socket.open {
            return None;
        }
        socket.inbox.push_back(message);
        socket.reader.take()
    }

    /// The open connections of an object.
    pub fn of_object(&self, host: HostId) -> impl Iterator<Item = SocketId> + '_ {
        let open = move |(_, socket): &(usize, &Socket)| socket.open && socket.object == host;
        self.0.iter().enumerate().filter(open).map(|(id, _)| SocketId::at(id))
    }

    /// The connection of that number, if there is one and it is open.
    pub fn find_open(&self, id: SocketId) -> Option<&Socket> {
        self.0.get(id.index()).filter(|socket| socket.open)
    }
}

impl Index<SocketId> for Sockets {
    type Output = Socket;

    fn index(&self, id: SocketId) -> &Socket {
        &self.0[id.index()]
    }
}

impl IndexMut<SocketId> for Sockets {
    fn index_mut(&mut self, id: SocketId) -> &mut Socket {
        &mut self.0[id.index()]
    }
}
