//! Errors that cross between JavaScript and the simulator, in both directions.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use thunderhead_sim::workflow::StepError;
use thunderhead_sim::{Env, Error};

/// What JavaScript threw, as the prelude describes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Thrown {
    /// `error.name`.
    pub name: String,
    /// `error.message`; for what is no error, its text.
    pub message: String,
    /// Whether it is a `NonRetryableError`.
    pub non_retryable: bool,
    /// The whole of it, as the prelude writes values, when name and message do not say all.
    pub details: Box<str>,
    /// The stack, in which a place of the program may be found.
    pub stack: Box<str>,
    /// That place, as `file:line:column`.
    #[serde(skip)]
    pub place: Option<String>,
}

impl Thrown {
    /// An error that the host throws in place of the program.
    pub fn new(message: impl Into<String>) -> Thrown {
        Thrown { name: "Error".into(), message: message.into(), ..Thrown::default() }
    }

    /// Reads what the prelude wrote.
    pub fn parse(json: &str) -> Thrown {
        serde_json::from_str(json).unwrap_or_else(|_| Thrown::new(json))
    }

    /// The error as one text. The name of a plain `Error` says nothing and is left out; details stand at the end.
    pub fn text(&self) -> String {
        let plain = self.plain();
        if self.details.is_empty() { plain } else { format!("{plain} {}", self.details) }
    }

    fn plain(&self) -> String {
        match &*self.name {
            "Error" | "" => self.message.clone(),
            name => format!("{name}: {}", self.message),
        }
    }

    /// The failure of a handler that nothing of the program catches: it is told in the trace, with its place.
    pub fn uncaught(&self, env: &Env) -> Error {
        let place = self.place.as_ref().map(|place| format!(" at {place}"));
        env.log(format!("Uncaught {}: {}{}", self.name, self.message, place.unwrap_or_default()));
        Error::app(self.plain())
    }

    /// The failure of a step or of a workflow.
    pub fn of_step(&self) -> Error {
        if self.non_retryable {
            return Error::NonRetryable(self.message.as_str().into());
        }
        Error::Step(StepError::new(&self.name, self.message.as_str()))
    }
}

/// An error of the simulator, as the prelude reads it.
pub fn to_json(error: &Error) -> Value {
    let named = |name: &str| json!({ "name": name, "message": error.to_string() });
    match error {
        Error::R2(refused) => named(refused.name()),
        Error::Queue(refused) => named(refused.name()),
        Error::Storage(refused) => named(refused.name()),
        // The service is a durable object of the platform's own.
        Error::Workflow(refused) => {
            json!({ "name": refused.name(), "message": error.to_string(), "remote": true })
        }
        Error::D1(refused) => {
            json!({ "name": "Error", "message": error.to_string(), "cause": refused.cause() })
        }
        Error::Step(StepError { name, message }) => json!({ "name": name, "message": message }),
        Error::Object(object) => {
            let mut told = thrown(&object.message);
            let marks = [
                ("remote", object.remote),
                ("retryable", object.retryable),
                ("overloaded", object.overloaded),
                ("durableObjectReset", object.durable_object_reset),
            ];
            let set = marks.into_iter().filter(|(_, set)| *set);
            told.extend(set.map(|(mark, _)| (mark.to_string(), Value::Bool(true))));
            Value::Object(told)
        }
        Error::NetworkLost => {
            json!({ "name": "Error", "message": error.to_string(), "retryable": true })
        }
        Error::App(text) => Value::Object(thrown(text)),
        _ => named("Error"),
    }
}

/// What an isolate threw, from its text: see [`Thrown::text`].
fn thrown(text: &str) -> Map<String, Value> {
    let (text, details) = match text.rfind(DETAILS) {
        Some(at) if serde_json::from_str::<Value>(&text[at + DETAILS.len() - 1..]).is_ok() => {
            (&text[..at], Some(&text[at + 1..]))
        }
        _ => (text, None),
    };
    let (name, message) = split(text);
    let mut told =
        Map::from_iter([("name".into(), name.into()), ("message".into(), message.into())]);
    told.extend(details.map(|details| ("details".to_string(), details.into())));
    told
}

/// What separates a text from its details, and their first character.
const DETAILS: &str = " ~{";

/// A wrong argument.
pub fn type_error(message: impl ToString) -> Value {
    json!({ "name": "TypeError", "message": message.to_string() })
}

/// What is wrong with a text that the user has not written, for whom its lines and columns would mean nothing.
pub fn without_place(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    told.strip_suffix(&place).unwrap_or(&told).to_string()
}

/// The errors of the language, which keep their class when they cross between isolates.
const CLASSES: [&str; 6] =
    ["TypeError", "RangeError", "SyntaxError", "ReferenceError", "URIError", "EvalError"];

/// Name and message of an error that came from another isolate as one text.
fn split(text: &str) -> (&str, &str) {
    match text.split_once(": ") {
        Some((name, message)) if CLASSES.contains(&name) => (name, message),
        _ => ("Error", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_language_keeps_its_class_and_others_their_text() {
        assert_eq!(split("TypeError: no: none"), ("TypeError", "no: none"));
        assert_eq!(split("D1_ERROR: no such table"), ("Error", "D1_ERROR: no such table"));
    }

    #[test]
    fn a_lost_connection_may_be_tried_again_and_an_own_error_says_no_more_than_it_does() {
        assert_eq!(to_json(&Error::NetworkLost)["retryable"], true);
        let own = json!({ "name": "Error", "message": "no stock" });
        assert_eq!(to_json(&Error::app("no stock")), own);
    }

    #[test]
    fn what_is_thrown_reads_as_javascript_writes_it() {
        let thrown = Thrown::parse(r#"{"name":"TypeError","message":"no","nonRetryable":false}"#);
        assert_eq!(thrown.text(), "TypeError: no");
        assert_eq!(Thrown::parse("not JSON").text(), "not JSON");
    }

    #[test]
    fn details_cross_behind_the_text_and_what_only_looks_like_them_stays_in_it() {
        let json = r#"{"name":"Mine","message":"no","details":"~{\"code\":1}"}"#;
        let text = Thrown::parse(json).text();
        assert_eq!(text, r#"Mine: no ~{"code":1}"#);
        assert_eq!(to_json(&Error::app(text))["details"], r#"~{"code":1}"#);
        assert_eq!(to_json(&Error::app("a ~{b"))["message"], "a ~{b");
    }
}
