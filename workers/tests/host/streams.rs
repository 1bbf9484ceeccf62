//! Bodies that are streamed: from an object through a Worker to a client, and what becomes of them when one of the
//! three stops.

use thunderhead_props::history::{exchanges, streamed};
use thunderhead_sim::{
    ClientRequest, End, EventKind, Fault, Kill, Response, Run, Scenario, ScriptedFault, Source,
    Tape, Time, simulate,
};

use crate::sockets::{CONFIG, faults, room};
use crate::support::{answers, fetch, load, play};

/// A stream that has a part every ten seconds, and tells what becomes of it.
const TICKS: &str = "
    function ticks(parts) {
      let part = 0;
      return new ReadableStream({
        async pull(controller) {
          if (part === parts) return controller.close();
          if (part) await scheduler.wait(10_000);
          part += 1;
          console.log(`part ${part}`);
          controller.enqueue(new TextEncoder().encode(`<${part}>`));
        },
        cancel(reason) { console.log(`cancelled: ${reason}`); },
      });
    }";

fn ticking(parts: u32) -> String {
    format!("{TICKS} export default {{ fetch() {{ return new Response(ticks({parts})); }} }};")
}

/// What a client comes to that tries once more.
fn asked(source: &str, faults: Vec<ScriptedFault>, kills: Vec<Kill>) -> Run {
    let config = if source.contains("class Room") { CONFIG } else { r#""name": "web""# };
    let app = load(config, source).unwrap_or_else(|why| panic!("{why}"));
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "").retried(1)];
    let scenario = Scenario { requests, faults, kills, ..Scenario::default() };
    let tape = Source::Tape(Tape::benign());
    let run = simulate(&scenario, &tape, &|cloud| app.mount(cloud)).unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    run
}

/// The bodies that have come to the client, and whether each was broken off.
fn bodies(run: &Run) -> Vec<(String, bool)> {
    let asked = exchanges(&run.trace).filter(|exchange| exchange.from == "client");
    let bodies = asked.filter_map(|exchange| streamed(&run.trace, &exchange));
    bodies.map(|body| (body.before(usize::MAX).text().unwrap().into(), body.broken)).collect()
}

fn breaks_off_after_two_parts_and_then_comes_whole(run: &Run) {
    let expected = [("<1><2>".into(), true), ("<1><2><3>".into(), false)];
    assert_eq!(bodies(run), expected, "{}", run.trace);
}

fn logged(run: &Run) -> Vec<String> {
    let logged = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(format!("{} s {text}", event.at.as_ms() / 1_000)),
        _ => None,
    });
    logged.collect()
}

#[test]
fn a_body_is_sent_while_it_is_made_for_longer_than_wait_until_allows() {
    let run = asked(&ticking(3), Vec::new(), Vec::new());
    assert_eq!(bodies(&run), [("<1><2><3>".into(), false)], "{}", run.trace);
    assert_eq!(logged(&run), ["0 s part 1", "10 s part 2", "20 s part 3"]);
    let caller = format!(
        "{TICKS} export default {{ async fetch(request, env) {{
           if (request.url.endsWith('/inner')) return new Response(ticks(6));
           const response = await env.SELF.fetch('http://web/inner');
           const seen = [];
           for await (const part of response.body) seen.push(new TextDecoder().decode(part) + Date.now() % 100_000);
           return Response.json(seen.length);
         }} }};"
    );
    let config = r#""name": "web", "services": [{ "binding": "SELF", "service": "web" }]"#;
    let run = play(&load(config, &caller).unwrap(), &[("GET", "/", "")]);
    // The caller of the Worker gives up after ten seconds; what it asked for is read to its end all the same.
    assert_eq!(logged(&run).last().unwrap(), "50 s part 6", "{}", run.trace);
}

#[test]
fn a_client_that_goes_away_cancels_the_stream() {
    let run = asked(&ticking(100), Vec::new(), Vec::new());
    assert_eq!(logged(&run)[3..5], ["30 s part 4", "30 s cancelled: "], "{}", run.trace);
    // It has seen no end, so it asks again.
    let body = || ("<1><2><3><4>".into(), false);
    assert_eq!(bodies(&run), [body(), body()], "{}", run.trace);
}

#[test]
fn a_part_that_is_lost_breaks_the_body_off_for_both_sides() {
    let second =
        ScriptedFault { skip: 1, ..ScriptedFault::once(Fault::LoseRequest, "web>stream.part") };
    let run = asked(&ticking(3), vec![second], Vec::new());
    assert_eq!(faults(&run), [Fault::LoseRequest]);
    assert_eq!(bodies(&run), [("<1>".into(), true), ("<1><2><3>".into(), false)], "{}", run.trace);
    let told = logged(&run);
    assert!(told.contains(&"10 s cancelled: Error: Network connection lost.".into()), "{told:?}");
}

#[test]
fn a_crash_breaks_the_body_off_and_the_client_asks_again() {
    let kill = Kill { at: Time::from_ms(15_000), host: "web".into(), down: None };
    let run = asked(&ticking(3), Vec::new(), vec![kill]);
    breaks_off_after_two_parts_and_then_comes_whole(&run);
}

#[test]
fn an_object_streams_through_a_worker_and_a_crash_of_it_reaches_the_client() {
    let source = format!("{TICKS} {}", room("fetch() { return new Response(ticks(3)); }"));
    let run = asked(&source, Vec::new(), Vec::new());
    assert_eq!(bodies(&run), [("<1><2><3>".into(), false)], "{}", run.trace);
    let kill = Kill { at: Time::from_ms(15_000), host: "ROOM:all".into(), down: None };
    let run = asked(&source, Vec::new(), vec![kill]);
    breaks_off_after_two_parts_and_then_comes_whole(&run);
}

#[test]
fn a_stream_that_fails_breaks_the_body_off_and_its_error_is_told() {
    let source = "export default { fetch() {
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        writer.write(new TextEncoder().encode('a'));
        scheduler.wait(100).then(() => writer.abort(new Error('out of paper')));
        return new Response(readable, { status: 201 });
      } };";
    let run = asked(source, Vec::new(), Vec::new());
    assert_eq!(bodies(&run), [("a".into(), true), ("a".into(), true)], "{}", run.trace);
    assert!(run.trace.to_string().contains("out of paper"), "{}", run.trace);
}

#[test]
fn a_body_that_nobody_reads_is_cancelled_when_the_invocation_is_over() {
    let source = format!(
        "{TICKS} export default {{ async fetch(request, env) {{
           if (request.url.endsWith('/inner')) return new Response(ticks(100));
           const response = await env.SELF.fetch('http://web/inner');
           return new Response('unread', {{ status: response.status }});
         }} }};"
    );
    let config = r#""name": "web", "services": [{ "binding": "SELF", "service": "web" }]"#;
    let run = play(&load(config, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 unread"]);
    assert_eq!(
        logged(&run),
        ["0 s part 1", "0 s cancelled: ", "0 s 1 operation that was not awaited, cancelled"],
        "{}",
        run.trace
    );
}

#[test]
fn a_stream_crosses_in_calls_in_either_direction() {
    let members = "
        list() { return new ReadableStream({ start(c) { for (const x of 'abc') c.enqueue(new TextEncoder().encode(x)); c.close(); } }); }
        async read(stream) { let all = ''; for await (const part of stream) all += new TextDecoder().decode(part); return all; }
        async fetch() { return new Response(); }";
    let source = format!(
        "import {{ DurableObject }} from 'cloudflare:workers';
         export class Room extends DurableObject {{ {members} }}
         export default {{ async fetch(request, env) {{
           const room = env.ROOM.getByName('all');
           const listed = await new Response(await room.list()).text();
           const read = await room.read(new Response('from here').body);
           return Response.json([listed, read]);
         }} }};"
    );
    let run = play(&load(CONFIG, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 ["abc","from here"]"#], "{}", run.trace);
}

#[test]
fn a_bucket_takes_a_streamed_body_only_if_a_header_says_its_length() {
    let config = r#""name": "web", "r2_buckets": [{ "binding": "R2", "bucket_name": "kept" }],
        "services": [{ "binding": "SELF", "service": "web" }]"#;
    let said = fetch(
        config,
        "if (new URL(request.url).pathname === '/inner') {
           const { readable, writable } = new TransformStream();
           const writer = writable.getWriter();
           writer.write(new TextEncoder().encode('abc'));
           writer.close();
           return new Response(readable, { headers: Object.fromEntries(new URL(request.url).searchParams) });
         }
         const put = async (query) => {
           const { body } = await env.SELF.fetch('http://web/inner' + query);
           try { return (await env.R2.put('k', body)).size; } catch (error) { return error.message.slice(0, 50); }
         };
         return Response.json([await put('?content-length=3'), await put('')]);",
    );
    assert_eq!(said, r#"200 [3,"Provided readable stream must have a known length "]"#);
}

#[test]
fn a_request_is_read_while_its_body_is_made() {
    let config = format!(r#"{CONFIG}, "services": [{{ "binding": "SELF", "service": "web" }}]"#);
    let source = format!(
        "{TICKS} import {{ DurableObject }} from 'cloudflare:workers';
         async function read(request) {{
           for await (const part of request.body) console.log(`read ${{new TextDecoder().decode(part)}}`);
           return new Response('done');
         }}
         export class Room extends DurableObject {{ fetch(request) {{ return read(request); }} }}
         export default {{ async fetch(request, env, ctx) {{
           if (request.url.endsWith('/inner')) return read(request);
           const to = {{ '/worker': env.SELF, '/object': env.ROOM.getByName('all') }}[new URL(request.url).pathname];
           await to.fetch('http://web/inner', {{ method: 'PUT', body: ticks(2) }});
           return new Response('sent');
         }} }};"
    );
    for path in ["/worker", "/object"] {
        let run = play(&load(&config, &source).unwrap(), &[("GET", path, "")]);
        let told = logged(&run);
        assert_eq!(told[..2], ["0 s part 1", "0 s read <1>"], "{}", run.trace);
        assert_eq!(told[2..4], ["10 s part 2", "10 s read <2>"], "{}", run.trace);
    }
}

#[test]
fn a_streamed_request_is_collected_for_a_host_outside() {
    let source = format!(
        "{TICKS} export default {{ async fetch() {{
           const sent = await fetch('https://example.com/', {{ method: 'PUT', body: ticks(1) }});
           return new Response(null, {{ status: sent.status }});
         }} }};"
    );
    let app = load(r#""name": "web""#, &source).unwrap();
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let scenario = Scenario { requests, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        app.mount(cloud);
        cloud.outside("internet", |_, request| async move {
            let status = if request.body.text() == Some("<1>") { 201 } else { 400 };
            Ok(Response::new(status, ""))
        });
    });
    assert_eq!(answers(&run.unwrap()), ["201 "]);
}

/// A Worker that streams without an end to whoever is at the other side, which never reads.
#[test]
fn a_body_that_nobody_goes_on_with_is_not_stuck() {
    let source = format!(
        "{TICKS} import {{ DurableObject }} from 'cloudflare:workers';
         export class Room extends DurableObject {{ keep(stream) {{ this.stream = stream; }} }}
         export default {{ async fetch(request, env) {{
           let sent = 0;
           await env.ROOM.getByName('all').keep(new ReadableStream({{ pull(c) {{ c.enqueue(new Uint8Array(1)); sent += 1; }} }}));
           return new Response('kept');
         }} }};"
    );
    let run = play(&load(CONFIG, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    assert_eq!(answers(&run), ["200 kept"], "{}", run.trace);
}

#[test]
fn a_body_that_nothing_will_ever_end_is_broken_off() {
    let source = "export default { fetch() {
        const { readable, writable } = new TransformStream();
        writable.getWriter().write(new TextEncoder().encode('a'));
        return new Response(readable);
      } };";
    let run = asked(source, Vec::new(), Vec::new());
    assert_eq!(bodies(&run), [("a".into(), true), ("a".into(), true)], "{}", run.trace);
    assert!(run.trace.wide().contains("had hung"), "{}", run.trace);
}

#[test]
fn what_a_worker_reads_when_its_time_is_up_is_wanted_no_more() {
    let source = format!(
        "{TICKS} export default {{ async fetch(request, env, ctx) {{
           if (request.url.endsWith('/inner')) return new Response(ticks(100));
           const {{ body }} = await env.SELF.fetch('http://web/inner');
           ctx.waitUntil((async () => {{ for await (const part of body); }})());
           return new Response('reads on');
         }} }};"
    );
    let config = r#""name": "web", "services": [{ "binding": "SELF", "service": "web" }]"#;
    let run = play(&load(config, &source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let told = logged(&run);
    assert!(told.iter().any(|line| line.starts_with("30 s cancelled")), "{told:?}");
}

#[test]
fn a_stream_that_is_locked_does_not_cross() {
    let source = "import { DurableObject } from 'cloudflare:workers';
         export class Room extends DurableObject { async read(stream) { for await (const part of stream); } }
         export default { async fetch(request, env) {
           const stream = ReadableStream.from([new Uint8Array(1)]);
           stream.getReader();
           const said = await env.ROOM.getByName('all').read(stream).catch(({ message }) => message);
           return new Response(said);
         } };";
    let run = play(&load(CONFIG, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 The ReadableStream has been locked to a reader."]);
}
