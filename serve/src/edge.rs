//! HTTP: takes requests, gives them to the cell, and sends the answers that the journal has let go.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::json;
use thunderhead_sim as sim;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::cell::Input;
use crate::changes;
use crate::headers;
use crate::history::{self, Upload};
use crate::idle_timeout::IdleTimeout;
use crate::metrics::Metrics;
use crate::request_bodies::RequestBodies;
use crate::request_checks::{self, Refused};
use crate::response_bodies::{self, Sent};
use crate::session::{Sessions, User};
use crate::site::{self, Site};
use crate::socket::{self, SOCKETS};
use crate::{Config, Environment, Stop};

/// How many connections are served at a time. Others wait in the queue of the operating system.
const CONNECTIONS: usize = 512;
/// How many bodies are collected at a time. Others wait.
const COLLECTED: usize = 1_024;
/// How many bytes of an answer a connection may hold beside the piece that is being read.
const UNSENT: usize = 128 << 10;
/// The most bytes with which one signs in.
const SIGN_IN_MOST: usize = 4 << 10;
/// How long it takes until one tries again to take connections when there is no room for them.
const FULL: Duration = Duration::from_millis(50);
/// How long a client may take for the head of a request, and for its body.
const HEAD_TIME: Duration = Duration::from_secs(10);
const BODY_TIME: Duration = Duration::from_secs(60);
/// How long those who are being answered are waited for at the end.
const GRACE: Duration = Duration::from_secs(10);

const TOO_SLOW: Refused = (StatusCode::REQUEST_TIMEOUT, "the body came too slowly");

/// Clients talk to agents here; the name of one follows.
const AGENTS: &str = "/agents/organization/";

/// The edge, shared by all connections.
pub struct Edge {
    listen: SocketAddr,
    system: String,
    site: Site,
    sessions: Sessions,
    metrics: Arc<Metrics>,
    inputs: Sender<Input>,
    environment: Environment,
    /// Counts the commits.
    changes: watch::Receiver<u64>,
    collected: Semaphore,
    request_bodies: RequestBodies,
    sockets: Arc<Semaphore>,
    /// The directory with the history, if there is one that the page can show.
    told: Option<PathBuf>,
    /// Histories are read one at a time.
    reading: Arc<Semaphore>,
}

impl Edge {
    pub fn new(
        config: &Config,
        sessions: Sessions,
        metrics: Arc<Metrics>,
        inputs: Sender<Input>,
        environment: Environment,
        changes: watch::Receiver<u64>,
    ) -> Edge {
        let (listen, system) = (config.listen, config.system.name.to_string());
        let site = site::of(&system);
        let told = (config.tells && site.tells).then(|| config.data.clone());
        Edge {
            listen,
            system,
            site,
            sessions,
            metrics,
            inputs,
            environment,
            changes,
            collected: Semaphore::new(COLLECTED),
            request_bodies: RequestBodies::of(&config.data, environment),
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            told,
            reading: Arc::new(Semaphore::new(1)),
        }
    }

    /// What one signs in with.
    pub fn sign_in_key(&self) -> String {
        self.sessions.sign_in_key().into()
    }

    /// Serves the connections that `accept` gives, until `stop`, or until the cell has failed. Those who are being
    /// answered are waited for.
    pub async fn run<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self,
        accept: impl AsyncFn() -> std::io::Result<S>,
        stop: impl Future<Output = Stop>,
        mut failed: watch::Receiver<bool>,
    ) -> Stop {
        let (edge, graceful) = (Arc::new(self), GracefulShutdown::new());
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        let (closing, closed) = watch::channel(false);
        tokio::pin!(stop);
        let how = loop {
            let accepted = async {
                let permit = permits.clone().acquire_owned().await;
                (permit, accept().await)
            };
            let (permit, accepted) = tokio::select! {
                // In this order, so that a simulation takes the same turn each time.
                biased;
                how = &mut stop => break how,
                _ = failed.wait_for(|failed| *failed) => break Stop::Soon,
                accepted = accepted => accepted,
            };
            let Ok(stream) = accepted else {
                // The process has as many files open as it may.
                sleep(FULL).await;
                continue;
            };
            let (edge, closed) = (edge.clone(), closed.clone());
            edge.metrics.connections.fetch_add(1, Relaxed);
            let service = {
                let edge = edge.clone();
                hyper::service::service_fn(move |request| {
                    let (edge, closed) = (edge.clone(), closed.clone());
                    async move { Ok::<_, Infallible>(edge.answer(request, closed).await) }
                })
            };
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
            builder.http1().max_buf_size(UNSENT);
            builder.http2().timer(TokioTimer::new()).max_concurrent_streams(64);
            builder.http2().max_send_buf_size(UNSENT);
            let stream = TokioIo::new(IdleTimeout::new(stream));
            let connection = builder.serve_connection_with_upgrades(stream, service).into_owned();
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A connection that breaks is the client's affair.
                drop(connection.await);
                edge.metrics.connections.fetch_sub(1, Relaxed);
                drop(permit);
            });
        };
        drop(accept);
        drop(closed);
        closing.send_replace(true);
        let ended = async {
            graceful.shutdown().await;
            // Those who listen on sockets have heard that it ends.
            closing.closed().await;
        };
        drop(timeout(GRACE, ended).await);
        how
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        closed: watch::Receiver<bool>,
    ) -> Response<Sent> {
        let path = request.uri().path().to_string();
        let answered = match request_checks::check(&request, self.listen) {
            Err(refused) => Err(refused),
            Ok(()) => self.route(request, closed).await,
        };
        let mut response = answered.unwrap_or_else(|(status, why)| {
            (self.environment.say)(
                "warn",
                "refused",
                &json!({ "path": path, "status": status.as_u16(), "why": why }),
            );
            let mut response = text(status, "text/plain; charset=utf-8", format!("{why}\n"));
            if status == StatusCode::SERVICE_UNAVAILABLE {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            response
        });
        headers::add(response.headers_mut());
        self.metrics.responded(response.status().as_u16());
        response
    }

    async fn route(
        &self,
        request: Request<Incoming>,
        closed: watch::Receiver<bool>,
    ) -> Result<Response<Sent>, Refused> {
        let seconds = (self.environment.unix_ms)() / 1_000;
        let cookies = request.headers().get(header::COOKIE).and_then(|value| value.to_str().ok());
        let user = self.sessions.user(cookies, seconds);
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/") => Ok(self.page()),
            (&Method::GET, "/metrics") => {
                Ok(text(StatusCode::OK, "text/plain; version=0.0.4", self.metrics.text()))
            }
            (&Method::GET, "/-/session") => Ok(self.session(user.as_ref())),
            (&Method::POST, "/-/sign-in") => self.sign_in(request, seconds).await,
            (&Method::POST, "/-/sign-out") => {
                let response = text(StatusCode::NO_CONTENT, "text/plain", String::new());
                Ok(with_cookie(response, &Sessions::sign_out()))
            }
            (_, path) => {
                let user = user.ok_or((StatusCode::UNAUTHORIZED, "sign in first"))?;
                match path {
                    "/-/changes" => Ok(changes::stream(self.changes.clone(), closed)),
                    "/-/history" => self.history(request.uri(), &user).await,
                    path => match (path.strip_prefix(AGENTS), self.site.agent) {
                        (Some(name), Some(agent)) => {
                            let name = name.to_string();
                            self.talk(request, &user, agent, &name, closed).await
                        }
                        _ => self.ask(request, &user).await,
                    },
                }
            }
        }
    }

    /// Connects a client with the agent of its organisation.
    async fn talk(
        &self,
        request: Request<Incoming>,
        user: &User,
        agent: &'static str,
        name: &str,
        closed: watch::Receiver<bool>,
    ) -> Result<Response<Sent>, Refused> {
        if name != user.organisation() {
            return Err((StatusCode::FORBIDDEN, "only members of the organisation may listen"));
        }
        if !socket::is_asked_for(&request) {
            return Err((StatusCode::UPGRADE_REQUIRED, "this address is for WebSockets"));
        }
        let permit = self.sockets.clone().try_acquire_owned();
        let permit = permit.map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, "too many listen"))?;
        socket::open(request, agent, name, &self.inputs, closed, permit).await
    }

    fn page(&self) -> Response<Sent> {
        let page = self.site.page.replace("{{system}}", &self.system);
        let page = page.replace("{{examples}}", self.site.examples);
        let mut response = text(StatusCode::OK, "text/html; charset=utf-8", page);
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
            connect-src 'self'; frame-src 'self'; img-src 'self' blob: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        response
    }

    fn session(&self, user: Option<&User>) -> Response<Sent> {
        let session = json!({
            "user": user.map(ToString::to_string),
            "organisation": user.map(User::organisation),
            "fixed": self.sessions.is_fixed(),
            "history": self.told.is_some(),
        });
        text(StatusCode::OK, "application/json", session.to_string())
    }

    /// The page of what happened to an upload of the user's own organisation.
    async fn history(&self, uri: &hyper::Uri, user: &User) -> Result<Response<Sent>, Refused> {
        let why = "there is no history; start the server with --trace";
        let folder = self.told.clone().ok_or((StatusCode::NOT_FOUND, why))?;
        let asked = uri.path_and_query().map_or("", |path| path.as_str());
        let key = sim::Request::new("GET", asked, "").query("key").unwrap_or_default();
        let upload = Upload::of(&key).ok_or((StatusCode::BAD_REQUEST, "write ?key=ORG/NAME"))?;
        if upload.organisation != user.organisation() {
            return Err((StatusCode::FORBIDDEN, "only members of the organisation may read this"));
        }
        let alone = self.reading.clone().acquire_owned().await;
        let page = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            history::page(&folder, &upload)
        });
        let page = match page.await {
            Ok(Ok(page)) => {
                page.ok_or((StatusCode::NOT_FOUND, "the history does not tell of it"))?
            }
            failed => {
                let why = failed.map_or_else(|error| error.to_string(), |page| format!("{page:?}"));
                (self.environment.say)("error", "no history", &json!({ "key": key, "why": why }));
                return Err((StatusCode::INTERNAL_SERVER_ERROR, "the history cannot be read"));
            }
        };
        let mut response = text(StatusCode::OK, "text/html; charset=utf-8", page);
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
            frame-ancestors 'self'; sandbox allow-scripts";
        let policy = HeaderValue::from_static(policy);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        Ok(response)
    }

    async fn sign_in(
        &self,
        request: Request<Incoming>,
        seconds: u64,
    ) -> Result<Response<Sent>, Refused> {
        let limited = Limited::new(request.into_body(), SIGN_IN_MOST).collect();
        let body = match timeout(BODY_TIME, limited).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(_)) => return Err((StatusCode::BAD_REQUEST, "this is no name with a key")),
            Err(_) => return Err(TOO_SLOW),
        };
        let given: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let field = |name: &str| given[name].as_str().unwrap_or_default();
        Ok(match self.sessions.sign_in(field("user"), field("key"), seconds) {
            Ok(cookie) => {
                with_cookie(text(StatusCode::NO_CONTENT, "text/plain", String::new()), &cookie)
            }
            Err(why) => {
                text(StatusCode::UNAUTHORIZED, "text/plain; charset=utf-8", format!("{why}\n"))
            }
        })
    }

    /// Collects a whole body, within the limits of time and size.
    async fn body(&self, request: Request<Incoming>) -> Result<sim::Body, Refused> {
        let _permit = self.collected.acquire().await;
        let collected = timeout(BODY_TIME, self.request_bodies.collect(request.into_body())).await;
        collected.unwrap_or(Err(TOO_SLOW))
    }

    /// Asks the system.
    async fn ask(
        &self,
        request: Request<Incoming>,
        user: &User,
    ) -> Result<Response<Sent>, Refused> {
        request_checks::check_room(request.method(), self.metrics.classifying.load(Relaxed))?;
        let path = self.told(request.uri(), user);
        let method = request.method().to_string();
        let headers = headers::told(request.headers());
        let body = self.body(request).await?;
        let asked = sim::Request { headers, ..sim::Request::new(&method, &path, body) };
        let (client, answer) = oneshot::channel();
        self.inputs.try_send(Input::Request(asked, client)).map_err(|error| match error {
            TrySendError::Full(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "the server is busy; try again")
            }
            TrySendError::Closed(_) => (StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"),
        })?;
        match answer.await {
            Ok(Ok(response)) => Ok(sent(&response, self.environment)),
            Ok(Err(error)) => {
                let why = json!({ "path": path, "why": error.to_string() });
                (self.environment.say)("error", "failed", &why);
                Err((StatusCode::BAD_GATEWAY, "the system could not answer; try again"))
            }
            Err(_) => {
                Err((StatusCode::SERVICE_UNAVAILABLE, "the server stopped before it could answer"))
            }
        }
    }

    /// The path as the routes are told it. Where they ask for the session, it is all of the query: what a client has
    /// written there is not theirs to read.
    fn told(&self, uri: &hyper::Uri, user: &User) -> String {
        match (self.site.session, uri.query()) {
            (Some(session), _) => format!("{}?{session}={user}", uri.path()),
            (None, Some(query)) => format!("{}?{query}", uri.path()),
            (None, None) => uri.path().into(),
        }
    }
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Response<Sent> {
    let mut response = Response::new(response_bodies::whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn with_cookie(mut response: Response<Sent>, cookie: &str) -> Response<Sent> {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// A response of the system as it goes over the wire.
fn sent(response: &sim::Response, environment: Environment) -> Response<Sent> {
    let mut sent = Response::new(response_bodies::sent(&response.body, environment));
    *sent.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *sent.headers_mut() = headers::sent(&response.headers, &response.body);
    sent
}
