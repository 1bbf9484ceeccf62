//! Reads one request of a script: its headers, and its body or the name of one.

use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

use super::Reader;
use crate::protocol::headers::Headers;
use crate::protocol::http::Request;
use crate::scenario::conversation::WEBSOCKET;
use crate::scenario::script::error::ScriptError;
use crate::scenario::script::fields::{Fields, kind};
use crate::scenario::script::{ScriptPlace, words};
use crate::scenario::{ClientRequest, answers, limits};
use crate::values::body::{Body, BodySource};
use crate::values::hex::unhex;
use crate::values::time::Time;

pub(super) const REQUEST: &[&str] =
    &["at", "fetch", "headers", "body", "from", "name", "to", "retries"];
pub(super) const BODY: &[&str] = &["hex", "file", "picture"];

impl<'a> Reader<'a> {
    pub(super) fn request(
        &mut self,
        index: usize,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<ClientRequest, ScriptError> {
        let fields = Fields::of(self.text, value, "a request", REQUEST)?;
        let at = fields.duration("at")?.unwrap_or_default();
        fields.required("fetch")?;
        let (method, path) =
            fields.parsed("fetch", words::FETCH, words::fetch)?.expect("it has just been found");
        let body = match fields.value("body") {
            Some(value) => self.body(value)?,
            None => Body::empty(),
        };
        if body.source().is_some() {
            self.places.insert(ScriptPlace::RequestBody(index), fields.span("body"));
            self.unread.push(index);
        }
        let mut request = Request::new(method, path, body);
        if let Some(value) = fields.value("headers") {
            request.headers = self.headers(value)?;
        }
        let to = fields.string("to")?;
        self.places.insert(ScriptPlace::RequestTo(index), fields.span("to"));
        let from = fields.string("from")?.map_or("client", |found| found.value);
        let name = fields.string("name")?.map(|found| found.value);
        if let Some(name) = name.filter(|name| !answers::is_name(name)) {
            let wrong = format!("`{name}` is no name");
            return Err(fields.object("name", wrong, "write letters, digits, `_` and `-`"));
        }
        if name.is_some() && request.method == WEBSOCKET {
            let wrong = "what opens a WebSocket has no answer that others could use";
            return Err(fields.object("name", wrong, "leave its name out"));
        }
        if let Some(name) = name.filter(|name| !self.names.insert(name)) {
            let wrong = format!("two requests have the name `{name}`");
            return Err(fields.object("name", wrong, "give the second another name"));
        }
        Ok(ClientRequest {
            at: Time::ZERO + at,
            from: from.into(),
            name: name.map(Arc::from),
            to: to.map(|found| found.value.into()),
            request,
            retries: fields.number_within("retries", limits::RETRIES)?.unwrap_or(0),
        })
    }

    fn headers(&self, value: &'a Spanned<DeValue<'a>>) -> Result<Headers, ScriptError> {
        let advice = "write { name = \"value\", … }; put a name with other than letters, digits and `-` in quotes";
        let Some(table) = value.get_ref().as_table() else {
            let wrong = format!("headers are a table, not {}", kind(value));
            return Err(self.text.object(value.span(), wrong, advice));
        };
        let mut headers = Headers::default();
        for (name, value) in table {
            let Some(text) = value.get_ref().as_str() else {
                let wrong = format!("the value of a header is a string, not {}", kind(value));
                return Err(self.text.object(value.span(), wrong, "put it in quotes"));
            };
            if headers.get(name.get_ref()).is_some() {
                let wrong = format!("there are two headers `{}`", name.get_ref());
                let fix = "join their values by a comma: names differ in more than their case";
                return Err(self.text.object(name.span(), wrong, fix));
            }
            headers.set(name.get_ref(), text);
        }
        Ok(headers)
    }

    fn body(&self, value: &'a Spanned<DeValue<'a>>) -> Result<Body, ScriptError> {
        if let Some(text) = value.get_ref().as_str() {
            return Ok(Body::from(text));
        }
        let advice = "write text in quotes, or { hex = \"ff00\" }, { file = \"cat.jpg\" } or { picture = \"clock\" }";
        if value.get_ref().as_table().is_none() {
            let wrong = format!("a body is a string or bytes, not {}", kind(value));
            return Err(self.text.object(value.span(), wrong, advice));
        }
        let fields = Fields::of(self.text, value, "a body", BODY)?;
        let said: Vec<&str> = BODY.iter().copied().filter(|key| fields.has(key)).collect();
        let [key] = said[..] else {
            let wrong = format!("a body has one of {}, not {}", BODY.join(", "), said.len());
            return Err(self.text.object(value.span(), wrong, advice));
        };
        if key == "hex" {
            let hex = fields.required_long(key)?;
            let bytes = unhex(hex.value);
            return bytes.map(Body::from).ok_or_else(|| {
                self.text.object(hex.span, format!("`{}` is not hexadecimal", hex.value), advice)
            });
        }
        let name: Arc<str> = fields.required(key)?.value.into();
        if name.is_empty() {
            return Err(fields.object(key, format!("`{key}` is empty"), advice));
        }
        // The bytes are filled in by the program, which may read files and draw pictures.
        let source = match key {
            "file" => BodySource::File(name),
            _ => BodySource::Picture(name),
        };
        Ok(Body::named(source, Vec::new()))
    }
}
