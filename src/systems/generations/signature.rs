//! Webhooks are signed: an HMAC with SHA-256 over the time of sending and the body, under a secret that the provider
//! shares with the application.
//!
//! A webhook that was recorded can be sent again, with its signature. So it is only good for a few minutes, and
//! within them it changes nothing that it has changed before: only the first report on a job counts.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thunderhead_sim::{Body, Request, Time, hex};

/// The name of the secret, and its value in every simulated deployment.
pub const SECRET: &str = "WEBHOOK_SECRET";
pub const SECRET_VALUE: &str = "a-secret-of-the-provider";
/// The seconds since 1970 at which a webhook was sent.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The signature, in hexadecimal.
pub const SIGNATURE: &str = "webhook-signature";
/// For how many seconds a signature is good, before and after its time.
pub const TOLERANCE_S: u64 = 300;

/// Why a webhook is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A header is missing or cannot be read.
    Unsigned,
    /// It was sent too long ago, or is yet to be sent.
    NotNow,
    /// It was signed with another secret, or changed since.
    Forged,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unsigned => {
                write!(
                    f,
                    "a webhook needs `{TIMESTAMP}`, in seconds, and `{SIGNATURE}`, in hexadecimal"
                )
            }
            Refused::NotNow => {
                write!(
                    f,
                    "`{TIMESTAMP}` is more than {TOLERANCE_S} seconds away: sign the webhook again"
                )
            }
            Refused::Forged => write!(f, "`{SIGNATURE}` is not that of this time and body"),
        }
    }
}

/// Signs a webhook that is sent now.
pub fn sign(request: Request, secret: &str, now: Time) -> Request {
    let timestamp = (now.unix_ms() / 1_000).to_string();
    let signature = hex(&tag(secret, &timestamp, &request.body).finalize().into_bytes());
    request.with_header(TIMESTAMP, &timestamp).with_header(SIGNATURE, &signature)
}

/// Whether a webhook was sent a moment ago by somebody who knows the secret.
pub fn verify(request: &Request, secret: &str, now: Time) -> Result<(), Refused> {
    let timestamp = request.headers.get(TIMESTAMP).ok_or(Refused::Unsigned)?;
    let seconds: u64 = timestamp.parse().map_err(|_| Refused::Unsigned)?;
    let signature = request.headers.get(SIGNATURE).and_then(unhex).ok_or(Refused::Unsigned)?;
    let tag = tag(secret, timestamp, &request.body);
    tag.verify_slice(&signature).map_err(|_| Refused::Forged)?;
    match seconds.abs_diff(now.unix_ms() / 1_000) <= TOLERANCE_S {
        true => Ok(()),
        false => Err(Refused::NotNow),
    }
}

fn tag(secret: &str, timestamp: &str, body: &Body) -> Hmac<Sha256> {
    let mut tag =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key may have any length");
    tag.update(timestamp.as_bytes());
    tag.update(b".");
    tag.update(body.bytes());
    tag
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8);
    bytes.len().is_multiple_of(2).then(|| bytes.chunks_exact(2).map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);

    fn signed() -> Request {
        sign(Request::new("POST", "/webhook", "{}"), "s", NOW)
    }

    #[test]
    fn what_was_signed_a_moment_ago_is_believed() {
        assert_eq!(verify(&signed(), "s", NOW), Ok(()));
        assert_eq!(verify(&signed(), "s", Time::from_ms(1_300_000)), Ok(()));
    }

    #[test]
    fn the_signature_is_that_of_rfc_2104_over_time_and_body() {
        // printf '1767226600.{}' | openssl dgst -sha256 -hmac s
        let signature = "89408e4feb3fda05c3a63dfdc84103aaab3467fc6cfa54b4fb81625d4755aa0b";
        assert_eq!(signed().headers.get(TIMESTAMP), Some("1767226600"));
        assert_eq!(signed().headers.get(SIGNATURE), Some(signature));
    }

    #[test]
    fn what_is_sent_again_later_is_refused() {
        assert_eq!(verify(&signed(), "s", Time::from_ms(1_301_000)), Err(Refused::NotNow));
        assert_eq!(verify(&signed(), "s", Time::from_ms(699_000)), Err(Refused::NotNow));
    }

    #[test]
    fn what_is_changed_or_signed_by_another_is_refused() {
        assert_eq!(verify(&signed(), "another", NOW), Err(Refused::Forged));
        let changed = Request { body: "{ }".into(), ..signed() };
        assert_eq!(verify(&changed, "s", NOW), Err(Refused::Forged));
        let younger = signed().with_header(TIMESTAMP, "1767226601");
        assert_eq!(verify(&younger, "s", NOW), Err(Refused::Forged));
        let cut = signed().headers.get(SIGNATURE).map(|tag| tag[..8].to_string());
        let cut = signed().with_header(SIGNATURE, &cut.unwrap_or_default());
        assert_eq!(verify(&cut, "s", NOW), Err(Refused::Forged));
    }

    #[test]
    fn what_has_no_readable_signature_is_refused() {
        assert_eq!(verify(&Request::new("POST", "/", ""), "s", NOW), Err(Refused::Unsigned));
        for (header, value) in [(TIMESTAMP, "now"), (SIGNATURE, "xyz"), (SIGNATURE, "abc")] {
            let request = signed().with_header(header, value);
            assert_eq!(verify(&request, "s", NOW), Err(Refused::Unsigned), "{header}: {value}");
        }
    }
}
