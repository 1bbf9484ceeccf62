//! Requests and responses as the runtime has them: their bodies, their headers, and what they say of themselves. Every
//! answer is one that the runtime gave to the same text.

use thunderhead_sim::{ClientRequest, Request, Scenario, Source, Tape, Time, simulate};

use crate::support::{answers, fetch, load, play, values};

#[test]
fn a_body_of_no_bytes_fits_a_status_that_has_none() {
    values(&[
        (
            "['', new Uint8Array(0), new Blob([]), new URLSearchParams(), null].map((body) => new Response(body, { status: 204 }).body)",
            "[null,null,null,null,null]",
        ),
        ("[...new Response('', { status: 204 }).headers]", "[]"),
        (
            "['a', new ReadableStream()].map((body) => { try { return new Response(body, { status: 304 }).status; } catch ({ message }) { return message; } })",
            r#"["Response with null body status (101, 204, 205, or 304) cannot have a body.","Response with null body status (101, 204, 205, or 304) cannot have a body."]"#,
        ),
    ]);
}

#[test]
fn a_request_of_a_client_has_what_the_edge_adds() {
    let source = "export default { fetch: (request) => Response.json([...request.headers]) };";
    let run = play(
        &load(r#""name": "web""#, source).unwrap(),
        &[("GET", "/", ""), ("POST", "/", "hello")],
    );
    let edge = r#"["accept-encoding","br, gzip"],["cf-connecting-ip","203.0.113.1"]"#;
    assert_eq!(
        answers(&run),
        [
            format!(r#"200 [{edge},["host","localhost:8787"]]"#),
            format!(r#"200 [{edge},["content-length","5"],["host","localhost:8787"]]"#)
        ]
    );
}

#[test]
fn a_request_to_an_https_address_has_that_address() {
    let source = "export default { fetch: (request) => new Response(`${request.url} ${request.headers.get('x-forwarded-proto')}`) };";
    let app = load(r#""name": "web""#, source).unwrap();
    let sent = ["https://shop.example:8443/a?b=c", "http://shop.example"].map(|address| {
        let request = Request::new("GET", "", "").addressed(address).unwrap();
        ClientRequest { request, ..ClientRequest::new(Time::ZERO, "GET", "/", "") }
    });
    let scenario = Scenario { requests: sent.into(), ..Scenario::default() };
    let run =
        simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| app.mount(cloud)).unwrap();
    assert_eq!(
        answers(&run),
        ["200 https://shop.example:8443/a?b=c https", "200 http://shop.example/ null"]
    );
}

#[test]
fn a_request_of_a_worker_says_how_long_its_body_is_and_nothing_of_a_client() {
    let config = r#""name": "web", "services": [{ "binding": "SELF", "service": "web" }],
        "durable_objects": { "bindings": [{ "name": "OBJ", "class_name": "Obj" }] }, "migrations": [{ "tag": "v1", "new_classes": ["Obj"] }]"#;
    let source = "export class Obj { fetch(request) { return Response.json([...request.headers]); } }
      export default { async fetch(request, env) {
        if (request.url.endsWith('/echo')) return Response.json([...request.headers]);
        const stream = () => new ReadableStream({ start(c) { c.enqueue(new Uint8Array(3)); c.close(); } });
        const asked = [undefined, { method: 'PUT', body: new Uint8Array(4) }, { method: 'POST', body: stream() }, { method: 'POST', headers: { 'content-length': '9' }, body: 'abcdefghi' }];
        const told = async (to) => { const all = []; for (const init of asked) all.push(await (await to.fetch('http://z/echo', init)).json()); return all; };
        const [service, object] = [await told(env.SELF), (asked[2].body = stream(), await told(env.OBJ.get(env.OBJ.idFromName('a'))))];
        return Response.json([service, JSON.stringify(service) === JSON.stringify(object)]);
      } };";
    let run = play(&load(config, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(
        answers(&run),
        [
            r#"200 [[[],[["content-length","4"]],[["transfer-encoding","chunked"]],[["content-length","9"],["content-type","text/plain;charset=UTF-8"]]],true]"#
        ]
    );
}

#[test]
fn headers_that_came_from_elsewhere_cannot_be_changed_and_copies_of_them_can() {
    let said = fetch(
        r#""name": "web", "services": [{ "binding": "SELF", "service": "web" }]"#,
        "if (request.method === 'GET') return new Response('hi');
         const told = (work) => { try { work(); return 'done'; } catch (error) { return String(error); } };
         const response = await env.SELF.fetch('http://web/');
         const fixed = [request, request.clone(), response, response.clone(), Response.redirect('http://a/')];
         const free = [new Request(request.clone()), new Request('http://a/', request.clone()), new Response(null, response), Response.json({}), Response.error()];
         return Response.json([[...new Set(fixed.flatMap(({ headers }) => [() => headers.set('a', 'b'), () => headers.append('a', 'b'), () => headers.delete('a')].map(told)))],
           [...new Set(free.map(({ headers }) => told(() => headers.set('a', 'b'))))], told(() => new Headers(request.headers).set('a', 'b'))]);",
    );
    assert_eq!(said, r#"200 [["TypeError: Can't modify immutable headers."],["done"],"done"]"#);
}

#[test]
fn a_body_that_is_sent_as_its_text_has_the_type_of_one() {
    values(&[(
        "[new Response('a'), new Response(5), new Response({}), new Response(new Uint8Array(1)), new Response(null)].map(({ headers }) => headers.get('content-type'))",
        r#"["text/plain;charset=UTF-8","text/plain;charset=UTF-8","text/plain;charset=UTF-8",null,null]"#,
    )]);
}

#[test]
fn a_response_has_the_phrase_of_its_status() {
    values(&[
        (
            "[200, 201, 299, 304, 404, 418, 599].map((status) => new Response(null, { status }).statusText)",
            r#"["OK","Created","Successful","Not Modified","Not Found","I'm a teapot","Server Error"]"#,
        ),
        (
            "['mine', ''].map((statusText) => new Response(null, { statusText }).statusText)",
            r#"["mine",""]"#,
        ),
    ]);
}

#[test]
fn a_redirect_needs_a_status_of_one() {
    values(&[(
        "[['http://a/', 200], ['none', 302]].map((given) => { try { return Response.redirect(...given).status; } catch (error) { return String(error); } })",
        r#"["RangeError: 200 is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308.","TypeError: Unable to parse URL: none"]"#,
    )]);
}

#[test]
fn a_mark_of_the_order_of_bytes_is_no_part_of_a_text() {
    values(&[
        ("new Response('\\ufeffabc').text()", r#""abc""#),
        ("new Response('\\ufeff{}').json()", "{}"),
        ("new Blob(['\\ufeffa']).text().then(({ length }) => length)", "2"),
    ]);
}

#[test]
fn who_asks_for_the_head_alone_is_sent_no_body() {
    let config = r#""name": "web", "services": [{ "binding": "SELF", "service": "web" }]"#;
    let source = "export default { async fetch(request, env) {
        if (request.method === 'HEAD') return new Response(request.url.endsWith('/s') ? new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(3)); } }) : 'body', { headers: { a: 'b' } });
        const response = await env.SELF.fetch('http://web/s', { method: 'HEAD' });
        return Response.json([response.headers.get('a'), response.body, await response.text()]);
      } };";
    let run = play(
        &load(config, source).unwrap(),
        &[("HEAD", "/", ""), ("HEAD", "/s", ""), ("GET", "/", "")],
    );
    assert_eq!(answers(&run), ["200 ", "200 ", r#"200 ["b",null,""]"#]);
}

#[test]
fn what_a_message_says_of_itself_is_its_classes_and_cannot_be_set() {
    values(&[
        ("[Object.keys(new Request('http://a/')), Object.keys(new Response())]", "[[],[]]"),
        (
            "(() => { try { new Request('http://a/').url = 'http://b/'; } catch ({ name }) { return name; } })()",
            r#""TypeError""#,
        ),
        (
            "[new Request('http://a/', { cache: 'no-store' }).cache, typeof new Request('http://a/').cache]",
            r#"["no-store","undefined"]"#,
        ),
    ]);
}

#[test]
fn a_percent_sign_without_digits_stays_and_what_is_around_it_is_decoded() {
    values(&[(
        "['%zz%20b', '%', '%E4%BD%A0%', '%ff', '%C3%28+%41'].map((text) => new URLSearchParams('a=' + text).get('a'))",
        "[\"%zz b\",\"%\",\"你%\",\"\u{fffd}\",\"\u{fffd}( A\"]",
    )]);
}

#[test]
fn a_response_without_a_body_answers_again_and_one_with_a_text_is_used_up() {
    let source = "const none = new Response(null, { status: 204 }), text = new Response('a');
        export default { fetch: (request) => (request.url.endsWith('/text') ? text : none) };";
    let sent = [("GET", "/", ""), ("GET", "/", ""), ("GET", "/text", ""), ("GET", "/text", "")];
    let run = play(&load("\"name\": \"web\"", source).unwrap(), &sent);
    let [first, second, text, used] = &answers(&run)[..] else { panic!("{}", run.trace) };
    assert_eq!([first, second, text], ["204 ", "204 ", "200 a"]);
    assert!(used.contains("Body has already been used"), "{used}");
}

#[test]
fn parts_of_addresses_that_are_read_in_turns_are_their_own() {
    values(&[(
        "(() => { const a = new URL('http://a/x'), b = new URL('http://b/y'); return [a.host, b.pathname, URL.canParse('no'), a.pathname, b.host]; })()",
        r#"["a","/y",false,"/x","b"]"#,
    )]);
}

#[test]
fn headers_that_a_request_is_made_of_are_copied() {
    values(&[(
        "(() => { const headers = new Headers({ a: '1' }), made = new Request('http://a/', { headers }); headers.set('a', '2'); return [made.headers.get('a'), new Request(made).headers === made.headers]; })()",
        r#"["1",false]"#,
    )]);
    let said = fetch(
        "\"name\": \"web\"",
        "const copy = new Request(request); copy.headers.set('a', '1'); return Response.json([request.headers.has('a'), copy.headers.get('a')]);",
    );
    assert_eq!(said, r#"200 [false,"1"]"#);
}
