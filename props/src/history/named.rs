//! Where a history tells of something that a promise names.

use thunderhead_sim::sqlite::{Row, Value};
use thunderhead_sim::{Event, EventKind, Op, Outcome, Reply, Trace, queue, r2};

/// The first and the last event that wrote something of this name, as indices: a row that has it in a column, an
/// object of a bucket, an instance of a workflow, a message. For [`Finding::about`](crate::Finding::about).
pub fn named(trace: &Trace, name: &str) -> Vec<usize> {
    let events = trace.events();
    let writes = |at: &usize| is_about(trace, &events[*at], name);
    let first = (0..events.len()).find(writes);
    let last = (0..events.len()).rev().find(writes);
    first.into_iter().chain(last.filter(|last| Some(*last) != first)).collect()
}

fn is_about(trace: &Trace, event: &Event, name: &str) -> bool {
    match &event.kind {
        EventKind::Rows { changes } => changes.iter().any(|change| {
            let has = |row: &Option<Row>| {
                let mut values = row.iter().flatten();
                values.any(|(_, value)| matches!(value, Value::Text(text) if **text == *name))
            };
            has(&change.after) || has(&change.before)
        }),
        EventKind::Settle { message, .. } => message.to_string() == name,
        EventKind::Effect { .. } => match trace.carried(event) {
            (Some(op), Some(outcome)) => writes(op, outcome, name),
            _ => false,
        },
        _ => false,
    }
}

fn writes(op: &Op, outcome: &Outcome, name: &str) -> bool {
    match (op, outcome) {
        (Op::R2(op), Ok(_)) => {
            !matches!(op, r2::Op::Head { .. } | r2::Op::Get { .. } | r2::Op::List { .. })
                && op.keys().iter().any(|key| **key == *name || key.ends_with(&format!("/{name}")))
        }
        (Op::Workflow(op), Ok(_)) => op.instance() == Some(name),
        (_, Ok(Reply::Queue(queue::Reply::Sent { id, .. }))) => id.to_string() == name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::History;

    #[test]
    fn the_first_and_the_last_event_that_write_a_name_are_found() {
        let mut history = History::default();
        for key in ["dog", "cat", "dog", "cat", "cat", "dog"] {
            history.stored("photos", key, "v1", "r");
        }
        let trace = history.trace();
        assert_eq!(named(&trace, "cat"), [1, 4]);
        assert!(named(&trace, "cow").is_empty());
    }
}
