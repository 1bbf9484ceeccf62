//! Notification rules: which changes of a bucket a queue hears of.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::limits::MAX_RULES;

/// Sends the events of a bucket to a queue.
///
/// ```
/// use thunderhead_sim::r2::{EventType, Rule};
///
/// let rule = Rule::new("uploads", [EventType::ObjectCreate]).prefix("in/").suffix(".jpg");
/// assert_eq!(rule.to_string(), "object-create of in/*.jpg to uploads");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The queue to tell.
    pub queue: Arc<str>,
    /// What to tell it of.
    pub event_types: Vec<EventType>,
    /// Only keys that begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Arc<str>>,
    /// Only keys that end so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffix: Option<Arc<str>>,
}

/// The kinds of event that rules name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventType {
    /// An object was created or overwritten.
    ObjectCreate,
    /// An object was deleted.
    ObjectDelete,
}

impl Rule {
    /// Sends events of these types to `queue`, whatever the key.
    pub fn new(queue: &str, event_types: impl Into<Vec<EventType>>) -> Rule {
        let (queue, event_types) = (Arc::from(queue), event_types.into());
        Rule { queue, event_types, prefix: None, suffix: None }
    }

    /// Only for keys that begin with `prefix`.
    pub fn prefix(mut self, prefix: &str) -> Rule {
        self.prefix = Some(Arc::from(prefix));
        self
    }

    /// Only for keys that end with `suffix`.
    pub fn suffix(mut self, suffix: &str) -> Rule {
        self.suffix = Some(Arc::from(suffix));
        self
    }

    pub(super) fn matches(&self, event_type: EventType, key: &str) -> bool {
        self.event_types.contains(&event_type)
            && key.starts_with(self.prefix_text())
            && key.ends_with(self.suffix_text())
    }

    /// Whether one event could match both and so reach one queue twice. Where the prefixes agree
    /// and the suffixes agree, the longer of each make a key that matches both.
    fn conflicts_with(&self, other: &Rule) -> bool {
        let (a, b) = (self.prefix_text(), other.prefix_text());
        let (y, z) = (self.suffix_text(), other.suffix_text());
        self.queue == other.queue
            && self.event_types.iter().any(|event_type| other.event_types.contains(event_type))
            && (a.starts_with(b) || b.starts_with(a))
            && (y.ends_with(z) || z.ends_with(y))
    }

    fn prefix_text(&self) -> &str {
        self.prefix.as_deref().unwrap_or("")
    }

    fn suffix_text(&self) -> &str {
        self.suffix.as_deref().unwrap_or("")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, event_type) in self.event_types.iter().enumerate() {
            write!(f, "{}{event_type}", if i > 0 { ", " } else { "" })?;
        }
        write!(f, " of {}*{} to {}", self.prefix_text(), self.suffix_text(), self.queue)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventType::ObjectCreate => "object-create",
            EventType::ObjectDelete => "object-delete",
        })
    }
}

/// Why a bucket cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The name breaks the platform's rule for names.
    InvalidBucketName(String),
    /// The name is taken.
    BucketConflict(String),
    /// More rules than a bucket may have.
    TooManyRules(usize),
    /// A rule that no event can match.
    NoEventTypes(Arc<str>),
    /// Two rules that would send one event to one queue twice.
    ConflictingRules(Box<Rule>, Box<Rule>),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::InvalidBucketName(name) => write!(
                f,
                "invalid bucket name {name:?}: 3 to 63 lower-case letters, digits and hyphens, \
                 with a letter or digit at both ends"
            ),
            ConfigError::BucketConflict(name) => write!(f, "bucket {name:?} exists already"),
            ConfigError::TooManyRules(count) => {
                write!(f, "a bucket has at most {MAX_RULES} notification rules, not {count}")
            }
            ConfigError::NoEventTypes(queue) => {
                write!(f, "the notification rule for queue {:?} names no event type", queue)
            }
            ConfigError::ConflictingRules(a, b) => write!(
                f,
                "conflicting event notification rules: one event could match both \"{a}\" and \
                 \"{b}\""
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Refuses rules that the platform's API refuses.
pub(super) fn check(rules: &[Rule]) -> Result<(), ConfigError> {
    if rules.len() > MAX_RULES {
        return Err(ConfigError::TooManyRules(rules.len()));
    }
    for (i, rule) in rules.iter().enumerate() {
        if rule.event_types.is_empty() {
            return Err(ConfigError::NoEventTypes(rule.queue.clone()));
        }
        if let Some(earlier) = rules[..i].iter().find(|earlier| earlier.conflicts_with(rule)) {
            return Err(ConfigError::ConflictingRules(
                Box::new(earlier.clone()),
                Box::new(rule.clone()),
            ));
        }
    }
    Ok(())
}

/// Refuses bucket names that R2 refuses (error 10005).
pub(super) fn check_name(name: &str) -> Result<(), ConfigError> {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    let valid = (3..=63).contains(&bytes.len())
        && bytes.iter().all(|&c| plain(c) || c == b'-')
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|&c| plain(c));
    if valid { Ok(()) } else { Err(ConfigError::InvalidBucketName(name.to_owned())) }
}
