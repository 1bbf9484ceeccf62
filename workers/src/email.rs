//! Mail that comes to a Worker: a line `EMAIL` of `storm.http`, the request that carries it, and what its handler gets.

use serde::Deserialize;
use serde_json::json;
use thunderhead_sim::{Body, Error, Headers, Request, Response};

use crate::invocation::Call;

/// The method of a request that carries a message. Its path has the sender and the recipient.
pub const EMAIL: &str = "EMAIL";

/// The status that a sender gets for a message that the Worker rejects. A sender does not try those again.
const REJECTED: u16 = 403;

/// What a handler says of a message.
#[derive(Deserialize)]
struct Told {
    rejected: Option<String>,
}

/// The request of `EMAIL from@example.com to@example.com`.
pub fn request(
    target: &str,
    mut headers: Headers,
    text: &str,
    number: usize,
) -> Result<Request, String> {
    let mut addresses = target.split_whitespace();
    let (Some(from), Some(to), None) = (addresses.next(), addresses.next(), addresses.next())
    else {
        return Err(format!(
            "`{target}` does not say who writes to whom; write `EMAIL ann@example.com shop@example.com`"
        ));
    };
    let domain = |address: &str| {
        let found =
            address.split_once('@').filter(|(name, domain)| !name.is_empty() && !domain.is_empty());
        let found = found.filter(|_| !address.contains('/'));
        found
            .map(|(_, domain)| domain.to_string())
            .ok_or_else(|| format!("`{address}` is no address of mail"))
    };
    let (sender, _) = (domain(from)?, domain(to)?);
    // What every message has, also when the file does not say it.
    let usual = [("from", from), ("to", to), ("message-id", &*format!("<{number}@{sender}>"))];
    for (name, value) in usual {
        if headers.get(name).is_none() {
            headers.append(name, value);
        }
    }
    let mut request = Request::new(EMAIL, &format!("/{from}/{to}"), text);
    request.headers = headers;
    Ok(request)
}

/// The sender and the recipient, as `storm.http` writes them.
pub fn addresses(path: &str) -> String {
    path.trim_start_matches('/').replacen('/', " ", 1)
}

/// The call of the handler.
pub fn call(request: &Request) -> Call {
    let addresses = addresses(&request.path);
    let (from, to) = addresses.split_once(' ').unwrap_or((&addresses, ""));
    let headers: Vec<(&str, &str)> = request.headers.iter().collect();
    let mut raw: Vec<u8> = Vec::new();
    for (name, value) in &headers {
        raw.extend(format!("{name}: {value}\r\n").bytes());
    }
    raw.extend(b"\r\n");
    raw.extend(request.body.bytes());
    let json = json!({ "from": from, "to": to, "headers": headers });
    Call { bytes: Body::from(raw), ..Call::new("email", &json) }
}

/// What the sender is told when the handler has returned.
pub fn answer(returned: &str) -> Result<Response, Error> {
    let told: Told =
        serde_json::from_str(returned).map_err(|error| Error::app(error.to_string()))?;
    Ok(match told.rejected {
        Some(reason) => Response::new(REJECTED, reason),
        None => Response::new(200, ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_headers_that_every_message_has() {
        let mut headers = Headers::default();
        headers.append("subject", "tea");
        headers.append("from", "Ann <ann@example.com>");
        let mail = request("ann@example.com shop@b.example", headers, "two, please", 3).unwrap();
        assert_eq!((&*mail.method, &*mail.path), (EMAIL, "/ann@example.com/shop@b.example"));
        assert_eq!(addresses(&mail.path), "ann@example.com shop@b.example");
        let Call { json, bytes, .. } = call(&mail);
        let raw = "from: Ann <ann@example.com>\r\nmessage-id: <3@example.com>\r\nsubject: tea\r\n\
            to: shop@b.example\r\n\r\ntwo, please";
        assert_eq!(bytes.text(), Some(raw));
        let given: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&given["from"], &given["to"]),
            (&json!("ann@example.com"), &json!("shop@b.example"))
        );
    }

    #[test]
    fn what_is_no_address_is_told() {
        let said = |target: &str| request(target, Headers::default(), "", 1).unwrap_err();
        assert!(said("ann@example.com").contains("who writes to whom"));
        assert!(said("ann@example.com to shop@b.example").contains("who writes to whom"));
        for wrong in ["ann", "@example.com", "ann@", "a/b@c"] {
            assert_eq!(said(&format!("{wrong} b@c")), format!("`{wrong}` is no address of mail"));
        }
    }
}
