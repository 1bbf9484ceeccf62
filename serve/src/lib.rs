//! Runs a system for real: the engine that the simulator plays it on, driven by the wall clock, with a disk and a
//! network.
//!
//! Three threads work together. The *edge* speaks HTTP with clients and gives their requests to the *cell*. The cell
//! drives a [`Machine`](thunderhead_sim::Machine) in ticks: it takes what has come in, lets everything happen that is
//! due, and hands the changes and the answers of the tick to the *journal*. The journal writes the changes in one
//! transaction and then lets the answers go. Whatever a client has been told is on disk, and after a crash the state
//! is that of some moment between two ticks, with every host dead. Further threads classify pictures (`classifiers`),
//! and one sends requests to hosts outside (`outbound`).
//!
//! | file | what is in it |
//! |---|---|
//! | `data.rs` | the directory: lock, version, tables, what is refused |
//! | `cell.rs` | what drives the engine |
//! | `classifiers.rs`, `outbound.rs` | the threads that classify pictures, the one that sends requests to hosts outside |
//! | `journal.rs` | what writes |
//! | `files.rs`, `backing_store.rs` | large bodies in files of their own; what the engine reads back |
//! | `environment.rs` | the clock and the randomness, or those of a simulation |
//! | `edge.rs`, `request_checks.rs`, `headers.rs` | HTTP, what is refused there, which headers pass |
//! | `request_bodies.rs`, `response_bodies.rs` | bodies as they come and go, piece by piece |
//! | `idle_timeout.rs` | clients who take nothing of what they are sent |
//! | `session.rs` | who asks |
//! | `changes.rs`, `socket.rs` | what pages hear, and what they say to an object |
//! | `site.rs` | the page of each system |
//! | `history.rs` | what happened to one upload, as a page |
//! | `judge.rs` | holds a recorded history to the promises |

mod backing_store;
mod cell;
mod changes;
mod classifiers;
mod data;
mod edge;
mod environment;
mod files;
mod headers;
mod history;
mod idle_timeout;
mod journal;
mod judge;
mod log;
mod metrics;
mod outbound;
mod request_bodies;
mod request_checks;
mod response_bodies;
mod session;
mod site;
mod socket;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use thunderhead_props::{System, Variant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

pub use data::{Data, DataError, Identity, Report};
pub use environment::Environment;
pub use judge::{Judged, judge};
pub use outbound::Outside;
pub use session::User;

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// The system.
    pub system: System,
    /// Which of its implementations.
    pub variant: Variant,
    /// The data directory, which is created if there is none.
    pub data: PathBuf,
    /// The address to listen on. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The session of every request, instead of signing in; on a loopback address only.
    pub user: Option<User>,
    /// Whether the history is written, for [`judge`].
    pub tells: bool,
    /// How hosts outside are found and reached.
    pub outside: Outside,
    /// When a transaction is committed.
    pub commits: Commits,
    /// A deliberate mistake, with which a test shows that it would be found.
    pub mistake: Option<Mistake>,
    /// Where a test wants the server to stand still, in order to kill it there.
    pub halt: Option<Halt>,
}

/// A place at which nothing is written any more.
#[derive(Clone, Copy, Debug)]
pub struct Halt {
    /// The kind of row that the transaction has.
    pub kind: &'static str,
    /// Where in the writing of that transaction it is.
    pub when: When,
    /// Is called there.
    pub told: fn(),
}

/// Before something, in the middle of it, or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before.
    Before,
    /// When the files are written that the transaction refers to, and it is not.
    Between,
    /// After.
    After,
}

/// When a transaction is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commits {
    /// After each tick; ticks that wait share one.
    #[default]
    Together,
    /// After each event of the engine, so that a crash can fall between any two. It is slow, and for tests.
    EachEvent,
}

/// A deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Answers leave before what they depend on is on disk.
    AnswersEarly,
    /// The notification of a put is written in another transaction than the put.
    NotifiesLater,
    /// A delivery that a restart has cut off counts as an attempt.
    LeaseCounts,
}

/// How a server comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// What clients have asked for is answered, and the rest goes on after the next start.
    Soon,
    /// All work is done first. What waits for a time is not waited for: the clock of the machine is put forward.
    AtRest,
}

/// Why a system cannot be served, or not any longer.
#[derive(Debug)]
pub enum ServeError {
    /// Something is wrong with the data directory.
    Data(DataError),
    /// The address cannot be listened on.
    Listen(SocketAddr, std::io::Error),
    /// `--user` was given for an address that others can reach.
    UserIsPublic(SocketAddr),
    /// What was changed could not be written. Nothing that was not written has been answered.
    Unwritten(String),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Data(error) => error.fmt(f),
            ServeError::Listen(address, error) => {
                write!(f, "cannot listen on {address}: {error}; choose another with --listen")
            }
            ServeError::UserIsPublic(address) => write!(
                f,
                "--user gives everybody who can reach the server that session, and {address} is not a loopback \
                 address; leave --user out, so that one has to sign in"
            ),
            ServeError::Unwritten(why) => write!(
                f,
                "the data directory cannot be written: {why}; nothing that was not written has been answered, so \
                 make room or repair the disk and start again"
            ),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<DataError> for ServeError {
    fn from(error: DataError) -> ServeError {
        ServeError::Data(error)
    }
}

/// Serves a system until `stop` says how to end. `ready` is told the address when requests are taken.
pub fn serve(
    config: Config,
    stop: impl Future<Output = Stop>,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let data = open(&config)?;
    let unheard = |error| ServeError::Listen(config.listen, error);
    let listener = std::net::TcpListener::bind(config.listen).map_err(unheard)?;
    let sessions = session::Sessions::new(&data, config.user.clone());
    let metrics = Arc::new(metrics::Metrics::default());
    let (changed, changes) = watch::channel(0);
    let cell = cell::Cell::start(&config, data, metrics.clone(), changed)?;
    let environment = Environment::REAL;
    let edge = edge::Edge::new(&config, sessions, metrics, cell.inputs(), environment, changes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(unheard)?;
    let address = listener.local_addr().map_err(unheard)?;
    let sign_in = config.user.is_none().then(|| edge.sign_in_key());
    listener.set_nonblocking(true).map_err(unheard)?;
    let stop = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready(&Ready { address, sign_in });
        let accept = async move || {
            let (stream, _) = listener.accept().await?;
            // An answer is often one small packet, which must not wait for another.
            drop(stream.set_nodelay(true));
            Ok(stream)
        };
        Ok(edge.run(accept, stop, cell.failed()).await)
    });
    cell.end(stop.map_err(unheard)?)
}

/// Serves as [`serve`] does, without threads: on the runtime that polls this, with the connections that `accept` gives,
/// for a test in which network and clock are simulated. Dropping it is a crash.
pub async fn serve_simulated<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    config: Config,
    environment: Environment,
    accept: impl AsyncFn() -> std::io::Result<S>,
    stop: impl Future<Output = Stop>,
) -> Result<(), ServeError> {
    let data = open(&config)?;
    let sessions = session::Sessions::new(&data, config.user.clone());
    let metrics = Arc::new(metrics::Metrics::default());
    let (changed, changes) = watch::channel(0);
    let (inputs, taken) = cell::channel();
    let edge =
        edge::Edge::new(&config, sessions, metrics.clone(), inputs.clone(), environment, changes);
    let node = cell::Node::new(config, environment, None, data, metrics, changed)?;
    let (failing, failed) = watch::channel(false);
    let edge = async move {
        let stop = edge.run(accept, stop, failed).await;
        // A cell that has failed says why.
        drop(inputs.send(cell::Input::Stop(stop)).await);
    };
    let cell = async move {
        let ended = node.in_one_task(taken).await;
        failing.send_replace(true);
        ended
    };
    tokio::join!(edge, cell).1
}

/// Opens the directory of what may be served.
fn open(config: &Config) -> Result<Data, ServeError> {
    if config.user.is_some() && !config.listen.ip().is_loopback() {
        return Err(ServeError::UserIsPublic(config.listen));
    }
    let identity = Identity {
        system: config.system.name.to_string(),
        variant: config.variant.name.to_string(),
    };
    Ok(Data::open(&config.data, &identity)?)
}

/// A server that takes requests.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where it listens.
    pub address: SocketAddr,
    /// What one signs in with; none when every request has the same session.
    pub sign_in: Option<String>,
}

/// Ends a server when the process is told to end: by Ctrl-C, or by `SIGTERM`.
pub async fn signals() -> Stop {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        drop(tokio::signal::ctrl_c().await);
        return Stop::Soon;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    Stop::Soon
}
