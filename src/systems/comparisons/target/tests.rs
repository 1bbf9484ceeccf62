//! Which URLs pass, in a table and by property.

mod allowed;
mod refused;

use std::net::Ipv4Addr;

use proptest::prelude::*;
use thunderhead_sim::SortedSet;

use self::allowed::ALLOWED;
use self::refused::REFUSED;
use super::*;

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
}

#[test]
fn no_url_is_in_a_table_twice() {
    let all: SortedSet<&str> =
        ALLOWED.iter().map(|(text, _)| *text).chain(REFUSED.iter().copied()).collect();
    assert_eq!(all.len(), ALLOWED.len() + REFUSED.len());
    assert!(
        ALLOWED.len() >= 100 && REFUSED.len() >= 300,
        "{} and {}",
        ALLOWED.len(),
        REFUSED.len()
    );
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
    assert_eq!(
        why("http://localhost6.localdomain6/"),
        "localhost6.localdomain6 is not public: a name inside a network"
    );
    let label = "a".repeat(64);
    assert_eq!(
        why(&format!("http://{label}.example/")),
        format!("{label}.example is not public: longer than a name can be")
    );
    assert!(
        why("http://a.example:6379/").starts_with("port 6379 is not one of the web's: [80, 443,")
    );
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
    fn nothing_passes_on_a_port_that_is_not_the_webs(port in any::<u16>()) {
        let parsed = Target::parse(&format!("https://example.com:{port}/"));
        prop_assert_eq!(parsed.is_ok(), PORTS.contains(&port));
    }

    #[test]
    fn nothing_passes_below_a_zone_inside_nor_by_a_redirect(
        below in "[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\\.[a-z][a-z0-9]{0,8}){0,3}",
        zone in prop::sample::select(vec!["local", "svc", "consul", "internal", "localdomain6", "nip.io", "home.arpa"]),
        dot in "\\.?",
    ) {
        let text = format!("http://{below}.{zone}{dot}/");
        prop_assert!(Target::parse(&text).is_err(), "{}", text);
        let here = Target::parse("https://example.com/").expect("public");
        prop_assert!(here.follow(&text).is_err(), "{}", text);
        prop_assert!(here.follow(&text[5..]).is_err(), "{}", text);
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
