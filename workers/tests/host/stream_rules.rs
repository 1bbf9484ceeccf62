//! The classes of streams: when a source is asked for more, when a write is over, what happens to one side when the
//! other one ends. Every answer but the last is that of the streams of Node, which the same text was run on.

use crate::support::{fetch, value};

/// The lines that a piece of JavaScript has told with `log`.
fn told(script: &str) -> String {
    value(&format!(
        "(async () => {{
           const out = [];
           const log = (...words) => void out.push(words.join(' '));
           const tick = (ms = 5) => scheduler.wait(ms);
           {script}
           return out;
         }})()"
    ))
}

#[test]
fn a_source_is_asked_for_as_much_as_its_queue_has_room_for() {
    let script = "
        let pulls = 0;
        const stream = new ReadableStream({ pull(c) { log('pull', ++pulls, c.desiredSize); c.enqueue(pulls); if (pulls === 3) c.close(); } });
        await tick();
        const reader = stream.getReader();
        for (let over = false; !over; ) { const { value, done } = await reader.read(); await tick(1); log('read', value, done); over = done; }";
    let expected = r#"["pull 1 1","pull 2 1","read 1 false","pull 3 1","read 2 false","read 3 false","read  true"]"#;
    assert_eq!(told(script), expected);
    let lazy = "
        const stream = new ReadableStream({ pull(c) { log('pull'); c.enqueue(1); }, cancel(r) { log('cancelled', r); } }, { highWaterMark: 0 });
        await tick();
        log('reads');
        const reader = stream.getReader();
        await reader.read();
        await reader.cancel('why');
        log((await reader.read()).done);";
    assert_eq!(told(lazy), r#"["reads","pull","cancelled why","true"]"#);
}

#[test]
fn a_write_is_over_when_what_it_became_was_read() {
    let script = "
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        let done = false;
        writer.write('x').then(() => (done = true));
        await tick();
        log(done, writer.desiredSize);
        log((await readable.getReader().read()).value);
        await tick();
        log(done, writer.desiredSize);";
    assert_eq!(told(script), r#"["false 0","x","true 1"]"#);
}

#[test]
fn a_part_that_becomes_nothing_lets_the_next_one_through() {
    let script = "
        const odd = { transform(x, c) { if (x % 2) c.enqueue(x); }, flush(c) { c.enqueue('end'); } };
        const { readable, writable } = new TransformStream(odd);
        const writer = writable.getWriter();
        (async () => { for (let i = 0; i < 6; i++) { await writer.ready; writer.write(i); } await writer.close(); })();
        for await (const part of readable) log(part);";
    assert_eq!(told(script), r#"["1","3","5","end"]"#);
}

#[test]
fn writes_reach_their_sink_one_after_the_other() {
    let script = "
        const sink = { async write(x) { log('begin', x); await tick(2); log('end', x); }, close() { log('closed'); } };
        const writer = new WritableStream(sink).getWriter();
        writer.write(1);
        writer.write(2);
        await writer.close();";
    assert_eq!(told(script), r#"["begin 1","end 1","begin 2","end 2","closed"]"#);
}

#[test]
fn an_end_of_one_side_reaches_the_other() {
    let cancelled = "
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        const first = writer.write('x').catch((error) => log('first', error));
        await readable.cancel('bye');
        await first;
        await writer.write('y').catch((error) => log('second', error));";
    assert_eq!(told(cancelled), r#"["first bye","second bye"]"#);
    let full = "
        const sink = new WritableStream({ write() { throw new Error('full'); } });
        const source = new ReadableStream({ pull(c) { c.enqueue('x'); }, cancel({ message }) { log('cancelled', message); } });
        await source.pipeTo(sink).catch(({ message }) => log('piped', message));";
    assert_eq!(told(full), r#"["cancelled full","piped full"]"#);
    let thrown = "
        const stream = new ReadableStream({ pull() { throw new Error('no more'); } });
        await tick();
        await stream.getReader().read().catch(({ message }) => log(message));";
    assert_eq!(told(thrown), r#"["no more"]"#);
}

#[test]
fn a_pipe_ends_with_either_side_and_a_locked_stream_is_not_piped() {
    let idle = "
        const sink = new TransformStream();
        const source = new ReadableStream({ cancel(reason) { log('cancelled', reason); } });
        const piped = source.pipeTo(sink.writable).catch((error) => log('piped', error));
        await sink.readable.cancel('gone');
        await piped;";
    assert_eq!(told(idle), r#"["cancelled gone","piped gone"]"#);
    let locked = "
        const stream = new ReadableStream();
        stream.getReader();
        try { stream.pipeThrough(new TransformStream()); } catch (error) { log(error.name); }";
    assert_eq!(told(locked), r#"["TypeError"]"#);
}

#[test]
fn a_character_that_is_divided_is_decoded_as_one() {
    let script = "
        const bytes = new TextEncoder().encode('é');
        for await (const text of ReadableStream.from([bytes.slice(0, 1), bytes.slice(1), bytes.slice(0, 1)]).pipeThrough(new TextDecoderStream())) log(text);";
    assert_eq!(told(script), "[\"é\",\"\u{fffd}\"]");
}

#[test]
fn an_iterable_is_asked_for_what_is_read_and_is_left_with_its_reader() {
    let script = "
        let made = 0;
        async function* all() { try { for (;;) yield ++made; } finally { log('left after', made); } }
        for await (const part of ReadableStream.from(all())) if (part === 3) break;";
    assert_eq!(told(script), r#"["left after 3"]"#);
    let tee = "
        const [first, second] = ReadableStream.from(['x', 'y', 'z']).tee();
        for await (const part of first) log(1, part);
        for await (const part of second) log(2, part);";
    assert_eq!(told(tee), r#"["1 x","1 y","1 z","2 x","2 y","2 z"]"#);
}

/// A mistake that is often made with streamed responses: nobody can read before the response is there.
#[test]
fn a_write_that_is_awaited_before_the_response_is_returned_hangs_the_request() {
    let worker = |awaited: &str| {
        fetch(
            "\"name\": \"web\"",
            &format!(
                "const {{ readable, writable }} = new TransformStream();
                 const writer = writable.getWriter();
                 {awaited} writer.write(new TextEncoder().encode('hello'));
                 {awaited} writer.close();
                 return new Response(readable);"
            ),
        )
    };
    assert_eq!(worker(""), "200 hello");
    assert!(worker("await").contains("had hung"), "{}", worker("await"));
}

/// These answers are the runtime's: Node has no such streams.
#[test]
fn a_stream_of_texts_is_sent_as_bytes_and_is_no_body_for_who_made_it() {
    let script = "
        const texts = (...parts) => new ReadableStream({ start(c) { for (const part of parts) c.enqueue(part); c.close(); } });
        const told = (work) => work().catch(String);
        log(await told(() => new Response(texts('abc')).text()));
        log(await told(() => new Request('http://a/', { method: 'POST', body: texts('abc') }).arrayBuffer()));
        log(await told(() => new Response(texts(5)).text()));";
    let no = "TypeError: This ReadableStream did not return bytes.";
    assert_eq!(told(script), format!(r#"["{no}","{no}","{no}"]"#));
    let sent =
        "return new Response(new ReadableStream({ start(c) { c.enqueue('abc'); c.close(); } }));";
    assert_eq!(fetch("\"name\": \"web\"", sent), "200 abc");
}

#[test]
fn a_stream_of_a_fixed_length_tells_who_reads_it_that_it_has_another_one() {
    let script = "
        const told = (work) => work().then((value) => value ?? 'done', String);
        const played = async (size, ...parts) => {
          const { readable, writable } = new FixedLengthStream(size);
          const writer = writable.getWriter();
          const read = told(() => new Response(readable).text());
          const all = [];
          for (const part of parts) all.push(await told(() => writer.write(part)));
          all.push(await told(() => writer.close()), await read);
          log(all.join(' | '));
        };
        const bytes = (text) => new TextEncoder().encode(text);
        await played(3, bytes('abc'));
        await played(3, 'abc');
        await played(3, bytes('ab'), bytes('cd'));
        await played(3, bytes('ab'));";
    let many = "TypeError: Attempt to write too many bytes through a FixedLengthStream.";
    let few = "TypeError: FixedLengthStream did not see all expected bytes before close().";
    let expected = [
        "done | done | abc".to_string(),
        "done | done | abc".to_string(),
        format!("done | done | {many} | {many}"),
        format!("done | done | {few}"),
    ];
    assert_eq!(told(script), format!("[{}]", expected.map(|line| format!("{line:?}")).join(",")));
}

#[test]
fn an_identity_stream_is_made_of_bytes() {
    let script = "
        const written = async (part) => {
          const { readable, writable } = new IdentityTransformStream();
          const read = readable.getReader().read();
          try { await writable.getWriter().write(part); } catch (error) { return log(error.name); }
          const { value } = await read;
          log(value.constructor.name, value.length);
        };
        await written('abc'); await written(new ArrayBuffer(2)); await written(5);";
    assert_eq!(told(script), r#"["Uint8Array 3","Uint8Array 2","TypeError"]"#);
}
