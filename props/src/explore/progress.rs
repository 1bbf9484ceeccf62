//! How far a search is, for a display that is kept up to date.

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many runs were played, those of an earlier process included.
    pub runs: u64,
    /// How much of what sometimes happens was seen.
    pub seen: usize,
    /// How much there is to be seen.
    pub sometimes: usize,
}
