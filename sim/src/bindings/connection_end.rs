//! One end of a connection: of a WebSocket, as a Worker makes them in pairs, or of a body that is streamed. `WebSocket`
//! is the shorthand of systems in Rust, which has neither a handshake nor closes; theirs for bodies is `Env::stream`.

use std::fmt;
use std::sync::Arc;

use crate::bindings::durable_object::ObjectState;
use crate::engine::env::Env;
use crate::engine::ids::EndId;
use crate::protocol::frame::Frame;
use crate::protocol::headers::Headers;
use crate::protocol::http::STREAM;
use crate::values::body::Body;
use crate::values::time::Time;

/// One end of a WebSocket, or of a body that is streamed.
#[derive(Clone)]
pub struct ConnectionEnd {
    env: Env,
    id: EndId,
}

impl Env {
    /// Makes a WebSocket; both of its ends are here.
    pub fn web_socket_pair(&self) -> [ConnectionEnd; 2] {
        self.connection(false)
    }

    /// Makes the connection of a body: the end of its writer and that of its reader.
    pub fn body_pair(&self) -> [ConnectionEnd; 2] {
        let [reader, writer] = self.connection(true);
        [writer, reader]
    }

    fn connection(&self, is_of_body: bool) -> [ConnectionEnd; 2] {
        let first = self.world().state().open_connection(self.host(), is_of_body);
        [first, first.peer()].map(|id| ConnectionEnd { env: self.clone(), id })
    }

    /// The end at which the body of a message arrives, if that is streamed; it is with this host from now on.
    pub fn body_end(&self, headers: &Headers) -> Option<ConnectionEnd> {
        let id = self.end_in(headers, STREAM)?;
        Some(ConnectionEnd { env: self.clone(), id })
    }

    /// This host does not go on with the body that the end of that number is of: the other end learns of it if not all
    /// has been said. It can be called when a future is dropped.
    pub fn abandon_body(&self, number: u32) {
        if let Some(mut state) = self.world().idle_state()
            && let Some(end) = state.connections.find(number)
        {
            state.abandon(end);
        }
    }

    /// The end of that number, if there is one.
    pub fn connection_end(&self, number: u32) -> Option<ConnectionEnd> {
        let id = self.world().state().connections.find(number)?;
        Some(ConnectionEnd { env: self.clone(), id })
    }
}

impl ConnectionEnd {
    /// Its number, by which a response names it.
    pub fn number(&self) -> u32 {
        self.id.0
    }

    /// It leaves this host in a response.
    pub fn send_away(&self) {
        self.env.world().state().send_away(self.id);
    }

    /// It has come to this host in a response.
    pub fn claim(&self) {
        self.env.world().state().claim(self.id, self.env.host());
    }

    /// The next frame; none when a close has been read. A task that reads keeps its host busy.
    pub async fn next(&self) -> Option<Frame> {
        self.env.next_frame(self.id).await
    }

    /// Sends to the other end. Nobody learns whether the frame arrives.
    pub fn send(&self, frame: Frame) {
        self.env.world().state().send_frame(self.id, frame);
    }

    /// Waits until the reader of a body is not far behind, or wants no more. Returns whether it wants more.
    pub async fn room_for_more(&self) -> bool {
        self.env.room_for_more(self.id).await
    }

    /// Its host does not go on with it: the other end learns that the connection is lost.
    pub fn drop_connection(&self) {
        self.env.world().state().drop_end(self.id);
    }

    /// Whether it has sent a close, and whether it has been told of one.
    pub fn closed(&self) -> (bool, bool) {
        let state = self.env.world().state();
        let end = &state.connections[self.id];
        (end.closed, end.told)
    }

    /// The tags that it was accepted with.
    pub fn tags(&self) -> Vec<Arc<str>> {
        self.env.world().state().connections[self.id].tags.clone()
    }

    /// What the application has attached to it.
    pub fn attachment(&self) -> Option<Body> {
        self.env.world().state().connections[self.id].attachment.clone()
    }

    /// Attaches something to it, which is there as long as the connection is.
    pub fn attach(&self, attachment: Body) {
        self.env.world().state().connections[self.id].attachment = Some(attachment);
    }

    /// When a message on it was last answered in place of its object.
    pub fn answered(&self) -> Option<Time> {
        self.env.world().state().connections[self.id].answered
    }
}

impl ObjectState {
    /// Accepts a WebSocket: frames on it are events of the object, which may leave memory in between.
    pub fn accept_web_socket(&self, end: &ConnectionEnd, tags: Vec<Arc<str>>) {
        let mut state = self.env.world().state();
        let accepted = &mut state.connections[end.id];
        (accepted.hibernates, accepted.tags) = (true, tags);
    }

    /// The ends that were accepted and are open, oldest first.
    pub fn web_socket_ends(&self) -> Vec<ConnectionEnd> {
        let state = self.env.world().state();
        let ends: Vec<EndId> = state.connections.accepted(self.env.host()).collect();
        ends.into_iter().map(|id| ConnectionEnd { env: self.env.clone(), id }).collect()
    }

    /// The message that is answered in the object's place, without waking it, and the answer.
    pub fn auto_response(&self) -> Option<(Arc<str>, Arc<str>)> {
        let state = self.env.world().state();
        state.connections.auto_responses.get(&self.env.host().0).cloned()
    }

    /// Sets the message that is answered in the object's place, or none.
    pub fn set_auto_response(&self, pair: Option<(Arc<str>, Arc<str>)>) {
        let mut state = self.env.world().state();
        let (host, all) = (self.env.host().0, &mut state.connections.auto_responses);
        match pair {
            Some(pair) => drop(all.insert(host, pair)),
            None => drop(all.remove(&host)),
        }
    }
}

impl fmt::Debug for ConnectionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionEnd({})", self.id.0)
    }
}
