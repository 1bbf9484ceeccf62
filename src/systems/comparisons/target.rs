//! A URL that may be probed. There is no other way to one than through the checks, so that what is
//! fetched, at first or after a redirect, has passed them.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::address::forbidden_address;
use super::zone::forbidden_name;

/// The longest URL that is looked at.
const LENGTH_MAX: usize = 2_048;

/// The ports that are probed: those of the web, which are the ones that Cloudflare passes on. Behind any other there
/// may be something that takes a request for a command.
const PORTS: [u16; 13] =
    [80, 443, 2052, 2053, 2082, 2083, 2086, 2087, 2095, 2096, 8080, 8443, 8880];

/// A URL of the public web, in the one spelling that the URL standard gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(Url);

/// Why a URL is not probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is longer than any real address.
    TooLong,
    /// It is not a URL, for this reason.
    Malformed(url::ParseError),
    /// It is of another scheme than http and https.
    Scheme(String),
    /// It carries a name or a password.
    Credentials,
    /// It goes to a port that is not one of the web's.
    Port(u16),
    /// It goes to an address that is not public.
    Address(IpAddr, &'static str),
    /// It goes to a name that is not public.
    Name(String, &'static str),
}

impl Target {
    /// Reads a URL and checks where it leads.
    ///
    /// The parser is that of the URL standard: it removes tabs and line ends, turns `\` into `/`,
    /// and reads `0x7f.1`, `2130706433` and full-width digits as the address that they are.
    pub fn parse(text: &str) -> Result<Target, Refused> {
        if text.len() > LENGTH_MAX {
            return Err(Refused::TooLong);
        }
        Target::check(Url::parse(text).map_err(Refused::Malformed)?)
    }

    /// Where a redirect from here leads, checked as if it had been asked for.
    pub fn follow(&self, location: &str) -> Result<Target, Refused> {
        if location.len() > LENGTH_MAX {
            return Err(Refused::TooLong);
        }
        Target::check(self.0.join(location).map_err(Refused::Malformed)?)
    }

    /// Where a redirect leads for a mistake that does not check it.
    pub(super) fn follow_unchecked(&self, location: &str) -> Result<Target, Refused> {
        self.0.join(location).map(Target).map_err(Refused::Malformed)
    }

    fn check(mut url: Url) -> Result<Target, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(url.scheme().into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        if let Some(port) = url.port().filter(|port| !PORTS.contains(port)) {
            return Err(Refused::Port(port));
        }
        match url.host() {
            None => return Err(Refused::Malformed(url::ParseError::EmptyHost)),
            Some(Host::Domain(name)) => {
                if let Some(why) = forbidden_name(name) {
                    return Err(Refused::Name(name.into(), why));
                }
            }
            Some(Host::Ipv4(address)) => public(address.into())?,
            Some(Host::Ipv6(address)) => public(address.into())?,
        }
        // It is never sent, so two URLs that differ in it alone are one.
        url.set_fragment(None);
        // The standard's spelling may be longer than what was asked for.
        if url.as_str().len() > LENGTH_MAX {
            return Err(Refused::TooLong);
        }
        Ok(Target(url))
    }

    /// The URL in its one spelling.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whom to ask: the host, and the port when it is not the scheme's own.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.into(),
        }
    }

    /// The address that it names, if it names one.
    pub fn address(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        }
    }

    /// The name that it has in place of an address.
    pub fn domain(&self) -> &str {
        self.0.domain().unwrap_or_default()
    }

    /// The other end of a connection to this address.
    pub fn peer(&self, address: IpAddr) -> String {
        let host = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// What to ask there for.
    pub fn path_and_query(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().into(),
        }
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }
}

/// Whether a connection may go to this address.
pub fn public(address: IpAddr) -> Result<(), Refused> {
    match forbidden_address(address) {
        Some(why) => Err(Refused::Address(address, why)),
        None => Ok(()),
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::TooLong => write!(f, "a URL has at most {LENGTH_MAX} bytes"),
            Refused::Malformed(error) => write!(f, "not a URL: {error}"),
            Refused::Scheme(scheme) => write!(f, "http and https are probed, not {scheme}"),
            Refused::Credentials => f.write_str("a URL with a name or a password is not probed"),
            Refused::Port(port) => write!(f, "port {port} is not one of the web's: {PORTS:?}"),
            Refused::Address(address, why) => write!(f, "{address} is not public: {why}"),
            Refused::Name(name, why) => write!(f, "{name} is not public: {why}"),
        }
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests;
