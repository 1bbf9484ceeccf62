//! Bookmarks: how much of a database's history a session has seen.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A position in the history of a database, as the platform writes it: 59 characters that sort as
/// the positions do.
///
/// ```
/// use thunderhead_sim::d1::Bookmark;
///
/// let (early, late) = (Bookmark::at(9), Bookmark::at(10));
/// assert!(early.as_str() < late.as_str());
/// assert_eq!(early.as_str().len(), 59);
/// assert_eq!(late.as_str().parse(), Ok(late));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bookmark(Arc<str>);

/// A text that is not a bookmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotABookmark(pub Arc<str>);

impl fmt::Display for NotABookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a bookmark", self.0)
    }
}

impl std::error::Error for NotABookmark {}

impl Bookmark {
    /// The bookmark of a position.
    pub fn at(position: u64) -> Bookmark {
        let (high, low) = (position >> 32, position & 0xffff_ffff);
        Bookmark(
            format!("{high:08x}-{low:08x}-00000000-{:032x}", crate::values::hash::mix(position))
                .into(),
        )
    }

    /// The number of writes that the bookmark covers.
    pub fn position(&self) -> u64 {
        position(&self.0).unwrap_or(0)
    }

    /// The bookmark as the platform writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Bookmark {
    type Err = NotABookmark;

    fn from_str(text: &str) -> Result<Bookmark, NotABookmark> {
        let bookmark = position(text).map(Bookmark::at);
        bookmark.filter(|bookmark| &*bookmark.0 == text).ok_or_else(|| NotABookmark(text.into()))
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn position(text: &str) -> Option<u64> {
    let mut groups = text.split('-').map(|group| u64::from_str_radix(group, 16));
    let (high, low) = (groups.next()?.ok()?, groups.next()?.ok()?);
    Some(high << 32 | low & 0xffff_ffff)
}

/// What the first read of a session has to see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Constraint {
    /// Whatever is at hand: `first-unconstrained`.
    #[default]
    FirstUnconstrained,
    /// Every write so far: `first-primary`.
    FirstPrimary,
    /// At least as much as an earlier session saw.
    Bookmark(Bookmark),
}

impl std::str::FromStr for Constraint {
    type Err = NotABookmark;

    fn from_str(text: &str) -> Result<Constraint, NotABookmark> {
        match text.trim() {
            "" | "first-unconstrained" => Ok(Constraint::FirstUnconstrained),
            "first-primary" => Ok(Constraint::FirstPrimary),
            bookmark => bookmark.parse().map(Constraint::Bookmark),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constraint::FirstUnconstrained => f.write_str("first-unconstrained"),
            Constraint::FirstPrimary => f.write_str("first-primary"),
            Constraint::Bookmark(bookmark) => bookmark.fmt(f),
        }
    }
}
