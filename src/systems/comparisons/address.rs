//! Addresses that no probe may be sent to on behalf of a client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not the public internet: first address, prefix length, what it is.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this network"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "carrier-grade NAT"),
    ([127, 0, 0, 0], 8, "loopback"),
    // Azure answers its virtual machines here, in the middle of public space.
    ([168, 63, 129, 16], 32, "cloud metadata"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "protocol assignments"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 88, 99, 0], 24, "6to4 relay"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "benchmarking"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// The one block of IPv6 that is handed out for the public internet: 2000::/3.
const V6_GLOBAL: (u128, u32) = (0x2000 << 112, 3);

/// Blocks within it that are not, most of them because an IPv4 address hides inside.
const V6: &[(u128, u32, &str)] = &[
    (0x2001 << 112, 23, "protocol assignments and Teredo"),
    (0x2001_0db8 << 96, 32, "documentation"),
    (0x2002 << 112, 16, "6to4"),
    (0x3fff << 112, 20, "documentation"),
];

/// Why this address may not be probed, if it may not.
pub fn forbidden_address(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => forbidden_v4(address),
        IpAddr::V6(address) => forbidden_v6(address),
    }
}

fn forbidden_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let within = |(block, length, _): &&([u8; 4], u32, &str)| {
        bits >> (32 - length) == u32::from_be_bytes(*block) >> (32 - length)
    };
    V4.iter().find(within).map(|(_, _, what)| *what)
}

/// Only what is certainly public passes. So loopback, mapped and compatible IPv4, NAT64, unique
/// local, link-local and multicast need no entries of their own, nor do blocks yet to be assigned.
fn forbidden_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let within = |block: u128, length: u32| bits >> (128 - length) == block >> (128 - length);
    if !within(V6_GLOBAL.0, V6_GLOBAL.1) {
        return Some("not global unicast");
    }
    V6.iter().find(|(block, length, _)| within(*block, *length)).map(|(_, _, what)| *what)
}
