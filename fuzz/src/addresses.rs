//! The addresses that `comparisons` is asked to probe, and those that it is redirected to.

use thunderhead::systems::Target;

use crate::{Input, mutation, scripts};

/// URLs from outside.
pub const ADDRESSES: Input = Input {
    name: "addresses",
    about: "URLs that are to be probed; of two lines, the second is a redirect",
    examples,
    words: || {
        vec![
            "http",
            "https",
            "file",
            "localhost",
            "127",
            "0x7f",
            "169.254.169.254",
            "::1",
            "::ffff:10.0.0.1",
            "@",
            "%00",
            "%2e",
            "..",
            "\\",
            "xn--",
            "１",
            "。",
            ":65536",
            ":0",
            "internal",
            "[",
            "]",
        ]
    },
    mutated: mutation::text,
    check,
};

fn examples() -> Vec<Vec<u8>> {
    let urls = [
        "https://prod.example/",
        "http://staging.example:8080/a/b?c=d#e",
        "https://user:secret@prod.example/",
        "http://127.0.0.1/",
        "http://[::ffff:169.254.169.254]/latest/meta-data",
        "https://prod.example/\n//10.0.0.1/",
        "https://prod.example/\n../b?x",
    ];
    urls.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let (first, redirect) = text.split_once('\n').unwrap_or((&text, ""));
    let target = match Target::parse(first) {
        Ok(target) => target,
        Err(refused) => return scripts::objection(&refused.to_string()),
    };
    allowed(&target)?;
    match target.follow(redirect) {
        Ok(next) => allowed(&next),
        Err(refused) => scripts::objection(&refused.to_string()),
    }
}

/// What was allowed is spelled in the one way of the standard, and is allowed again.
fn allowed(target: &Target) -> Result<(), String> {
    scripts::clean("an address", target.as_str())?;
    match Target::parse(target.as_str()) {
        Ok(again) if again == *target => {}
        other => return Err(format!("{target:?} was read again as {other:?}")),
    }
    let address: Result<std::net::IpAddr, _> = target.host().trim_matches(['[', ']']).parse();
    match address {
        Ok(address)
            if address.is_loopback() || address.is_unspecified() || address.is_multicast() =>
        {
            Err(format!("{address} was allowed"))
        }
        _ => Ok(()),
    }
}
