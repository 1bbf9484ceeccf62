//! The trace as a sequence diagram, for a page that renders Mermaid.

use std::fmt::Write;

use super::text::{Length, Text};
use super::{EventKind, Trace};
use crate::protocol::op::Op;
use crate::values::call::CallClass;
use crate::values::printable::printable;

impl Trace {
    /// A Mermaid `sequenceDiagram`: who called whom, what took effect, and where the storm struck.
    pub fn to_mermaid(&self) -> String {
        let mut text = String::from("sequenceDiagram\n");
        let told = Text::new(self, Length::Short);
        let mut callers: Vec<u16> = Vec::new();
        for event in self.events() {
            if let EventKind::Call { call, .. } = event.kind {
                callers.resize(callers.len().max(call as usize + 1), 0);
                callers[call as usize] = event.actor;
            }
        }
        let mut seen = vec![false; self.actors().len()];
        for event in self.events() {
            seen[usize::from(event.actor)] = true;
        }
        for at in (0..self.actors().len()).filter(|at| seen[*at]) {
            let _ = writeln!(text, "    participant a{at} as {}", clean(told.names.of(at as u16)));
        }
        for (at, event) in self.events().iter().enumerate() {
            let me = format!("a{}", event.actor);
            let caller = |call: u32| format!("a{}", callers.get(call as usize).unwrap_or(&0));
            let asked = |call: u32| clean(&told.asked(call));
            let _ = match event.kind {
                EventKind::Effect { call, outcome } if answered(self.op(call).class()) => {
                    let mark = if self.outcome(outcome).is_ok() { "->>" } else { "-x" };
                    writeln!(text, "    {}{mark}{me}: {}", caller(call), asked(call))
                }
                EventKind::Begin { call } => {
                    writeln!(text, "    {}->>{me}: {}", caller(call), asked(call))
                }
                EventKind::Effect { call, .. } if matches!(self.op(call), Op::Notify { .. }) => {
                    writeln!(text, "    {}--){me}: {}", caller(call), asked(call))
                }
                EventKind::Effect { .. }
                | EventKind::Call { .. }
                | EventKind::Return { .. }
                | EventKind::End { .. } => Ok(()),
                _ => {
                    let told = clean(&told.describe(at, 1));
                    writeln!(text, "    Note over {me}: {told}")
                }
            };
        }
        text
    }
}

/// Whether a service answers such a call.
fn answered(class: CallClass) -> bool {
    matches!(class, CallClass::Service | CallClass::Read | CallClass::Ai | CallClass::Create)
}

/// Mermaid ends a message at `;` and `#`, and would read markup in quotes and brackets.
fn clean(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    printable(&words.join(" ")).replace(['#', ';', '"', '<', '>', '{', '}'], "")
}
