//! Which URLs pass, in a table and by property.

use proptest::prelude::*;

use super::*;

/// Every one of these is probed, and as this is what is asked for.
const ALLOWED: &[(&str, &str)] = &[
    ("https://example.com", "https://example.com/"),
    ("http://example.com/", "http://example.com/"),
    ("HTTPS://EXAMPLE.com/A?b=C", "https://example.com/A?b=C"),
    ("https://example.com:443/", "https://example.com/"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:8443/x", "https://example.com:8443/x"),
    ("https://example.com/#fragment", "https://example.com/"),
    ("https://example.com/a/../b", "https://example.com/b"),
    ("https://example.com\\a", "https://example.com/a"),
    (" https://example.com/ ", "https://example.com/"),
    ("https://exa\tmple.com/", "https://example.com/"),
    ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://example.com./", "https://example.com./"),
    ("https://localhost.example.com/", "https://localhost.example.com/"),
    ("https://notlocalhost.com/", "https://notlocalhost.com/"),
    ("https://internal.example.com/", "https://internal.example.com/"),
    ("https://127.0.0.1.example.com/", "https://127.0.0.1.example.com/"),
    ("https://8.8.8.8/", "https://8.8.8.8/"),
    ("https://134744072/", "https://8.8.8.8/"),
    ("https://0x08080808/", "https://8.8.8.8/"),
    ("https://1.1/", "https://1.0.0.1/"),
    ("https://9.255.255.255/", "https://9.255.255.255/"),
    ("https://11.0.0.0/", "https://11.0.0.0/"),
    ("https://100.63.255.255/", "https://100.63.255.255/"),
    ("https://100.128.0.0/", "https://100.128.0.0/"),
    ("https://126.255.255.255/", "https://126.255.255.255/"),
    ("https://128.0.0.1/", "https://128.0.0.1/"),
    ("https://168.63.129.17/", "https://168.63.129.17/"),
    ("https://169.253.255.255/", "https://169.253.255.255/"),
    ("https://172.15.255.255/", "https://172.15.255.255/"),
    ("https://172.32.0.0/", "https://172.32.0.0/"),
    ("https://192.167.255.255/", "https://192.167.255.255/"),
    ("https://192.169.0.0/", "https://192.169.0.0/"),
    ("https://198.17.255.255/", "https://198.17.255.255/"),
    ("https://198.20.0.0/", "https://198.20.0.0/"),
    ("https://223.255.255.255/", "https://223.255.255.255/"),
    ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
    ("https://[2001:4860:4860::8888]/", "https://[2001:4860:4860::8888]/"),
    ("https://[2a00:1450::1]:8080/", "https://[2a00:1450::1]:8080/"),
];

/// None of these is probed.
const REFUSED: &[&str] = &[
    // Not URLs.
    "",
    "example.com",
    "//example.com/",
    "https://",
    "https:///",
    "https://exa mple.com/",
    "https://example.com:99999/",
    "https://[::1/",
    "https://256.1.1.1/",
    "https://1.2.3.4.5/",
    "https://0x1ffffffff/",
    "https://a..b/",
    "https://.example.com/",
    // Other schemes.
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "data:text/html,hello",
    "javascript:alert(1)",
    "ws://example.com/",
    // Credentials.
    "https://user@example.com/",
    "https://user:secret@example.com/",
    "https://:secret@example.com/",
    "https://example.com@127.0.0.1/",
    // Loopback, by every spelling.
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://a.localhost/",
    "http://localhost.localdomain/",
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.255/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0x7f.0.0x0.01/",
    "http://127%2e0%2e0%2e1/",
    "http://127.0.0%2E1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://\t127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:/127.0.0.1/",
    "http:127.0.0.1",
    "http://0/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    // Private, link-local, carrier-grade, metadata.
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://167772161/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://100.127.255.255/",
    "http://168.63.129.16/",
    "http://169.254.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.0.0.192/",
    "http://192.168.0.1/",
    "http://192.168.257/",
    // Nobody's.
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    // IPv4 inside IPv6.
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::FFFF:169.254.169.254]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::127.0.0.1]/",
    "http://[::a9fe:a9fe]/",
    "http://[::ffff:0:10.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::]/",
    // The rest of IPv6.
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fd12:3456:789a::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[2001:10::1]/",
    "http://[3fff::1]/",
    "http://[4000::1]/",
    "http://[fe80::1%25eth0]/",
    // Names of a network's own.
    "http://intranet/",
    "http://web/",
    "http://metadata.google.internal/",
    "http://metadata.google.internal./",
    "http://printer.local/",
    "http://router.lan/",
    "http://git.corp/",
    "http://nas.home/",
    "http://nas.home.arpa/",
    "http://a.onion/",
    "http://a.invalid/",
];

#[test]
fn what_is_public_is_probed_in_its_one_spelling() {
    for (text, normal) in ALLOWED {
        let target = Target::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(target.as_str(), *normal, "{text}");
        assert_eq!(Target::parse(normal).as_ref(), Ok(&target), "{text}: the spelling is stable");
    }
}

#[test]
fn what_is_not_public_is_refused() {
    for text in REFUSED {
        let parsed = Target::parse(text);
        assert!(parsed.is_err(), "{text} leads to {}", parsed.expect("it is not refused"));
    }
    assert!(ALLOWED.len() + REFUSED.len() >= 150);
}

#[test]
fn a_redirect_is_refused_like_a_request() {
    let here = Target::parse("https://example.com/a/b").expect("public");
    for text in REFUSED {
        // What is no URL of its own can be a path, and then it stays where it is.
        match here.follow(text) {
            Ok(target) => assert_eq!(target.host(), "example.com", "{text}"),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
    for to in ["//169.254.169.254/", "http://localhost/", "https:\\\\[::1]\\", "ftp://example.com"]
    {
        assert!(here.follow(to).is_err(), "{to}");
    }
    for (to, url) in [
        ("c", "https://example.com/a/c"),
        ("/c?d", "https://example.com/c?d"),
        ("//other.example/", "https://other.example/"),
        ("http://other.example", "http://other.example/"),
        ("?q", "https://example.com/a/b?q"),
    ] {
        assert_eq!(here.follow(to).expect("public").as_str(), url);
    }
}

#[test]
fn a_refusal_says_why() {
    let why = |text: &str| Target::parse(text).expect_err("refused").to_string();
    assert_eq!(why("http://0x7f.1/"), "127.0.0.1 is not public: loopback");
    assert_eq!(why("http://[::ffff:a00:1]/"), "::ffff:10.0.0.1 is not public: not global unicast");
    assert_eq!(why("http://a.local/"), "a.local is not public: a name inside a network");
    assert_eq!(why("ftp://a.example/"), "http and https are probed, not ftp");
    assert_eq!(
        why(&format!("https://a.example/{}", "a".repeat(3_000))),
        Refused::TooLong.to_string()
    );
}

#[test]
fn host_and_path_are_what_a_connection_needs() {
    let target = Target::parse("http://example.com:8080/a?b#c").expect("public");
    assert_eq!((&*target.host(), &*target.path_and_query()), ("example.com:8080", "/a?b"));
    assert!(!target.is_secure());
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The ways to write one IPv4 address that URL parsers understand.
fn spellings(address: u32) -> Vec<String> {
    let [a, b, c, d] = address.to_be_bytes();
    let low16 = u16::from_be_bytes([c, d]);
    let low24 = address & 0xff_ffff;
    vec![
        format!("http://{a}.{b}.{c}.{d}/"),
        format!("http://{a}.{b}.{c}.{d}./"),
        format!("http://{a}.{b}.{low16}/"),
        format!("http://{a}.{low24}/"),
        format!("http://{address}/"),
        format!("http://{address:#x}/"),
        format!("http://0{address:o}/"),
        format!("http://{a:#x}.{b:#o}.{c}.{d:#x}/").replace("0o", "0"),
        format!("http://{a}%2E{b}%2e{c}.{d}/"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_address_is_judged_alike_in_every_spelling(address in any::<u32>()) {
        let verdicts: Vec<bool> =
            spellings(address).iter().map(|text| Target::parse(text).is_ok()).collect();
        prop_assert!(verdicts.iter().all(|ok| *ok == verdicts[0]), "{:?}", spellings(address));
    }

    #[test]
    fn nothing_private_passes_in_any_spelling(
        low in any::<u32>(),
        (block, length) in prop::sample::select(vec![
            ([10u8, 0, 0, 0], 8u32), ([127, 0, 0, 0], 8), ([169, 254, 0, 0], 16),
            ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([100, 64, 0, 0], 10),
            ([0, 0, 0, 0], 8), ([224, 0, 0, 0], 4), ([240, 0, 0, 0], 4),
        ]),
    ) {
        let address = u32::from_be_bytes(block) | (low & (u32::MAX >> length));
        for text in spellings(address) {
            prop_assert!(Target::parse(&text).is_err(), "{}", text);
        }
        let v4 = Ipv4Addr::from(address);
        for v6 in [v4.to_ipv6_mapped(), v4.to_ipv6_compatible()] {
            prop_assert!(Target::parse(&format!("http://[{v6}]/")).is_err(), "{}", v6);
        }
    }

    #[test]
    fn a_text_that_passes_leads_to_a_public_host_and_passes_again(text in "(https?:)?[/\\\\]{0,3}[a-z0-9.@:%\\[\\]_-]{0,24}/?.{0,8}") {
        if let Ok(target) = Target::parse(&text) {
            let again = Target::parse(target.as_str());
            prop_assert_eq!(again.as_ref(), Ok(&target));
            let host = target.0.host().expect("checked");
            match host {
                Host::Domain(name) => prop_assert!(name.trim_end_matches('.').contains('.')),
                Host::Ipv4(v4) => prop_assert!(!v4.is_private() && !v4.is_loopback()),
                Host::Ipv6(v6) => prop_assert!(v6.segments()[0] & 0xe000 == 0x2000),
            }
        }
    }
}

use std::net::Ipv4Addr;
