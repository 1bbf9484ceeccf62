//! JSON in bodies, as every system reads and writes it.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use thunderhead_sim::{Body, Error, Response, SortedMap};

/// Reads a value.
pub fn read<'a, T: Deserialize<'a>>(body: &'a Body) -> Result<T, Error> {
    body.read().map_err(|error| Error::app(error.to_string()))
}

/// Reads a value; a workflow step does not retry the error, since reading again gives the same.
pub fn read_once<T: DeserializeOwned>(body: &Body) -> Result<T, Error> {
    body.read().map_err(|error| Error::NonRetryable(error.to_string().into()))
}

/// Values that were read, each beside the body that it was read from. As long as a key has the same body, the value is
/// not read again.
#[derive(Debug)]
pub struct Kept<K, T>(RefCell<SortedMap<K, (Body, Rc<T>)>>);

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Kept(RefCell::default())
    }
}

impl<K: Ord, T: DeserializeOwned> Kept<K, T> {
    /// The value of a key that has this body now.
    pub fn read(&self, key: K, body: &Body) -> Result<Rc<T>, Error> {
        let mut kept = self.0.borrow_mut();
        match kept.get(&key) {
            Some((of, value)) if of == body => Ok(Rc::clone(value)),
            _ => {
                let value: Rc<T> = Rc::new(read(body)?);
                kept.insert(key, (body.clone(), Rc::clone(&value)));
                Ok(value)
            }
        }
    }
}

/// Writes a value.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Body {
    Body::from(serde_json::to_vec(value).expect("plain data with text keys is JSON"))
}

/// The response `{"error": …}`.
pub fn error(status: u16, why: &(impl Display + ?Sized)) -> Response {
    Response::new(status, write(&json!({ "error": why.to_string() })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_again_when_its_key_has_another_body() {
        let kept: Kept<u32, String> = Kept::default();
        let read = |key, body: &str| kept.read(key, &Body::from(body));
        let first = read(0, "\"a\"").unwrap();
        assert!(Rc::ptr_eq(&first, &read(0, "\"a\"").unwrap()));
        assert_eq!(*read(0, "\"b\"").unwrap(), "b");
        assert_eq!(*read(1, "\"a\"").unwrap(), "a");
        assert!(read(0, "{").is_err());
        assert_eq!(*read(0, "\"b\"").unwrap(), "b");
    }
}
