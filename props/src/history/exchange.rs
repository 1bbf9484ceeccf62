//! Requests and their answers.

use thunderhead_sim::{EventKind, Op, Reply, Request, Response, SortedMap, Trace};

/// A request, and what its sender was answered.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The number of the call. A client that tries again makes another one.
    pub call: u32,
    /// Who asked.
    pub from: &'a str,
    /// Which worker was asked.
    pub to: &'a str,
    /// What was asked.
    pub request: &'a Request,
    /// The index of the event of the call.
    pub sent: usize,
    /// The index of the event with which it was over for the sender; none when that never heard of it again.
    pub ended: Option<usize>,
    /// The answer; none when the sender got an error or heard nothing.
    pub response: Option<&'a Response>,
}

impl Exchange<'_> {
    /// Whether it was answered with a status between 200 and 299.
    pub fn is_ok(&self) -> bool {
        self.response.is_some_and(Response::is_ok)
    }
}

/// Every request that was made, by clients and by workers, in their order.
pub fn exchanges(trace: &Trace) -> impl Iterator<Item = Exchange<'_>> {
    let mut found = Vec::new();
    let mut place = SortedMap::new();
    for (at, event) in trace.events().iter().enumerate() {
        match event.kind {
            EventKind::Call { call } => {
                let Op::Fetch { to, request } = trace.op(call) else { continue };
                place.insert(call, found.len());
                let (from, sent) = (trace.actor(event), at);
                found.push(Exchange { call, from, to, request, sent, ended: None, response: None });
            }
            EventKind::Return { call, outcome } => {
                let Some(exchange) = place.get(&call).and_then(|at| found.get_mut(*at)) else {
                    continue;
                };
                exchange.ended = Some(at);
                if let Ok(Reply::Fetch(response)) = trace.outcome(outcome) {
                    exchange.response = Some(response);
                }
            }
            _ => {}
        }
    }
    found.into_iter()
}

/// The requests that a worker has handled to the end, with its answers, in the order in which it ended: what a
/// service outside the cloud has done and charges for, whether or not the answer arrived. The number is the index of
/// the event.
pub fn served<'a>(
    trace: &'a Trace,
    worker: &str,
) -> impl Iterator<Item = (usize, &'a Request, &'a Response)> {
    trace.events().iter().enumerate().filter_map(move |(at, event)| {
        let EventKind::End { call, outcome } = event.kind else { return None };
        match (trace.op(call), trace.outcome(outcome)) {
            (Op::Fetch { to, request }, Ok(Reply::Fetch(response))) if &**to == worker => {
                Some((at, request, response))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::History;

    #[test]
    fn a_request_has_its_answer_and_one_without_has_none() {
        let mut history = History::default();
        let ask = |path| Op::Fetch { to: "web".into(), request: Request::new("GET", path, "") };
        let answer = || Reply::Fetch(Response::new(200, "hi"));
        history.calls("ann", 1, ask("/a")).calls("bob", 2, ask("/b"));
        history.begins(1, ask("/a")).ends(1, answer()).returns("ann", 1, answer());
        let trace = history.trace();
        let all: Vec<Exchange> = exchanges(&trace).collect();
        assert_eq!((all[0].from, all[0].is_ok(), all[0].ended), ("ann", true, Some(4)));
        assert_eq!((all[1].from, all[1].is_ok(), all[1].ended), ("bob", false, None));
        let served: Vec<usize> = served(&trace, "web").map(|(at, ..)| at).collect();
        assert_eq!(served, [3]);
        assert_eq!(super::served(&trace, "other").count(), 0);
    }
}
