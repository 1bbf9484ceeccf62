//! Who asks: one session for everybody, or a signed cookie.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thunderhead_sim::hex;

use crate::data::Data;

/// How long a session lasts after signing in, in seconds.
pub const LASTS: u64 = 7 * 24 * 3_600;
/// The name of the cookie.
const COOKIE: &str = "thunderhead";
/// The most characters of a user and an organisation.
const LONGEST: usize = 64;

/// A member of an organisation: `ann@acme`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(String);

impl User {
    /// The organisation.
    pub fn organisation(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, organisation)| organisation)
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<User, String> {
        let plain = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            (1..=LONGEST).contains(&part.len()) && part.chars().all(allowed)
        };
        match text.split_once('@') {
            Some((name, organisation)) if plain(name) && plain(organisation) => {
                Ok(User(text.into()))
            }
            _ => Err(format!(
                "`{text}` is not a user; write NAME@ORGANISATION, such as ann@acme, of letters, digits, `.`, `_` and `-`"
            )),
        }
    }
}

/// What sessions are checked with.
pub struct Sessions {
    secret: Vec<u8>,
    sign_in: String,
    fixed: Option<User>,
}

impl Sessions {
    /// Sessions that outlive a restart, because their secret is in the data directory.
    pub fn new(data: &Data, fixed: Option<User>) -> Sessions {
        Sessions { secret: data.secret().into(), sign_in: data.sign_in_key().into(), fixed }
    }

    /// What one signs in with.
    pub fn sign_in_key(&self) -> &str {
        &self.sign_in
    }

    /// Whether everybody has one session.
    pub fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// The value of `Set-Cookie` for a user who gives the key.
    pub fn sign_in(&self, user: &str, key: &str, now: u64) -> Result<String, String> {
        let user: User = user.parse()?;
        let given = self.tag(&format!("key {key}"));
        if given
            .verify_slice(&self.tag(&format!("key {}", self.sign_in)).finalize().into_bytes())
            .is_err()
        {
            return Err("the key is not the one that the server printed when it started".into());
        }
        let until = now + LASTS;
        let tag = hex(&self.tag(&format!("{user} {until}")).finalize().into_bytes());
        Ok(format!(
            "{COOKIE}={user}|{until}|{tag}; Path=/; Max-Age={LASTS}; HttpOnly; SameSite=Strict"
        ))
    }

    /// The value of `Set-Cookie` that ends a session.
    pub fn sign_out() -> String {
        format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    /// Who sends these cookies, `now` in seconds since 1970.
    pub fn user(&self, cookies: Option<&str>, now: u64) -> Option<User> {
        if let Some(user) = &self.fixed {
            return Some(user.clone());
        }
        let named =
            |cookie: &str| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('=').map(String::from);
        let value = cookies?.split(';').find_map(named)?;
        let (signed, tag) = value.rsplit_once('|')?;
        let (user, until) = signed.split_once('|')?;
        self.tag(&format!("{user} {until}")).verify_slice(&unhex(tag)?).ok()?;
        (until.parse::<u64>().ok()? > now).then(|| user.parse().ok())?
    }

    fn tag(&self, text: &str) -> Hmac<Sha256> {
        let mut tag =
            Hmac::<Sha256>::new_from_slice(&self.secret).expect("a key may have any length");
        tag.update(text.as_bytes());
        tag
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        Sessions { secret: vec![7; 32], sign_in: "open".into(), fixed: None }
    }

    #[test]
    fn a_cookie_is_good_until_its_time_and_for_nobody_else() {
        let sessions = sessions();
        let cookie = sessions.sign_in("ann@acme", "open", 100).unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let user =
            |cookie: &str, now| sessions.user(Some(cookie), now).map(|user| user.to_string());
        assert_eq!(user(&format!("other=1; {cookie}"), 101).as_deref(), Some("ann@acme"));
        assert_eq!(user(cookie, 100 + LASTS), None, "it has ended");
        assert_eq!(user(&cookie.replace("ann", "bob"), 101), None, "the tag is not bob's");
        assert_eq!(user(&cookie.replace("604900", "904900"), 101), None, "nor for so long");
        for bad in
            ["", "thunderhead=", "thunderhead=a|b", "thunderhead=ann@acme|9|zz", "thunderhead=||é"]
        {
            assert_eq!(user(bad, 101), None, "{bad}");
        }
    }

    #[test]
    fn one_signs_in_with_the_key_alone_and_as_a_user_of_plain_letters() {
        let sessions = sessions();
        assert!(sessions.sign_in("ann@acme", "opem", 0).is_err());
        for bad in ["ann", "ann@", "@acme", "a@b@c", "ann@ac me", "ann@acme|9", "ann@../x/"] {
            assert!(sessions.sign_in(bad, "open", 0).is_err(), "{bad}");
        }
    }
}
