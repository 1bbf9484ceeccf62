//! Connections in pairs of ends: WebSockets, as a Worker makes them, and bodies that are streamed. Each end is
//! somewhere: with the host that made it, on its way in a response, or with the host that has received that.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use crate::engine::ids::{CallId, EndId, HostId, StubId, TaskId};
use crate::protocol::frame::Frame;
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

#[derive(Debug)]
pub(crate) struct End {
    /// Who has it; none while it is on its way in a response.
    pub host: Option<HostId>,
    /// Since when it is on its way.
    pub left: Time,
    /// Whether frames are events of the object that has it, which may leave memory in between. Otherwise a task reads
    /// them, which keeps its host busy.
    pub hibernates: bool,
    /// Frames that have come and that nobody has read.
    pub inbox: VecDeque<Frame>,
    /// How many messages have come.
    pub messages: u32,
    /// The task that waits for the next frame.
    pub reader: Option<TaskId>,
    /// Frames to this end arrive in the order in which they were sent.
    pub order: StubId,
    /// Whether it is of a body that is streamed, and not of a WebSocket.
    pub is_of_body: bool,
    /// Parts that came before the response with this end in it, which wait for that.
    pub early: Vec<CallId>,
    /// How many parts were sent to it that it has not read.
    pub ahead: u32,
    /// The task that waits until more may be sent to it.
    pub writer: Option<TaskId>,
    /// Whether it has sent a close: nothing may follow.
    pub closed: bool,
    /// Whether it has been told that the other end is closed or lost: nothing can follow.
    pub told: bool,
    /// Whether the connection is cut: what it sends goes nowhere.
    pub cut: bool,
    pub tags: Vec<Arc<str>>,
    pub attachment: Option<Body>,
    /// When a message was last answered in place of its object.
    pub answered: Option<Time>,
}

/// A message that is answered in place of an object, and the answer.
pub(crate) type AutoResponse = (Arc<str>, Arc<str>);

/// Every connection that was ever made in a run.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    ends: Vec<End>,
    /// By object.
    pub auto_responses: SortedMap<u16, AutoResponse>,
}

impl Connections {
    /// Makes a pair whose ends are with a host. Returns the first one; the other is its peer.
    pub fn open(&mut self, host: HostId, is_of_body: bool, orders: [StubId; 2]) -> EndId {
        let first = EndId::at(self.ends.len());
        self.ends.extend(orders.map(|order| End {
            host: Some(host),
            left: Time::ZERO,
            hibernates: false,
            inbox: VecDeque::new(),
            messages: 0,
            reader: None,
            order,
            is_of_body,
            early: Vec::new(),
            ahead: 0,
            writer: None,
            closed: false,
            told: false,
            cut: false,
            tags: Vec::new(),
            attachment: None,
            answered: None,
        }));
        first
    }

    /// The end of that number, if there is one.
    pub fn find(&self, number: u32) -> Option<EndId> {
        ((number as usize) < self.ends.len()).then_some(EndId(number))
    }

    /// The ends that a host has.
    pub fn of_host(&self, host: HostId) -> Vec<EndId> {
        let ends = self.ends.iter().enumerate().filter(|(_, end)| end.host == Some(host));
        ends.map(|(at, _)| EndId::at(at)).collect()
    }

    /// The open ends that an object has accepted for its handlers, the oldest first.
    pub fn accepted(&self, host: HostId) -> impl Iterator<Item = EndId> + '_ {
        let ends = self
            .ends
            .iter()
            .enumerate()
            .filter(move |(_, end)| end.host == Some(host) && end.hibernates && !end.told);
        ends.map(|(at, _)| EndId::at(at))
    }
}

impl Index<EndId> for Connections {
    type Output = End;

    fn index(&self, id: EndId) -> &End {
        &self.ends[id.index()]
    }
}

impl IndexMut<EndId> for Connections {
    fn index_mut(&mut self, id: EndId) -> &mut End {
        &mut self.ends[id.index()]
    }
}
