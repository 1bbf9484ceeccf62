//! Connections: what was said on the WebSockets that clients have opened, and the bodies that were streamed.

use thunderhead_sim::{Body, EventKind, Frame, Op, STREAM, Trace, WEB_SOCKET};

use crate::history::Exchange;

/// A frame on a connection, as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    /// Whether the client has said it; otherwise it has received it.
    pub by_client: bool,
    /// What was said.
    pub frame: &'a Frame,
    /// The index of the event with which it left the client or came to it.
    pub at: usize,
}

/// The number of the client's end of the connection that a request has opened, if it has opened one.
pub fn end_of(exchange: &Exchange<'_>) -> Option<u32> {
    exchange.response?.headers.get(WEB_SOCKET)?.parse().ok()
}

/// What a client has said and received on the connection that a request has opened, in its order. What it said need
/// not have arrived.
pub fn said<'a>(trace: &'a Trace, exchange: &Exchange<'_>) -> Vec<Said<'a>> {
    let Some(end) = end_of(exchange) else { return Vec::new() };
    let frames = trace.events().iter().enumerate().filter_map(|(at, event)| {
        let (call, by_client) = match event.kind {
            EventKind::Call { call } if trace.actor(event) == exchange.from => (call, true),
            EventKind::Effect { call, .. } => (call, false),
            _ => return None,
        };
        match trace.op(call) {
            Op::Frame { end: to, frame } if *to == end ^ u32::from(by_client) => {
                Some(Said { by_client, frame, at })
            }
            _ => None,
        }
    });
    frames.collect()
}

/// A body that was streamed, as far as it has come to the sender of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streamed<'a> {
    /// Its parts, with the indices of the events with which they came.
    pub parts: Vec<(usize, &'a Body)>,
    /// The index of the event with which it was whole, was broken off, or with which the sender wanted no more.
    pub ended: Option<usize>,
    /// Whether it was broken off.
    pub broken: bool,
    /// Whether the sender of the request has not waited for the end of it.
    pub cancelled: bool,
}

impl Streamed<'_> {
    /// All that had come before the event with that index.
    pub fn before(&self, end: usize) -> Body {
        let come = self.parts.iter().take_while(|(at, _)| *at < end);
        come.flat_map(|(_, part)| part.bytes()).copied().collect::<Vec<u8>>().into()
    }
}

/// The body of the answer to a request; none when it came with the answer.
pub fn streamed<'a>(trace: &'a Trace, exchange: &Exchange<'_>) -> Option<Streamed<'a>> {
    let stream: u32 = exchange.response?.headers.get(STREAM)?.parse().ok()?;
    let reader = stream.checked_mul(2)?;
    let mut streamed = Streamed { parts: Vec::new(), ended: None, broken: false, cancelled: false };
    for (at, event) in trace.events().iter().enumerate() {
        let (EventKind::Effect { call, .. } | EventKind::Call { call }) = event.kind else {
            continue;
        };
        let came = matches!(event.kind, EventKind::Effect { .. });
        match trace.op(call) {
            Op::Frame { end, frame: Frame::Part(part) } if *end == reader && came => {
                streamed.parts.push((at, part));
            }
            Op::Frame { end, frame: frame @ (Frame::End | Frame::Broken) }
                if *end == reader && came =>
            {
                (streamed.ended, streamed.broken) = (Some(at), *frame == Frame::Broken);
            }
            Op::Frame { end, frame: Frame::Cancel { .. } } if *end == reader ^ 1 && !came => {
                (streamed.ended, streamed.cancelled) = (Some(at), true);
            }
            _ => {}
        }
    }
    Some(streamed)
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::{Reply, Request, Response};

    use super::*;
    use crate::history::exchanges;
    use crate::mutant::History;

    #[test]
    fn a_client_knows_what_it_has_said_and_what_has_come() {
        let open = Op::Fetch { to: "web".into(), request: Request::new("WEBSOCKET", "/", "") };
        let say = |end, text: &str| Op::Frame { end, frame: Frame::text(text) };
        let mut history = History::default();
        let answer = Response::new(101, "").with_header(WEB_SOCKET, "4");
        history.calls("ann", 0, open).returns("ann", 0, Reply::Fetch(answer));
        history.calls("ann", 1, say(5, "hi")).calls("ROOM:all", 2, say(4, "on its way"));
        history.calls("ben", 3, say(7, "another connection"));
        let trace = history.trace();
        let exchange = exchanges(&trace).next().unwrap();
        assert_eq!(end_of(&exchange), Some(4));
        let said = said(&trace, &exchange);
        assert_eq!(said, [Said { by_client: true, frame: &Frame::text("hi"), at: 2 }]);
    }

    #[test]
    fn a_body_is_what_has_come_of_it() {
        let ask = Op::Fetch { to: "web".into(), request: Request::new("GET", "/", "") };
        let frame = |end, frame| Op::Frame { end, frame };
        let part = |text: &str| Frame::Part(text.into());
        let done = || Ok(Reply::Done);
        let mut history = History::default();
        let answer = Response::new(200, "").with_header(STREAM, "2");
        history.calls("ann", 0, ask).returns("ann", 0, Reply::Fetch(answer));
        history
            .effect_of(frame(4, part("a")), done())
            .effect_of(frame(3, part("not hers")), done());
        history.effect_of(frame(4, part("b")), done());
        history.calls("web", 4, frame(4, part("on its way")));
        let of = |history: &History| {
            let trace = history.trace();
            let exchange = exchanges(&trace).next().unwrap();
            let streamed = streamed(&trace, &exchange).unwrap();
            let (all, some) = (streamed.before(usize::MAX), streamed.before(streamed.parts[1].0));
            (all, some, streamed.ended.is_some(), streamed.broken)
        };
        assert_eq!(of(&history), ("ab".into(), "a".into(), false, false));
        history.effect_of(frame(4, Frame::Broken), done());
        assert_eq!(of(&history), ("ab".into(), "a".into(), true, true));
    }
}
