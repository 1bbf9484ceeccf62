//! Headers, addresses that carry their data, and what is known of a client.

use crate::support::{answers, fetch, load, play, values};

#[test]
fn a_header_that_is_undefined_has_that_word_as_its_value() {
    values(&[
        ("[...new Headers({ a: undefined })]", r#"[["a","undefined"]]"#),
        ("[...new Headers([['a', undefined]])]", r#"[["a","undefined"]]"#),
        (
            "new Request('http://x/', { headers: { a: undefined } }).headers.get('a')",
            r#""undefined""#,
        ),
        (
            "[[['a']], [['a', 'b', 'c']], ['ab']].map((pairs) => { try { new Headers(pairs); return 'made'; } catch ({ name }) { return name; } })",
            r#"["TypeError","TypeError","TypeError"]"#,
        ),
    ]);
}

#[test]
fn a_mistake_in_what_fetch_is_given_rejects_its_promise() {
    values(&[(
        "Promise.all([['http://x/', { headers: [['a']] }], ['no address'], ['http://x/', { method: 'NONE' }], ['http://x/', { body: 'a' }], ['data:none']]
           .map((given) => fetch(...given).then(() => 'answered', ({ name }) => name)))",
        r#"["TypeError","TypeError","TypeError","TypeError","TypeError"]"#,
    )]);
}

#[test]
fn an_address_that_carries_its_data_is_answered_without_a_request() {
    let source = "export default { async fetch() {
        const told = async (url) => { const response = await fetch(url); return [response.status, response.headers.get('content-type'), await response.text()]; };
        return Response.json([await told('data:text/plain;base64,aGk='), await told('data:,a%20b#c'), await told('data:;charset=utf-8,%C3%A4'),
          await fetch('data:text/plain;base64,a').catch(({ name }) => name)]);
      } };";
    let run = play(&load(r#""name": "web""#, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(
        answers(&run),
        [
            r#"200 [[200,"text/plain","hi"],[200,"text/plain;charset=US-ASCII","a b"],[200,"text/plain;charset=utf-8","ä"],"TypeError"]"#
        ]
    );
}

#[test]
fn a_request_of_a_client_says_where_it_comes_from_and_one_that_is_made_does_not() {
    let said = fetch(
        r#""name": "web""#,
        "const { colo, country, continent, timezone, httpProtocol, asn } = request.cf;
         request.cf.added = 1;
         return Response.json([colo, country, continent, timezone, httpProtocol, typeof asn, request.clone().cf.added, new Request('http://x/').cf]);",
    );
    assert_eq!(said, r#"200 ["DFW","US","NA","America/Chicago","HTTP/1.1","number",1,{}]"#);
}
