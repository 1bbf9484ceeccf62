//! The orders in which the requests of a run may have happened one after the other.

use std::collections::BTreeMap;
use std::time::Duration;

use thunderhead_sim::answers::{self, Answers};
use thunderhead_sim::{
    CONNECTIONS_MOST, ClientRequest, EventKind, Response, Scenario, Time, Trace,
};

use super::connections::{Played, heard};
use crate::history::{exchanges, streamed};
use crate::promise::Name;

/// One thing that is done in a calm run: a request (step 0), or something that is said on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// An index into what can be played.
    pub request: usize,
    pub step: usize,
}

/// An attempt of a client to have a request served, or to say something.
struct Attempt {
    part: Part,
    sent: usize,
    /// Whether the client knew that it was served; otherwise it may be missing.
    served: bool,
    /// By which event the client knew that it was over. A 202 says that it is not.
    over: Option<usize>,
    /// When the other side began to handle it.
    began: Option<Time>,
    /// Whether the client has gone away while it was answered. How much was done by then depends on the time.
    left: bool,
    /// Whether it is the firing of a trigger so long after the requests of clients that nothing overtakes it.
    last: bool,
}

/// The status that asks a client to come later. How many requests are too many depends on repetitions and gaps, which a
/// calm run does not share.
const TOO_MANY: u16 = 429;
/// How many orders are looked for.
const ORDERS_MAX: usize = 24;
/// How many attempts may be in doubt: each doubles the orders.
const DOUBTS_MAX: usize = 4;

/// Orders of requests, the likeliest first.
#[derive(Debug)]
pub struct Orders {
    /// What can be played: the requests of the scenario, and behind them the connections that were opened.
    pub played: Vec<Played>,
    pub found: Vec<Vec<Part>>,
    /// When each attempt was begun to be handled in the run, in the order of these times, and whether it is known to have
    /// been served.
    began: Vec<(Time, Part, bool)>,
    /// Whether there are no others.
    pub complete: bool,
}

impl Orders {
    /// What was begun to be handled in the run, at its times: with and without each attempt that is in doubt. Nothing if
    /// something was said on a connection, whose times are another matter.
    pub fn as_run(&self) -> impl Iterator<Item = Vec<(Time, Part)>> {
        let is_request = self.began.iter().all(|(_, part, _)| part.step == 0);
        let doubts = self.began.iter().filter(|(.., served)| !served).count();
        let choices = if is_request { 1usize << doubts.min(DOUBTS_MAX) } else { 0 };
        (0..choices).map(|chosen| {
            let mut doubt = 0;
            let included = self.began.iter().filter(|(.., served)| {
                doubt += usize::from(!served);
                *served || doubt <= DOUBTS_MAX && chosen >> (doubt - 1) & 1 == 1
            });
            included.map(|(at, part, _)| (*at, *part)).collect()
        })
    }
}

/// The orders that no client would notice to be wrong. `triggers` are the paths of the system's cron triggers. A
/// request that was answered before another was sent comes before it, unless the answer was a 202: that promises to
/// do it later. One that was answered with a 5xx, with 429, with a body that was broken off or never may be
/// missing. A client that tried twice may have been heard twice.
pub fn orders(trace: &Trace, scenario: &Scenario, triggers: &[Name]) -> Orders {
    let requests = scenario.requests.iter().enumerate();
    let mut played: Vec<Played> = requests.map(|(of, sent)| Played::request(of, sent)).collect();
    let attempts = attempts(trace, scenario, &mut played);
    let doubtful: Vec<usize> = (0..attempts.len()).filter(|at| !attempts[*at].served).collect();
    let complete = doubtful.len() <= DOUBTS_MAX
        && !are_mixed_up(&scenario.requests)
        && !attempts.iter().any(|one| one.left)
        && !(0..scenario.requests.len()).any(|of| connections(of, &played) >= CONNECTIONS_MOST)
        && !attempts.iter().any(|one| is_half_done(one, &attempts, &played))
        && triggers.iter().all(|trigger| has_fired_last(trigger, &attempts, &played));
    let began = attempts.iter().filter_map(|one| Some((one.began?, one.part, one.served)));
    let mut began: Vec<(Time, Part, bool)> = began.collect();
    began.sort_by_key(|(at, ..)| *at);
    let mut orders = Orders { played, found: Vec::new(), began, complete };
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

/// How many connections a request has led to on which something was said. A client with many of them may have given up
/// waiting for an answer, and what it was told by then is another matter in each run.
fn connections(of: usize, played: &[Played]) -> usize {
    played.iter().filter(|one| one.of == of && !one.said.is_empty()).count()
}

/// The method of a cron trigger's request.
const SCHEDULED: &str = "SCHEDULED";
/// A client that was not answered has given up by then.
const LONG_AFTER: Duration = Duration::from_secs(60 * 60);

/// Whether a cron trigger failed and has not fired again. Nobody tries it again; its next firing goes on where it
/// stopped, and what it leaves until then is no promise of anybody's.
fn is_half_done(attempt: &Attempt, all: &[Attempt], played: &[Played]) -> bool {
    let request = |attempt: &Attempt| &played[attempt.part.request].request.request;
    let again = |later: &Attempt| {
        later.served && later.sent >= attempt.sent && request(later).path == request(attempt).path
    };
    !attempt.served && request(attempt).method == SCHEDULED && !all.iter().any(again)
}

/// Whether a trigger has fired after all that the clients have sent. It fires for as long as the system is deployed, so
/// what its next firing would mend is no trace of the storm.
fn has_fired_last(trigger: &str, all: &[Attempt], played: &[Played]) -> bool {
    let is_it = |one: &Attempt| &*played[one.part.request].request.request.path == trigger;
    all.iter().any(|one| one.last && one.served && is_it(one))
}

/// Whether a request fires a trigger after the storm and long after the last request of a client.
fn is_last(of: &ClientRequest, scenario: &Scenario) -> bool {
    let is_firing = |sent: &ClientRequest| sent.request.method == SCHEDULED;
    let asked = scenario.requests.iter().filter(|sent| !is_firing(sent)).map(|sent| sent.at);
    let is_late = asked.max().is_none_or(|asked| of.at >= asked + LONG_AFTER);
    is_firing(of) && is_late && of.at >= scenario.storm_ends_at
}

/// Every way to go on that no client would notice to be wrong.
fn extend(attempts: &[Attempt], left: &[usize], order: &mut Vec<Part>, orders: &mut Orders) {
    if left.is_empty() {
        if !orders.found.contains(order) {
            orders.found.push(order.clone());
        }
        return;
    }
    for (nth, &next) in left.iter().enumerate() {
        let before = |other: &usize| {
            let (other, next) = (&attempts[*other], &attempts[next]);
            let said_before =
                other.part.request == next.part.request && other.part.step < next.part.step;
            said_before
                || next.last && !other.last
                || other.over.is_some_and(|over| over < next.sent)
        };
        if left.iter().any(before) {
            continue;
        }
        // Looked at here, so that the callers stop too: a thousand requests at once have a thousand of them.
        if orders.found.len() >= ORDERS_MAX {
            orders.complete = false;
            return;
        }
        // Nobody comes after an attempt that was not answered, so it may as well be the other one of two that try the
        // same: these orders have been found.
        let is_the_same = |other: &usize| {
            let (other, next) = (&attempts[*other], &attempts[next]);
            other.part == next.part && other.sent <= next.sent && next.over.is_none()
        };
        if left[..nth].iter().any(is_the_same) {
            continue;
        }
        order.push(attempts[next].part);
        let rest: Vec<usize> = left.iter().copied().filter(|at| *at != next).collect();
        extend(attempts, &rest, order, orders);
        order.pop();
    }
}

/// What the clients of the scenario have tried, in the order in which they sent it.
fn attempts(trace: &Trace, scenario: &Scenario, played: &mut Vec<Played>) -> Vec<Attempt> {
    let events = trace.events();
    let mut begun: BTreeMap<u32, Vec<Time>> = BTreeMap::new();
    for event in events {
        if let EventKind::Begin { call } = event.kind {
            begun.entry(call).or_default().push(event.at);
        }
    }
    let mut attempts = Vec::new();
    let mut answers = Answers::to(&scenario.requests);
    for exchange in exchanges(trace) {
        let at = events[exchange.sent].at;
        let is_of = |request: &ClientRequest| {
            &*request.from == exchange.from
                && request.to.as_ref().is_none_or(|to| **to == *exchange.to)
                && request.request.method == exchange.request.method
                && !answers.has_come(request)
                && answers.filled(&request.request).is_ok_and(|sent| *sent == *exchange.request)
                && request.at <= at
        };
        // A trigger is never tried again, so it is the last one that was due.
        let request = match exchange.request.method == SCHEDULED {
            true => scenario.requests.iter().rposition(is_of),
            false => scenario.requests.iter().position(is_of),
        };
        let Some(request) = request else { continue };
        let status = exchange.response.map(|response| response.status);
        let body = streamed(trace, &exchange);
        let served = status.is_some_and(|status| status < 500 && status != TOO_MANY)
            && body.as_ref().is_none_or(|body| body.ended.is_some() && !body.broken);
        let mut left = body.as_ref().is_some_and(|body| body.cancelled);
        let ended = body.as_ref().map_or(exchange.ended, |body| body.ended);
        let over = ended.filter(|_| served && status != Some(202));
        let is_whole = body.as_ref().is_none_or(|body| body.ended.is_some() && !body.broken);
        if let Some(response) = exchange.response.filter(|one| one.status < 500 && is_whole) {
            let whole = body.as_ref().map_or(response.body.clone(), |body| body.before(usize::MAX));
            answers
                .came(&scenario.requests[request], &Response { body: whole, ..response.clone() });
        }
        let sent = &scenario.requests[request];
        let mut part = Part { request, step: 0 };
        let said = heard(trace, &exchange);
        // What was said is played as it was in the run, and what a request has used of an answer that asks it to come
        // later is not there in the calm.
        left |= said.is_some() && !answers::names(&sent.request).is_empty()
            || sent.name.is_some() && status == Some(TOO_MANY);
        if said.is_some() {
            part.request = played.len();
            played.push(Played::request(request, sent));
        } else if !served {
            part.request = unheard(request, sent, played);
        }
        let last = is_last(sent, scenario);
        let begun = begun.get(&exchange.call).map_or(&[][..], |times| times);
        let began = begun.first().copied();
        attempts.push(Attempt { part, sent: exchange.sent, served, over, began, left, last });
        for said in said.into_iter().flatten() {
            part.step += 1;
            played[part.request].said.push((said.at, said.frame));
            let (sent, over) = (said.began, said.over);
            let (served, began) = (!said.doubtful, Some(said.at));
            attempts.push(Attempt { part, sent, served, over, began, left: false, last });
        }
        // The network may have carried it twice.
        for began in begun.iter().skip(1).copied().map(Some) {
            let part = Part { request: unheard(request, sent, played), step: 0 };
            let (sent, served, over) = (exchange.sent, false, None);
            attempts.push(Attempt { part, sent, served, over, began, left: false, last });
        }
    }
    attempts
}

/// Whether a request with a name is the same as another one, so that nobody knows which of them an answer is to.
fn are_mixed_up(requests: &[ClientRequest]) -> bool {
    let same = |one: &ClientRequest, other: &ClientRequest| {
        (&one.from, &one.to, &one.request) == (&other.from, &other.to, &other.request)
    };
    let named = requests.iter().enumerate().filter(|(_, one)| one.name.is_some());
    named.into_iter().any(|(at, one)| {
        requests.iter().enumerate().any(|(other, two)| other != at && same(one, two))
    })
}

/// What is played for an attempt whose answer was not heard: no other request uses it.
fn unheard(of: usize, request: &ClientRequest, played: &mut Vec<Played>) -> usize {
    if request.name.is_none() {
        return of;
    }
    let is_it = |one: &Played| one.of == of && one.request.name.is_none() && one.said.is_empty();
    if let Some(known) = played.iter().position(is_it) {
        return known;
    }
    played.push(Played::request(of, &ClientRequest { name: None, ..request.clone() }));
    played.len() - 1
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::{Frame, Op, Reply, Response};

    use super::*;
    use crate::mutant::History;

    /// Three requests, and a history in which each event sends (`true`) or answers one with a status.
    fn orders_of(events: &[(usize, Option<u16>)]) -> (Vec<Vec<usize>>, bool) {
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
        numbers(&orders(&history.trace(), &Scenario { requests, ..Scenario::default() }, &[]))
    }

    /// The requests of each order, and whether there are no others.
    fn numbers(orders: &Orders) -> (Vec<Vec<usize>>, bool) {
        let requests = |order: &Vec<Part>| order.iter().map(|part| part.request).collect();
        (orders.found.iter().map(requests).collect(), orders.complete)
    }

    #[test]
    fn who_was_answered_comes_before_who_asked_later() {
        let events =
            [(0, None), (0, Some(200)), (1, None), (2, None), (1, Some(200)), (2, Some(404))];
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
        let call = |request: &ClientRequest| Op::Fetch {
            to: "web".into(),
            request: request.request.clone(),
        };
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
}
