//! The studio asks for artifacts and waits for them: it is a client outside the cloud that repeats what was
//! not answered, and polls, or listens on a socket. Then it does what clients do with artifacts.

use std::time::Duration;

use serde_json::Value as Json;
use thunderhead_sim::{Body, Cloud, Env, Error, Request, Response};

use super::clients::AUTHORIZATION;
use super::names::{GENERATION, WEB};
use crate::systems::json;

/// The name of its host.
pub const STUDIO: &str = "studio";
/// What two clients authorize themselves with.
pub const ANN: &str = "Bearer key-of-ann";
pub const BEN: &str = "Bearer key-of-ben";
/// How often a request that was not answered is repeated, if it has a key.
const REPEATS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(2);
/// How often a client polls: each pause is twice as long as the one before.
const POLLS: u32 = 12;
/// How many pages a client goes through at most.
const PAGES: u32 = 20;

/// A request to the studio is on behalf of the client in its `authorization`; of the first if there is none.
///
/// - `POST /poll` with a request for a generation asks for it, and polls until it is over
/// - `POST /watch` asks for it and listens on a socket
/// - `POST /fetch` asks for it, polls, and fetches the bytes of its artifacts
/// - `POST /tag` asks for it, polls, and gives its artifacts tags, others in their place, and fewer
/// - `POST /peek` asks for it and polls; then another client tries to see it
/// - `POST /browse` with a path goes through all its pages
pub fn mount(cloud: &mut Cloud) {
    cloud.outside(STUDIO, serve);
}

async fn serve(env: Env, request: Request) -> Result<Response, Error> {
    let key = request.headers.get(AUTHORIZATION).unwrap_or(ANN);
    let client = Client { env: env.clone(), key: key.into() };
    if &*request.path == "/browse" {
        let path = request.body.text().unwrap_or_default().to_string();
        drop(env.spawn(async move { client.browse(&path).await }));
        return Ok(Response::new(200, ""));
    }
    let Some(id) = client.order(&request.body).await else { return Ok(Response::new(502, "")) };
    let theirs = id.clone();
    drop(env.spawn(async move {
        if &*request.path == "/watch" {
            return client.watch(&theirs).await;
        }
        client.poll(&theirs).await;
        match &*request.path {
            "/fetch" => client.fetch(&theirs).await,
            "/tag" => client.tag(&theirs).await,
            "/peek" => client.peek(&theirs).await,
            _ => {}
        }
    }));
    Ok(Response::new(200, id))
}

/// A client, and what it authorizes itself with.
struct Client {
    env: Env,
    key: String,
}

impl Client {
    /// Asks for a generation; its id, if there was an answer.
    async fn order(&self, body: &Body) -> Option<String> {
        let wanted: Json = json::read(body).ok()?;
        let repeats = if wanted["idempotencyKey"].is_string() { REPEATS } else { 0 };
        let request = Request::new("POST", "/generations", body.clone());
        let answer = self.ask(request, repeats).await?;
        json_of(Some(answer))["id"].as_str().map(String::from)
    }

    async fn poll(&self, id: &str) {
        for n in 0..POLLS {
            self.env.sleep(Duration::from_secs(1 << n)).await;
            if self.is_over(id).await {
                return;
            }
        }
    }

    /// A connection that is lost may have lost messages with it, so every new one begins with asking.
    async fn watch(&self, id: &str) {
        let object = self.env.durable_object(GENERATION);
        loop {
            if let Ok(socket) = object.get_by_name(id).connect().await {
                if self.is_over(id).await {
                    return socket.close();
                }
                while let Some(message) = socket.recv().await {
                    let settled = message.text().is_some_and(|text| text.contains("settled"));
                    if settled && self.is_over(id).await {
                        return socket.close();
                    }
                }
            }
            self.env.sleep(PAUSE).await;
        }
    }

    async fn is_over(&self, id: &str) -> bool {
        let Some(response) = self.get(&format!("/generations/{id}")).await else { return false };
        let unknown = response.status == 404;
        let answer = json_of(Some(response));
        unknown || matches!(answer["status"].as_str(), Some("ready" | "failed"))
    }

    /// Fetches every artifact of a generation: all of it, because what is in the cache is something else; then not
    /// again, because it is in the cache; then a part.
    async fn fetch(&self, id: &str) {
        for artifact in self.artifacts(id).await {
            let get = Request::new("GET", &format!("/artifacts/{artifact}/bytes"), "");
            let other = get.clone().with_header("if-none-match", "\"something-else\"");
            let whole = self.ask(other, 0).await;
            let etag = whole.as_ref().and_then(|whole| whole.headers.get("etag"));
            if let Some(etag) = etag {
                self.ask(get.clone().with_header("if-none-match", etag), 0).await;
            }
            self.ask(get.with_header("range", "bytes=2-5"), 0).await;
        }
    }

    /// Gives every artifact of a generation tags, others in their place, one more, and one less.
    async fn tag(&self, id: &str) {
        for artifact in self.artifacts(id).await {
            let path = format!("/artifacts/{artifact}/tags");
            let one = format!("{path}?tag=draft");
            for (method, path, body) in [
                ("PUT", &path, r#"["draft","seen"]"#),
                ("PUT", &path, r#"["cats"]"#),
                ("PUT", &one, ""),
                ("DELETE", &one, ""),
            ] {
                self.ask(Request::new(method, path, body), REPEATS).await;
            }
        }
    }

    /// Looks at what a generation has cost, and has another client ask for all of it.
    async fn peek(&self, id: &str) {
        self.get("/costs").await;
        let key = if self.key == ANN { BEN } else { ANN };
        let other = Client { env: self.env.clone(), key: key.into() };
        other.get(&format!("/generations/{id}")).await;
        other.get(&format!("/artifacts?generation={id}")).await;
        for artifact in self.artifacts(id).await.iter().take(1) {
            let path = format!("/artifacts/{artifact}");
            other.get(&path).await;
            other.get(&format!("{path}/bytes")).await;
            other.ask(Request::new("PUT", &format!("{path}/tags?tag=mine"), ""), 0).await;
        }
        other.get("/costs").await;
    }

    /// Goes through all pages, slowly enough for the library to change.
    async fn browse(&self, path: &str) {
        let and = if path.contains('?') { '&' } else { '?' };
        let mut next = path.to_string();
        for _ in 0..PAGES {
            let page = json_of(self.ask(Request::new("GET", &next, ""), REPEATS).await);
            let Some(cursor) = page["cursor"].as_str() else { return };
            next = format!("{path}{and}cursor={cursor}");
            self.env.sleep(PAUSE).await;
        }
    }

    /// The artifacts of a generation.
    async fn artifacts(&self, id: &str) -> Vec<String> {
        let page = json_of(self.get(&format!("/artifacts?generation={id}")).await);
        let items = page["items"].as_array().into_iter().flatten();
        items.filter_map(|item| item["id"].as_str().map(String::from)).collect()
    }

    async fn get(&self, path: &str) -> Option<Response> {
        self.ask(Request::new("GET", path, ""), 0).await
    }

    /// Asks, and asks again up to so many times if there is no answer.
    async fn ask(&self, request: Request, repeats: u32) -> Option<Response> {
        let request = request.with_header(AUTHORIZATION, &self.key);
        for n in 0..=repeats {
            match self.env.fetch(WEB, request.clone()).await {
                Ok(response) if response.status < 500 => return Some(response),
                _ if n < repeats => self.env.sleep(PAUSE).await,
                _ => {}
            }
        }
        None
    }
}

fn json_of(response: Option<Response>) -> Json {
    response.and_then(|response| json::read(&response.body).ok()).unwrap_or_default()
}
