//! Names that no probe may be sent to on behalf of a client.

/// The longest label and the longest name that DNS has, in bytes.
const LABEL_MAX: usize = 63;
const NAME_MAX: usize = 253;

/// Zones that the public DNS does not have, and in which a network keeps names of its own.
const INSIDE: &[&str] = &[
    // By the registry of special-use domain names. `example` is in it too, and leads nowhere rather than inside.
    "alt",
    "arpa",
    "internal",
    "invalid",
    "local",
    "localhost",
    "onion",
    "test",
    // By the names that Linux distributions write into their table of hosts.
    "localdomain",
    "localdomain4",
    "localdomain6",
    "localhost4",
    "localhost6",
    // By the custom of offices and of routers at home.
    "corp",
    "domain",
    "fritz.box",
    "home",
    "intra",
    "intranet",
    "lan",
    "mail",
    "mshome.net",
    "private",
    "priv",
    "router",
    "workgroup",
    // By the custom of what runs services and finds them.
    "cluster",
    "consul",
    "docker",
    "kubernetes",
    "marathon",
    "mesos",
    "nomad",
    "pod",
    "rancher",
    "service",
    "svc",
    "weave",
];

/// Zones of the public DNS whose names resolve to an address inside: to the one that the name spells, or to loopback.
const RESOLVE_INSIDE: &[&str] = &[
    "backname.io",
    "fuf.me",
    "lacolhost.com",
    "localho.st",
    "localtest.me",
    "lvh.me",
    "nip.io",
    "rbndr.us",
    "sslip.io",
    "traefik.me",
    "vcap.me",
    "xip.io",
];

/// Why this name may not be probed, if it may not. It is lower-case ASCII, as a parsed URL has it.
///
/// What any other public name resolves to cannot be seen here: the code that connects must check it.
pub fn forbidden_name(name: &str) -> Option<&'static str> {
    // A trailing dot makes the same name absolute.
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.split('.').any(str::is_empty) {
        return Some("not a name");
    }
    if name.len() > NAME_MAX || name.split('.').any(|label| label.len() > LABEL_MAX) {
        return Some("longer than a name can be");
    }
    if !name.contains('.') {
        return Some("a name without a domain");
    }
    let within = |zones: &[&str]| {
        zones.iter().any(|zone| {
            name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    match () {
        () if within(INSIDE) => Some("a name inside a network"),
        () if within(RESOLVE_INSIDE) => Some("a name that resolves to an address inside"),
        () => None,
    }
}
