//! The orders in which the requests of a run may have happened one after the other.

use std::collections::BTreeMap;

use thunderhead_sim::{EventKind, Scenario, Trace};

use crate::history::exchanges;

/// An attempt of a client to have a request served.
struct Attempt {
    /// The request, as an index into those of the scenario.
    request: usize,
    sent: usize,
    /// Whether the client knew that it was served; otherwise it may be missing.
    served: bool,
    /// By which event the client knew that it was over. A 202 says that it is not.
    over: Option<usize>,
}

/// How many orders are looked for.
const ORDERS_MAX: usize = 24;
/// How many attempts may be in doubt: each doubles the orders.
const DOUBTS_MAX: usize = 4;

/// Orders of requests, each as indices into those of the scenario, the likeliest first.
#[derive(Debug, PartialEq, Eq)]
pub struct Orders {
    pub found: Vec<Vec<usize>>,
    /// Whether there are no others.
    pub complete: bool,
}

/// The orders that no client would notice to be wrong. A request that was answered before another was sent comes
/// before it, unless the answer was a 202: that promises to do it later. One that was answered with a 5xx or never may
/// be missing. A client that tried twice may have been heard twice.
pub fn orders(trace: &Trace, scenario: &Scenario) -> Orders {
    let attempts = attempts(trace, scenario);
    let doubtful: Vec<usize> = (0..attempts.len()).filter(|at| !attempts[*at].served).collect();
    let mut orders = Orders { found: Vec::new(), complete: doubtful.len() <= DOUBTS_MAX };
    // All doubtful attempts, none of them, then the other choices.
    let choices = 1usize << doubtful.len().min(DOUBTS_MAX);
    let likeliest = [choices - 1, 0].into_iter().chain(1..choices - 1);
    for chosen in likeliest.take(choices) {
        let included = |at: usize| match doubtful.iter().position(|doubt| *doubt == at) {
            // Those beyond the limit are missing: such a run is not compared.
            Some(nth) => nth < DOUBTS_MAX && chosen >> nth & 1 == 1,
            None => true,
        };
        let left: Vec<usize> = (0..attempts.len()).filter(|at| included(*at)).collect();
        extend(&attempts, &left, &mut Vec::new(), &mut orders);
    }
    orders
}

/// Every way to go on that no client would notice to be wrong.
fn extend(attempts: &[Attempt], left: &[usize], order: &mut Vec<usize>, orders: &mut Orders) {
    if orders.found.len() >= ORDERS_MAX {
        orders.complete = false;
        return;
    }
    if left.is_empty() {
        if !orders.found.contains(order) {
            orders.found.push(order.clone());
        }
        return;
    }
    for &next in left {
        let before =
            |other: &usize| attempts[*other].over.is_some_and(|over| over < attempts[next].sent);
        if left.iter().any(before) {
            continue;
        }
        order.push(attempts[next].request);
        let rest: Vec<usize> = left.iter().copied().filter(|at| *at != next).collect();
        extend(attempts, &rest, order, orders);
        order.pop();
    }
}

/// What the clients of the scenario have tried, in the order in which they sent it.
fn attempts(trace: &Trace, scenario: &Scenario) -> Vec<Attempt> {
    let events = trace.events();
    let mut begun: BTreeMap<u32, u32> = BTreeMap::new();
    for event in events {
        if let EventKind::Begin { call } = event.kind {
            *begun.entry(call).or_default() += 1;
        }
    }
    let mut attempts = Vec::new();
    for exchange in exchanges(trace) {
        let at = events[exchange.sent].at;
        let request = scenario.requests.iter().position(|request| {
            &*request.from == exchange.from
                && request.to.as_ref().is_none_or(|to| **to == *exchange.to)
                && request.request == *exchange.request
                && request.at <= at
        });
        let Some(request) = request else { continue };
        let status = exchange.response.map(|response| response.status);
        let served = status.is_some_and(|status| status < 500);
        let over = exchange.ended.filter(|_| served && status != Some(202));
        attempts.push(Attempt { request, sent: exchange.sent, served, over });
        // The network may have carried it twice.
        for _ in 1..*begun.get(&exchange.call).unwrap_or(&1) {
            attempts.push(Attempt { request, sent: exchange.sent, served: false, over: None });
        }
    }
    attempts
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::{ClientRequest, Op, Reply, Response, Time};

    use super::*;
    use crate::mutant::History;

    /// Three requests, and a history in which each event sends (`true`) or answers one with a status.
    fn orders_of(events: &[(usize, Option<u16>)]) -> Orders {
        let requests: Vec<ClientRequest> = (0..3)
            .map(|nth| ClientRequest::new(Time::ZERO, "PUT", &format!("/{nth}"), ""))
            .collect();
        let mut history = History::default();
        for &(nth, status) in events {
            let request = requests[nth].request.clone();
            match status {
                None => {
                    history.calls("client", nth as u32, Op::Fetch { to: "web".into(), request })
                }
                Some(status) => {
                    let reply = Reply::Fetch(Response::new(status, ""));
                    history.returns("client", nth as u32, reply)
                }
            };
        }
        orders(&history.trace(), &Scenario { requests, ..Scenario::default() })
    }

    #[test]
    fn who_was_answered_comes_before_who_asked_later() {
        let events =
            [(0, None), (0, Some(200)), (1, None), (2, None), (1, Some(200)), (2, Some(404))];
        let orders = orders_of(&events);
        assert_eq!(orders, Orders { found: vec![vec![0, 1, 2], vec![0, 2, 1]], complete: true });
    }

    #[test]
    fn who_was_not_served_may_be_missing_or_come_late() {
        let orders = orders_of(&[(0, None), (0, Some(503)), (1, None), (1, Some(200))]);
        let expected = vec![vec![0, 1], vec![1, 0], vec![1]];
        assert_eq!(orders, Orders { found: expected, complete: true });
        let orders = orders_of(&[(0, None), (1, None), (1, Some(200))]);
        assert!(orders.found.contains(&vec![1]) && orders.found.contains(&vec![1, 0]));
    }

    #[test]
    fn who_was_only_accepted_may_come_later() {
        let orders = orders_of(&[(0, None), (0, Some(202)), (1, None), (1, Some(200))]);
        assert_eq!(orders, Orders { found: vec![vec![0, 1], vec![1, 0]], complete: true });
    }

    #[test]
    fn a_request_that_arrived_twice_may_have_been_heard_twice() {
        let request = ClientRequest::new(Time::ZERO, "PUT", "/", "");
        let op = Op::Fetch { to: "web".into(), request: request.request.clone() };
        let mut history = History::default();
        history.calls("client", 0, op.clone()).begins(0, op.clone()).begins(0, op);
        history.returns("client", 0, Reply::Fetch(Response::new(200, "")));
        let scenario = Scenario { requests: vec![request], ..Scenario::default() };
        let found = orders(&history.trace(), &scenario).found;
        assert_eq!(found, [vec![0, 0], vec![0]]);
    }
}
