//! Requests that use the answers to others.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use thunderhead_sim::*;

/// `POST /orders` gives an order a number and answers with it, streamed or not; anything else is answered with 200.
fn mount(cloud: &mut Cloud) {
    cloud.worker("web").fetch(|env, request| async move {
        let id = env.unique();
        match &*request.path {
            "/orders" => Ok(Response::new(201, format!("{{\"id\":\"{id}\"}}").as_str())),
            "/streamed" => Ok(env.stream(|body| async move {
                body.write("{\"id\":\"").await?;
                body.write("whole\"}").await
            })),
            _ => Ok(Response::new(200, "")),
        }
    });
}

/// What was sent, with the time in milliseconds, by clients that try once more.
fn sent(requests: Vec<ClientRequest>, faults: Vec<ScriptedFault>) -> Vec<String> {
    let requests = requests.into_iter().map(|request| request.retried(1)).collect();
    let scenario = Scenario { requests, faults, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount).unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let calls = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Call { call } => match run.trace.op(call) {
            Op::Fetch { request, .. } => Some(format!("{} {request}", event.at.as_ms())),
            _ => None,
        },
        _ => None,
    });
    calls.collect()
}

fn request(at: u64, path: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at), "PUT", path, "")
}

#[test]
fn a_request_that_uses_an_answer_is_sent_when_that_has_come() {
    let order = request(0, "/orders").named("order");
    let paid = |at| request(at, "/orders/{{order.response.body.id}}/paid");
    let sent = sent(vec![order, paid(0), paid(60_000)], Vec::new());
    let [first, paid, late] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(first, "0 PUT /orders");
    let (at, rest) = paid.split_once(' ').unwrap();
    assert!(at.parse::<u64>().unwrap() > 0, "{paid}");
    assert!(rest.starts_with("PUT /orders/") && !rest.contains('{'), "{paid}");
    assert_eq!(late, &format!("60000 {rest}"));
}

/// The first attempt has made an order that its client never hears of.
#[test]
fn the_answer_that_the_client_has_got_is_used() {
    let faults = vec![ScriptedFault::once(Fault::LoseReply, "client>fetch")];
    let order = request(0, "/orders").named("order");
    let calm = sent(vec![order.clone(), request(0, "/{{order.response.body.id}}")], Vec::new());
    let storm = sent(vec![order, request(0, "/{{order.response.body.id}}")], faults);
    assert_eq!((calm.len(), storm.len()), (2, 3), "{storm:?}");
    let path = |line: &String| line.split_once(" PUT ").unwrap().1.to_string();
    assert_eq!(path(&storm[1]), "/orders");
    assert_ne!(path(&storm[2]), path(&calm[1]), "the number of the first order was used");
}

#[test]
fn a_body_that_is_streamed_is_used_when_all_of_it_has_come() {
    let sent = sent(
        vec![request(0, "/streamed").named("all"), request(0, "/{{all.response.body.id}}")],
        Vec::new(),
    );
    assert!(sent[1].ends_with("PUT /whole"), "{sent:?}");
}

#[test]
fn a_request_that_uses_what_is_not_there_is_never_sent() {
    let order = request(0, "/orders").named("order");
    let missing = request(0, "/{{order.response.body.total}}");
    assert_eq!(sent(vec![order, missing], Vec::new()).len(), 1);
    // Nobody answers the request that it waits for.
    let faults =
        vec![ScriptedFault { times: 9, ..ScriptedFault::once(Fault::LoseReply, "client>fetch") }];
    let order = request(0, "/orders").named("order");
    let waits = request(0, "/{{order.response.body.id}}");
    assert_eq!(sent(vec![order, waits], faults).len(), 2);
}

#[test]
fn what_looks_like_a_reference_is_sent_as_it_is_if_no_request_has_that_name() {
    let sent = sent(vec![request(0, "/{{order.response.body.id}}")], Vec::new());
    assert_eq!(sent, ["0 PUT /{{order.response.body.id}}"]);
}
