//! WebSockets: from a client of `storm.http` through a Worker to an object, and back.

use std::time::Duration;

use thunderhead_props::history::{exchanges, said};
use thunderhead_sim::{
    ClientRequest, End, EventKind, Fault, Kill, Op, Run, Scenario, ScriptedFault, Source, Tape,
    Time, simulate,
};

use crate::support::{fetch, load};

pub const CONFIG: &str = r#""name": "web",
    "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
    "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }]"#;

/// How an object accepts a socket so that it may leave memory.
pub const HIBERNATES: &str = "async fetch(request) {
       const { 0: client, 1: server } = new WebSocketPair();
       this.ctx.acceptWebSocket(server, ['all', request.url.split('/').pop()]);
       return new Response(null, { status: 101, webSocket: client });
     }";

/// A Worker that gives every request to an object of a class with these members.
pub fn room(members: &str) -> String {
    format!(
        "import {{ DurableObject }} from 'cloudflare:workers';
         export class Room extends DurableObject {{ {members} }}
         export default {{ async fetch(request, env) {{ return env.ROOM.getByName('all').fetch(request); }} }};"
    )
}

/// What a client says to a class with these members, with these faults and crashes.
pub fn talk(members: &str, says: &str, faults: Vec<ScriptedFault>, kills: Vec<Kill>) -> Run {
    play(&room(members), says, faults, kills)
}

fn play(source: &str, says: &str, faults: Vec<ScriptedFault>, kills: Vec<Kill>) -> Run {
    let app = load(CONFIG, source).unwrap_or_else(|why| panic!("{why}"));
    let requests = vec![ClientRequest::new(Time::ZERO, "WEBSOCKET", "/ann", says).retried(5)];
    let scenario = Scenario { requests, faults, kills, ..Scenario::default() };
    let tape = Source::Tape(Tape::benign());
    let run = simulate(&scenario, &tape, &|cloud| app.mount(cloud)).unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    run
}

/// What the client has received, on all of its connections.
pub fn received(run: &Run) -> Vec<String> {
    let all = exchanges(&run.trace).filter(|exchange| exchange.from == "client");
    let frames = all.flat_map(|exchange| said(&run.trace, &exchange));
    frames.filter(|said| !said.by_client).map(|said| format!("{:#}", said.frame)).collect()
}

pub fn faults(run: &Run) -> Vec<Fault> {
    let struck = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Fault { fault, .. } | EventKind::Crash { fault, .. } => Some(fault),
        _ => None,
    });
    struck.collect()
}

#[test]
fn an_object_that_leaves_memory_keeps_its_sockets_with_tags_and_attachments_and_nothing_else() {
    let members = format!(
        "{HIBERNATES} n = 0;
         async webSocketMessage(ws, m) {{
           const before = ws.deserializeAttachment();
           ws.serializeAttachment({{ last: m }});
           ws.send(JSON.stringify([m, ++this.n, before, this.ctx.getTags(ws), this.ctx.getWebSockets('ann')[0] === ws]));
         }}"
    );
    let says = "one\n=== wait-for-server\n=== after 15s\ntwo\n=== wait-for-server";
    let calm = talk(&members, says, Vec::new(), Vec::new());
    let expected = |n: u32| {
        [
            r#"["one",1,null,["all","ann"],true]"#.to_string(),
            format!(r#"["two",{n},{{"last":"one"}},["all","ann"],true]"#),
        ]
    };
    assert_eq!(received(&calm), expected(2));
    let evicted = ScriptedFault::once(Fault::Evict, "ROOM:all");
    let stormy = talk(&members, says, vec![evicted], Vec::new());
    assert_eq!(faults(&stormy), [Fault::Evict]);
    assert_eq!(received(&stormy), expected(1));
}

#[test]
fn a_socket_that_is_read_keeps_the_object_in_memory_and_is_lost_when_it_crashes() {
    let members = "n = 0;
         async fetch() {
           const { 0: client, 1: server } = new WebSocketPair();
           server.accept();
           server.onmessage = ({ data }) => server.send(`${data} ${++this.n}`);
           return new Response(null, { status: 101, webSocket: client });
         }";
    let says = "one\n=== wait-for-server\n=== after 15s\ntwo\n=== wait-for-server";
    let evicted = ScriptedFault::once(Fault::Evict, "ROOM:all");
    let run = talk(members, says, vec![evicted], Vec::new());
    assert_eq!(faults(&run), [], "{}", run.trace);
    assert_eq!(received(&run), [r#""one 1""#, r#""two 2""#, "1000"]);
    let kill = Kill { at: Time::from_ms(5_000), host: "ROOM:all".into(), down: None };
    let run = talk(members, says, Vec::new(), vec![kill]);
    // The client connects again and goes on with what it had not said.
    let lost = r#"1006 "WebSocket disconnected without sending Close frame.""#;
    assert_eq!(received(&run), [r#""one 1""#, lost, r#""two 1""#, "1000"]);
}

pub const LOGS: &str = "async webSocketMessage(ws, m) { const heard = ((await this.ctx.storage.get('heard')) ?? '') + m; await this.ctx.storage.put('heard', heard); ws.send(heard); }
     async webSocketClose(ws, code, reason, clean) { console.log(code, reason, clean, ws.readyState, this.ctx.getWebSockets().length); }";

#[test]
fn a_message_that_is_lost_cuts_the_connection_and_both_ends_learn_of_it() {
    let lost = ScriptedFault::once(Fault::LoseRequest, "client>socket.message");
    let members = format!("{HIBERNATES} {LOGS}");
    let run =
        talk(&members, "a\n=== wait-for-server\nb\n=== wait-for-server", vec![lost], Vec::new());
    assert_eq!(faults(&run), [Fault::LoseRequest]);
    let text = run.trace.to_string();
    assert!(
        text.contains("1006 WebSocket disconnected without sending Close frame. false 2 0"),
        "{text}"
    );
    // What was not answered is said again on the next connection.
    let lost = r#"1006 "WebSocket disconnected without sending Close frame.""#;
    assert_eq!(received(&run), [lost, r#""a""#, r#""ab""#]);
    assert!(text.contains("1000  true 2 0"), "{text}");
}

#[test]
fn an_answer_that_is_lost_is_heard_twice_by_the_object() {
    let lost = ScriptedFault::once(Fault::LoseRequest, "ROOM:all>socket.message");
    let run =
        talk(&format!("{HIBERNATES} {LOGS}"), "a\n=== wait-for-server", vec![lost], Vec::new());
    assert_eq!(received(&run).last().unwrap(), r#""aa""#);
}

#[test]
fn a_message_that_is_late_holds_up_those_behind_it() {
    let by = Some(Duration::from_secs(3));
    let late = ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, "client>socket.message") };
    let run = talk(&format!("{HIBERNATES} {LOGS}"), "a\n===\nb", vec![late], Vec::new());
    assert_eq!(faults(&run), [Fault::Delay]);
    let began = run.trace.events().iter().filter_map(|event| match event.kind {
        EventKind::Begin { call } => match run.trace.op(call) {
            Op::Frame { frame, .. } => Some((event.at.as_ms() / 1_000, frame.to_string())),
            _ => None,
        },
        _ => None,
    });
    let began: Vec<(u64, String)> = began.take(2).collect();
    assert_eq!(began, [(3, r#""a""#.to_string()), (3, r#""b""#.to_string())]);
    assert_eq!(received(&run), [r#""a""#, r#""ab""#]);
}

#[test]
fn a_response_that_is_lost_leaves_a_socket_that_the_object_hears_the_end_of() {
    let lost = ScriptedFault::once(Fault::LoseReply, "client>fetch");
    let run =
        talk(&format!("{HIBERNATES} {LOGS}"), "a\n=== wait-for-server", vec![lost], Vec::new());
    assert_eq!(received(&run), [r#""a""#]);
    assert!(run.trace.to_string().contains("1006 WebSocket disconnected"), "{}", run.trace);
}

#[test]
fn a_worker_answers_on_a_socket_of_its_own_until_it_is_closed() {
    let source = "export class Room {} export default { async fetch(request) {
           if (request.headers.get('upgrade') !== 'websocket') return new Response('no', { status: 426 });
           const { 0: client, 1: server } = new WebSocketPair();
           server.accept();
           server.send('welcome');
           server.addEventListener('message', ({ data }) => server.send(data + '!'));
           server.addEventListener('close', ({ code, wasClean }) => console.log('closed', code, wasClean, server.readyState));
           return new Response(null, { status: 101, webSocket: client });
         } };";
    let run = play(source, "a\n=== wait-for-server\n=== close 4000 bye", Vec::new(), Vec::new());
    assert_eq!(received(&run), [r#""welcome""#, r#""a!""#, r#"4000 "bye""#]);
    assert!(run.trace.to_string().contains("closed 4000 true 3"), "{}", run.trace);
    // Who stays keeps the Worker there, which is not stuck.
    let run =
        play(source, "a\n=== wait-for-server\n=== after 60s\nb\n=== stay", Vec::new(), Vec::new());
    assert_eq!(received(&run), [r#""welcome""#, r#""a!""#, r#""b!""#]);
}

#[test]
fn messages_are_answered_in_place_of_the_object_without_waking_it() {
    let members = format!(
        "{HIBERNATES} constructor(ctx, env) {{ super(ctx, env); console.log('awake'); ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong')); }}
         async webSocketMessage(ws) {{ ws.send(String(this.ctx.getWebSocketAutoResponseTimestamp(ws) instanceof Date)); }}"
    );
    let says = "ping\n=== wait-for-server\n=== after 15s\nping\n=== wait-for-server\nx\n=== wait-for-server";
    let evicted = ScriptedFault::once(Fault::Evict, "ROOM:all");
    let run = talk(&members, says, vec![evicted], Vec::new());
    assert_eq!(received(&run), [r#""pong""#, r#""pong""#, "true"]);
    assert_eq!(run.trace.to_string().matches("awake").count(), 2, "{}", run.trace);
}

#[test]
fn what_a_socket_refuses_has_the_words_of_the_runtime() {
    let table = [
        (
            "server.send('x')",
            "TypeError: You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.",
        ),
        (
            "server.accept(); server.close(); server.send('x')",
            "TypeError: Can't call WebSocket send() after close().",
        ),
        (
            "server.accept(); server.close(1006)",
            "InvalidAccessError: Invalid WebSocket close code: 1006.",
        ),
        (
            "server.accept(); server.close(1000, 'x'.repeat(124))",
            "SyntaxError: WebSocket close reason must not be longer than 123 bytes when UTF-8 encoded.",
        ),
        (
            "server.serializeAttachment('x'.repeat(16380))",
            "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes.'attachment' was 16385 bytes.",
        ),
        ("server.serializeAttachment('x'.repeat(16379))", "ok"),
        (
            "new Response(null, { webSocket: client })",
            "RangeError: Responses with a WebSocket must have status code 101.",
        ),
        (
            "new Response(null, { status: 101 })",
            "RangeError: Responses may only be constructed with status codes in the range 200 to 599, inclusive.",
        ),
    ];
    for (work, expected) in table {
        let body = format!(
            "const {{ 0: client, 1: server }} = new WebSocketPair();
             try {{ {work}; return new Response('ok'); }} catch (e) {{ return new Response(`${{e.name}}: ${{e.message}}`); }}"
        );
        assert_eq!(fetch("\"name\": \"web\"", &body), format!("200 {expected}"), "{work}");
    }
    let unasked = fetch(
        "\"name\": \"web\"",
        "return new Response(null, { status: 101, webSocket: new WebSocketPair()[0] });",
    );
    assert!(unasked.contains("did not contain the header \"Upgrade: websocket\""), "{unasked}");
}

#[test]
fn what_an_object_refuses_to_accept_has_the_words_of_the_runtime() {
    let table = [
        (
            "this.ctx.acceptWebSocket(server); this.ctx.acceptWebSocket(server)",
            "Error: Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`",
        ),
        (
            "this.ctx.acceptWebSocket(server); server.accept()",
            "TypeError: Can't accept() WebSocket after enabling hibernation.",
        ),
        (
            "client.accept(); this.ctx.acceptWebSocket(server)",
            "Error: Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used in a Response.",
        ),
        (
            "this.ctx.acceptWebSocket(server, [...'abcdefghijk'])",
            "Error: a Hibernatable WebSocket cannot have more than 10 tags",
        ),
        (
            "this.ctx.acceptWebSocket(server, ['x'.repeat(257)])",
            &format!(
                "Error: \"{}\" is longer than the max tag length (256 characters).",
                "x".repeat(257)
            ),
        ),
        (
            "this.ctx.getTags(server)",
            "Error: you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.",
        ),
        (
            "this.ctx.acceptWebSocket(server, [1, '1', 'b']); throw new Error(this.ctx.getTags(server).join())",
            "Error: 1,b",
        ),
    ];
    for (work, expected) in table {
        let members = format!(
            "async fetch() {{
               const {{ 0: client, 1: server }} = new WebSocketPair();
               try {{ {work}; }} catch (e) {{ console.log(`${{e.name}}: ${{e.message}}`); }}
               return new Response('ok');
             }}"
        );
        let run = talk(&members, "", Vec::new(), Vec::new());
        let text = run.trace.events().iter().find_map(|event| match &event.kind {
            EventKind::Log { text } => Some(text.to_string()),
            _ => None,
        });
        assert_eq!(text.as_deref(), Some(expected), "{work}");
    }
}
