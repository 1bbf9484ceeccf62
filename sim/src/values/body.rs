//! Bytes that are stored, sent and traced: cheap to clone, readable when they are text.

mod file;
pub(crate) mod references;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::values::hex::{hex, unhex};
use crate::values::media;
use crate::values::printable::printable;
use file::Filed;

pub use file::{BodyFile, Digests};

/// An immutable run of bytes, shared by reference count.
///
/// In JSON it is a string when the bytes are UTF-8, and `{"hex": "…"}` when they are not. The history of a server has
/// `{"sha256": "…"}` for bytes that it has told before.
///
/// ```
/// use thunderhead_sim::Body;
///
/// let body = Body::from("hello");
/// assert_eq!(body.text(), Some("hello"));
/// assert_eq!(body.len(), 5);
/// ```
#[derive(Clone)]
pub struct Body(Bytes);

/// A few bytes are kept in place: to allocate and to count references would cost more than they do.
// A tag of a whole word: with one byte, the other 23 are copied in pieces that overlap, and every copy of a copy
// waits until those are written. Questions, answers and errors have such a tag for the same reason.
#[derive(Clone)]
#[repr(u64)]
enum Bytes {
    Inline(Inline),
    Shared(Arc<[u8]>),
    Named(Arc<Named>),
    Filed(Arc<Filed>),
}

/// Bytes that a history tells by where they come from.
struct Named {
    source: BodySource,
    bytes: Box<[u8]>,
}

/// Where the bytes of a body come from when a script does not write them out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BodySource {
    /// A file, by its path as the script has it.
    File(Arc<str>),
    /// A picture that the program draws, by its name.
    Picture(Arc<str>),
}

impl BodySource {
    /// The path or the name.
    pub fn name(&self) -> &str {
        let (BodySource::File(name) | BodySource::Picture(name)) = self;
        name
    }
}

#[derive(Clone, Copy)]
struct Inline {
    len: u8,
    bytes: [u8; FEW],
}

const FEW: usize = 15;

impl Body {
    /// No bytes at all.
    pub fn empty() -> Body {
        Body(Bytes::Inline(Inline { len: 0, bytes: [0; FEW] }))
    }

    /// Bytes with a name, by which histories and scripts tell them. They are equal to the same bytes without one.
    ///
    /// ```
    /// use thunderhead_sim::{Body, BodySource};
    ///
    /// let clock = Body::named(BodySource::Picture("clock".into()), b"\x89PNG".to_vec());
    /// assert_eq!(clock.to_string(), "clock (PNG, 4 bytes)");
    /// assert_eq!(clock, Body::from(b"\x89PNG".to_vec()));
    /// ```
    pub fn named(source: BodySource, bytes: Vec<u8>) -> Body {
        Body(Bytes::Named(Arc::new(Named { source, bytes: bytes.into() })))
    }

    /// Where the bytes come from, when they have a name.
    pub fn source(&self) -> Option<&BodySource> {
        match &self.0 {
            Bytes::Named(named) => Some(&named.source),
            Bytes::Inline(_) | Bytes::Shared(_) | Bytes::Filed(_) => None,
        }
    }

    /// The bytes of the body. Those of a file are read and held from now on, for as long as the body is.
    ///
    /// # Panics
    ///
    /// When they are in a file that cannot be read.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline(few) => &few.bytes[..usize::from(few.len)],
            Bytes::Shared(bytes) => bytes,
            Bytes::Named(named) => &named.bytes,
            Bytes::Filed(filed) => filed.bytes(),
        }
    }

    /// The bytes as text, when they are UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes()).ok()
    }

    /// A value as JSON.
    ///
    /// ```
    /// use thunderhead_sim::Body;
    ///
    /// let body = Body::json(&(1, "two"));
    /// assert_eq!(body.text(), Some(r#"[1,"two"]"#));
    /// let (number, text): (u32, String) = body.parse().unwrap();
    /// assert_eq!((number, &*text), (1, "two"));
    /// ```
    ///
    /// # Panics
    ///
    /// When the value has no JSON, such as a map whose keys are not text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Body {
        Body::from(serde_json::to_vec(value).expect("plain data with text keys is JSON"))
    }

    /// The value that the bytes are the JSON of.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, NotJson> {
        self.read().map_err(|error| NotJson {
            body: self.to_string().into(),
            why: error.to_string().into(),
        })
    }

    /// Like [`Body::parse`], of a value that may borrow from the body, and with the error of the parser.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        // As a whole it is known to be text sooner than string by string.
        let text = std::str::from_utf8(self.bytes()).map_err(de::Error::custom)?;
        serde_json::from_str(text)
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Bytes::Filed(filed) => filed.len(),
            _ => self.bytes().len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a body is not the JSON that was expected of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NotJson {
    /// The body at a glance.
    pub body: Arc<str>,
    /// What is wrong with it.
    pub why: Arc<str>,
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not what was expected: {}", self.body, self.why)
    }
}

impl std::error::Error for NotJson {}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Body {}

impl PartialOrd for Body {
    fn partial_cmp(&self, other: &Body) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Body {
    fn cmp(&self, other: &Body) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl Hash for Body {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Body {
        Body::from(text.as_bytes())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        Body::from(text.as_bytes())
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Body {
        Body::from(&bytes[..])
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Body {
        if bytes.is_empty() {
            return Body::empty();
        }
        let mut few = [0; FEW];
        match few.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Body(Bytes::Inline(Inline { len: bytes.len() as u8, bytes: few }))
            }
            None => Body(Bytes::Shared(Arc::from(bytes))),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How many bytes of text `{}` shows.
const SHOWN: usize = 40;

/// `{}` is a glance: a long text is told by its size. `{:#}` is everything there is to read: JSON as
/// it is, other text in quotes, a picture by its kind and size. Bytes with a name are told by it.
///
/// ```
/// use thunderhead_sim::Body;
///
/// let body = Body::from(r#"{"file":"cat.jpg","owner":"ann@acme","size":1}"#);
/// assert_eq!(body.to_string(), "46 bytes");
/// assert_eq!(format!("{body:#}"), r#"{"file":"cat.jpg","owner":"ann@acme","size":1}"#);
/// ```
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = self.source() {
            return write!(f, "{} ({})", printable(source.name()), media::describe(self.bytes()));
        }
        if !f.alternate() && self.at_hand().is_none() {
            return write!(f, "{} bytes", self.len());
        }
        match self.text() {
            Some(text) if f.alternate() && is_json(text) => f.write_str(text),
            Some(text) if f.alternate() || self.len() <= SHOWN => write!(f, "{text:?}"),
            None if f.alternate() => f.write_str(&media::describe(self.bytes())),
            _ => write!(f, "{} bytes", self.len()),
        }
    }
}

/// Whether a text is JSON, which brings its own quotes.
pub(crate) fn is_json(text: &str) -> bool {
    // Most texts are not, and their first character tells.
    text.starts_with(|c: char| matches!(c, '{' | '[' | '"' | 'n' | 't' | 'f' | '-' | '0'..='9'))
        && serde_json::from_str::<de::IgnoredAny>(text).is_ok()
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(reference) = references::reference(self) {
            return reference.serialize(serializer);
        }
        let bytes = self.look();
        match std::str::from_utf8(&bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Hex { hex: hex(&bytes) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Body, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Hex(Hex),
            Told(references::Reference),
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(references::shared(Body::from(text))),
            Form::Hex(Hex { hex }) => {
                let bytes = unhex(&hex).ok_or_else(|| de::Error::custom("invalid hex digits"))?;
                Ok(references::shared(Body::from(bytes)))
            }
            Form::Told(reference) => references::resolve(&reference).map_err(de::Error::custom),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Hex {
    hex: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_wherever_they_are_kept() {
        for len in [0, 1, FEW - 1, FEW, FEW + 1, 1_000] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let body = Body::from(&bytes[..]);
            assert_eq!((body.bytes(), body.len(), body.is_empty()), (&bytes[..], len, len == 0));
            assert_eq!(body, Body(Bytes::Shared(Arc::from(&bytes[..]))));
        }
    }

    #[test]
    fn the_alternate_form_shows_everything_there_is_to_read() {
        let shown = |body: Body| (body.to_string(), format!("{body:#}"));
        let long = "a".repeat(41);
        assert_eq!(shown(Body::from(&*long)), ("41 bytes".into(), format!("\"{long}\"")));
        assert_eq!(shown(Body::from("{1}")), ("\"{1}\"".into(), "\"{1}\"".into()), "no JSON");
        assert_eq!(shown(Body::from("[1]")), ("\"[1]\"".into(), "[1]".into()));
        let string = Body::from(r#""running""#);
        assert_eq!(format!("{string:#}"), r#""running""#);
        assert_eq!(shown(Body::from("null")), (r#""null""#.into(), "null".into()));
        let picture = Body::from(b"\x89PNG".to_vec());
        assert_eq!(shown(picture), ("4 bytes".into(), "PNG, 4 bytes".into()));
    }

    #[test]
    fn a_name_is_shown_with_the_size_and_changes_nothing_else() {
        let named = Body::named(BodySource::File("a\u{7}.txt".into()), b"some text".to_vec());
        assert_eq!(named.to_string(), "a\\u{7}.txt (9 bytes)");
        assert_eq!(format!("{named:#}"), named.to_string());
        let plain = Body::from("some text");
        let json = |body: &Body| serde_json::to_string(body).unwrap();
        assert_eq!((&named, json(&named)), (&plain, json(&plain)));
        assert_eq!((named.source().is_some(), plain.source()), (true, None));
    }

    #[test]
    fn json_keeps_text_readable_and_other_bytes_exact() {
        for body in [Body::from("héllo"), Body::from(vec![0xff, 0x00]), Body::empty()] {
            let json = serde_json::to_string(&body).unwrap();
            assert_eq!(serde_json::from_str::<Body>(&json).unwrap(), body, "{json}");
        }
        assert_eq!(serde_json::to_string(&Body::from(vec![0xff, 0])).unwrap(), r#"{"hex":"ff00"}"#);
        assert!(serde_json::from_str::<Body>(r#"{"hex":"f"}"#).is_err());
    }
}
