//! What the stream of a group means, written down a second time: the state after its messages.

use serde_json::{Map, Value, json};

use super::facts::Message;

/// The state after some messages, one after another.
#[derive(Clone, Debug)]
pub struct Oracle {
    waiting: Map<String, Value>,
    pub state: Value,
}

impl Default for Oracle {
    fn default() -> Oracle {
        Oracle { waiting: Map::new(), state: json!({ "status": "notStarted" }) }
    }
}

impl Oracle {
    /// Takes the next message.
    pub fn hear(&mut self, message: &Message<'_>) {
        let pending = self.state["status"] == "pending";
        let not_started = self.state["status"] == "notStarted";
        let data = || -> Value { serde_json::from_str(message.data).unwrap_or_default() };
        match message.message_type {
            "GroupCheckoutInitiated" if not_started => {
                let guests = data()["guests"].as_array().cloned().unwrap_or_default();
                let guests = guests.iter().filter_map(Value::as_str);
                self.waiting = guests.map(|guest| (guest.to_string(), json!("pending"))).collect();
                self.state = json!({ "status": "pending", "guests": self.waiting });
            }
            "GuestCheckedOut" | "GuestCheckoutFailed" if pending => {
                let left = message.message_type == "GuestCheckedOut";
                let data = data();
                let guest = data["guest"].as_str().unwrap_or_default();
                if self.waiting.get(guest) == Some(&json!("pending")) {
                    let told = if left { "checkedOut" } else { "failed" };
                    self.waiting.insert(guest.into(), json!(told));
                }
                self.state["guests"] = Value::Object(self.waiting.clone());
            }
            "GroupCheckoutCompleted" if pending => self.state = json!({ "status": "completed" }),
            "GroupCheckoutFailed" if pending => {
                self.state = json!({ "status": "failed", "guests": data()["guests"] });
            }
            _ => {}
        }
    }
}

/// The state after these messages.
pub fn state<'a>(messages: impl IntoIterator<Item = &'a Message<'a>>) -> Value {
    let mut oracle = Oracle::default();
    messages.into_iter().for_each(|message| oracle.hear(message));
    oracle.state
}

/// Whether the group has come to an end.
pub fn is_over(state: &Value) -> bool {
    state["status"] == "completed" || state["status"] == "failed"
}
