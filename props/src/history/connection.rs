//! WebSockets: what was said on the connections that clients have opened.

use thunderhead_sim::{EventKind, Frame, Op, Trace, WEB_SOCKET};

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
}
