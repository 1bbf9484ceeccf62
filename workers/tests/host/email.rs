//! Mail that comes to a Worker.

use std::sync::Arc;

use thunderhead_sim::{Run, Scenario, Source, Tape, simulate};
use thunderhead_workers::Worker;

use crate::support::{answers, load};

const STORM: &str = "EMAIL ann@example.com shop@b.example\nSubject: tea\n\ntwo,\nplease";

/// A Worker whose handler `email` has this body, and what is left of the message's storm in the calm.
fn receive(body: &str) -> Run {
    let source = format!(
        "import {{ EmailMessage }} from 'cloudflare:email';
         export default {{ async email(message, env, ctx) {{ {body} }} }};"
    );
    let app = Arc::unwrap_or_clone(load("\"name\": \"web\"", &source).unwrap());
    let worker = Worker::new(app, Some(STORM)).unwrap();
    let scenario = Scenario { requests: worker.one_by_one(), ..Scenario::default() };
    let source = Source::Tape(Tape::benign());
    simulate(&scenario, &source, &|cloud| worker.mount(cloud)).unwrap()
}

/// The bodies of what was sent to the host that takes mail.
fn posted(run: &Run) -> Vec<serde_json::Value> {
    let requests = thunderhead_props::history::served(&run.trace, "internet");
    requests
        .filter(|(_, request, _)| request.headers.get("host") == Some("send-email"))
        .map(|(_, request, _)| serde_json::from_str(request.body.text().unwrap()).unwrap())
        .collect()
}

#[test]
fn a_handler_gets_sender_recipient_headers_and_the_whole_message() {
    let run = receive(
        "console.log(message.from, message.to, message.headers.get('subject'), message.rawSize);
         console.log(JSON.stringify(await new Response(message.raw).text()));",
    );
    let history = run.trace.wide().to_string();
    assert!(history.contains("ann@example.com shop@b.example tea 100"), "{history}");
    let raw = r#""from: ann@example.com\r\nmessage-id: <1@example.com>\r\nsubject: tea\r\nto: shop@b.example\r\n\r\ntwo,\r\nplease""#;
    assert!(history.contains(raw), "{history}");
    assert_eq!(answers(&run), ["200 "]);
}

#[test]
fn a_message_is_passed_on_and_answered_and_its_content_can_still_be_read() {
    let run = receive(
        "await message.forward('bob@b.example', new Headers({ 'x-seen': 'yes' }));
         await message.reply(new EmailMessage('shop@b.example', message.from, 'thanks'));
         if (!(await new Response(message.raw).text()).endsWith('please')) throw new Error('read');",
    );
    assert_eq!(answers(&run), ["200 "]);
    let [forwarded, replied] = &posted(&run)[..] else { panic!("{}", run.trace) };
    assert_eq!(
        (&forwarded["from"], &forwarded["to"]),
        (&"ann@example.com".into(), &"bob@b.example".into())
    );
    let raw = forwarded["raw"].as_str().unwrap();
    assert!(
        raw.starts_with("x-seen: yes\r\nfrom: ann@example.com\r\n") && raw.ends_with("please"),
        "{raw}"
    );
    assert_eq!(replied["raw"], "thanks");
}

#[test]
fn a_rejected_message_is_answered_with_the_reason_and_not_sent_again() {
    let run = receive("message.setReject('no such shop');");
    assert_eq!(answers(&run), ["403 no such shop"]);
}

#[test]
fn without_a_handler_mail_is_refused_with_its_line() {
    let source = "export default { fetch() { return new Response('hi'); } };";
    let app = Arc::unwrap_or_clone(load("\"name\": \"web\"", source).unwrap());
    let said = Worker::new(app, Some(STORM)).unwrap_err();
    assert!(said.contains("line 1: the Worker has no `email` handler"), "{said}");
}
