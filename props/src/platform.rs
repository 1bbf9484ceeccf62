//! What must be true of every run of every system, because the platform promises it.

use thunderhead_sim::queue::Fate;
use thunderhead_sim::{EventKind, Fault, SortedMap, SortedSet, Trace};

use crate::history::{Message, messages, named};
use crate::promise::{Finding, Promise};

/// What every system is judged by: the platform's promises, that the application comes to rest, and that faults
/// really happen in a search.
pub const PLATFORM: &[&Promise] =
    &[&COMES_TO_REST, &SETTLED_ONCE, &NO_MESSAGE_LOST, &DIED_MID_CALL];

static COMES_TO_REST: Promise = Promise::always(
    "the application comes to rest",
    "no task panics, waits for ever, or is still busy when the steps are used up",
    comes_to_rest,
);

static SETTLED_ONCE: Promise = Promise::always(
    "a settled message stays settled",
    "a message that was acknowledged, dropped or moved to a dead-letter queue is never decided again",
    settled_once,
);

static NO_MESSAGE_LOST: Promise = Promise::eventually(
    "no message is lost",
    "every message whose delivery began is acknowledged, dead-lettered, dropped or expired in the end",
    no_message_lost,
);

/// For systems with a queue; the others cannot meet it.
pub static DELIVERED_TWICE: Promise = Promise::sometimes(
    "a message is delivered twice",
    "some message reaches a consumer more than once",
    delivered_twice,
);

static DIED_MID_CALL: Promise = Promise::sometimes(
    "a worker dies with a request on its way",
    "an effect happens on behalf of a worker that is already dead, or another host begins to work for it",
    died_mid_call,
);

fn comes_to_rest(trace: &Trace) -> Result<(), Finding> {
    for (at, event) in trace.events().iter().enumerate() {
        if let EventKind::Panic { .. } | EventKind::Stuck { .. } | EventKind::Livelock { .. } =
            &event.kind
        {
            return Err(Finding::at(
                at,
                format!("{}: {}", trace.actor_short(event), trace.describe(event)),
            ));
        }
    }
    Ok(())
}

fn settled_once(trace: &Trace) -> Result<(), Finding> {
    let mut settled = SortedSet::new();
    for (at, event) in trace.events().iter().enumerate() {
        let EventKind::Settle { queue, message, fate, .. } = &event.kind else { continue };
        let key = (queue, message);
        match fate {
            Fate::Gone => {}
            _ if settled.contains(&key) => {
                return Err(Finding::at(
                    at,
                    format!("message {} was settled before", message.short()),
                ));
            }
            Fate::Retried { .. } => {}
            Fate::Acked | Fate::DeadLettered { .. } | Fate::Dropped | Fate::Expired => {
                settled.insert(key);
            }
        }
    }
    Ok(())
}

fn no_message_lost(trace: &Trace) -> Result<(), Finding> {
    let forgotten = |message: &Message| message.handed_over && message.settled.is_none();
    match messages(trace).find(forgotten) {
        None => Ok(()),
        Some(message) => {
            let (id, queue) = (message.id.short(), &message.queue);
            let about = named(trace, &message.id.to_string());
            let message = format!("message {id} of {queue} was delivered and never settled");
            Err(Finding::missing(message).about(about))
        }
    }
}

fn delivered_twice(trace: &Trace) -> bool {
    messages(trace).any(|message| message.deliveries.len() > 1)
}

fn died_mid_call(trace: &Trace) -> bool {
    let mut callers = SortedMap::new();
    let mut dead = SortedSet::new();
    for event in trace.events() {
        match &event.kind {
            EventKind::Call { call, .. } => drop(callers.insert(*call, event.actor)),
            EventKind::Crash { fault: Fault::Crash, .. } => {
                let lost = callers.iter().filter(|(_, actor)| **actor == event.actor);
                dead.extend(lost.map(|(call, _)| *call));
            }
            EventKind::Return { call, .. } => drop(callers.remove(call)),
            EventKind::Effect { call, .. } | EventKind::Begin { call } if dead.contains(call) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::History;

    #[test]
    fn a_history_that_ends_in_a_panic_a_wait_or_a_loop_is_rejected() {
        assert_eq!(comes_to_rest(&History::default().trace()), Ok(()));
        for what in [
            EventKind::Panic { message: "no".into() },
            EventKind::Stuck { doing: "nothing".into(), waits: "all".into() },
            EventKind::Livelock { steps: 9 },
        ] {
            let mut history = History::default();
            history.push(what);
            assert_eq!(comes_to_rest(&history.trace()).unwrap_err().event, Some(0));
        }
    }

    #[test]
    fn a_message_that_is_decided_again_is_rejected() {
        let trace = |fates: &[Fate]| {
            let mut history = History::default();
            for fate in fates {
                history.settled(fate.clone());
            }
            history.trace()
        };
        let retried = Fate::Retried { at: thunderhead_sim::Time::ZERO };
        assert_eq!(settled_once(&trace(&[retried.clone(), Fate::Acked, Fate::Gone])), Ok(()));
        for second in [Fate::Acked, Fate::Dropped, retried] {
            assert_eq!(settled_once(&trace(&[Fate::Acked, second])).unwrap_err().event, Some(1));
        }
    }

    #[test]
    fn a_message_that_was_delivered_and_forgotten_is_rejected() {
        let mut history = History::default();
        history.delivered();
        assert!(no_message_lost(&history.trace()).is_err());
        history.settled(Fate::Retried { at: thunderhead_sim::Time::ZERO });
        assert!(no_message_lost(&history.trace()).is_err());
        history.settled(Fate::Acked);
        assert_eq!(no_message_lost(&history.trace()), Ok(()));
    }

    #[test]
    fn a_second_delivery_is_seen() {
        let mut history = History::default();
        history.begun();
        assert!(!delivered_twice(&history.trace()));
        history.begun();
        assert!(delivered_twice(&history.trace()));
    }

    #[test]
    fn an_effect_on_behalf_of_the_dead_is_seen() {
        let mut history = History::default();
        history.called(7).push(EventKind::Crash { fault: Fault::Crash, call: None });
        assert!(!died_mid_call(&history.trace()));
        history.effect(7);
        assert!(died_mid_call(&history.trace()));
    }

    #[test]
    fn a_handler_that_begins_on_behalf_of_the_dead_is_seen() {
        let mut history = History::default();
        history.called(7).push(EventKind::Crash { fault: Fault::Crash, call: None });
        history.push(EventKind::Begin { call: 7 });
        assert!(died_mid_call(&history.trace()));
    }
}
