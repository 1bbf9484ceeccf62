//! What clients have said on WebSockets, as far as it was heard: a connection is played in the calm with the messages
//! that the other side has begun to handle in the storm. What was lost with a connection is nobody's fault.

use std::time::Duration;

use thunderhead_sim::{
    ClientRequest, Conversation, Event, EventKind, Frame, Op, SortedMap, TalkStep, Time, Trace,
    WEBSOCKET,
};

use crate::history::{Exchange, end_of};

/// What a calm run can play: a request, and what is said on its connection if it opens one.
#[derive(Clone, Debug)]
pub struct Played {
    pub request: ClientRequest,
    /// The request of the scenario.
    pub of: usize,
    /// What is said, with the times at which it was begun to be handled.
    pub said: Vec<(Time, Frame)>,
}

impl Played {
    /// A request of the scenario. One that opens a connection says nothing on it.
    pub fn request(of: usize, request: &ClientRequest) -> Played {
        Played { request: request.clone(), of, said: Vec::new() }
    }

    /// The time of a step in the scenario or in the run; step 0 is the request.
    pub fn time(&self, step: usize) -> Time {
        step.checked_sub(1).map_or(self.request.at, |said| self.said[said].0)
    }

    /// The request as it is sent at a time, with what is said at later ones.
    pub fn at(&self, at: Time, said: &[(Time, usize)]) -> ClientRequest {
        let mut request = ClientRequest { at, retries: 0, ..self.request.clone() };
        if request.request.method != WEBSOCKET {
            return request;
        }
        let mut steps = Vec::new();
        let mut last = at;
        for (at, step) in said {
            steps.push(TalkStep::Wait(*at - last));
            steps.push(TalkStep::Send(self.said[step - 1].1.clone()));
            last = *at;
        }
        let closed = matches!(steps.last(), Some(TalkStep::Send(Frame::Close { .. })));
        match (closed, self.said.is_empty()) {
            (true, _) => {}
            // Nobody has received this connection, so that it was closed soon.
            (false, true) => steps.push(TalkStep::Send(Frame::close(1000, ""))),
            (false, false) => steps.push(TalkStep::Stay),
        }
        request.request.body = Conversation { steps }.to_string().into();
        request
    }
}

/// How long the reader of a message may still be busy with it. A crash in that time may have undone it.
const READS: Duration = Duration::from_secs(10);

/// A frame that has come to the other side of a connection.
pub struct Heard {
    /// The index of the event with which the other side began to handle it.
    pub began: usize,
    /// The index of the event with which that was over.
    pub over: Option<usize>,
    /// Whether it need not have been handled at all.
    pub doubtful: bool,
    pub at: Time,
    pub frame: Frame,
}

/// What was heard on the connection that a request has opened, in its order; none if it has opened none.
pub fn heard(trace: &Trace, exchange: &Exchange<'_>) -> Option<Vec<Heard>> {
    let end = end_of(exchange)?;
    let mut place: SortedMap<u32, usize> = SortedMap::new();
    let mut heard: Vec<Heard> = Vec::new();
    for (at, event) in trace.events().iter().enumerate() {
        let Some(call) = call_of(event) else { continue };
        let Op::Frame { end: to, frame } = trace.op(call) else { continue };
        if *to != end ^ 1 {
            continue;
        }
        match event.kind {
            EventKind::Begin { .. } | EventKind::Effect { .. } => {
                let read = matches!(event.kind, EventKind::Effect { .. });
                let over = (read && !dies_soon(trace, at)).then_some(at);
                let doubtful = over.is_none();
                place.insert(call, heard.len());
                heard.push(Heard {
                    began: at,
                    over,
                    doubtful,
                    at: event.at,
                    frame: orderly(frame),
                });
            }
            EventKind::End { .. } => {
                let known = place.get(&call).and_then(|at| heard.get_mut(*at));
                known
                    .into_iter()
                    .for_each(|known| (known.over, known.doubtful) = (Some(at), false));
            }
            _ => {}
        }
    }
    // The holder of a connection that was never closed may have found out by itself that it is gone, at once or when it
    // was next called.
    if heard.last().is_none_or(|last| !last.frame.closes()) {
        let last = heard.last().map(|last| last.over.unwrap_or(last.began)).or(exchange.ended)?;
        let (frame, at) = (Frame::close(1000, ""), trace.events()[last].at);
        heard.push(Heard { began: last, over: Some(last), doubtful: true, at, frame });
    }
    Some(heard)
}

/// Whether the actor of an event dies soon after it.
fn dies_soon(trace: &Trace, at: usize) -> bool {
    let event = &trace.events()[at];
    let soon = trace.events()[at..].iter().take_while(|later| later.at - event.at <= READS);
    soon.into_iter().any(|later| {
        later.actor == event.actor
            && matches!(later.kind, EventKind::Crash { .. } | EventKind::Abort { .. })
    })
}

fn call_of(event: &Event) -> Option<u32> {
    match event.kind {
        EventKind::Begin { call }
        | EventKind::Effect { call, .. }
        | EventKind::End { call, .. } => Some(call),
        _ => None,
    }
}

/// A client of a calm run does not lose its connection: it closes it.
fn orderly(frame: &Frame) -> Frame {
    match frame {
        Frame::Close { code: Frame::LOST, .. } => Frame::close(1000, ""),
        other => other.clone(),
    }
}
