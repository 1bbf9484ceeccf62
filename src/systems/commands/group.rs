//! The workflow: a group of guests checks out together. Pure: a state and an input go in, what follows
//! from them comes out.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use thunderhead_sim::SortedMap;
use thunderhead_stream::{Direction, Kind, NewMessage};

/// Where a group stands; what the stream says, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum Group {
    /// No check-out has been asked for.
    #[default]
    NotStarted,
    /// Some guests are still to be heard of.
    Pending {
        /// Every guest of the group.
        guests: SortedMap<String, Guest>,
    },
    /// Everybody has left.
    Completed,
    /// Everybody was heard of, and not all have left.
    Failed {
        /// Those who have not.
        guests: Vec<String>,
    },
}

/// Where a guest of the group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Guest {
    /// Asked to leave.
    Pending,
    /// The guest has left.
    CheckedOut,
    /// Could not leave.
    Failed,
}

/// What comes to the workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A command: these guests leave together.
    Initiate(Vec<String>),
    /// A guest has left.
    CheckedOut(String),
    /// A guest could not leave.
    Failed(String),
    /// Something that is no business of the group.
    Unrelated,
}

/// What the workflow says in turn: events, and the one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// An event: it has begun.
    Initiated(Vec<String>),
    /// The command that a processor carries out.
    CheckOut(String),
    /// An event: everybody has left.
    Completed,
    /// An event: these have not.
    Failed(Vec<String>),
}

/// The command that starts a group.
pub const INITIATE: &str = "InitiateGroupCheckout";
/// The command that a processor carries out.
pub const CHECK_OUT: &str = "CheckOut";
/// The event that a guest has left.
pub const CHECKED_OUT: &str = "GuestCheckedOut";
/// The event that a guest could not leave.
pub const CHECK_OUT_FAILED: &str = "GuestCheckoutFailed";
const INITIATED: &str = "GroupCheckoutInitiated";
const COMPLETED: &str = "GroupCheckoutCompleted";
const FAILED: &str = "GroupCheckoutFailed";

/// What follows from an input.
pub fn decide(group: &Group, input: &Input) -> Vec<Output> {
    match (group, input) {
        (Group::NotStarted, Input::Initiate(guests)) => {
            let mut guests = guests.clone();
            guests.sort();
            guests.dedup();
            let commands: Vec<Output> = guests.iter().cloned().map(Output::CheckOut).collect();
            let done = commands.is_empty().then_some(Output::Completed);
            std::iter::once(Output::Initiated(guests)).chain(commands).chain(done).collect()
        }
        (Group::Pending { guests }, Input::CheckedOut(guest) | Input::Failed(guest)) => {
            let left = input == &Input::CheckedOut(guest.clone());
            heard_of(guests, guest, left)
        }
        _ => Vec::new(),
    }
}

/// What follows when one more guest is heard of: something only if it was the last one.
fn heard_of(guests: &SortedMap<String, Guest>, guest: &str, left: bool) -> Vec<Output> {
    let waiting = |(_, state): &(&String, &Guest)| **state == Guest::Pending;
    let mut others = guests.iter().filter(|(name, _)| *name != guest);
    if guests.get(guest) != Some(&Guest::Pending) || others.any(|other| waiting(&other)) {
        return Vec::new();
    }
    let failed = guests.iter().filter(|(name, state)| match *name == guest {
        true => !left,
        false => **state == Guest::Failed,
    });
    let failed: Vec<String> = failed.map(|(name, _)| name.clone()).collect();
    vec![if failed.is_empty() { Output::Completed } else { Output::Failed(failed) }]
}

/// The state after a message of the stream.
pub fn evolve(group: Group, message_type: &str, data: &Json) -> Group {
    let guest = data["guest"].as_str().unwrap_or_default();
    match (group, message_type) {
        (Group::NotStarted, INITIATED) => {
            let guests = names(data).into_iter().map(|guest| (guest, Guest::Pending)).collect();
            Group::Pending { guests }
        }
        (Group::Pending { mut guests }, CHECKED_OUT | CHECK_OUT_FAILED) => {
            let left = message_type == CHECKED_OUT;
            let state = if left { Guest::CheckedOut } else { Guest::Failed };
            if let Some(known) = guests.get_mut(guest).filter(|known| **known == Guest::Pending) {
                *known = state;
            }
            Group::Pending { guests }
        }
        (Group::Pending { .. }, COMPLETED) => Group::Completed,
        (Group::Pending { .. }, FAILED) => Group::Failed { guests: names(data) },
        (group, _) => group,
    }
}

fn names(data: &Json) -> Vec<String> {
    let names = data["guests"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(String::from)).collect()
}

impl Input {
    /// Reads a message that came in.
    pub fn of(message: &NewMessage) -> Input {
        let data = &message.message_data;
        let guest = || data["guest"].as_str().unwrap_or_default().to_string();
        match &*message.message_type {
            INITIATE => Input::Initiate(names(data)),
            CHECKED_OUT => Input::CheckedOut(guest()),
            CHECK_OUT_FAILED => Input::Failed(guest()),
            _ => Input::Unrelated,
        }
    }
}

impl Output {
    /// As a message of the stream.
    pub fn message(&self, id: &str) -> NewMessage {
        let (kind, message_type, data) = match self {
            Output::Initiated(guests) => (Kind::Event, INITIATED, json!({ "guests": guests })),
            Output::CheckOut(guest) => (Kind::Command, CHECK_OUT, json!({ "guest": guest })),
            Output::Completed => (Kind::Event, COMPLETED, json!({})),
            Output::Failed(guests) => (Kind::Event, FAILED, json!({ "guests": guests })),
        };
        let message = NewMessage::output_event(id, message_type, data);
        NewMessage { kind, direction: Direction::Output, ..message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The group after these inputs, and the outputs on the way.
    fn told(inputs: &[Input]) -> (Group, Vec<Output>) {
        let mut group = Group::default();
        let mut said = Vec::new();
        for input in inputs {
            let outputs = decide(&group, input);
            let (message_type, data) = match input {
                Input::Initiate(guests) => (INITIATE, json!({ "guests": guests })),
                Input::CheckedOut(guest) => (CHECKED_OUT, json!({ "guest": guest })),
                Input::Failed(guest) => (CHECK_OUT_FAILED, json!({ "guest": guest })),
                Input::Unrelated => ("Weather", json!({})),
            };
            group = evolve(group, message_type, &data);
            for output in &outputs {
                let message = output.message("id");
                group = evolve(group, &message.message_type, &message.message_data);
            }
            said.extend(outputs);
        }
        (group, said)
    }

    fn initiate(guests: &[&str]) -> Input {
        Input::Initiate(guests.iter().map(ToString::to_string).collect())
    }

    fn left(guest: &str) -> Input {
        Input::CheckedOut(guest.into())
    }

    #[test]
    fn every_guest_is_asked_to_leave_once() {
        let (_, said) = told(&[initiate(&["bob", "ann", "bob"]), initiate(&["eve"])]);
        let guests = vec!["ann".to_string(), "bob".to_string()];
        let commands = ["ann", "bob"].map(|guest| Output::CheckOut(guest.into()));
        assert_eq!(said[0], Output::Initiated(guests));
        assert_eq!(said[1..], commands, "a second start is ignored");
    }

    #[test]
    fn the_last_guest_completes_the_group_and_a_repetition_does_not() {
        let start = initiate(&["ann", "bob"]);
        let (group, said) = told(&[start.clone(), left("ann"), left("ann")]);
        assert!(matches!(group, Group::Pending { .. }) && said.len() == 3);
        let (group, said) = told(&[start, left("ann"), left("bob"), left("bob")]);
        assert_eq!((group, said.last()), (Group::Completed, Some(&Output::Completed)));
        assert_eq!(said.len(), 4);
    }

    #[test]
    fn a_group_of_which_one_stays_has_failed_whoever_is_last() {
        for last in [left("ann"), Input::Failed("bob".into())] {
            let first = if last == left("ann") { Input::Failed("bob".into()) } else { left("ann") };
            let (group, _) = told(&[initiate(&["ann", "bob"]), first, last]);
            assert_eq!(group, Group::Failed { guests: vec!["bob".into()] });
        }
    }

    #[test]
    fn nobody_is_a_group_that_is_complete() {
        assert_eq!(told(&[initiate(&[])]).0, Group::Completed);
    }

    #[test]
    fn strangers_and_unrelated_messages_change_nothing() {
        let start = initiate(&["ann"]);
        let (group, said) = told(&[start.clone(), left("eve"), Input::Unrelated]);
        assert_eq!((group, said.len()), (told(&[start]).0, 2));
        assert_eq!(told(&[left("ann")]), (Group::NotStarted, vec![]));
    }
}
