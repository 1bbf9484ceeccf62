//! The trace as a sequence diagram, for a page that renders Mermaid.

use std::fmt::Write;

use super::{Trace, What};
use crate::protocol::fault::Class;
use crate::protocol::op::Op;

impl Trace {
    /// A Mermaid `sequenceDiagram`: who called whom, what took effect, and where the storm struck.
    pub fn to_mermaid(&self) -> String {
        let mut text = String::from("sequenceDiagram\n");
        let mut callers: Vec<u16> = Vec::new();
        for event in self.events() {
            if let What::Call { call, .. } = event.what {
                callers.resize(callers.len().max(call as usize + 1), 0);
                callers[call as usize] = event.actor;
            }
        }
        let mut seen = vec![false; self.actors().len()];
        for event in self.events() {
            seen[usize::from(event.actor)] = true;
        }
        for (at, name) in self.actors().iter().enumerate().filter(|(at, _)| seen[*at]) {
            let _ = writeln!(text, "    participant a{at} as {}", clean(name));
        }
        for event in self.events() {
            let me = format!("a{}", event.actor);
            let caller = |call: u32| format!("a{}", callers.get(call as usize).unwrap_or(&0));
            let asked = |call: u32| clean(&self.op(call).to_string());
            let _ = match event.what {
                What::Effect { call, outcome } if answered(self.op(call).class()) => {
                    let mark = if self.outcome(outcome).is_ok() { "->>" } else { "-x" };
                    writeln!(text, "    {}{mark}{me}: {}", caller(call), asked(call))
                }
                What::Begin { call } => {
                    writeln!(text, "    {}->>{me}: {}", caller(call), asked(call))
                }
                What::Effect { call, .. } if matches!(self.op(call), Op::Notify { .. }) => {
                    writeln!(text, "    {}--){me}: {}", caller(call), asked(call))
                }
                What::Effect { .. }
                | What::Call { .. }
                | What::Return { .. }
                | What::End { .. } => Ok(()),
                _ => {
                    let told = clean(&self.told(event).to_string());
                    writeln!(text, "    Note over {me}: {told}")
                }
            };
        }
        text
    }
}

/// Whether a service answers such a call.
fn answered(class: Class) -> bool {
    matches!(class, Class::Service | Class::Read | Class::Ai | Class::Create)
}

/// Mermaid ends a message at `;` and `#`, and would read markup in quotes and brackets.
fn clean(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(['#', ';', '"', '<', '>', '{', '}'], "")
}
