//! State from a stream.

use crate::error::Error;
use crate::message::Message;

/// A workflow's state, and how many messages it comes from: the version to append with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt<S> {
    /// The state.
    pub state: S,
    /// How many messages have been applied.
    pub version: i64,
}

/// Applies a whole stream to the initial state, message by message; refuses a stream with gaps.
///
/// ```
/// use thunderhead_stream::{Message, rebuild};
///
/// let none: [Message; 0] = [];
/// let rebuilt = rebuild(|count: u32, _message: &Message| count + 1, &none)?;
/// assert_eq!((rebuilt.state, rebuilt.version), (0, 0));
/// # Ok::<(), thunderhead_stream::Error>(())
/// ```
pub fn rebuild<'a, S: Default>(
    evolve: impl Fn(S, &Message) -> S,
    stream: impl IntoIterator<Item = &'a Message>,
) -> Result<Rebuilt<S>, Error> {
    let mut rebuilt = Rebuilt { state: S::default(), version: 0 };
    for message in stream {
        let expected = rebuilt.version + 1;
        if message.position != expected {
            let found = message.key();
            return Err(Error::Corrupt(format!("found {found} where position {expected} belongs")));
        }
        rebuilt = Rebuilt { state: evolve(rebuilt.state, message), version: expected };
    }
    Ok(rebuilt)
}
