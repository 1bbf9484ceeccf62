//! Bodies that are streamed: what their readers and writers see, in which order, and what goes wrong with them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::*;

use crate::support::lines;

/// Sends a part every ten seconds, and tells what becomes of it.
async fn tick(env: Env, body: BodyWriter, parts: u32) -> Result<(), Error> {
    for part in 1..=parts {
        if part > 1 {
            env.sleep(Duration::from_secs(10)).await;
        }
        let written = body.write(format!("part {part}")).await;
        env.log(format!("part {part}: {}", if written.is_ok() { "written" } else { "unwanted" }));
        written?;
    }
    Ok(())
}

/// A worker that streams so many parts.
fn ticking(parts: u32) -> impl Fn(&mut Cloud) {
    move |cloud| {
        cloud.worker("web").fetch(move |env, _| async move {
            let clock = env.clone();
            Ok(env.stream(move |body| tick(clock, body, parts)))
        });
    }
}

fn played(scenario: &Scenario, mount: &dyn Fn(&mut Cloud)) -> Run {
    let run = simulate(scenario, &Source::Tape(Tape::benign()), mount).unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    run
}

/// What a client of the scenario comes to, which tries once more, with these faults and crashes.
fn asked(parts: u32, faults: Vec<ScriptedFault>, kills: Vec<Kill>) -> Run {
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "").retried(1)];
    let scenario = Scenario { requests, faults, kills, ..Scenario::default() };
    played(&scenario, &ticking(parts))
}

fn logged(run: &Run) -> Vec<String> {
    let logged = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(format!("{} s {text}", event.at.as_ms() / 1_000)),
        _ => None,
    });
    logged.collect()
}

/// What has come to a client on all of its bodies.
fn come(run: &Run) -> Vec<String> {
    let events = run.trace.events().iter().filter(|event| run.trace.actor(event) == "client");
    let come = events.filter_map(|event| match event.kind {
        EventKind::Effect { call, .. } => Some(run.trace.op(call).to_string()),
        _ => None,
    });
    come.collect()
}

#[test]
fn a_body_is_read_while_it_is_made_and_keeps_its_invocation_open() {
    let run = played(&Scenario::default(), &|cloud| {
        ticking(5)(cloud);
        cloud.client("caller", |env| async move {
            let response = env.fetch("web", Request::new("GET", "/", "")).await.unwrap();
            env.log(format!("{} and {}", response.status, response.body.len()));
            let mut body = env.body(&response);
            while let Some(part) = body.next().await.unwrap() {
                env.log(format!("read {}", part.text().unwrap()));
            }
            env.log("whole");
        });
    });
    let expected = [
        "0 s part 1: written",
        "0 s 200 and 0",
        "0 s read part 1",
        "10 s part 2: written",
        "10 s read part 2",
        "20 s part 3: written",
        "20 s read part 3",
        "30 s part 4: written",
        "30 s read part 4",
        "40 s part 5: written",
        "40 s read part 5",
        "40 s whole",
    ];
    assert_eq!(logged(&run), expected, "{}", run.trace);
}

#[test]
fn a_response_that_is_whole_is_read_as_one_part_and_a_streamed_one_can_be_made_whole() {
    let run = played(&Scenario::default(), &|cloud| {
        ticking(3)(cloud);
        cloud.worker("plain").fetch(|_, _| async { Ok(Response::new(200, "all of it")) });
        cloud.client("caller", |env| async move {
            let plain = env.fetch("plain", Request::new("GET", "/", "")).await.unwrap();
            let mut body = env.body(&plain);
            let (first, second) = (body.next().await.unwrap(), body.next().await.unwrap());
            env.log(format!("{} {}", first.unwrap(), second.is_none()));
            let response = env.fetch("web", Request::new("GET", "/", "")).await.unwrap();
            env.log(env.whole(response).await.unwrap().to_string());
        });
    });
    let told = logged(&run);
    assert_eq!(told[0], r#"0 s "all of it" true"#);
    assert_eq!(told.last().unwrap(), r#"20 s 200 "part 1part 2part 3""#, "{}", run.trace);
}

#[test]
fn a_body_whose_maker_fails_is_broken_off() {
    let run = played(&Scenario::default(), &|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            Ok(env.stream(|body| async move {
                body.write("a part").await?;
                Err(Error::app("no more"))
            }))
        });
        cloud.client("caller", |env| async move {
            let response = env.fetch("web", Request::new("GET", "/", "")).await.unwrap();
            env.log(format!("{:?}", env.whole(response).await));
        });
    });
    assert_eq!(logged(&run), ["0 s a body was broken off: no more", "0 s Err(NetworkLost)"]);
}

#[test]
fn a_writer_waits_for_a_reader_that_is_sixteen_parts_behind() {
    let run = played(&Scenario::default(), &|cloud| {
        cloud.worker("web").fetch(|env, _| async move {
            let inner = env.clone();
            Ok(env.stream(move |body| async move {
                for part in 1..=40 {
                    body.write("x").await?;
                    inner.log(format!("{part} written"));
                }
                Ok(())
            }))
        });
        cloud.client("caller", |env| async move {
            let response = env.fetch("web", Request::new("GET", "/", "")).await.unwrap();
            let mut body = env.body(&response);
            env.sleep(Duration::from_secs(5)).await;
            env.log("reads");
            let mut parts = 0;
            while body.next().await.unwrap().is_some() {
                parts += 1;
            }
            env.log(format!("{parts} read"));
        });
    });
    let told = logged(&run);
    let before = told.iter().position(|line| line == "5 s reads").unwrap();
    // The sixteenth is sent, and its writer waits.
    assert_eq!(told[before - 1], "0 s 15 written", "{}", run.trace);
    assert_eq!(told.last().unwrap(), "5 s 40 read");
}

#[test]
fn a_writer_learns_that_its_reader_wants_no_more() {
    let run = played(&Scenario::default(), &|cloud| {
        ticking(5)(cloud);
        cloud.client("caller", |env| async move {
            let response = env.fetch("web", Request::new("GET", "/", "")).await.unwrap();
            let mut body = env.body(&response);
            body.next().await.unwrap();
            body.cancel("enough");
        });
    });
    assert_eq!(logged(&run), ["0 s part 1: written", "10 s part 2: unwanted"], "{}", run.trace);
    assert!(run.trace.to_string().contains(r#"stream.cancel stream 0 "enough""#), "{}", run.trace);
}

/// The times in seconds at which a client has asked for a body without an end that is of such a type.
fn asked_without_end(method: &str, content_type: &'static str) -> (Run, Vec<u64>) {
    let requests = vec![ClientRequest::new(Time::ZERO, method, "/", "").retried(9)];
    let run = played(&Scenario { requests, ..Scenario::default() }, &|cloud| {
        cloud.worker("web").fetch(move |env, _| async move {
            let clock = env.clone();
            let response = env.stream(move |body| tick(clock, body, 1_000));
            Ok(response.with_header("content-type", content_type))
        });
    });
    let calls = run.trace.events().iter().filter(|event| match event.kind {
        EventKind::Call { call } => matches!(run.trace.op(call), Op::Fetch { .. }),
        _ => false,
    });
    let times = calls.map(|event| event.at.as_ms() / 1_000).collect();
    (run, times)
}

#[test]
fn a_client_reads_an_event_stream_for_thirty_seconds() {
    let (run, asked) = asked_without_end("GET", "text/event-stream; charset=utf-8");
    let told = logged(&run);
    assert_eq!(told[3..5], ["30 s part 4: written", "40 s part 5: unwanted"], "{}", run.trace);
    assert_eq!(asked, [0], "{}", run.trace);
}

#[test]
fn a_client_that_has_read_no_end_asks_again_and_gives_up_at_last() {
    for (method, kind) in [("GET", "text/plain"), ("POST", "text/event-stream")] {
        let (run, asked) = asked_without_end(method, kind);
        assert_eq!(asked, [0, 31, 62, 93], "{method} {kind}\n{}", run.trace);
    }
}

#[test]
fn a_body_that_broke_off_is_asked_for_again_though_the_news_comes_after_its_client_has_gone() {
    let late = || ScriptedFault {
        by: Some(Duration::from_secs(25)),
        ..ScriptedFault::once(Fault::Delay, "cloud>stream.end")
    };
    for kind in ["text/plain", "text/event-stream"] {
        let scenario = Scenario {
            requests: vec![ClientRequest::new(Time::ZERO, "GET", "/", "").retried(1)],
            faults: vec![late()],
            kills: vec![Kill { at: Time::from_ms(15_000), host: "web".into(), down: None }],
            ..Scenario::default()
        };
        let run = played(&scenario, &|cloud| {
            cloud.worker("web").fetch(move |env, _| async move {
                let clock = env.clone();
                let response = env.stream(move |body| tick(clock, body, 3));
                Ok(response.with_header("content-type", kind))
            });
        });
        let come = come(&run);
        assert_eq!(come.last().unwrap(), "stream.end stream 1", "{kind}\n{}", run.trace);
    }
}

#[test]
fn a_part_that_is_lost_breaks_the_body_off_and_its_client_asks_again() {
    let lost =
        ScriptedFault { skip: 1, ..ScriptedFault::once(Fault::LoseRequest, "web>stream.part") };
    let run = asked(3, vec![lost], Vec::new());
    let again: Vec<String> =
        (1..=3).map(|part| format!("stream.part stream 1 \"part {part}\"")).collect();
    let mut expected =
        vec![r#"stream.part stream 0 "part 1""#.into(), "stream.end stream 0 broken off".into()];
    expected.extend(again);
    expected.push("stream.end stream 1".into());
    assert_eq!(come(&run), expected, "{}", run.trace);
    assert!(logged(&run).contains(&"20 s part 3: unwanted".into()), "{}", run.trace);
}

#[test]
fn a_story_tells_why_a_client_whose_body_broke_off_asks_again() {
    let lost = ScriptedFault::once(Fault::LoseRequest, "web>stream.part");
    let run = asked(1, vec![lost], Vec::new());
    let again = run.trace.events().iter().rposition(|event| match event.kind {
        EventKind::Begin { call } => matches!(run.trace.op(call), Op::Fetch { .. }),
        _ => false,
    });
    let story = run.trace.story(&[again.unwrap()], &[]).text;
    assert!(story.contains("FAULT") && story.contains("stream 0 broken off"), "{story}");
}

#[test]
fn a_body_breaks_off_when_its_worker_crashes() {
    let kill = Kill { at: Time::from_ms(15_000), host: "web".into(), down: None };
    let run = asked(3, Vec::new(), vec![kill]);
    let come = come(&run);
    assert_eq!(come[2], "stream.end stream 0 broken off", "{}", run.trace);
    assert_eq!(come.last().unwrap(), "stream.end stream 1", "{}", run.trace);
}

#[test]
fn a_part_that_is_late_holds_up_those_behind_it() {
    let by = Some(Duration::from_secs(15));
    let late = ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, "web>stream.part") };
    let run = asked(3, vec![late], Vec::new());
    let at = |part: &str| {
        let wanted = format!("stream.part stream 0 \"{part}\"");
        let came = run.trace.events().iter().find(|event| match event.kind {
            EventKind::Effect { call, .. } => run.trace.op(call).to_string() == wanted,
            _ => false,
        });
        came.unwrap().at.as_ms() / 1_000
    };
    assert_eq!([at("part 1"), at("part 2"), at("part 3")], [15, 15, 20], "{}", run.trace);
}

#[test]
fn a_writer_hears_after_twenty_seconds_that_nobody_has_received_its_response() {
    let lost = ScriptedFault::once(Fault::LoseReply, "client>fetch");
    let run = asked(4, vec![lost], Vec::new());
    let first = lines(&run, "stream 0");
    assert!(first.iter().any(|line| line.contains("broken off")), "{}", run.trace);
    assert!(logged(&run).contains(&"30 s part 4: unwanted".into()), "{}", run.trace);
    assert_eq!(come(&run).last().unwrap(), "stream.end stream 1", "{}", run.trace);
}

#[test]
fn a_request_is_read_while_its_body_is_made() {
    let run = played(&Scenario::default(), &|cloud| {
        cloud.worker("web").fetch(|env, request| async move {
            let mut body = env.request_body(&request);
            while let Some(part) = body.next().await? {
                env.log(format!("read {}", part.text().unwrap()));
            }
            Ok(Response::new(200, ""))
        });
        cloud.client("caller", |env| async move {
            let (clock, request) = (env.clone(), Request::new("PUT", "/", ""));
            let request = env.stream_request(request, |body| tick(clock, body, 2));
            let answer = env.timeout(Duration::from_secs(60), env.fetch("web", request)).await;
            env.log(format!("{:?}", answer.map(|answer| answer.is_ok())));
        });
    });
    let expected = ["0 s part 1: written", "0 s read part 1", "10 s part 2: written"];
    assert_eq!(logged(&run)[..3], expected, "{}", run.trace);
    assert!(logged(&run).contains(&"10 s read part 2".into()), "{}", run.trace);
}

#[test]
fn a_request_with_a_streamed_body_does_not_happen_twice() {
    let duplicate = || ScriptedFault::once(Fault::Duplicate, "caller>fetch");
    let scenario = Scenario { faults: vec![duplicate()], ..Scenario::default() };
    let begun = |streams: bool| {
        let run = played(&scenario, &|cloud| {
            cloud.worker("web").fetch(|env, _| async move {
                env.log("begun");
                Ok(Response::new(200, ""))
            });
            cloud.client("caller", move |env| async move {
                let mut request = Request::new("PUT", "/", "");
                if streams {
                    request =
                        env.stream_request(request, |body| async move { body.write("x").await });
                }
                env.fetch("web", request).await.unwrap();
            });
        });
        logged(&run).len()
    };
    assert_eq!((begun(false), begun(true)), (2, 1));
}

#[test]
fn a_body_that_comes_after_its_writer_has_given_up_is_not_whole() {
    let by = Some(Duration::from_secs(30));
    let late = ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, "caller>fetch") };
    let scenario = Scenario { faults: vec![late], ..Scenario::default() };
    let run = played(&scenario, &|cloud| {
        cloud.worker("web").fetch(|env, request| async move {
            let mut body = env.request_body(&request);
            env.log(format!("{:?}", body.next().await));
            Ok(Response::new(200, ""))
        });
        cloud.client("caller", |env| async move {
            let (clock, request) = (env.clone(), Request::new("PUT", "/", ""));
            let request = env.stream_request(request, |body| tick(clock, body, 9));
            drop(env.fetch("web", request).await);
        });
    });
    assert!(logged(&run).contains(&"30 s Err(NetworkLost)".into()), "{}", run.trace);
}
