//! What the database holds, rebuilt from the facts.

use thunderhead_sim::{SortedMap, SortedSet};

use super::facts::{Change, Fact, Message, facts};
use crate::promises::Reading;

/// What the trace says is stored.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    /// The messages of each workflow, in the order in which they came.
    pub streams: SortedMap<&'a str, Vec<Message<'a>>>,
    /// The state beside each stream.
    pub states: SortedMap<&'a str, (i64, &'a str)>,
    /// The outcomes of each command, by message id.
    pub effects: SortedMap<&'a str, Vec<&'a str>>,
    /// Where each guest stands.
    pub guests: SortedMap<&'a str, &'a str>,
    /// The commands that are set aside.
    pub parked: SortedSet<(&'a str, i64)>,
    /// Commands of which an event in the stream says that they were executed.
    executed: SortedSet<(&'a str, i64)>,
    /// Every command, and whom it is about.
    commands: SortedMap<&'a str, String>,
    /// Commands whose guest was seen to have left, or to be held, since they were appended.
    granted: SortedSet<&'a str>,
}

impl<'a> Contents<'a> {
    /// The contents at the end of a trace.
    pub fn at_the_end<'b>(trace: &'b Reading<'a>) -> &'b Contents<'a> {
        trace.commands.at_the_end.get_or_init(|| {
            let mut contents = Contents::default();
            for (_, fact) in facts(trace) {
                if let Fact::Rows(changes) = fact {
                    changes.iter().for_each(|change| contents.apply(change));
                }
            }
            contents
        })
    }

    /// Learns from a change.
    pub fn apply(&mut self, change: &Change<'a>) {
        match change {
            Change::Message(None, Some(message)) => self.appended(*message),
            Change::Message(Some(was), is) => {
                let stream = self.streams.entry(was.workflow).or_default();
                match is {
                    None => stream.retain(|message| message.position != was.position),
                    Some(is) => {
                        let known = stream.iter_mut().find(|message| message.id == was.id);
                        known.into_iter().for_each(|known| *known = *is);
                    }
                }
            }
            Change::Message(None, None) => {}
            Change::State { workflow, is: Some(state) } => {
                self.states.insert(workflow, *state);
            }
            Change::State { workflow, is: None } => {
                self.states.remove(workflow);
            }
            Change::Effect { id, outcome, .. } => self.effects.entry(id).or_default().push(outcome),
            Change::Guest { guest, status, .. } => {
                self.guests.insert(guest, status);
                if *status != "in" {
                    let about = self.commands.iter().filter(|(_, about)| *about == guest);
                    self.granted.extend(about.map(|(id, _)| *id));
                }
            }
            Change::Delivery { command, is, .. } => {
                match is.is_some_and(|delivery| delivery.parked) {
                    true => self.parked.insert(*command),
                    false => self.parked.remove(command),
                };
            }
        }
    }

    fn appended(&mut self, message: Message<'a>) {
        if message.is_command() {
            let guest = message.guest();
            if self.guests.get(&*guest).is_some_and(|status| *status != "in") {
                self.granted.insert(message.id);
            }
            self.commands.insert(message.id, guest);
        }
        if message.message_type == "CommandExecuted" {
            let data: serde_json::Value = serde_json::from_str(message.data).unwrap_or_default();
            self.executed.insert((message.workflow, data["position"].as_i64().unwrap_or_default()));
        }
        self.streams.entry(message.workflow).or_default().push(message);
    }

    /// Every command, in order of workflow and position.
    pub fn commands(&self) -> impl Iterator<Item = &Message<'a>> {
        self.streams.values().flatten().filter(|message| message.is_command())
    }

    /// Whether there is a command of that id.
    pub fn is_command(&self, id: &str) -> bool {
        self.commands.contains_key(id)
    }

    /// Whether a command has taken effect. One whose guest has left by another's hand has nothing to do.
    pub fn is_done(&self, id: &str) -> bool {
        self.effects.contains_key(id) || self.granted.contains(id)
    }

    /// Whether the system itself says that a command was carried out.
    pub fn is_processed(&self, command: &Message) -> bool {
        command.processed == Some(1)
            || self.executed.contains(&(command.workflow, command.position))
    }

    /// Whether a command is set aside.
    pub fn is_parked(&self, command: &Message) -> bool {
        self.parked.contains(&(command.workflow, command.position))
    }

    /// Whether a command cannot be carried out: there is no such guest.
    pub fn is_poison(&self, id: &str) -> bool {
        self.commands.get(id).is_some_and(|guest| !self.guests.contains_key(&**guest))
    }

    /// Whether there is a command that cannot be carried out.
    pub fn is_poisoned(&self) -> bool {
        self.commands.keys().any(|id| self.is_poison(id))
    }
}
