//! What R2 and the rows hold, rebuilt from the facts, in R2's order.

use std::rc::Rc;

use sha2::{Digest, Sha256};
use thunderhead_sim::SortedMap;
use thunderhead_sim::hex;
use thunderhead_sim::queue::MessageId;

use super::facts::{Fact, facts};
use super::row::{Board, Upload};
use crate::promises::Reading;

/// The objects of R2, the rows, and which message tells of which change.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    /// What each key has held, oldest first; nothing where it was deleted.
    held: SortedMap<&'a str, Vec<Option<Rc<str>>>>,
    /// The ETag of what each key held last.
    etags: SortedMap<&'a str, &'a str>,
    /// The rows that clients see.
    pub board: Board<'a>,
    telling: SortedMap<u32, (&'a str, usize)>,
    told: SortedMap<MessageId, (&'a str, usize)>,
}

impl<'a> Contents<'a> {
    /// The contents at the end of a trace.
    pub fn at_the_end<'b>(trace: &'b Reading<'a>) -> &'b Contents<'a> {
        trace.uploads.at_the_end.get_or_init(|| {
            let mut contents = Contents::default();
            facts(trace).for_each(|(_, fact)| drop(contents.step(&fact)));
            contents
        })
    }

    /// Applies a fact and returns the keys whose object or row may have changed.
    pub fn step(&mut self, fact: &Fact<'a>) -> Vec<(&'a str, &'a str)> {
        match fact {
            Fact::Stored(object, event) => {
                self.held.entry(&object.key).or_default().push(Some(Rc::clone(event)));
                self.etags.insert(&object.key, &object.etag);
                split(&object.key).into_iter().collect()
            }
            Fact::Removed(keys) => {
                for key in *keys {
                    // Removing what is not there changes nothing.
                    if let Some(held) = self.held.get_mut(&**key)
                        && held.last().is_some_and(Option::is_some)
                    {
                        held.push(None);
                    }
                }
                keys.iter().filter_map(|key| split(key)).collect()
            }
            Fact::Rows(organisation, changes) => {
                let names = self.board.apply(organisation, changes);
                names.into_iter().map(|name| (*organisation, name)).collect()
            }
            Fact::Tells(call, key) => {
                let change = self.held(key).len().saturating_sub(1);
                self.telling.insert(*call, (key, change));
                Vec::new()
            }
            Fact::Told(call, message) => {
                if let Some(change) = self.telling.get(call) {
                    self.told.insert(*message, *change);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// What a key has held; nothing at all before the first upload.
    pub fn held(&self, key: &str) -> &[Option<Rc<str>>] {
        self.held.get(key).map_or(&[], |held| held)
    }

    /// The ETag of what a key holds, or held last.
    pub fn etag(&self, key: &str) -> Option<&'a str> {
        self.etags.get(key).copied()
    }

    /// Every key that ever held something.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.held.keys().copied()
    }

    /// The change of which a message tells: a key, and a place in what it has held.
    pub fn change(&self, message: MessageId) -> Option<(&'a str, usize)> {
        self.told.get(&message).copied()
    }

    /// The row of a key.
    pub fn row(&self, key: &'a str) -> Option<&Upload<'a>> {
        let (organisation, name) = split(key)?;
        self.board.get(organisation, name)
    }
}

/// The organisation and the name in a key.
pub fn split(key: &str) -> Option<(&str, &str)> {
    key.split_once('/')
}

/// The event of these bytes under this key.
pub fn event_id(key: &str, etag: &str) -> String {
    hex(&Sha256::digest(format!("{key}:{etag}")))
}

/// The first characters of an id, enough to tell ids apart in a message.
pub fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
