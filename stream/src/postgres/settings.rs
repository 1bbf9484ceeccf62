//! How to reach a server: where it is, how safely, and how patiently.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::words;
use crate::error::Error;

/// Where a server is and as whom to come, and everything that the client of the server does not know by itself.
///
/// It is read from the text that every program for PostgreSQL takes:
///
/// ```
/// use thunderhead_stream::postgres::{Encryption, Settings};
///
/// let text = "postgres://app@db.example/streams?sslmode=verify-full&sslrootcert=/etc/ssl/db.pem";
/// let settings: Settings = text.parse()?;
/// assert_eq!(settings.encryption, Encryption::VerifyFull("/etc/ssl/db.pem".into()));
///
/// // A connection that falls back to plain text by itself is refused.
/// assert!("host=db.example user=app sslmode=prefer".parse::<Settings>().is_err());
/// assert!("host=db.example user=app".parse::<Settings>().is_err());
/// # Ok::<(), thunderhead_stream::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where, and as whom. Its own setting for TLS is not looked at.
    pub config: Config,
    /// How safely.
    pub encryption: Encryption,
    /// Whose clock leases and pauses are measured by.
    pub clock: Clock,
    /// How long connecting may take, the handshakes included.
    pub connect_timeout: Duration,
    /// How long an answer may take. After that the connection is given up and the statement cancelled.
    pub statement_timeout: Duration,
    /// The pause after a connection that could not be made; it doubles.
    pub first_pause: Duration,
    /// The longest such pause.
    pub longest_pause: Duration,
}

/// Who may listen, and who may pretend to be the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Plain text: for a socket of this machine, and where it was asked for.
    None,
    /// Nobody can listen, but the server may be anyone.
    Unverified,
    /// The server's certificate is signed by one of those in the file.
    VerifyAuthority(PathBuf),
    /// It is, and it is for the host that was asked for.
    VerifyFull(PathBuf),
}

/// Whose clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The server's, of which there is one. What callers say is ignored, so their clocks may differ.
    Database,
    /// The caller's, as the contract has it: for tests that choose their times.
    Caller,
}

impl Settings {
    /// Settings for what has been decided already, with the usual patience.
    pub fn new(config: Config, encryption: Encryption) -> Settings {
        Settings {
            config,
            encryption,
            clock: Clock::Database,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(10),
        }
    }

    /// The pause after so many connections in a row could not be made.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first_pause.saturating_mul(factor).min(self.longest_pause)
    }
}

impl FromStr for Settings {
    type Err = Error;

    fn from_str(text: &str) -> Result<Settings, Error> {
        let invalid = |why: String| Error::Invalid(format!("a connection string: {why}"));
        let (rest, taken) = words::take(text, ["sslmode", "sslrootcert"]).map_err(invalid)?;
        let config: Config = rest.parse().map_err(|error| invalid(super::chain(&error)))?;
        let [mode, root] = taken;
        let encryption = encryption(&config, mode.as_deref(), root.map(PathBuf::from))?;
        let mut settings = Settings::new(config, encryption);
        if let Some(timeout) = settings.config.get_connect_timeout() {
            settings.connect_timeout = *timeout;
        }
        Ok(settings)
    }
}

const CHOICES: &str = "say sslmode=verify-full with sslrootcert=FILE, sslmode=require for a server that nobody \
                       has to vouch for, or sslmode=disable for plain text";

fn encryption(
    config: &Config,
    mode: Option<&str>,
    root: Option<PathBuf>,
) -> Result<Encryption, Error> {
    let is_local = config.get_hostaddrs().is_empty()
        && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    let refused = |why: &str| Err(Error::Tls(format!("{why}: {CHOICES}")));
    match (mode, root) {
        (None | Some("disable"), None) if is_local => Ok(Encryption::None),
        (Some("disable"), None) => Ok(Encryption::None),
        (Some("disable"), Some(_)) => refused("sslmode=disable has no use for sslrootcert"),
        (None, _) => refused("the server is not on this machine, and there is no sslmode"),
        (Some("allow" | "prefer"), _) => {
            refused("sslmode=allow and sslmode=prefer fall back to plain text and do not say so")
        }
        (Some(_), _) if is_local => {
            let why = "PostgreSQL has no TLS on a unix socket: name the host, or leave out sslmode";
            Err(Error::Tls(why.to_owned()))
        }
        (Some("require"), None) => Ok(Encryption::Unverified),
        (Some("require" | "verify-ca"), Some(root)) => Ok(Encryption::VerifyAuthority(root)),
        (Some("verify-full"), Some(root)) => Ok(Encryption::VerifyFull(root)),
        (Some("verify-ca" | "verify-full"), None) => {
            refused("without sslrootcert nobody can be verified")
        }
        (Some(other), _) => refused(&format!("there is no sslmode={other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encryption(text: &str) -> Result<Encryption, String> {
        text.parse::<Settings>().map(|settings| settings.encryption).map_err(|it| it.to_string())
    }

    #[test]
    fn what_is_safe_is_taken_as_it_is_said() {
        for (text, expected) in [
            ("host=/tmp user=a", Encryption::None),
            ("host=h user=a sslmode=disable", Encryption::None),
            ("host=h user=a sslmode=require", Encryption::Unverified),
            (
                "host=h sslmode = 'require' sslrootcert='/a b\\'c'",
                Encryption::VerifyAuthority("/a b'c".into()),
            ),
            ("sslmode=verify-ca sslrootcert=r host=h", Encryption::VerifyAuthority("r".into())),
            (
                "postgresql://h?sslrootcert=%2Fr%20s&sslmode=verify-full&application_name=x",
                Encryption::VerifyFull("/r s".into()),
            ),
        ] {
            assert_eq!(encryption(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_could_end_in_plain_text_unasked_is_refused_and_says_what_to_do() {
        for text in [
            "host=h user=a",
            "postgres://h",
            "host=/tmp,h",
            "host=/tmp hostaddr=127.0.0.1",
            "host=h sslmode=prefer",
            "host=h sslmode=allow",
            "host=h sslmode=verify-full",
            "host=h sslmode=verify-ca",
            "host=h sslmode=disable sslrootcert=r",
            "host=h sslmode=Require",
            "postgres://h?sslmode=prefer",
        ] {
            let error = encryption(text).unwrap_err();
            assert!(error.contains("say sslmode=verify-full"), "{text}: {error}");
        }
        assert!(encryption("host=/tmp sslmode=require").unwrap_err().contains("unix socket"));
    }

    #[test]
    fn what_is_no_connection_string_is_refused() {
        for text in ["host", "host='h", "host=h port=x", "postgres://h?sslmode=%", "nonsense=1"] {
            let error = encryption(text).unwrap_err();
            assert!(error.contains("a connection string"), "{text}: {error}");
        }
    }

    #[test]
    fn a_pause_doubles_up_to_the_longest() {
        let settings = Settings::new(Config::new(), Encryption::None);
        let pauses = [1, 2, 3, 7, 8, 1_000].map(|failures| settings.pause(failures).as_millis());
        assert_eq!(pauses, [100, 200, 400, 6_400, 10_000, 10_000]);
    }
}
