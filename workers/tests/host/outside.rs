//! Hosts outside of the cloud, as `storm.http` describes them.

use std::sync::Arc;

use thunderhead_sim::{Fault, FaultSet, Run, Scenario, Source, Swarm, Tape, simulate};
use thunderhead_workers::Worker;

use crate::support::{answers, load};

const SOURCE: &str = "export default { async fetch(request) {
    const response = await fetch('https://' + new URL(request.url).pathname.slice(1), { method: 'POST', body: 'x' });
    return new Response(`${response.status} ${response.headers.get('x-mail')} ${await response.text()}`, { status: response.ok ? 200 : 500 });
} };";

const STORM: &str = "POST /mail.example.com/send?now=1

###

POST /other.example.com/

###

OUTSIDE POST https://mail.example.com/* 202
x-mail: yes

{\"sent\": true}
";

/// A message goes to a host outside, which can refuse it.
#[test]
fn mail_is_sent_outside_and_what_is_refused_there_is_thrown() {
    let source = "import { EmailMessage } from 'cloudflare:email';
        export default { async fetch(request, env) {
          const { messageId } = await env.MAIL.send(new EmailMessage('a@x', 'b@x', 'Subject: hi'));
          const { messageId: other } = await env.MAIL.send({ from: 'a@x', to: 'b@x', subject: 'hi', text: 'hello' });
          return new Response(String(messageId !== other));
        } };";
    let config = r#""name": "web", "send_email": [{ "name": "MAIL" }]"#;
    for (storm, expected) in [
        ("GET /\n", "200 true"),
        (
            "GET /\n###\nOUTSIDE POST https://send-email/* 550\n",
            "error: The message could not be sent: 550.",
        ),
    ] {
        let app = Arc::unwrap_or_clone(load(config, source).unwrap());
        let worker = Worker::new(app, Some(storm)).unwrap();
        let run = play(&worker, &Source::Tape(Tape::benign()));
        assert_eq!(answers(&run), [expected]);
        assert!(worker.notes_on(&run.trace).is_empty());
    }
}

fn worker() -> Worker {
    let app = load("\"name\": \"web\"", SOURCE).unwrap();
    Worker::new(Arc::unwrap_or_clone(app), Some(STORM)).unwrap()
}

fn play(worker: &Worker, source: &Source) -> Run {
    let drawn_faults = FaultSet::explored();
    let requests = worker.one_by_one();
    let scenario = Scenario { requests, drawn_faults, ..Scenario::default() };
    simulate(&scenario, source, &|cloud| worker.mount(cloud)).unwrap()
}

#[test]
fn a_host_answers_as_described_and_one_that_is_not_is_told_of() {
    let worker = worker();
    let run = play(&worker, &Source::Tape(Tape::benign()));
    assert_eq!(answers(&run), [r#"200 202 yes {"sent": true}"#, "200 200 null {}"]);
    let notes = worker.notes_on(&run.trace);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("OUTSIDE POST https://other.example.com/* 200"), "{notes:?}");
}

#[test]
fn a_request_outside_that_asks_for_a_socket_is_answered_without_one() {
    let source = "export default { async fetch() {
          const response = await fetch('https://chat.example.com/', { headers: { Upgrade: 'websocket' } });
          return Response.json([response.status, response.webSocket]);
        } };";
    let app = Arc::unwrap_or_clone(load("\"name\": \"web\"", source).unwrap());
    let worker = Worker::new(app, Some("GET /\n")).unwrap();
    let run = play(&worker, &Source::Tape(Tape::benign()));
    assert_eq!(answers(&run), ["200 [200,null]"]);
}

#[test]
fn a_host_has_moods_in_a_storm() {
    let worker = worker();
    let swarm = Swarm::calm().with(Fault::Mood, 700);
    let said: Vec<String> = (0..40)
        .flat_map(|seed| answers(&play(&worker, &Source::Random { seed, swarm: swarm.clone() })))
        .collect();
    for status in ["200 202", "500 503", "500 429"] {
        assert!(said.iter().any(|said| said.starts_with(status)), "{status}: {said:?}");
    }
}
