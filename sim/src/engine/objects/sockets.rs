//! Connections between clients and objects.

use std::collections::VecDeque;
use std::ops::Index;

use crate::engine::ids::{HostId, SocketId, TaskId};
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;

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

/// The connections of a run, those that are closed among them. A live world forgets these.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    sockets: SortedMap<SocketId, Socket>,
    opened: u32,
}

impl Sockets {
    pub fn open(&mut self, client: HostId, object: HostId) -> SocketId {
        let id = SocketId(self.opened);
        self.opened += 1;
        let inbox = VecDeque::new();
        self.sockets.insert(id, Socket { client, object, open: true, inbox, reader: None });
        id
    }

    /// Closes a connection. Returns the reader, which has to be woken.
    pub fn close(&mut self, id: SocketId) -> Option<TaskId> {
        let socket = self.find(id)?;
        socket.open = false;
        socket.reader.take()
    }

    /// A message from the object reaches its client. Returns the reader, which has to be woken.
    pub fn receive(&mut self, id: SocketId, message: Body) -> Option<TaskId> {
        let socket = self.find(id).filter(|socket| socket.open)?;
        socket.inbox.push_back(message);
        socket.reader.take()
    }

    /// The open connections of an object.
    pub fn of_object(&self, host: HostId) -> impl Iterator<Item = SocketId> + '_ {
        let open = move |(_, socket): &(&SocketId, &Socket)| socket.open && socket.object == host;
        self.sockets.iter().filter(open).map(|(id, _)| *id)
    }

    /// The connection of that number, if it is not forgotten.
    pub fn find(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.sockets.get_mut(&id)
    }

    /// The connection of that number, if there is one and it is open.
    pub fn find_open(&self, id: SocketId) -> Option<&Socket> {
        self.sockets.get(&id).filter(|socket| socket.open)
    }

    /// Whether there is one that could be forgotten.
    pub fn has_closed(&self) -> bool {
        self.sockets.values().any(|socket| !socket.open)
    }

    /// Forgets those that are closed, but for the ones that messages on their way name.
    pub fn forget_closed(&mut self, named: &[SocketId]) {
        self.sockets.retain(|id, socket| socket.open || named.contains(id));
    }
}

impl Index<SocketId> for Sockets {
    type Output = Socket;

    fn index(&self, id: SocketId) -> &Socket {
        &self.sockets[&id]
    }
}
