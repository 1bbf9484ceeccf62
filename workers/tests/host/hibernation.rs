//! WebSockets of objects where no probe of the runtime reaches; `docs/platform-workers.md` says what the platform does.

use thunderhead_sim::{
    ClientRequest, EventKind, Fault, Kill, Scenario, ScriptedFault, Source, Swarm, Time, simulate,
};

use crate::sockets::{CONFIG, HIBERNATES, LOGS, faults, received, room, talk};
use crate::support::{answers, fetch, load, play};

/// In how many of a hundred storms an object leaves memory that has heard nothing for some seconds.
fn evictions(seconds: u32) -> usize {
    let members = format!("{HIBERNATES} async webSocketMessage(ws, m) {{ ws.send(m); }}");
    let app = load(CONFIG, &room(&members)).unwrap();
    let says = format!("a\n=== wait-for-server\n=== after {seconds}s\nb\n=== wait-for-server");
    let scenario = Scenario {
        requests: vec![ClientRequest::new(Time::ZERO, "WEBSOCKET", "/ann", &*says)],
        drawn_faults: [Fault::Evict].into_iter().collect(),
        ..Scenario::default()
    };
    let evicted = |seed: &u64| {
        let swarm = Swarm::calm().with(Fault::Evict, 1);
        let source = Source::Random { seed: *seed, swarm };
        let run = simulate(&scenario, &source, &|cloud| app.mount(cloud)).unwrap();
        faults(&run) == [Fault::Evict]
    };
    (0..100).filter(evicted).count()
}

#[test]
fn an_object_with_sockets_that_was_idle_for_ten_seconds_leaves_memory_every_other_time() {
    assert_eq!(evictions(9), 0);
    let count = evictions(11);
    assert!((30..=70).contains(&count), "{count} of 100");
}

#[test]
fn a_crash_loses_the_sockets_that_an_object_has_accepted_for_its_handlers() {
    let says = "a\n=== wait-for-server\n=== after 15s\nb\n=== wait-for-server";
    let kill = Kill { at: Time::from_ms(5_000), host: "ROOM:all".into(), down: None };
    let run = talk(&format!("{HIBERNATES} {LOGS}"), says, Vec::new(), vec![kill]);
    let lost = r#"1006 "WebSocket disconnected without sending Close frame.""#;
    assert_eq!(received(&run), [r#""a""#, lost, r#""ab""#]);
}

#[test]
fn an_object_hears_after_twenty_seconds_that_nobody_has_received_its_socket() {
    let lost = ScriptedFault::once(Fault::LoseReply, "client>fetch");
    let run =
        talk(&format!("{HIBERNATES} {LOGS}"), "a\n=== wait-for-server", vec![lost], Vec::new());
    let heard = run.trace.events().iter().find_map(|event| match &event.kind {
        EventKind::Log { text } if text.starts_with("1006 ") => Some(event.at.as_ms() / 1_000),
        _ => None,
    });
    assert_eq!(heard, Some(20), "{}", run.trace);
}

#[test]
fn sockets_are_listed_newest_first_and_those_with_a_tag_oldest_first() {
    let source = format!(
        "import {{ DurableObject }} from 'cloudflare:workers';
         export class Room extends DurableObject {{
           {HIBERNATES}
           names(tag) {{ return this.ctx.getWebSockets(tag).map((ws) => this.ctx.getTags(ws)[1]); }}
         }}
         export default {{ async fetch(request, env) {{
           const room = env.ROOM.getByName('all');
           for (const name of 'abc') {{
             const {{ webSocket }} = await room.fetch('http://x/' + name, {{ headers: {{ Upgrade: 'websocket' }} }});
             webSocket.accept();
           }}
           return Response.json([await room.names(), await room.names('all')]);
         }} }};"
    );
    let run = play(&load(CONFIG, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 [["c","b","a"],["a","b","c"]]"#], "{}", run.trace);
}

#[test]
fn bytes_come_as_an_array_buffer_unless_the_socket_wants_a_blob() {
    let said = fetch(
        "\"name\": \"web\"",
        "const heard = async (type) => {
           const { 0: client, 1: server } = new WebSocketPair();
           server.accept(); client.accept();
           if (type) client.binaryType = type;
           const data = new Promise((resolve) => client.addEventListener('message', (event) => resolve(event.data)));
           server.send(new Uint8Array([1, 2]));
           return [client.binaryType, (await data).constructor.name];
         };
         return Response.json([await heard(), await heard('blob')]);",
    );
    assert_eq!(said, r#"200 [["arraybuffer","ArrayBuffer"],["blob","Blob"]]"#);
}

#[test]
fn a_handler_outlives_the_timeout_that_its_object_has_set_for_events() {
    let members = format!(
        "{HIBERNATES} async webSocketMessage(ws, m) {{
           this.ctx.setHibernatableWebSocketEventTimeout(1000);
           await scheduler.wait(5000);
           ws.send(m + ' ' + this.ctx.getHibernatableWebSocketEventTimeout());
         }}"
    );
    let run = talk(&members, "a\n=== wait-for-server", Vec::new(), Vec::new());
    assert_eq!(received(&run), [r#""a 1000""#]);
}
