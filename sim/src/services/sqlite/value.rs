//! What a column can hold.

use std::fmt;
use std::sync::Arc;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::values::body::Body;
use crate::values::media;

/// One value of SQLite, as plain data.
///
/// ```
/// use thunderhead_sim::sqlite::Value;
///
/// assert_eq!(Value::from("cat").to_string(), "'cat'");
/// assert_eq!(Value::from(2.0).as_i64(), Some(2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Value {
    /// SQL's `NULL`.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Real(Real),
    /// A text in UTF-8.
    Text(Arc<str>),
    /// A blob of bytes.
    Blob(Body),
}

/// A floating-point number that can be compared and hashed, by its bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Real(u64);

impl Real {
    /// The value as a floating-point number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl From<f64> for Real {
    fn from(number: f64) -> Real {
        Real(number.to_bits())
    }
}

impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

/// As text, because JSON has no infinity and its readers may round.
impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Real, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(|number: f64| Real::from(number)).map_err(de::Error::custom)
    }
}

/// The largest whole number up to which JavaScript's numbers have no gaps.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

impl Value {
    /// How many bytes its text or blob has, and eight for a number.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Value::Null => 0,
            Value::Integer(_) | Value::Real(_) => 8,
            Value::Text(text) => text.len(),
            Value::Blob(blob) => blob.len(),
        }
    }

    /// The whole number in it, if it is one, whichever way it is stored.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Real(real) => {
                let number = real.get();
                let safe = number.trunc() == number && number.abs() <= MAX_SAFE_INTEGER as f64;
                safe.then_some(number as i64)
            }
            _ => None,
        }
    }

    /// The number in it, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(number) => Some(*number as f64),
            Value::Real(real) => Some(real.get()),
            _ => None,
        }
    }

    /// The text in it, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes in it, if it is a blob.
    pub fn as_blob(&self) -> Option<&Body> {
        match self {
            Value::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it is `NULL`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value as a binding receives it: every number of JavaScript is a double.
    pub(crate) fn bound(&self) -> Value {
        match self {
            Value::Integer(number) => Value::Real(Real::from(*number as f64)),
            Value::Real(real) if real.get().is_nan() => Value::Null,
            other => other.clone(),
        }
    }

    /// The value as a row shows it: whole numbers beyond 2^53 have become doubles.
    pub(crate) fn shown(self) -> Value {
        match self {
            Value::Integer(number) if number.unsigned_abs() > MAX_SAFE_INTEGER => {
                Value::Real(Real::from(number as f64))
            }
            other => other,
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Value {
        match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(Real::from(number)),
            ValueRef::Text(text) => Value::Text(match std::str::from_utf8(text) {
                Ok(text) => text.into(),
                // Such text can be made by a cast; JavaScript would show it so as well.
                Err(_) => String::from_utf8_lossy(text).into(),
            }),
            ValueRef::Blob(bytes) => Value::Blob(Body::from(bytes)),
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(real) => ValueRef::Real(real.get()),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes.bytes()),
        }))
    }
}

/// As an SQL literal, long ones cut short.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 40;
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Integer(number) => number.fmt(f),
            Value::Real(real) => real.fmt(f),
            Value::Text(text) => match text.char_indices().nth(SHOWN) {
                Some((end, _)) if !f.alternate() => write!(f, "'{}…'", &text[..end]),
                _ => write!(f, "'{text}'"),
            },
            Value::Blob(bytes) if f.alternate() => {
                write!(f, "x'{}'", media::describe(bytes.bytes()))
            }
            Value::Blob(bytes) => write!(f, "x'{} bytes'", bytes.len()),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Value {
        Value::Integer(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Integer(number.into())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Integer(flag.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(Real::from(number))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Value {
        Value::Text(text)
    }
}

impl From<Body> for Value {
    fn from(bytes: Body) -> Value {
        Value::Blob(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_every_value_exact() {
        let values = [
            Value::Null,
            Value::Integer(i64::MIN),
            Value::from(0.1),
            Value::from(f64::NEG_INFINITY),
            Value::from("é"),
            Value::Blob(Body::from(vec![0xff])),
        ];
        for value in values {
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value, "{json}");
        }
    }

    #[test]
    fn numbers_are_those_of_javascript() {
        assert_eq!(Value::Integer(3).bound(), Value::from(3.0));
        assert_eq!(Value::from(f64::NAN).bound(), Value::Null);
        assert_eq!(Value::Integer(9_007_199_254_740_993).shown(), Value::from(2f64.powi(53)));
        assert_eq!(Value::Integer(7).shown(), Value::Integer(7));
    }
}
