//! Promises for nothing: what any system is judged by without a line of its own.
//!
//! They say what nearly every application would: nothing is given up, nothing waits for ever, and what a storm leaves
//! behind is what a calm leaves behind. A system for which one of them is too strong is made
//! [`without`](crate::System::without) it, and says why.

use thunderhead_sim::queue::Fate;
use thunderhead_sim::{Event, EventKind, Op, Reply, SortedMap, Trace, workflow};

use crate::history::{Ended, instances, messages, named};
use crate::promise::{Check, Finding, Promise};

/// What every system is judged by, unless it says why not.
pub const FREE: &[&Promise] = &[
    &NO_MESSAGE_DIES,
    &WORKFLOWS_END,
    &NO_FAILURE_UNHEARD,
    &NO_ALARM_DROPPED,
    &OBJECTS_ANSWER,
    &CONVERGES,
];

static NO_MESSAGE_DIES: Promise = Promise::eventually(
    "no message is given up",
    "no message is dropped or expires, and none is left in a dead-letter queue that nobody reads",
    no_message_dies,
);

static WORKFLOWS_END: Promise = Promise::eventually(
    "every workflow ends",
    "when all is quiet, no instance still waits",
    workflows_end,
);

static NO_FAILURE_UNHEARD: Promise = Promise::eventually(
    "no workflow fails unheard",
    "an instance that has thrown was asked how it stands afterwards, or was restarted",
    no_failure_unheard,
);

static NO_ALARM_DROPPED: Promise = Promise::eventually(
    "no alarm is dropped for good",
    "an object whose alarm has failed so often that the platform gives it up writes again later",
    no_alarm_dropped,
);

static OBJECTS_ANSWER: Promise = Promise::eventually(
    "no object refuses every call",
    "an object that was called several times after the storm has answered one of the calls",
    objects_answer,
);

/// Judged where the requests of the run are known.
static CONVERGES: Promise = Promise::fixed(
    "the storm leaves no trace",
    "the rows and objects that are left are those that some calm run of the same requests leaves",
    Check::Converges,
);

fn no_message_dies(trace: &Trace) -> Result<(), Finding> {
    let gives_up = |fate: &Fate| match fate {
        Fate::DeadLettered { .. } | Fate::Dropped | Fate::Expired => true,
        Fate::Acked | Fate::Retried { .. } | Fate::Gone => false,
    };
    let in_doubt =
        |kind: &EventKind| matches!(kind, EventKind::Settle { fate, .. } if gives_up(fate));
    if !trace.events().iter().any(|event| in_doubt(&event.kind)) {
        return Ok(());
    }
    let heard = |queue: &str, id| {
        let mut there =
            messages(trace).filter(|message| (message.queue, message.id) == (queue, id));
        there.any(|message| matches!(message.settled, Some((_, Fate::Acked))))
    };
    for message in messages(trace) {
        let Some((at, fate)) = message.settled else { continue };
        let read = matches!(fate, Fate::DeadLettered { queue } if heard(queue, message.id));
        if gives_up(fate) && !read {
            let (id, queue) = (message.id.short(), message.queue);
            // Had there been a dead-letter queue, it would be there.
            let why = match fate {
                Fate::Dropped => {
                    ": its consumer may try no more often (`max_retries`; a delivery that is lost counts) and has no \
                     `dead_letter_queue`"
                }
                Fate::DeadLettered { .. } => ", which nobody reads",
                _ => "",
            };
            return Err(Finding::at(
                at,
                format!("message {id} of {queue} is given up: {fate}{why}"),
            ));
        }
    }
    Ok(())
}

fn workflows_end(trace: &Trace) -> Result<(), Finding> {
    match instances(trace).find(|instance| instance.ended.is_none()) {
        None => Ok(()),
        Some(waits) => {
            let message = format!("{}/{} never ends", waits.workflow, waits.id);
            Err(Finding::missing(message).about(named(trace, waits.id)))
        }
    }
}

fn no_failure_unheard(trace: &Trace) -> Result<(), Finding> {
    for instance in instances(trace) {
        let Some((at, Ended::Errored(error))) = instance.ended else { continue };
        let asked = trace.effects().any(|(later, op, _)| match op {
            Op::Workflow(workflow::Op::Status { workflow, id }) => {
                later > at && (&**workflow, &**id) == (instance.workflow, instance.id)
            }
            _ => false,
        });
        if !asked && !waited_in_vain(trace, instance.workflow, instance.id) {
            let (workflow, id) = (instance.workflow, instance.id);
            let message = format!("{workflow}/{id} failed, and nobody asks: {error}");
            return Err(Finding::at(at, message));
        }
    }
    Ok(())
}

/// Whether an instance gave up waiting for an event that nobody has tried to send: not every client goes on.
fn waited_in_vain(trace: &Trace, workflow: &str, id: &str) -> bool {
    let mut awaited = None;
    for (_, op, outcome) in trace.effects() {
        let Op::Workflow(op) = op else { continue };
        if op.engine().is_none_or(|engine| (&*engine.workflow, &*engine.id) != (workflow, id)) {
            continue;
        }
        match (op, outcome) {
            (
                workflow::Op::WaitForEvent { event_type, .. },
                Ok(Reply::Workflow(workflow::Reply::Step(workflow::Progress::Thrown(_)))),
            ) => awaited = Some(event_type),
            // What comes between the wait and the end may have failed by itself.
            (workflow::Op::Finish { .. }, _) => {}
            _ => awaited = None,
        }
    }
    let is_sent = |event: &Event| match event.kind {
        EventKind::Call { call } => match trace.op(call) {
            Op::Workflow(workflow::Op::SendEvent { workflow: of, id: to, event_type, .. }) => {
                (&**of, &**to) == (workflow, id) && Some(event_type) == awaited
            }
            _ => false,
        },
        _ => false,
    };
    awaited.is_some() && !trace.events().iter().any(is_sent)
}

fn no_alarm_dropped(trace: &Trace) -> Result<(), Finding> {
    let events = trace.events();
    for (at, event) in events.iter().enumerate() {
        if event.kind != EventKind::AlarmDropped {
            continue;
        }
        let goes_on = events[at..].iter().any(|later| match &later.kind {
            EventKind::Rows { changes } => {
                later.actor == event.actor && changes.iter().any(|change| change.after.is_some())
            }
            _ => false,
        });
        if !goes_on {
            let object = trace.actor_short(event);
            return Err(Finding::at(at, format!("the alarm of {object} is dropped")));
        }
    }
    Ok(())
}

/// How many calls an object has to refuse before it refuses every call.
const REFUSALS: u32 = 2;

/// A call that an object has never answered may be one that it has to refuse.
fn objects_answer(trace: &Trace) -> Result<(), Finding> {
    let mut refused: SortedMap<u16, (u32, usize)> = SortedMap::new();
    let events = trace.events();
    let calm = events.iter().position(|event| event.kind == EventKind::Calm).unwrap_or(0);
    for (at, event) in events.iter().enumerate().skip(calm) {
        let EventKind::End { call, outcome } = event.kind else { continue };
        if !matches!(trace.op(call), Op::Rpc { .. }) {
            continue;
        }
        let (times, last) = refused.entry(event.actor).or_insert((0, at));
        match trace.outcome(outcome) {
            // It has answered, whatever comes later.
            Ok(_) => *times = u32::MAX,
            Err(_) if *times < u32::MAX => (*times, *last) = (*times + 1, at),
            Err(_) => {}
        }
    }
    for (times, at) in refused.into_values() {
        if (REFUSALS..u32::MAX).contains(&times)
            && refuses_what_it_answered(trace, calm, events[at].actor)
        {
            let object = trace.actor_short(&events[at]);
            return Err(Finding::at(
                at,
                format!("{object} refused all {times} calls since the calm"),
            ));
        }
    }
    Ok(())
}

/// Whether an object has answered a call that it refuses since the calm.
fn refuses_what_it_answered(trace: &Trace, calm: usize, object: u16) -> bool {
    let ends = |events: &'_ [Event], well: bool| -> Vec<u32> {
        let own = events.iter().filter(|event| event.actor == object);
        let ends = own.filter_map(|event| match event.kind {
            EventKind::End { call, outcome } => Some((call, trace.outcome(outcome).is_ok())),
            _ => None,
        });
        ends.filter(|(_, ended_well)| *ended_well == well).map(|(call, _)| call).collect()
    };
    let (before, since) = trace.events().split_at(calm);
    let (answered, refused) = (ends(before, true), ends(since, false));
    let is_same = |one: &u32, other: &u32| trace.op(*one) == trace.op(*other);
    refused.iter().any(|refused| answered.iter().any(|answered| is_same(answered, refused)))
}

#[cfg(test)]
mod running;

#[cfg(test)]
mod tests {
    use thunderhead_sim::queue::Fate;
    use thunderhead_sim::workflow::{Engine, Reply as WorkflowReply};
    use thunderhead_sim::{Body, Error, Reply};

    use super::*;
    use crate::mutant::History;

    #[test]
    fn a_message_that_is_given_up_is_rejected_where_it_happens() {
        let mut history = History::default();
        history.settled(Fate::Acked);
        assert_eq!(no_message_dies(&history.trace()), Ok(()));
        for fate in [Fate::Dropped, Fate::Expired, Fate::DeadLettered { queue: "dead".into() }] {
            let mut history = History::default();
            history.settled(fate);
            assert_eq!(no_message_dies(&history.trace()).unwrap_err().event, Some(0));
        }
    }

    fn created() -> History {
        let mut history = History::default();
        let reply = Reply::Workflow(WorkflowReply::Instance { id: "a".into() });
        history.effect_of(Op::Workflow(workflow::Op::create("w", "a", "{}")), Ok(reply));
        history
    }

    fn finished(history: &mut History, result: Result<Body, workflow::StepError>) {
        let engine = Engine { workflow: "w".into(), id: "a".into(), generation: 1 };
        let op = Op::Workflow(workflow::Op::Finish { engine, result });
        history.effect_of(op, Ok(Reply::Workflow(WorkflowReply::Done)));
    }

    #[test]
    fn an_instance_that_waits_is_rejected() {
        let mut history = created();
        assert!(workflows_end(&history.trace()).is_err());
        finished(&mut history, Ok(Body::empty()));
        assert_eq!(workflows_end(&history.trace()), Ok(()));
    }

    #[test]
    fn a_dropped_alarm_is_rejected_where_it_happens() {
        let mut history = History::default();
        assert_eq!(no_alarm_dropped(&history.trace()), Ok(()));
        history.push(EventKind::AlarmDropped);
        assert_eq!(no_alarm_dropped(&history.trace()).unwrap_err().event, Some(0));
    }

    #[test]
    fn an_object_that_answers_no_call_after_the_storm_is_rejected() {
        let op = Op::Rpc { object: "someone".into(), method: "m".into(), args: Body::empty() };
        let refuses = |history: &mut History, call| {
            history.begins(call, op.clone()).fails(call, Error::app("no"));
        };
        let mut never = History::default();
        never.push(EventKind::Calm);
        (1..5).for_each(|call| refuses(&mut never, call));
        assert_eq!(objects_answer(&never.trace()), Ok(()), "it may have to refuse this");
        let mut history = History::default();
        history.begins(1, op.clone()).ends(1, Reply::Rpc(Body::empty()));
        refuses(&mut history, 2);
        history.push(EventKind::Calm);
        refuses(&mut history, 3);
        assert_eq!(objects_answer(&history.trace()), Ok(()), "once may be the caller's mistake");
        refuses(&mut history, 4);
        assert!(objects_answer(&history.trace()).is_err());
        let other = Op::Rpc { object: "someone".into(), method: "n".into(), args: Body::empty() };
        let mut last = history.clone();
        last.begins(6, other.clone()).fails(6, Error::app("no"));
        assert!(objects_answer(&last.trace()).is_err(), "whatever it refuses last");
        history.begins(5, op.clone()).ends(5, Reply::Rpc(Body::empty()));
        assert_eq!(objects_answer(&history.trace()), Ok(()));
    }
}
