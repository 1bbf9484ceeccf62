//! The orders in which the requests of a run may have happened one after the other.

use std::time::Duration;

use thunderhead_sim::answers::{self, Answers};
use thunderhead_sim::{
    CONNECTIONS_MOST, ClientRequest, EventKind, Response, Scenario, SortedMap, Time, Trace,
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
    /// When each attempt was begun to be handled in the run, in the order of these times, and whether it is known to
    /// have been served.
    began: Vec<(Time, Part, bool)>,
    /// Whether there are no others.
    pub complete: bool,
}

impl Orders {
    /// What was begun to be handled in the run, at its times: with and without each attempt that is in doubt. Nothing
    /// if something was said on a connection, whose times are another matter.
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
    let mut begun: SortedMap<u32, Vec<Time>> = SortedMap::new();
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
mod tests;
