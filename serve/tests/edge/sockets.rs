//! WebSockets of clients to the agent of their organisation.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use thunderhead_serve::Stop;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{
    Error, HandshakeError, Message, WebSocket, client as connect,
};

use super::client::Client;
use super::server::{config, folder, start};

const AGENT: &str = "/agents/organization/acme";

/// A client that listens; or the status with which it is refused.
fn listen(
    address: std::net::SocketAddr,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<WebSocket<TcpStream>, u16> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match connect(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(Error::Http(answer))) => Err(answer.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

/// The next message of an agent. The server asks one who has heard nothing for long whether he is there.
fn hear(socket: &mut WebSocket<TcpStream>) -> Value {
    match socket.read().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?} came instead of a message"),
    }
}

#[test]
fn who_listens_hears_how_far_a_picture_is_until_it_has_its_label() {
    let server = start(config("uploads", &folder("sockets-progress"), Some("ann@acme")));
    let mut socket = listen(server.address, AGENT, &[]).unwrap();
    assert_eq!(server.ask("PUT", "/acme/cat.jpg", "meow").0, 201);
    let mut steps = Vec::new();
    loop {
        let heard = hear(&mut socket);
        if heard["type"] == "upload_progress" {
            assert_eq!(heard["name"], "cat.jpg");
            steps.push(format!(
                "{} {}",
                heard["step"].as_str().unwrap(),
                heard["status"].as_str().unwrap()
            ));
        }
        if heard["status"] == "classified" {
            break;
        }
    }
    assert_eq!(
        steps,
        ["load-image running", "classify-image running", "persist-result classified"]
    );
    let rows: Value = serde_json::from_str(&server.ask("GET", "/acme", "").1).unwrap();
    assert_eq!(rows[0]["status"], "classified", "what was heard is there");
    assert_eq!(server.ask("DELETE", "/acme/cat.jpg", "").0, 204);
    while hear(&mut socket)["type"] != "upload_deleted" {}
    server.end(Stop::AtRest);
}

#[test]
fn a_socket_is_for_members_of_the_organisation_and_for_pages_of_this_site() {
    let server = start(config("uploads", &folder("sockets-refused"), None));
    let address = server.address;
    assert_eq!(listen(address, AGENT, &[]).unwrap_err(), 401);
    let mut client = Client::connect(address).unwrap();
    let sign_in = format!(r#"{{"user":"ann@acme","key":"{}"}}"#, server.sign_in.as_ref().unwrap());
    assert_eq!(client.ask("POST", "/-/sign-in", sign_in.as_bytes()).unwrap().0, 204);
    let cookie = client.cookie.clone().unwrap();
    let signed_in = ("cookie", &*cookie);
    assert!(listen(address, AGENT, &[signed_in]).is_ok());
    assert_eq!(listen(address, "/agents/organization/other", &[signed_in]).unwrap_err(), 403);
    for (name, value) in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
        assert_eq!(listen(address, AGENT, &[signed_in, (name, value)]).unwrap_err(), 403, "{name}");
    }
    assert_eq!(
        listen(address, AGENT, &[signed_in, ("sec-websocket-version", "8")]).unwrap_err(),
        400
    );
    assert_eq!(
        listen(address, AGENT, &[signed_in, ("sec-websocket-key", "short")]).unwrap_err(),
        400
    );
    assert_eq!(client.ask("GET", AGENT, b"").unwrap().0, 426, "a plain request has no use for it");
    server.end(Stop::Soon);
}

#[test]
fn a_socket_is_closed_when_the_server_ends_and_opens_again_after_a_restart() {
    let data = folder("sockets-restart");
    for bytes in ["woof", "bow-wow"] {
        let server = start(config("uploads", &data, Some("ann@acme")));
        let mut socket = listen(server.address, AGENT, &[]).unwrap();
        assert_eq!(server.ask("PUT", "/acme/dog.jpg", bytes).0, 201);
        hear(&mut socket);
        let listening = std::thread::spawn(move || {
            loop {
                if let Message::Close(frame) = socket.read().unwrap() {
                    return frame.unwrap().code;
                }
            }
        });
        server.end(Stop::Soon);
        assert_eq!(listening.join().unwrap(), CloseCode::Away);
    }
}

#[test]
fn what_a_client_says_wrongly_cuts_off_that_client_alone() {
    let server = start(config("uploads", &folder("sockets-hostile"), Some("ann@acme")));
    let address = server.address;
    let mut neighbour = listen(address, AGENT, &[]).unwrap();
    let mut large = listen(address, AGENT, &[]).unwrap();
    // The server may have closed the connection before all of it is sent.
    drop(large.send(Message::text("x".repeat(1 << 20))));
    while large.read().is_ok() {}
    let mut client = Client::connect(address).unwrap();
    let key = generate_key();
    let asks =
        [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13")];
    let asks = [&asks[..], &[("Sec-WebSocket-Key", &*key)]].concat();
    assert_eq!(client.ask_with("GET", AGENT, &asks, b"").unwrap().0, 101);
    client.half(b"no frame at all, and not masked");
    for text in ["hello", "{}", "null", "{\"type\":\"upload_progress\"}"] {
        neighbour.send(Message::text(text)).unwrap();
    }
    neighbour.send(Message::binary(vec![0xff, 0])).unwrap();
    assert_eq!(server.ask("PUT", "/acme/cat.jpg", "meow").0, 201);
    while hear(&mut neighbour)["status"] != "classified" {}
    server.end(Stop::AtRest);
}
