//! The headers of a request or a response.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

/// Names and values. Names are compared without regard to case; the order is that of the names, as in
/// the Fetch standard.
///
/// ```
/// use thunderhead_sim::Headers;
///
/// let mut headers = Headers::default();
/// headers.set("X-Request-Id", "7");
/// headers.append("accept", "text/html");
/// headers.append("Accept", "image/png");
/// assert_eq!(headers.get("ACCEPT"), Some("text/html, image/png"));
/// assert_eq!(headers.to_string(), r#"[accept: "text/html, image/png", x-request-id: "7"]"#);
/// ```
// One word when there are none, which is the rule: requests are part of every operation in a trace.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Headers(Option<Arc<Vec<(SmolStr, SmolStr)>>>);

/// How many characters of a value `{}` shows.
const SHOWN: usize = 24;

impl Headers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        let all = self.0.as_deref()?;
        all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Sets a header, in place of one of that name.
    pub fn set(&mut self, name: &str, value: &str) {
        let name = SmolStr::from(name.to_ascii_lowercase());
        let all = Arc::make_mut(self.0.get_or_insert_default());
        match all.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => all[at].1 = value.into(),
            Err(at) => all.insert(at, (name, value.into())),
        }
    }

    /// Adds a value to a header: several values of one name are joined by commas.
    pub fn append(&mut self, name: &str, value: &str) {
        let joined = self.get(name).map(|before| format!("{before}, {value}"));
        self.set(name, joined.as_deref().unwrap_or(value));
    }

    /// Removes a header. Returns whether there was one.
    pub fn delete(&mut self, name: &str) -> bool {
        let mut all = self.0.take().map(Arc::unwrap_or_clone).unwrap_or_default();
        let before = all.len();
        all.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        let deleted = all.len() < before;
        self.0 = (!all.is_empty()).then(|| Arc::new(all));
        deleted
    }

    /// Names, in lower case, and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|all| all.iter()).map(|(name, value)| (&**name, &**value))
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Headers {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(pairs: T) -> Headers {
        let mut headers = Headers::default();
        for (name, value) in pairs {
            headers.append(name.as_ref(), value.as_ref());
        }
        headers
    }
}

/// `{}` cuts long values; `{:#}` shows them.
impl fmt::Display for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, (name, value)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            match value.char_indices().nth(SHOWN) {
                Some((end, _)) if !f.alternate() => {
                    write!(f, "{comma}{name}: {:?}", format!("{}…", &value[..end]))?;
                }
                _ => write!(f, "{comma}{name}: {value:?}")?,
            }
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Headers, D::Error> {
        let pairs =
            crate::values::sorted_map::SortedMap::<String, String>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_without_entries_are_alike_however_they_came_to_be() {
        let mut headers: Headers = [("A", "1")].into_iter().collect();
        assert!(!headers.delete("b"));
        assert!(headers.delete("a"));
        assert_eq!(headers, Headers::default());
        assert!(headers.is_empty());
    }

    #[test]
    fn a_long_value_is_cut_in_a_glance_only() {
        let headers: Headers = [("authorization", "é".repeat(30))].into_iter().collect();
        assert_eq!(headers.to_string(), format!("[authorization: \"{}…\"]", "é".repeat(24)));
        assert_eq!(format!("{headers:#}"), format!("[authorization: \"{}\"]", "é".repeat(30)));
    }

    #[test]
    fn what_is_written_as_json_is_read_back() {
        let headers: Headers = [("B", "2"), ("a", "1")].into_iter().collect();
        let json = serde_json::to_string(&headers).unwrap();
        assert_eq!(json, r#"{"a":"1","b":"2"}"#);
        assert_eq!(serde_json::from_str::<Headers>(&json).unwrap(), headers);
    }
}
