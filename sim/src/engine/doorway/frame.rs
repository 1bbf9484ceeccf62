//! The path of a frame on a connection: it leaves with the turn of an object, arrives in order, and cuts the connection
//! if it is lost.

use std::cell::RefMut;
use std::rc::Rc;
use std::time::Duration;

use crate::engine::agenda::Scheduled;
use crate::engine::doorway::CALL_TIMEOUT;
use crate::engine::host::Invocation;
use crate::engine::ids::{CallId, EndId, HostId};
use crate::engine::services::Service;
use crate::engine::world::{State, World};
use crate::protocol::frame::Frame;
use crate::protocol::op::Op;
use crate::protocol::outcome::Reply;
use crate::protocol::trace::EventKind;

/// How long an end may be on its way in a response. After that, nobody has received it.
const UNCLAIMED: Duration = Duration::from_secs(20);

impl State {
    /// Makes a WebSocket or the connection of a body, whose ends are with a host.
    pub fn open_connection(&mut self, host: HostId, is_of_body: bool) -> EndId {
        let orders = [self.calls.open_stub(), self.calls.open_stub()];
        self.connections.open(host, is_of_body, orders)
    }

    /// An end leaves its host in a response.
    pub fn send_away(&mut self, end: EndId) {
        let now = self.now;
        let leaving = &mut self.connections[end];
        (leaving.host, leaving.left) = (None, now);
        self.schedule(UNCLAIMED, Scheduled::Unclaimed { end });
    }

    /// A response with an end in it has come to a host.
    pub fn claim(&mut self, end: EndId, host: HostId) {
        let claimed = &mut self.connections[end];
        claimed.host.get_or_insert(host);
        std::mem::take(&mut claimed.early).into_iter().for_each(|call| self.receive(call, end));
    }

    /// The host that should have received an end has given up.
    pub fn unclaimed(&mut self, end: EndId) {
        let lost = &self.connections[end];
        if lost.host.is_none() && self.now - lost.left >= UNCLAIMED && !lost.told {
            self.drop_end(end);
        }
    }

    /// Sends a frame from an end to its peer. From an object it leaves at the end of the turn.
    pub fn send_frame(&mut self, from: EndId, frame: Frame) {
        let sender = &mut self.connections[from];
        if sender.closed {
            return;
        }
        sender.closed = frame.closes();
        if sender.cut || sender.told && !frame.closes() {
            return;
        }
        let caller = sender.host.unwrap_or(Service::Cloud.host());
        self.connections[from.peer()].ahead += u32::from(matches!(frame, Frame::Part(_)));
        let call = self.frame_to(caller, from.peer(), frame);
        self.submit(call);
        // No task waits for an answer to it.
        let flight = &mut self.calls[call];
        (flight.task, flight.dropped) = (None, true);
    }

    fn frame_to(&mut self, caller: HostId, end: EndId, frame: Frame) -> CallId {
        let (callee, order) = (self.connections[end].host, self.connections[end].order);
        self.prepare(caller, callee, Some(order), Op::Frame { end: end.0, frame })
    }

    /// Cuts a connection on which a frame was lost. Both ends learn of it, not at once.
    pub(super) fn cut(&mut self, call: CallId, end: EndId) {
        if std::mem::replace(&mut self.connections[end].cut, true) {
            // It is the news itself that was lost. A connection that is silent for long counts as lost.
            let at = self.calls.line_up(call, self.now + CALL_TIMEOUT);
            self.agenda.schedule(at, Scheduled::Arrive { call, copy: false });
            return;
        }
        self.connections[end.peer()].cut = true;
        self.tell_lost(end);
        self.tell_lost(end.peer());
    }

    /// Everything that a host had is lost with it: those at the other ends learn of it.
    pub fn drop_ends(&mut self, host: HostId) {
        self.connections.auto_responses.remove(&host.0);
        for end in self.connections.of_host(host) {
            self.drop_end(end);
        }
    }

    /// What a host that leaves memory has of bodies is lost; WebSockets stay.
    pub fn drop_bodies(&mut self, host: HostId) {
        for end in self.connections.of_host(host) {
            self.abandon(end);
        }
    }

    /// The host of a body's end does not go on with it. If all was said on it, nobody has to be told.
    pub fn abandon(&mut self, end: EndId) {
        let left = &self.connections[end];
        if left.is_of_body && !left.told && !left.closed {
            self.drop_end(end);
        }
    }

    /// An end is lost, or its host does not go on with it.
    pub fn drop_end(&mut self, end: EndId) {
        let dropped = &mut self.connections[end];
        (dropped.told, dropped.cut, dropped.hibernates) = (true, true, false);
        dropped.inbox.clear();
        dropped.early.clear();
        // A host that receives this end too late must not take what it reads for the whole body.
        dropped.inbox.extend(dropped.is_of_body.then_some(Frame::Broken));
        if !std::mem::replace(&mut self.connections[end.peer()].cut, true) {
            self.tell_lost(end.peer());
        }
    }

    fn tell_lost(&mut self, end: EndId) {
        let told = &self.connections[end];
        // Who has sent the end of a body, or wants no more of it, hears nothing on its connection.
        if told.told || told.is_of_body && told.closed {
            return;
        }
        let lost = if told.is_of_body { Frame::Broken } else { Frame::lost() };
        let current = self.tasks.current.take();
        let call = self.frame_to(Service::Cloud.host(), end, lost);
        self.depart(call);
        self.calls[call].dropped = true;
        self.tasks.current = current;
    }

    /// A frame has come to an end that a task reads.
    fn receive(&mut self, call: CallId, end: EndId) {
        let Op::Frame { frame, .. } = self.trace.op(call.0) else { return };
        let reached = &mut self.connections[end];
        reached.inbox.push_back(frame.clone());
        let (host, reader) = (reached.host, reached.reader.take());
        // A writer that waits for its reader learns that there is none any more.
        let writer = reached.told.then(|| self.connections[end.peer()].writer.take()).flatten();
        reader.into_iter().chain(writer).for_each(|task| self.wake(task));
        // A frame has no answer, which is what `copy` means here.
        let actor = host.unwrap_or(Service::Cloud.host());
        self.took_effect(call, true, actor, Ok(Reply::Done), Vec::new());
        self.over(call);
    }
}

impl World {
    /// A frame reaches the end that it was sent to.
    pub(super) fn arrive_at_end(
        self: &Rc<World>,
        mut state: RefMut<'_, State>,
        call: CallId,
        copy: bool,
    ) {
        let Op::Frame { end, frame } = state.trace.op(call.0).clone() else {
            unreachable!("only frames go to an end")
        };
        let end = EndId(end);
        let now = state.now;
        let reached = &mut state.connections[end];
        if reached.told {
            return state.over(call);
        }
        reached.told = frame.closes();
        reached.messages += u32::from(!frame.closes());
        let (host, hibernates) = (reached.host, reached.hibernates);
        if let (true, Some(host)) = (hibernates, host) {
            let Some(answer) = state.auto_response(host, &frame) else {
                return self.handle_frame(state, host, Invocation { call, copy });
            };
            state.connections[end].answered = Some(now);
            state.took_effect(call, true, host, Ok(Reply::Done), Vec::new());
            return state.send_frame(end, answer);
        }
        // A body follows its response.
        if reached.is_of_body && host.is_none() {
            return reached.early.push(call);
        }
        state.receive(call, end);
    }

    /// An object handles a frame; it is woken up if need be.
    fn handle_frame(
        self: &Rc<World>,
        mut state: RefMut<'_, State>,
        host: HostId,
        invocation: Invocation,
    ) {
        if state.is_idle(host) {
            state.maybe_evict(host);
        }
        state.record(host, EventKind::Begin { call: invocation.call.0 });
        drop(state);
        let work = self.object_handler(host, invocation);
        self.spawn(host, Some(invocation.call), work);
    }
}

impl State {
    /// What is answered to a message in place of an object, if it has said so.
    fn auto_response(&self, host: HostId, frame: &Frame) -> Option<Frame> {
        let Frame::Text(text) = frame else { return None };
        let (request, response) = self.connections.auto_responses.get(&host.0)?;
        (text.text() == Some(&**request)).then(|| Frame::text(&**response))
    }
}
