//! Clients and their keys. The key of a request says which client has sent it; a client sees its own generations and
//! artifacts alone, and pays for them alone.

use std::fmt;

use serde_json::json;
use thunderhead_sim::{Env, Error, Request, Response};

use super::library;
use super::mistakes;
use crate::systems::json;

/// The secret with the key of each client, as `CLIENT:KEY` with spaces between them, and its value in every simulated
/// deployment.
pub const KEYS: &str = "CLIENT_KEYS";
pub const KEYS_VALUE: &str = "ann:key-of-ann ben:key-of-ben";
/// The header that has a key, and what is before the key.
pub const AUTHORIZATION: &str = "authorization";
const BEARER: &str = "Bearer ";

const SPENT: &str = "SELECT COUNT(*) AS generations, COALESCE(SUM(cost), 0) AS cost FROM generations WHERE client = ?";

/// Why a client is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no key.
    NoKey,
    /// There is a key, and no client has it.
    UnknownKey,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::NoKey => "a request needs the key of a client, as `authorization: Bearer KEY`",
            Refused::UnknownKey => "no client has this key",
        })
    }
}

impl Refused {
    /// The answer to such a request.
    pub fn response(self) -> Response {
        json::error(401, &self).with_header("www-authenticate", "Bearer")
    }
}

/// Who sends a request.
pub fn client_of(env: &Env, request: &Request) -> Result<Result<String, Refused>, Error> {
    let keys = env.secret(KEYS)?;
    Ok(match identify(keys.expose(), request.headers.get(AUTHORIZATION)) {
        Err(_) if mistakes::NEEDS_NO_KEY.is_made(env) => Ok("ann".into()),
        client => client.map(String::from),
    })
}

fn identify<'a>(keys: &'a str, header: Option<&str>) -> Result<&'a str, Refused> {
    let key = header.and_then(|header| header.strip_prefix(BEARER)).ok_or(Refused::NoKey)?;
    let mut keys = keys.split(' ').filter_map(|client| client.split_once(':'));
    let known = keys.find(|(_, known)| is_same(known, key));
    known.map(|(client, _)| client).ok_or(Refused::UnknownKey)
}

/// Whether two keys are the same. Every byte is looked at, so the time that it takes says of a key only how long it is.
fn is_same(one: &str, other: &str) -> bool {
    let differing = |sum, (one, other): (u8, u8)| sum | (one ^ other);
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, differing) == 0
}

/// Answers with how many generations of a client are over, and what they cost.
pub async fn spent(env: &Env, client: &str) -> Result<Response, Error> {
    let rows = match mistakes::ONE_BILL.is_made(env) {
        true => library::select(env, &SPENT.replace("client = ?", "true"), vec![]).await?,
        false => library::select(env, SPENT, vec![client.into()]).await?,
    };
    Ok(Response::new(200, json::write(&rows.first().unwrap_or(&json!({})))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(header: Option<&str>) -> Result<&'static str, Refused> {
        identify(KEYS_VALUE, header)
    }

    #[test]
    fn a_key_is_that_of_one_client() {
        assert_eq!(who(Some("Bearer key-of-ann")), Ok("ann"));
        assert_eq!(who(Some("Bearer key-of-ben")), Ok("ben"));
    }

    #[test]
    fn without_a_key_or_with_another_nobody_is_a_client() {
        for header in [None, Some(""), Some("key-of-ann"), Some("Basic key-of-ann")] {
            assert_eq!(who(header), Err(Refused::NoKey), "{header:?}");
        }
        for key in
            ["", "key-of-eve", "key-of-an", "key-of-ann ", "ann", "ann:key-of-ann", KEYS_VALUE]
        {
            let header = format!("Bearer {key}");
            assert_eq!(who(Some(&header)), Err(Refused::UnknownKey), "{header}");
        }
    }
}
