//! A server on a thread, spoken to over HTTP; and the directories that it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/client.rs"]
mod client;
mod hostile;
mod outside;
mod server;
mod sites;
mod sockets;
mod streams;

use std::sync::{Mutex, mpsc};

use client::Client;
use server::{Server, config, folder, start};
use thunderhead::model::{Choice, Model, Numbers};
use thunderhead::systems;
use thunderhead_serve::{Config, Data, Identity, Stop};
use thunderhead_sim::{Body, ai};

#[test]
fn every_system_answers_over_http_and_still_after_a_restart() {
    for (system, method, path, body, asked) in [
        ("relay", "PUT", "/cat.jpg", "meow", None),
        ("uploads", "PUT", "/acme/cat.jpg", "meow", Some("/acme")),
        ("commands", "POST", "/guests/ann", r#"{"owed":0}"#, None),
        ("commands", "POST", "/groups/wedding", r#"{"guests":["ann"]}"#, Some("/pending")),
        ("generations", "POST", "/generations", GENERATION, Some("/generations?tag=cats")),
        ("comparisons", "POST", "/compare", COMPARISON, None),
    ] {
        let data = folder(&format!("answers-{system}"));
        let server = start(config(system, &data, Some("ann@acme")));
        let status = server.ask(method, path, body).0;
        assert!(matches!(status, 201 | 202), "{system}: {status}");
        let (status, page) = server.ask("GET", "/", "");
        assert!(
            status == 200 && page.contains("<!doctype html>") && !page.contains("{{"),
            "{system}"
        );
        // `generations` waits for a provider that forgets at a restart, and `commands` looks for work for ever.
        let rests = !matches!(system, "generations" | "commands");
        server.end(if rests { Stop::AtRest } else { Stop::Soon });
        let server = start(config(system, &data, Some("ann@acme")));
        if let Some(asked) = asked {
            let (status, answer) = server.ask("GET", asked, "");
            assert_eq!(status, 200, "{system}: {answer}");
            assert!(system != "uploads" || answer.contains("classified"), "{answer}");
        }
        server.end(Stop::Soon);
        let judged = thunderhead_serve::judge(&data, systems::find).unwrap();
        assert_eq!(judged.violations, vec![], "{system}");
        assert!(judged.events > 5, "{system}");
    }
}

const GENERATION: &str = r#"{"model":"image-1","input":{"prompt":"a"},"count":1,"tags":["cats"]}"#;
const COMPARISON: &str =
    r#"{"leftUrl":"http://prod.example/","rightUrl":"http://staging.example/"}"#;

#[test]
fn without_a_session_nothing_is_answered_and_a_session_is_of_one_organisation() {
    let server = start(config("uploads", &folder("sessions"), None));
    assert_eq!(server.ask("GET", "/acme", "").0, 401);
    assert_eq!(server.ask("GET", "/acme?as=ann@acme", "").0, 401);
    assert_eq!(server.ask("GET", "/-/changes", "").0, 401);
    assert_eq!(server.ask("POST", "/-/sign-in", r#"{"user":"ann@acme","key":"guess"}"#).0, 401);
    let key = server.sign_in.clone().unwrap();
    let body = format!(r#"{{"user":"ann@acme","key":"{key}"}}"#);
    let mut client = Client::connect(server.address).unwrap();
    assert_eq!(client.ask("POST", "/-/sign-in", body.as_bytes()).unwrap().0, 204);
    let cookie = client.cookie.clone().unwrap();
    client.cookie = Some(cookie.clone());
    let mut ask = |method: &str, path: &str| client.ask(method, path, b"").unwrap().0;
    assert_eq!(ask("GET", "/acme"), 200);
    assert_eq!(ask("GET", "/other"), 403, "another organisation");
    assert_eq!(ask("GET", "/other?as=eve@other"), 403, "the query of a client says nothing");
    assert_eq!(ask("DELETE", "/acme/../other/cat.jpg"), 400, "no way leads out of one");
    client.cookie = Some(cookie.replace("ann", "eve"));
    assert_eq!(client.ask("GET", "/acme", b"").unwrap().0, 401, "a cookie that was changed");
    server.end(Stop::Soon);
}

#[test]
fn a_picture_is_fetched_whole_in_part_or_not_at_all_as_its_reader_asks() {
    let data = folder("ranges");
    let server = start(config("uploads", &data, Some("ann@acme")));
    let mut client = Client::connect(server.address).unwrap();
    let mut ask = |method: &str, headers: &[(&str, &str)], body: &[u8]| {
        let (status, head, body) = client.ask_with(method, "/acme/cat.jpg", headers, body).unwrap();
        let value = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        let etag = value("etag").unwrap_or_default();
        (status, etag, value("content-range"), value("content-type"), value("cache-control"), body)
    };
    let (jpeg, octets) = (Some("image/jpeg".to_string()), b"0123456789");
    assert_eq!(ask("PUT", &[("Content-Type", "image/jpeg")], octets).0, 201);
    let (status, etag, range, kind, cached, body) = ask("GET", &[], b"");
    assert_eq!((status, range, kind, &body[..]), (200, None, jpeg.clone(), &octets[..]));
    assert!(etag.len() > 10 && cached.as_deref() == Some("private, no-cache"), "{etag} {cached:?}");

    let (status, same, ..) = ask("GET", &[("If-None-Match", &etag)], b"");
    assert_eq!((status, &same), (304, &etag));
    let (status, .., body) = ask("GET", &[("If-None-Match", "\"another\"")], b"");
    assert_eq!((status, &body[..]), (200, &octets[..]));
    assert_eq!(ask("GET", &[("If-Match", "\"another\"")], b"").0, 412);

    for (asked, said, part) in [
        ("bytes=2-4", "bytes 2-4/10", "234"),
        ("bytes=7-", "bytes 7-9/10", "789"),
        ("bytes=-1", "bytes 9-9/10", "9"),
    ] {
        let (status, _, range, .., body) = ask("GET", &[("Range", asked)], b"");
        assert_eq!((status, range.as_deref(), &body[..]), (206, Some(said), part.as_bytes()));
    }
    let (status, _, range, ..) = ask("GET", &[("Range", "bytes=10-")], b"");
    assert_eq!((status, range.as_deref()), (416, Some("bytes */10")));
    assert_eq!(ask("GET", &[("Range", "bytes=2-4"), ("If-Range", &etag)], b"").0, 206);

    // Another version has another ETag: what is known of the first is no use any more.
    assert_eq!(ask("PUT", &[], b"abc").0, 201);
    let (status, newer, .., body) = ask("GET", &[("If-None-Match", &etag)], b"");
    assert_eq!((status, &body[..]), (200, &b"abc"[..]));
    assert_ne!(newer, etag);
    let (status, .., body) = ask("GET", &[("Range", "bytes=2-4"), ("If-Range", &etag)], b"");
    assert_eq!((status, &body[..]), (200, &b"abc"[..]), "no part of one version in another");
    server.end(Stop::AtRest);
    // ETag and type outlive a restart.
    let server = start(config("uploads", &data, Some("ann@acme")));
    let again = Client::connect(server.address).unwrap().ask_with(
        "GET",
        "/acme/cat.jpg",
        &[("If-None-Match", &newer)],
        b"",
    );
    assert_eq!(again.unwrap().0, 304);
    server.end(Stop::Soon);
}

#[test]
fn the_history_of_an_upload_tells_of_nothing_else_and_to_members_alone() {
    let data = folder("history");
    let server = start(config("uploads", &data, None));
    let key = server.sign_in.clone().unwrap();
    let sign_in = |server: &Server, user: &str| {
        let mut client = Client::connect(server.address).unwrap();
        let body = format!(r#"{{"user":"{user}","key":"{key}"}}"#);
        assert_eq!(client.ask("POST", "/-/sign-in", body.as_bytes()).unwrap().0, 204);
        client
    };
    let (mut ann, mut eve) = (sign_in(&server, "ann@acme"), sign_in(&server, "eve@globex"));
    // Sent together, they are mostly delivered together too.
    let picture = b"\x89PNG\r\n\x1a\n, more or less";
    assert_eq!(eve.ask("PUT", "/globex/cat.jpg", b"secret").unwrap().0, 201);
    assert_eq!(ann.ask("PUT", "/acme/cat.jpg", picture).unwrap().0, 201);
    assert_eq!(ann.ask("PUT", "/acme/dog.jpg", b"woof").unwrap().0, 201);
    assert_eq!(ann.ask("GET", "/acme/cat.jpg", b"").unwrap().0, 200);
    server.end(Stop::AtRest);

    let server = start(config("uploads", &data, None));
    let (mut ann, mut nobody) =
        (sign_in(&server, "ann@acme"), Client::connect(server.address).unwrap());
    let path = "/-/history?key=acme%2Fcat.jpg";
    let (status, head, page) = ann.ask_with("GET", path, &[], b"").unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(status == 200 && head.contains("sandbox allow-scripts"), "{head}");
    for told in ["PUT /acme/cat.jpg", "PNG", "r2.notify", "queue.deliver", "ingestUploadEvent"] {
        assert!(page.contains(told), "{told} is missing in {page}");
    }
    for told in [
        "status=&#39;queued&#39;",
        "classify-image",
        "ai.run",
        "persist-result",
        "→ &#39;classified&#39;",
    ] {
        assert!(page.contains(told), "{told} is missing in {page}");
    }
    for other in ["globex", "secret", "dog.jpg", "GET /acme/cat.jpg"] {
        assert!(!page.contains(other), "{other} is told in {page}");
    }

    assert_eq!(ann.ask("GET", "/-/history?key=globex/cat.jpg", b"").unwrap().0, 403);
    assert_eq!(ann.ask("GET", "/-/history?key=acme/owl.jpg", b"").unwrap().0, 404);
    assert_eq!(ann.ask("GET", "/-/history?key=acme", b"").unwrap().0, 400);
    assert_eq!(nobody.ask("GET", path, b"").unwrap().0, 401);
    server.end(Stop::Soon);

    let silent = Config { tells: false, ..config("uploads", &data, Some("ann@acme")) };
    let server = start(silent);
    assert_eq!(server.ask("GET", path, "").0, 404);
    assert!(server.ask("GET", "/-/session", "").1.contains(r#""history":false"#));
    server.end(Stop::Soon);
}

#[test]
fn while_a_picture_is_looked_at_everybody_else_is_answered() {
    // A model that says when it begins, and ends when the test lets it.
    let (begins, begun) = mpsc::channel();
    let (let_go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let choice = Choice::Resnet50(Numbers::F32);
    let slow = Model::new(choice, "slow", vec!["one".into()], move |picture: &Body| {
        begins.send(picture.clone()).unwrap();
        // Without a sender there is nothing to wait for any more.
        let _ = wait.lock().unwrap().recv();
        Ok(ai::by_content(picture))
    });
    let data = folder("slow");
    let system = systems::uploads_with(&slow);
    let config = || {
        let (system, variant) = (system.clone(), system.reference().clone());
        Config { system, variant, ..config("uploads", &data, Some("ann@acme")) }
    };
    let server = start(config());
    assert_eq!(server.ask("PUT", "/acme/cat.jpg", "a cat").0, 201);
    assert_eq!(begun.recv().unwrap(), Body::from("a cat"));

    assert_eq!(server.ask("PUT", "/acme/dog.jpg", "a dog").0, 201);
    assert_eq!(server.ask("GET", "/acme/dog.jpg", ""), (200, "a dog".into()));
    let (status, list) = server.ask("GET", "/acme", "");
    assert!(status == 200 && list.contains("cat.jpg") && !list.contains("classified"), "{list}");

    // It is let go when the server has been told to do all its work and has closed its connections: the time that is
    // passed over then must not be counted as the model's.
    let mut open = Client::connect(server.address).unwrap();
    assert_eq!(open.ask("GET", "/acme", b"").unwrap().0, 200);
    server.stop.send(Stop::AtRest).unwrap();
    assert!(open.answer().is_err());
    drop(let_go);
    server.thread.join().unwrap().unwrap();

    let server = start(config());
    let list: serde_json::Value = serde_json::from_str(&server.ask("GET", "/acme", "").1).unwrap();
    for row in list.as_array().unwrap() {
        let bytes = if row["name"] == "cat.jpg" { "a cat" } else { "a dog" };
        let label = &ai::by_content(&Body::from(bytes))[0].label;
        assert_eq!(row["classificationLabel"].as_str(), Some(&**label), "{row}");
    }
    assert_eq!(list.as_array().unwrap().len(), 2);
    server.end(Stop::Soon);
    // Nothing was tried a second time.
    assert_eq!(begun.try_iter().collect::<Vec<_>>(), [Body::from("a dog")]);
    assert_eq!(thunderhead_serve::judge(&data, systems::find).unwrap().violations, vec![]);
}

#[test]
fn directories_that_are_not_understood_are_refused_and_left_as_they_are() {
    let data = folder("refused");
    let server = start(config("relay", &data, Some("ann@acme")));
    let refused = |config: Config| {
        let never = std::future::pending();
        thunderhead_serve::serve(config, never, |_| ()).unwrap_err().to_string()
    };
    let again = refused(config("relay", &data, None));
    assert!(again.contains("is served by another process"), "{again}");
    server.end(Stop::Soon);
    let other = refused(config("uploads", &data, None));
    assert!(other.contains("belongs to relay --variant reference"), "{other}");
    let mut public = config("relay", &data, Some("ann@acme"));
    public.listen = "0.0.0.0:0".parse().unwrap();
    assert!(refused(public).contains("is not a loopback address"));

    let db = rusqlite::Connection::open(data.join("cloud.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    let newer = refused(config("relay", &data, None));
    assert!(newer.contains("has format 99 and this version knows format 5"), "{newer}");
    db.pragma_update(None, "application_id", 7).unwrap();
    assert!(refused(config("relay", &data, None)).contains("was not written by thunderhead"));

    let file = data.join("LOCK");
    let below = refused(config("relay", &file, None));
    assert!(below.contains("cannot be written"), "{below}");
}

#[test]
fn a_directory_is_verified_and_damage_is_found() {
    let data = folder("verified");
    let server = start(config("uploads", &data, Some("ann@acme")));
    assert_eq!(server.ask("PUT", "/acme/cat.jpg", "meow").0, 201);
    server.end(Stop::AtRest);
    let machine = |identity: &Identity| {
        let variant = systems::find(&identity.system)?.variant(&identity.variant)?.clone();
        let settings = thunderhead_sim::MachineConfig::default();
        Some(thunderhead_sim::Machine::new(&settings, &move |cloud| variant.mount(cloud)))
    };
    let report = Data::verify(&data, machine).unwrap();
    assert!(report.rows >= 2 && report.ended == 1, "{report:?}");
    assert!(report.turns + report.images >= 1, "{report:?}");
    let db = rusqlite::Connection::open(data.join("cloud.db")).unwrap();
    db.execute("update row set value = '{' where kind = 'object'", []).unwrap();
    let damage = Data::verify(&data, machine).unwrap_err().to_string();
    assert!(damage.contains("the data is damaged: object"), "{damage}");
}
