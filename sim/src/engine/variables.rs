//! Variables and secrets: text that a deployment gives to the application.

use std::fmt;
use std::sync::Arc;

use crate::values::sorted_map::SortedMap;

/// A secret. Neither `{}` nor `{:?}` shows it, and it cannot be serialized: it gets into a history only
/// if the application sends what [`Secret::expose`] returns.
///
/// ```
/// use thunderhead_sim::{Response, Scenario, ClientRequest, Source, Tape, Time, simulate};
///
/// let scenario = Scenario {
///     requests: vec![ClientRequest::new(Time::ZERO, "GET", "/", "")],
///     ..Scenario::default()
/// };
/// let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
///     cloud.var("GREETING", "hello");
///     cloud.secret("KEY", "correct horse");
///     cloud.worker("web").fetch(|env, _request| async move {
///         let (greeting, key) = (env.var("GREETING")?, env.secret("KEY")?);
///         env.log(format!("{greeting} {key:?}"));
///         Ok(Response::new(if key.expose().len() == 13 { 200 } else { 500 }, ""))
///     });
/// })
/// .unwrap();
/// let history = run.trace.to_string();
/// assert!(history.contains("hello Secret(KEY)") && history.contains("return #0 200"));
/// assert!(!history.contains("horse"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: Arc<str>,
    value: Arc<str>,
}

impl Secret {
    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// What the deployment has set.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    plain: SortedMap<Arc<str>, Arc<str>>,
    secret: SortedMap<Arc<str>, Secret>,
}

impl Variables {
    /// Sets a variable. Returns whether the name was free.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let free = !self.secret.contains_key(name);
        free && self.plain.insert(name.into(), value.into()).is_none()
    }

    /// Sets a secret. Returns whether the name was free.
    pub fn set_secret(&mut self, name: &str, value: &str) -> bool {
        let secret = Secret { name: name.into(), value: value.into() };
        let free = !self.plain.contains_key(name);
        free && self.secret.insert(name.into(), secret).is_none()
    }

    pub fn get(&self, name: &str) -> Option<Arc<str>> {
        self.plain.get(name).cloned()
    }

    pub fn secret(&self, name: &str) -> Option<Secret> {
        self.secret.get(name).cloned()
    }
}
