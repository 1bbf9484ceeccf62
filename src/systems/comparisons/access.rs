//! Who may change the settings of a pair: operators. Others who are known may ask for comparisons only.

use std::fmt;

use sha2::{Digest, Sha256};
use thunderhead_sim::{Cloud, Env, Error, Request};

use super::mistakes;

/// The secrets, and their values in every simulated deployment: the token of operators, and that of other members.
const OPERATOR: (&str, &str) = ("OPERATOR_TOKEN", "a-token-of-operators");
const MEMBER: (&str, &str) = ("MEMBER_TOKEN", "a-token-of-members");

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It does not say whose it is, or not truly.
    Unknown,
    /// It is a member's, and only operators may do this.
    NotOperator,
}

impl Denied {
    /// The status of the answer.
    pub fn status(self) -> u16 {
        match self {
            Denied::Unknown => 401,
            Denied::NotOperator => 403,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Denied::Unknown => {
                "settings need a header `authorization: Bearer TOKEN` with a token that is known"
            }
            Denied::NotOperator => "settings are changed by operators only",
        })
    }
}

/// Gives the deployment its secrets.
pub fn mount(cloud: &mut Cloud) {
    for (name, value) in [OPERATOR, MEMBER] {
        cloud.secret(name, value);
    }
}

/// Whether a request may change settings. The outer error is the deployment's: a secret is missing.
pub fn may_change_settings(env: &Env, request: &Request) -> Result<Result<(), Denied>, Error> {
    if mistakes::NEEDS_NO_TOKEN.is_made(env) {
        return Ok(Ok(()));
    }
    let token = request.headers.get("authorization").and_then(bearer).unwrap_or_default();
    let is = |name: &str| env.secret(name).map(|secret| same(token, secret.expose()));
    let member = mistakes::ANY_TOKEN_WILL_DO.is_made(env);
    Ok(match (is(OPERATOR.0)?, is(MEMBER.0)?) {
        (true, _) => Ok(()),
        (false, true) if member => Ok(()),
        (false, true) => Err(Denied::NotOperator),
        (false, false) => Err(Denied::Unknown),
    })
}

/// The token of a header. The scheme is read without regard to case.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether two texts are the same, by their hashes: how long it takes says nothing about where they part.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_follows_the_scheme() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("BEARER a b", Some("a b")),
            ("Basic abc", None),
            ("abc", None),
            ("", None),
            ("Bearer", None),
        ] {
            assert_eq!(bearer(header), token, "{header:?}");
        }
    }
}
