//! A connection that is made anew when it has died.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::settings::Settings;
use super::{chain, schema, tls};
use crate::error::Error;

/// How long the request to cancel a statement may take; nobody waits for it.
const CANCELLING: Duration = Duration::from_secs(5);

/// Connects, and drives the connection in the background for as long as the client is kept.
pub async fn connect(settings: &Settings) -> Result<Client, Error> {
    let tls = tls::connector(&settings.encryption)?;
    Ok(open(settings, tls).await?.0)
}

/// Connects with what has been read from the settings before.
async fn open(
    settings: &Settings,
    tls: Option<MakeRustlsConnect>,
) -> Result<(Client, AbortHandle), Error> {
    let mut config = settings.config.clone();
    // Whoever is waiting for an answer is told of the error that ends the connection.
    let connecting = async {
        match tls {
            None => {
                let (client, connection) = config.ssl_mode(SslMode::Disable).connect(NoTls).await?;
                Ok((client, tokio::spawn(async move { drop(connection.await) })))
            }
            Some(tls) => {
                let (client, connection) = config.ssl_mode(SslMode::Require).connect(tls).await?;
                Ok((client, tokio::spawn(async move { drop(connection.await) })))
            }
        }
    };
    match timeout(settings.connect_timeout, connecting).await {
        Err(_) => {
            let limit = settings.connect_timeout;
            Err(Error::Unavailable(format!("no connection within {limit:?}")))
        }
        Ok(Err(error)) => Err(not_connected(error)),
        Ok(Ok((client, driver))) => Ok((client, driver.abort_handle())),
    }
}

/// A refusal of TLS is lasting; a connection that is cut in the handshake is not.
fn not_connected(error: tokio_postgres::Error) -> Error {
    let text = chain(&error);
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let of_tls = cause
            .downcast_ref::<std::io::Error>()
            .and_then(|error| error.get_ref())
            .is_some_and(|inner| inner.is::<rustls::Error>());
        if of_tls || cause.to_string() == "server does not support TLS" {
            return Error::Tls(text);
        }
        source = cause.source();
    }
    super::failed(error)
}

/// The connection of a store, at most one at a time.
pub struct Session {
    settings: Settings,
    tls: Option<MakeRustlsConnect>,
    state: Mutex<State>,
}

/// What is known about the connection.
#[derive(Default)]
struct State {
    live: Option<Arc<Live>>,
    /// How many connections in a row could not be made.
    failures: u32,
    /// Before this moment none is tried again.
    not_before: Option<Instant>,
}

/// A connection, closed with this value even when nobody answers.
struct Live {
    client: Client,
    driver: AbortHandle,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects, and brings the schema up to date.
    pub async fn new(settings: Settings) -> Result<Session, Error> {
        let tls = tls::connector(&settings.encryption)?;
        let (mut client, driver) = open(&settings, tls.clone()).await?;
        schema::migrate(&mut client).await?;
        let live = Some(Arc::new(Live { client, driver }));
        let state = Mutex::new(State { live, ..State::default() });
        Ok(Session { settings, tls, state })
    }

    /// What the session was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Does something on the connection, made anew if it has died. What was under way when it died, or takes too
    /// long, is not done again: only the caller knows whether that is right.
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Result<T, tokio_postgres::Error>, Error> {
        let live = self.live().await?;
        let limit = self.settings.statement_timeout;
        match timeout(limit, work(&live.client)).await {
            Ok(answer) => Ok(answer),
            Err(_) => {
                self.give_up(&live).await;
                Err(Error::Unavailable(format!("no answer within {limit:?}")))
            }
        }
    }

    /// The connection; after failures, not before their pause is over.
    async fn live(&self) -> Result<Arc<Live>, Error> {
        let mut state = self.state.lock().await;
        if let Some(live) = state.live.as_ref().filter(|live| !live.client.is_closed()) {
            return Ok(Arc::clone(live));
        }
        state.live = None;
        if let Some(moment) = state.not_before {
            sleep_until(moment).await;
        }
        match self.renew().await {
            Ok(live) => {
                *state = State { live: Some(Arc::clone(&live)), ..State::default() };
                Ok(live)
            }
            Err(error) => {
                state.failures = state.failures.saturating_add(1);
                state.not_before = Some(Instant::now() + self.settings.pause(state.failures));
                Err(error)
            }
        }
    }

    /// Another may have migrated the database while there was no connection.
    async fn renew(&self) -> Result<Arc<Live>, Error> {
        let (client, driver) = open(&self.settings, self.tls.clone()).await?;
        let live = Live { client, driver };
        let checked = timeout(self.settings.statement_timeout, schema::check(&live.client)).await;
        checked.map_err(|_| Error::Unavailable("no answer to the first question".to_owned()))??;
        Ok(Arc::new(live))
    }

    /// Ends a connection that does not answer, and asks the server to stop what it is doing for it.
    async fn give_up(&self, silent: &Arc<Live>) {
        let mut state = self.state.lock().await;
        if state.live.as_ref().is_some_and(|live| Arc::ptr_eq(live, silent)) {
            state.live = None;
        }
        let (token, tls) = (silent.client.cancel_token(), self.tls.clone());
        silent.driver.abort();
        tokio::spawn(timeout(CANCELLING, async move {
            // Without an answer there is nobody to tell.
            match tls {
                None => drop(token.cancel_query(NoTls).await),
                Some(tls) => drop(token.cancel_query(tls).await),
            }
        }));
    }
}
