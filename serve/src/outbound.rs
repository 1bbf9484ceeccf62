//! Requests to hosts outside, on a thread of their own. The operating system resolves names; a connection goes to the
//! address that the system has checked, and nothing is asked twice or followed elsewhere: both are the system's affair.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONNECTION, HOST, HeaderValue, USER_AGENT};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use thunderhead_sim::{Arrived, Body, Error, Outbound, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::headers;

/// How many requests are under way at a time. Others wait.
const AT_ONCE: usize = 32;
/// How long one may take, from its connection to the last byte of its answer.
const TIME: Duration = Duration::from_secs(30);
/// The most bytes of an answer.
const BODY_MOST: usize = 4 << 20;
/// What DNS says of a name that there is not, and the type of an IPv4 address.
const NXDOMAIN: u16 = 3;
const A: u16 = 1;

/// How hosts outside are found and reached.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    /// The addresses of a name; [`io::ErrorKind::NotFound`] when there is no such name.
    pub resolve: fn(&str) -> io::Result<Vec<IpAddr>>,
    /// Where a connection to an address is made to. It is the address itself, except in tests: their sites are on
    /// addresses to which nothing may be sent.
    pub route: fn(SocketAddr) -> SocketAddr,
    /// The certificates that are trusted.
    pub trusted: fn() -> Vec<CertificateDer<'static>>,
}

impl Outside {
    /// The operating system's resolver and network, and the certificates that it trusts.
    pub const REAL: Outside = Outside {
        resolve,
        route: |address| address,
        trusted: || rustls_native_certs::load_native_certs().certs,
    };
}

fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = (name, 0).to_socket_addrs().map_err(|error| {
        // The standard library tells a name that is not there from a resolver that does not answer by this text alone.
        let text = error.to_string();
        let is_none = ["not known", "No address", "No data"].iter().any(|told| text.contains(told));
        if is_none { io::ErrorKind::NotFound.into() } else { error }
    });
    Ok(found?.map(|address| address.ip()).collect())
}

/// The thread.
pub struct OutboundRequests {
    /// None when no more requests come.
    given: Option<UnboundedSender<Outbound>>,
    done: Receiver<Arrived>,
    thread: Option<JoinHandle<()>>,
}

impl OutboundRequests {
    /// Starts the thread, which calls `wake` when something has come of a request.
    pub fn open(
        outside: Outside,
        wake: impl Fn() + Clone + Send + 'static,
    ) -> io::Result<OutboundRequests> {
        let (given, taken) = unbounded_channel();
        let (tell, done) = mpsc::channel();
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(8).build()?;
        let thread = std::thread::spawn(move || {
            runtime.block_on(run(outside, taken, move |arrived| {
                // The cell goes before this thread does.
                drop(tell.send(arrived));
                wake();
            }));
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        });
        Ok(OutboundRequests { given: Some(given), done, thread: Some(thread) })
    }

    /// Has a request sent.
    pub fn send(&self, outbound: Outbound) {
        if let Some(given) = &self.given {
            drop(given.send(outbound));
        }
    }

    /// What has come of requests since this was last asked.
    pub fn done(&self) -> impl Iterator<Item = Arrived> {
        self.done.try_iter()
    }
}

impl Drop for OutboundRequests {
    /// Ends the thread. What is under way is broken off.
    fn drop(&mut self) {
        drop(self.given.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}

async fn run(
    outside: Outside,
    mut taken: UnboundedReceiver<Outbound>,
    tell: impl Fn(Arrived) + Clone + Send + 'static,
) {
    let (permits, tls) = (Arc::new(Semaphore::new(AT_ONCE)), Tls::default());
    let mut under_way = JoinSet::new();
    while let Some(outbound) = taken.recv().await {
        let (permits, tell, tls) = (permits.clone(), tell.clone(), tls.clone());
        under_way.spawn(async move {
            let _permit = permits.acquire().await;
            let outcome = timeout(TIME, ask(outside, &tls, &outbound)).await;
            tell(outbound.answered(outcome.unwrap_or(Err(Error::NetworkLost))));
        });
        while under_way.try_join_next().is_some() {}
    }
}

async fn ask(outside: Outside, tls: &Tls, outbound: &Outbound) -> Result<Response, Error> {
    let Some(address) = address(&outbound.to, outbound.is_secure) else {
        // Nothing is connected to by its name, so a name is that of the resolver.
        return look_up(outside, &outbound.request).await;
    };
    let stream = TcpStream::connect((outside.route)(address)).await.map_err(lost)?;
    if !outbound.is_secure {
        return exchange(stream, &outbound.request).await;
    }
    let host = outbound.request.headers.get("host").unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let name = name.map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let name = ServerName::try_from(name.to_string()).map_err(|error| failed(&error))?;
    let settings = tls.get_or_init(|| settings(outside)).clone();
    let settings = settings.ok_or_else(|| failed(&"this machine has no TLS"))?;
    let stream = TlsConnector::from(settings).connect(name, stream).await.map_err(|error| {
        // What a certificate says is the same at another try.
        let is_refused = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        if is_refused { failed(&error) } else { Error::NetworkLost }
    })?;
    exchange(stream, &outbound.request).await
}

/// The address and the port that a peer is called by; none when it is called by a name.
fn address(to: &str, is_secure: bool) -> Option<SocketAddr> {
    let usual = if is_secure { 443 } else { 80 };
    let plain = || to.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    to.parse().ok().or_else(|| Some(SocketAddr::new(plain()?, usual)))
}

/// Answers as a resolver does, by what the operating system says.
async fn look_up(outside: Outside, question: &Request) -> Result<Response, Error> {
    let name = question.query("name").unwrap_or_default();
    let asked = name.clone();
    let found =
        tokio::task::spawn_blocking(move || (outside.resolve)(&asked)).await.map_err(lost)?;
    let told = match found {
        Ok(addresses) => {
            let known = addresses.iter().filter(|address| address.is_ipv4());
            let answers = known.map(|address| json!({ "name": name, "type": A, "data": address }));
            json!({ "Status": 0, "Answer": answers.collect::<Vec<_>>() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => json!({ "Status": NXDOMAIN }),
        Err(error) => return Err(lost(error)),
    };
    Ok(Response::new(200, Body::json(&told)))
}

/// One request and its answer, on a connection that ends with it.
async fn exchange<S>(stream: S, request: &Request) -> Result<Response, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let mut asked = hyper::Request::builder()
        .method(&*request.method)
        .uri(&*request.path)
        .header(CONNECTION, HeaderValue::from_static("close"))
        .header(USER_AGENT, HeaderValue::from_static("thunderhead"));
    for (name, value) in request.headers.iter().filter(|(name, _)| headers::passes_out(name)) {
        asked = asked.header(name, value);
    }
    let body = Full::new(Bytes::copy_from_slice(&request.body.look()));
    let asked = asked.body(body).map_err(|error| failed(&error))?;
    debug_assert!(asked.headers().contains_key(HOST), "a site is asked by its name");
    let exchange = async {
        let (head, body) = sender.send_request(asked).await.map_err(lost)?.into_parts();
        let body = Limited::new(body, BODY_MOST).collect().await.map_err(|error| {
            let is_long = error.is::<http_body_util::LengthLimitError>();
            if is_long { failed(&"the answer is longer than 4 MiB") } else { Error::NetworkLost }
        })?;
        let body = Body::from(&*body.to_bytes());
        let headers = headers::heard(&head.headers);
        Ok(Response { headers, ..Response::new(head.status.as_u16(), body) })
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // What has been read of the answer may be all of it.
        _ = &mut connection => exchange.await,
    }
}

/// The settings of TLS, which are made when they are first needed. None inside where there can be none.
type Tls = Arc<OnceLock<Option<Arc<ClientConfig>>>>;

fn settings(outside: Outside) -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates((outside.trusted)());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    Some(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// Something that another try may not meet.
fn lost(_: impl std::fmt::Display) -> Error {
    Error::NetworkLost
}

/// Something that another try meets too.
fn failed(why: &dyn std::fmt::Display) -> Error {
    Error::app(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_an_address_with_or_without_its_port() {
        for (to, is_secure, expected) in [
            ("93.184.215.14", false, "93.184.215.14:80"),
            ("93.184.215.14", true, "93.184.215.14:443"),
            ("93.184.215.14:8080", true, "93.184.215.14:8080"),
            ("[2606:2800:220::1]", true, "[2606:2800:220::1]:443"),
            ("[2606:2800:220::1]:8443", false, "[2606:2800:220::1]:8443"),
        ] {
            assert_eq!(address(to, is_secure), Some(expected.parse().unwrap()), "{to}");
        }
        assert_eq!(address("dns", false), None);
    }
}
