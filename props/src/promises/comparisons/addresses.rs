//! Probes go to public addresses only.

use std::net::IpAddr;

use thunderhead_sim::Trace;

use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};

pub static PUBLIC: Promise = Promise::always(
    "no probe goes to a forbidden address",
    "no request, not even after a redirect, goes to an address or a name inside a network",
    public,
);

fn public(trace: &Trace) -> Result<(), Finding> {
    for (at, fact) in facts(trace) {
        let Fact::Fetched { to, request } = fact else { continue };
        if is_inside(to) {
            return Err(Finding::at(at, format!("{to} is asked for {}", request.path)));
        }
    }
    Ok(())
}

/// Whether a host is inside a network, as far as its name tells. Workers and clients have names
/// without dots, and are no addresses at all.
fn is_inside(host: &str) -> bool {
    let host = host.trim_start_matches('[').split(']').next().unwrap_or(host);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            let first = address.segments()[0];
            first & 0xe000 != 0x2000
        }
        Err(_) => [".internal", ".local", ".localhost"].iter().any(|zone| host.ends_with(zone)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::Story;

    #[test]
    fn a_request_to_the_inside_is_rejected_and_others_are_not() {
        for (host, inside) in [
            ("prod.example", false),
            ("web", false),
            ("8.8.8.8", false),
            ("[2606:4700::1]", false),
            ("169.254.169.254", true),
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("[::1]", true),
            ("[::ffff:a9fe:a9fe]", true),
            ("[64:ff9b::7f00:1]", true),
            ("metadata.google.internal", true),
        ] {
            let mut story = Story::default();
            story.fetched(host);
            assert_eq!(public(&story.trace()).is_err(), inside, "{host}");
        }
    }
}
