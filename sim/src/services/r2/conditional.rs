//! Conditions on the current object: `onlyIf`.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::argument::Unexpected;
use super::{ArgumentError, Date, Object};

/// A condition under which a `put` or a `get` is carried out.
///
/// There is none on the version: a compare-and-swap by ETag cannot see that an object was changed
/// and changed back.
///
/// ```
/// use thunderhead_sim::r2::Conditional;
///
/// let create_only = Conditional::etag_does_not_match("*");
/// assert!(create_only.holds(None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Conditional {
    /// The object exists and has one of these ETags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag_matches: Option<Vec<Etag>>,
    /// The object has none of these ETags, or does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag_does_not_match: Option<Vec<Etag>>,
    /// The object was uploaded before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uploaded_before: Option<Date>,
    /// The object was uploaded after this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uploaded_after: Option<Date>,
    /// Whether moments are compared in whole seconds, as HTTP headers have them.
    pub seconds_granularity: bool,
}

/// An ETag in a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Etag {
    /// `*`: whatever the ETag is.
    Any,
    /// This ETag, without quotes.
    Strong(Arc<str>),
    /// `W/"…"` of a header: never equal for `etagMatches`, compared as usual for
    /// `etagDoesNotMatch`.
    Weak(Arc<str>),
}

impl From<&str> for Etag {
    fn from(text: &str) -> Etag {
        if text == "*" { Etag::Any } else { Etag::Strong(Arc::from(text)) }
    }
}

impl Conditional {
    /// Only if the object has this ETag (`*`: only if it exists).
    pub fn etag_matches(etag: impl Into<Etag>) -> Conditional {
        Conditional { etag_matches: Some(vec![etag.into()]), ..Conditional::default() }
    }

    /// Only if the object has another ETag or does not exist (`*`: only if it does not exist).
    pub fn etag_does_not_match(etag: impl Into<Etag>) -> Conditional {
        Conditional { etag_does_not_match: Some(vec![etag.into()]), ..Conditional::default() }
    }

    /// The condition that the HTTP headers of a request state, names in any case.
    pub fn from_headers(headers: &[(&str, &str)]) -> Result<Conditional, ArgumentError> {
        let mut condition = Conditional { seconds_granularity: true, ..Conditional::default() };
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let etags = || match parse_etags(value)? {
                none if none.is_empty() && !value.trim().is_empty() => {
                    Err(ArgumentError::NoEtag(name.as_str().into()))
                }
                etags => Ok(Some(etags)),
            };
            match name.as_str() {
                "if-match" => condition.etag_matches = etags()?,
                "if-none-match" => condition.etag_does_not_match = etags()?,
                "if-modified-since" => condition.uploaded_after = Some(parse_date(value)?),
                "if-unmodified-since" => condition.uploaded_before = Some(parse_date(value)?),
                _ => {}
            }
        }
        Ok(condition)
    }

    /// Whether the condition holds for the current object, or for its absence.
    ///
    /// As in RFC 7232, an ETag outranks a date: a date that fails is forgiven when the ETag
    /// condition of the same direction is present and holds.
    pub fn holds(&self, current: Option<&Object>) -> bool {
        let Some(object) = current else {
            return self.etag_matches.is_none() && self.uploaded_after.is_none();
        };
        let matched = self.etag_matches.as_ref().map(|etags| {
            etags.iter().any(|etag| match etag {
                Etag::Any => true,
                Etag::Strong(text) => *text == object.etag,
                Etag::Weak(_) => false,
            })
        });
        let not_matched = self.etag_does_not_match.as_ref().map(|etags| {
            !etags.iter().any(|etag| match etag {
                Etag::Any => true,
                Etag::Strong(text) | Etag::Weak(text) => *text == object.etag,
            })
        });
        let uploaded = self.grain(Date::from(object.uploaded));
        let after = self.uploaded_after.is_none_or(|date| self.grain(date) < uploaded);
        let before = self.uploaded_before.is_none_or(|date| uploaded < self.grain(date));
        matched.unwrap_or(true)
            && not_matched.unwrap_or(true)
            && (after || not_matched == Some(true))
            && (before || matched == Some(true))
    }

    fn grain(&self, date: Date) -> i64 {
        let ms = date.unix_ms();
        if self.seconds_granularity { ms.div_euclid(1000) } else { ms }
    }

    /// Refuses ETags in the quotes that only headers have.
    pub(super) fn check_arguments(&self) -> Result<(), ArgumentError> {
        let lists = self.etag_matches.iter().chain(&self.etag_does_not_match);
        for etag in lists.flatten() {
            if let Etag::Strong(text) = etag
                && text.starts_with('"')
                && text.ends_with('"')
            {
                return Err(ArgumentError::QuotedEtag(text.clone()));
            }
        }
        Ok(())
    }
}

fn parse_date(text: &str) -> Result<Date, ArgumentError> {
    Date::parse_http(text).or_else(|| Date::parse_iso(text)).ok_or(ArgumentError::NotADate)
}

/// Reads the list of an `If-Match` or `If-None-Match` header as leniently as the runtime does:
/// what is neither quoted nor `*` is passed over, and one `*` stands for the whole list.
fn parse_etags(header: &str) -> Result<Vec<Etag>, ArgumentError> {
    let mut etags = Vec::new();
    let mut rest = header;
    let mut comma_needed = false;
    loop {
        let at = |c: char| rest.find(c).unwrap_or(usize::MAX);
        let (star, quote, weak, comma) = (at('*'), at('"'), at('W'), at(','));
        if star == usize::MAX && quote == usize::MAX {
            return Ok(etags);
        }
        let first = star.min(quote).min(weak);
        if comma < first {
            rest = &rest[comma + 1..];
            comma_needed = false;
            continue;
        }
        if comma_needed {
            return Err(ArgumentError::EtagsWithoutComma(match first {
                _ if first == star => Unexpected::Wildcard,
                _ if first == quote => Unexpected::Quote,
                _ => Unexpected::Weak,
            }));
        }
        if star < quote {
            return Ok(vec![Etag::Any]);
        }
        let value = &rest[quote + 1..];
        let end = value.find('"').ok_or(ArgumentError::UnclosedEtag)?;
        let text = Arc::from(&value[..end]);
        if weak > quote {
            etags.push(Etag::Strong(text));
        } else if &rest[weak..=quote] == "W/\"" {
            etags.push(Etag::Weak(text));
        } else {
            return Err(ArgumentError::BadWeakEtag);
        }
        rest = &value[end + 1..];
        comma_needed = true;
    }
}

/// One glance for a trace line: `if-match=5d41402a…`.
impl fmt::Display for Conditional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [("match", &self.etag_matches), ("none-match", &self.etag_does_not_match)];
        let dates = [("before", self.uploaded_before), ("after", self.uploaded_after)];
        let mut separator = "";
        for (name, etags) in
            lists.iter().filter_map(|(name, etags)| Some((name, (*etags).as_ref()?)))
        {
            write!(f, "{separator}if-{name}=")?;
            for (i, etag) in etags.iter().enumerate() {
                write!(f, "{}{etag}", if i > 0 { "," } else { "" })?;
            }
            separator = " ";
        }
        for (name, date) in dates.iter().filter_map(|(name, date)| Some((name, (*date)?))) {
            write!(f, "{separator}if-{name}={date}")?;
            separator = " ";
        }
        Ok(())
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Etag::Any => f.write_str("*"),
            Etag::Strong(text) => super::Short(text).fmt(f),
            Etag::Weak(text) => write!(f, "W/{}", super::Short(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etags(header: &str) -> String {
        match Conditional::from_headers(&[("If-Match", header)]) {
            Ok(condition) => condition.to_string(),
            Err(error) => format!("{}: {error}", error.name()),
        }
    }

    #[test]
    fn conditional_headers_are_read_as_the_runtime_reads_them() {
        assert_eq!(etags(r#""a", W/"b" ,, "c,d""#), "if-match=a,W/b,c,d");
        assert_eq!(etags(r#""a", *"#), "if-match=*");
        assert_eq!(etags("unquoted"), "Error: Invalid ETag in if-match header");
        assert_eq!(etags(""), "if-match=");
        assert_eq!(etags(r#""a"#), "Error: Unclosed double quote for Etag");
        assert_eq!(
            etags(r#"W"a""#),
            "Error: Weak etags must start with W/ and their value must be quoted"
        );
        assert!(etags(r#""a" "b""#).starts_with("Error: Comma was expected to separate etags. "));
        assert!(etags(r#""a" *"#).ends_with("Encountered a wildcard character '*' instead."));
        assert!(etags(r#""a" W/"b""#).contains("weak quotation character 'W' instead."));
    }

    #[test]
    fn a_header_with_an_unreadable_date_is_refused() {
        let error = Conditional::from_headers(&[("if-modified-since", "soon")]).unwrap_err();
        assert_eq!((error.name(), error), ("TypeError", ArgumentError::NotADate));
    }
}
