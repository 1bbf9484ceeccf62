//! What the stream of a group means, written down a second time: the state after its messages.

use serde_json::{Map, Value, json};

use super::facts::Message;

/// The state after these messages.
pub fn state<'a>(messages: impl IntoIterator<Item = &'a Message<'a>>) -> Value {
    let mut waiting = Map::new();
    let mut state = json!({ "status": "notStarted" });
    for message in messages {
        let data: Value = serde_json::from_str(message.data).unwrap_or_default();
        let pending = state["status"] == "pending";
        match message.message_type {
            "GroupCheckoutInitiated" if state["status"] == "notStarted" => {
                let guests = data["guests"].as_array().cloned().unwrap_or_default();
                let guests = guests.iter().filter_map(Value::as_str);
                waiting = guests.map(|guest| (guest.to_string(), json!("pending"))).collect();
                state = json!({ "status": "pending", "guests": waiting });
            }
            "GuestCheckedOut" | "GuestCheckoutFailed" if pending => {
                let left = message.message_type == "GuestCheckedOut";
                let guest = data["guest"].as_str().unwrap_or_default();
                if waiting.get(guest) == Some(&json!("pending")) {
                    let told = if left { "checkedOut" } else { "failed" };
                    waiting.insert(guest.into(), json!(told));
                }
                state["guests"] = Value::Object(waiting.clone());
            }
            "GroupCheckoutCompleted" if pending => state = json!({ "status": "completed" }),
            "GroupCheckoutFailed" if pending => {
                state = json!({ "status": "failed", "guests": data["guests"] });
            }
            _ => {}
        }
    }
    state
}

/// Whether the group has come to an end.
pub fn is_over(state: &Value) -> bool {
    state["status"] == "completed" || state["status"] == "failed"
}
