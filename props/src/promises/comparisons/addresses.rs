//! Probes go to public addresses only, and not on and on.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::Value;
use thunderhead_sim::Trace;

use super::facts::{Fact, facts, probe, rows};
use crate::promise::{Finding, Promise};

pub static PUBLIC: Promise = Promise::always(
    "no probe goes to a forbidden address",
    "no request, not even after a redirect or by a public name, goes to an address or a name inside a network",
    public,
);

pub static FEW: Promise = Promise::always(
    "a probe follows few redirects",
    "no probe that is saved has followed more than five redirects",
    few,
);

/// How many redirects a probe may follow.
const REDIRECTS_MAX: usize = 5;

fn few(trace: &Trace) -> Result<(), Finding> {
    for (at, _, changes) in rows(trace) {
        for (_, saved) in changes.iter().filter_map(probe) {
            let Some(saved) = saved else { continue };
            let envelope: Value = serde_json::from_str(saved.envelope).unwrap_or_default();
            let followed = envelope["redirects"].as_array().map_or(0, Vec::len);
            if followed > REDIRECTS_MAX {
                let (side, of) = (saved.side, saved.comparison);
                let message = format!("the {side} probe of {of} has followed {followed} redirects");
                return Err(Finding::at(at, message));
            }
        }
    }
    Ok(())
}

fn public(trace: &Trace) -> Result<(), Finding> {
    for (at, fact) in facts(trace) {
        let Fact::Fetched { to, request } = fact else { continue };
        if is_inside(to) {
            return Err(Finding::at(at, format!("{to} is asked for {}", request.path)));
        }
    }
    Ok(())
}

/// Blocks of IPv4 that are not the public internet, by the registry of special-purpose addresses. The list is the
/// promise's own: taken from the application, it would excuse what the application forgets.
const INSIDE: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Zones of names that mean something only inside a network: those of the registry of special-use domains that can lead
/// inside, and those that hosts and schedulers of containers have by custom.
const ZONES: [&str; 15] = [
    "alt",
    "arpa",
    "consul",
    "corp",
    "home",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localdomain4",
    "localdomain6",
    "localhost",
    "svc",
    "test",
];

/// Whether a host is inside a network, as far as its name tells. Workers and clients have names
/// without dots, and are no addresses at all.
fn is_inside(host: &str) -> bool {
    let name = without_port(host);
    match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            let within = |(block, length): &(Ipv4Addr, u32)| {
                address.to_bits() >> (32 - length) == block.to_bits() >> (32 - length)
            };
            INSIDE.iter().any(within)
        }
        Ok(IpAddr::V6(address)) => {
            // Outside of 2000::/3 nothing is public. Inside it, Teredo and 6to4 carry an IPv4 address.
            let [first, second, ..] = address.segments();
            first & 0xe000 != 0x2000
                || first == 0x2002
                || first == 0x2001 && (second < 0x200 || second == 0xdb8)
                || first == 0x3fff && second < 0x1000
        }
        Err(_) => {
            let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            let inside = |zone: &&str| {
                name.strip_suffix(*zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            ZONES.iter().any(inside)
        }
    }
}

/// The host alone, of one that may have a port and brackets.
fn without_port(host: &str) -> &str {
    if let Some(address) = host.strip_prefix('[') {
        return address.split(']').next().unwrap_or(address);
    }
    match host.split_once(':') {
        // Two colons are an address of IPv6 without brackets.
        Some((name, port)) if !port.contains(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn a_probe_that_has_gone_on_and_on_is_rejected() {
        let after = |redirects: usize| {
            let envelope = serde_json::json!({ "redirects": vec!["/"; redirects] }).to_string();
            let mut story = Story::default();
            story.created(&[1]).turn(|turn| turn.probe_with(1, "left", 5, &envelope));
            few(&story.trace())
        };
        assert_eq!(after(5), Ok(()));
        let message = format!("the left probe of {} has followed 6 redirects", id(1));
        assert_eq!(after(6), Err(Finding::at(1, message)));
    }

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
            ("8.8.8.8:8080", false),
            ("prod.example:8443", false),
            ("127.0.0.1:8080", true),
            ("[::1]:443", true),
            ("::1", true),
            ("router.local:80", true),
            ("localhost", true),
            ("localhost6.localdomain6", true),
            ("kubernetes.default.svc", true),
            ("web.service.consul:8080", true),
            ("svc.example", false),
            ("notlocalhost.example", false),
            ("100.64.0.1", true),
            ("100.128.0.1", false),
            ("192.0.2.7", true),
            ("198.19.255.1", true),
            ("224.0.0.1", true),
            ("255.255.255.255", true),
            ("[2002:7f00:1::]", true),
            ("[2001::1]", true),
            ("[2001:db8::1]", true),
        ] {
            let mut story = Story::default();
            story.fetched(host);
            assert_eq!(public(&story.trace()).is_err(), inside, "{host}");
        }
    }
}
