//! Orders of histories that are written by hand.

use thunderhead_sim::{Frame, Op, Reply, Response};

use super::*;
use crate::mutant::History;

/// Three requests, and a history in which each event sends (`true`) or answers one with a status.
fn orders_of(events: &[(usize, Option<u16>)]) -> (Vec<Vec<usize>>, bool) {
    let requests: Vec<ClientRequest> =
        (0..3).map(|nth| ClientRequest::new(Time::ZERO, "PUT", &format!("/{nth}"), "")).collect();
    let mut history = History::default();
    for &(nth, status) in events {
        let request = requests[nth].request.clone();
        match status {
            None => history.calls("client", nth as u32, Op::Fetch { to: "web".into(), request }),
            Some(status) => {
                let reply = Reply::Fetch(Response::new(status, ""));
                history.returns("client", nth as u32, reply)
            }
        };
    }
    numbers(&orders(&history.trace(), &Scenario { requests, ..Scenario::default() }, &[]))
}

/// The requests of each order, and whether there are no others.
fn numbers(orders: &Orders) -> (Vec<Vec<usize>>, bool) {
    let requests = |order: &Vec<Part>| order.iter().map(|part| part.request).collect();
    (orders.found.iter().map(requests).collect(), orders.complete)
}

#[test]
fn who_was_answered_comes_before_who_asked_later() {
    let events = [(0, None), (0, Some(200)), (1, None), (2, None), (1, Some(200)), (2, Some(404))];
    let orders = orders_of(&events);
    assert_eq!(orders, (vec![vec![0, 1, 2], vec![0, 2, 1]], true));
}

#[test]
fn who_was_not_served_may_be_missing_or_come_late() {
    let orders = orders_of(&[(0, None), (0, Some(503)), (1, None), (1, Some(200))]);
    assert_eq!(orders, (vec![vec![0, 1], vec![1, 0], vec![1]], true));
    let refused = orders_of(&[(0, None), (0, Some(429)), (1, None), (1, Some(200))]);
    assert_eq!(refused, orders);
    let orders = orders_of(&[(0, None), (1, None), (1, Some(200))]);
    assert!(orders.0.contains(&vec![1]) && orders.0.contains(&vec![1, 0]));
}

/// A client tries again until it is served; a trigger has only its next firing.
#[test]
fn a_trigger_that_failed_leaves_nothing_to_compare_until_it_has_fired_again() {
    let fired =
        |minutes: u64| ClientRequest::new(Time::from_ms(60_000 * minutes), SCHEDULED, "/0", "");
    let requests = vec![fired(0), fired(0)];
    let op = Op::Fetch { to: "web".into(), request: requests[0].request.clone() };
    let mut history = History::default();
    let answer = |status| Reply::Fetch(Response::new(status, ""));
    history.calls("client", 0, op.clone()).returns("client", 0, answer(500));
    let scenario = Scenario { requests, ..Scenario::default() };
    assert!(!orders(&history.trace(), &scenario, &[]).complete);
    history.calls("client", 1, op).returns("client", 1, answer(200));
    assert!(orders(&history.trace(), &scenario, &[]).complete);
}

/// A system with a trigger is never without its next firing.
#[test]
fn a_system_with_a_trigger_is_compared_when_it_has_fired_long_after_all_else() {
    let put = ClientRequest::new(Time::ZERO, "PUT", "/", "");
    let fired =
        |seconds: u64| ClientRequest::new(Time::from_ms(1_000 * seconds), SCHEDULED, "/0", "");
    let triggers = [Name::from("/0")];
    let complete = |seconds: u64, status: u16| {
        let requests = vec![put.clone(), fired(seconds)];
        let mut history = History::default();
        for (call, (sent, status)) in (0..).zip(requests.iter().zip([202, status])) {
            let request = sent.request.clone();
            history.waits(sent.at - Time::ZERO).calls(
                "client",
                call,
                Op::Fetch { to: "web".into(), request },
            );
            history.returns("client", call, Reply::Fetch(Response::new(status, "")));
        }
        let scenario = Scenario { requests, ..Scenario::default() };
        let orders = orders(&history.trace(), &scenario, &triggers);
        (orders.complete, orders.found.len())
    };
    // It comes last, although the request before it was only accepted.
    assert_eq!(complete(3_600, 200), (true, 1));
    assert!(!complete(3_600, 500).0);
    assert!(!complete(70, 200).0);
    let scenario = Scenario { requests: vec![put], ..Scenario::default() };
    assert!(!orders(&History::default().trace(), &scenario, &triggers).complete);
}

#[test]
fn who_was_only_accepted_may_come_later() {
    let orders = orders_of(&[(0, None), (0, Some(202)), (1, None), (1, Some(200))]);
    assert_eq!(orders, (vec![vec![0, 1], vec![1, 0]], true));
}

/// A client that has a status and a part of a body does not know what was done.
#[test]
fn who_was_answered_with_a_body_that_broke_off_may_be_missing() {
    let request = ClientRequest::new(Time::ZERO, "PUT", "/", "");
    let op = Op::Fetch { to: "web".into(), request: request.request.clone() };
    let found = |last: Frame| {
        let mut history = History::default();
        let answer = Response::new(200, "").with_header(thunderhead_sim::STREAM, "0");
        history.calls("client", 0, op.clone()).returns("client", 0, Reply::Fetch(answer));
        history.effect_of(Op::Frame { end: 0, frame: last }, Ok(Reply::Done));
        let scenario = Scenario { requests: vec![request.clone()], ..Scenario::default() };
        numbers(&orders(&history.trace(), &scenario, &[])).0
    };
    assert_eq!(found(Frame::End), [vec![0]]);
    assert_eq!(found(Frame::Broken), [vec![0], vec![]]);
    assert_eq!(found(Frame::Part("so far".into())), [vec![0], vec![]]);
    // One that the client did not wait for the end of is not compared.
    let mut history = History::default();
    let answer = Response::new(200, "").with_header(thunderhead_sim::STREAM, "0");
    history.calls("client", 0, op.clone()).returns("client", 0, Reply::Fetch(answer));
    let cancel = Frame::Cancel { reason: "".into() };
    history.calls("client", 1, Op::Frame { end: 1, frame: cancel });
    let scenario = Scenario { requests: vec![request.clone()], ..Scenario::default() };
    assert!(!orders(&history.trace(), &scenario, &[]).complete);
}

#[test]
fn a_request_that_arrived_twice_may_have_been_heard_twice() {
    let request = ClientRequest::new(Time::ZERO, "PUT", "/", "");
    let op = Op::Fetch { to: "web".into(), request: request.request.clone() };
    let mut history = History::default();
    history.calls("client", 0, op.clone()).begins(0, op.clone()).begins(0, op);
    history.returns("client", 0, Reply::Fetch(Response::new(200, "")));
    let scenario = Scenario { requests: vec![request], ..Scenario::default() };
    let (found, _) = numbers(&orders(&history.trace(), &scenario, &[]));
    assert_eq!(found, [vec![0, 0], vec![0]]);
}

/// Each attempt has made something, and only one of them is known to the client.
#[test]
fn only_the_attempt_that_was_answered_has_the_name_that_others_refer_to() {
    let order = ClientRequest::new(Time::ZERO, "POST", "/orders", "").named("order");
    let paid = ClientRequest::new(Time::ZERO, "PUT", "/{{order.response.body.id}}", "");
    let call =
        |request: &ClientRequest| Op::Fetch { to: "web".into(), request: request.request.clone() };
    let mut history = History::default();
    let answer = |body: &str| Reply::Fetch(Response::new(200, body));
    history.calls("client", 0, call(&order));
    history.calls("client", 1, call(&order)).returns("client", 1, answer("{\"id\":7}"));
    let used = ClientRequest::new(Time::ZERO, "PUT", "/7", "");
    history.calls("client", 2, call(&used)).returns("client", 2, answer(""));
    // No request of the scenario becomes this one.
    let other = ClientRequest::new(Time::ZERO, "PUT", "/8", "");
    history.calls("client", 3, call(&other)).returns("client", 3, answer(""));
    let scenario = Scenario { requests: vec![order, paid], ..Scenario::default() };
    let orders = orders(&history.trace(), &scenario, &[]);
    let names: Vec<_> = orders.played.iter().map(|one| one.request.name.as_deref()).collect();
    assert_eq!(names, [Some("order"), None, None]);
    let (found, complete) = numbers(&orders);
    assert!(complete);
    assert_eq!(found, [vec![2, 0, 1], vec![0, 2, 1], vec![0, 1, 2], vec![0, 1]]);
}

#[test]
fn answers_that_cannot_be_told_apart_or_ask_to_come_later_are_not_compared() {
    let order = |name: &str| ClientRequest::new(Time::ZERO, "POST", "/", "").named(name);
    let complete = |requests: &[ClientRequest], status| {
        let mut history = History::default();
        let request = requests[0].request.clone();
        history.calls("client", 0, Op::Fetch { to: "web".into(), request });
        history.returns("client", 0, Reply::Fetch(Response::new(status, "")));
        let requests = requests.to_vec();
        orders(&history.trace(), &Scenario { requests, ..Scenario::default() }, &[]).complete
    };
    assert!(complete(&[order("a")], 200));
    assert!(!complete(&[order("a")], 429));
    assert!(!complete(&[order("a"), order("b")], 200));
    let other = ClientRequest { from: "bob".into(), ..order("b") };
    assert!(complete(&[order("a"), other], 200));
}

#[test]
fn what_was_said_is_played_as_far_as_it_was_heard_and_in_the_order_in_which_it_was() {
    let request = ClientRequest::new(Time::ZERO, "WEBSOCKET", "/", "a\n===\nb\n===\nc");
    let open = Op::Fetch { to: "web".into(), request: request.request.clone() };
    let answer = |end: &str| {
        Reply::Fetch(Response::new(101, "").with_header(thunderhead_sim::WEB_SOCKET, end))
    };
    let say = |end, text: &str| Op::Frame { end, frame: Frame::text(text) };
    let mut history = History::default();
    history.calls("client", 0, open.clone()).returns("client", 0, answer("0"));
    history.calls("client", 1, open).returns("client", 1, answer("2"));
    history.calls("client", 2, say(1, "a")).calls("client", 3, say(3, "a"));
    history.begins(3, say(3, "a")).ends(3, Reply::Done);
    history.begins(2, say(1, "a")).calls("client", 4, say(1, "lost"));
    let scenario = Scenario { requests: vec![request], ..Scenario::default() };
    let orders = orders(&history.trace(), &scenario, &[]);
    let part = |request, step| Part { request, step };
    let begin = [part(1, 0), part(2, 0), part(2, 1)];
    let with = |rest: &[Part]| [&begin[..], rest].concat();
    // The second message of the first connection was lost; whether the first was heard, and whether either
    // connection was found to be gone, is in doubt.
    let (said, gone, other) = (part(1, 1), part(1, 2), part(2, 2));
    assert!(orders.complete);
    for order in [with(&[]), with(&[said]), with(&[other, said, gone]), with(&[other])] {
        assert!(orders.found.contains(&order), "{order:?}");
    }
    let said: Vec<usize> = orders.played.iter().map(|played| played.said.len()).collect();
    assert_eq!(said, [0, 2, 2]);
}
