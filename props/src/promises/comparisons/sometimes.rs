//! What a search must have seen, or it proves little.

use thunderhead_sim::{SortedMap, SortedSet, Trace};

use super::facts::{Comparison, Fact, comparison, facts, rows};
use crate::promise::Promise;

pub static COMPLETED: Promise =
    Promise::sometimes("a comparison completes", "some comparison comes to its result", |trace| {
        becomes(trace, |after| after.status == "completed")
    });

pub static FAILED: Promise = Promise::sometimes(
    "a redirect into a network fails a comparison",
    "some site redirects to an address that is not public, and the comparison fails for it",
    redirected_inside,
);

pub static RESOLVED_INSIDE: Promise = Promise::sometimes(
    "a name that leads into a network fails a comparison",
    "some public name resolves to an address that is not public, and the comparison fails for it",
    resolved_inside,
);

pub static EVICTED_RUNNING: Promise = Promise::sometimes(
    "a comparison is evicted while it runs",
    "some comparison makes way for a newer one before it has ended",
    evicted_running,
);

pub static ASKED_TOO_LATE: Promise = Promise::sometimes(
    "an evicted comparison is asked for",
    "a client asks for a comparison that has made way, and is told that it is gone",
    asked_too_late,
);

pub static ANSWERED_AGAIN: Promise = Promise::sometimes(
    "a request comes again",
    "a request for a comparison reaches the worker more than once",
    answered_again,
);

pub static SAVED_AGAIN: Promise = Promise::sometimes(
    "a probe is saved again",
    "a step that saves a probe is done more than once",
    saved_again,
);

pub static HISTORY_USED: Promise = Promise::sometimes(
    "history is used",
    "a comparison is explained with an earlier one of its pair in view",
    history_used,
);

/// How an error begins to tell that a public name leads inside.
const RESOLVED: &str = "resolves inside";

fn redirected_inside(trace: &Trace) -> bool {
    fails_for(trace, |why| why.contains("is not public") && !why.contains(RESOLVED))
}

fn resolved_inside(trace: &Trace) -> bool {
    fails_for(trace, |why| why.contains(RESOLVED))
}

fn fails_for(trace: &Trace, why: impl Fn(&str) -> bool) -> bool {
    becomes(trace, |after| after.error.is_some_and(&why))
}

fn becomes(trace: &Trace, what: impl Fn(&Comparison) -> bool) -> bool {
    let mut changes = rows(trace).flat_map(|(_, _, changes)| changes).filter_map(comparison);
    changes.any(|(_, after)| after.is_some_and(|after| what(&after)))
}

fn evicted_running(trace: &Trace) -> bool {
    let mut changes = rows(trace).flat_map(|(_, _, changes)| changes).filter_map(comparison);
    changes.any(|(before, after)| {
        after.is_none() && before.is_some_and(|before| before.status == "running")
    })
}

fn asked_too_late(trace: &Trace) -> bool {
    let (mut gone, mut asked) = (SortedSet::new(), SortedMap::new());
    facts(trace).any(|(_, fact)| {
        match fact {
            Fact::Rows { changes, .. } => {
                let changes = changes.iter().filter_map(comparison);
                gone.extend(changes.filter_map(|(before, after)| match after {
                    None => before.map(|before| before.id),
                    Some(_) => None,
                }));
            }
            Fact::Asked { call, request } => {
                asked.extend(request.path.strip_prefix("/compare/").map(|id| (call, id)));
            }
            Fact::Answered { call, response } if response.status == 410 => {
                return asked.get(&call).is_some_and(|id| gone.contains(id));
            }
            _ => {}
        }
        false
    })
}

fn answered_again(trace: &Trace) -> bool {
    let mut requests = SortedSet::new();
    facts(trace).any(|(_, fact)| match fact {
        Fact::Asked { request, .. } => &*request.method == "POST" && !requests.insert(request),
        _ => false,
    })
}

fn saved_again(trace: &Trace) -> bool {
    let mut saved = SortedSet::new();
    facts(trace).any(|(_, fact)| match fact {
        Fact::Called { method: "saveProbe", args } => !saved.insert(args),
        _ => false,
    })
}

fn history_used(trace: &Trace) -> bool {
    facts(trace).any(|(_, fact)| match fact {
        Fact::Fetched { to: "model", request } => {
            request.body.text().is_some_and(|text| text.contains(r#""history":[{"#))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    #[test]
    fn an_end_is_seen() {
        let mut story = Story::default();
        story.created(&[1]);
        assert!(!becomes(&story.trace(), |after| after.status == "completed"));
        assert!(becomes(&story.completed(1).trace(), |after| after.status == "completed"));
    }

    #[test]
    fn a_failure_is_told_by_its_cause() {
        let failed = |error: &'static str| {
            let mut story = Story::default();
            story.created(&[1]);
            story.turn(|turn| turn.set_with(1, "failed", |_, told| *told = Some(error)));
            (redirected_inside(&story.trace()), resolved_inside(&story.trace()))
        };
        assert_eq!(failed("169.254.169.254 is not public: link-local"), (true, false));
        assert_eq!(failed("a.example resolves inside: 10.0.0.1 is not public"), (false, true));
        assert_eq!(failed("lost"), (false, false));
    }

    #[test]
    fn an_eviction_of_one_that_runs_is_seen() {
        let mut story = Story::default();
        story.created(&[1, 2]).completed(2).turn(|turn| turn.delete(2));
        assert!(!evicted_running(&story.trace()));
        assert!(evicted_running(&story.turn(|turn| turn.delete(1)).trace()));
    }

    #[test]
    fn a_question_that_comes_too_late_is_seen() {
        let mut story = Story::default();
        story.created(&[1]).ask(7, 2).told(7, 410, "evicted");
        assert!(!asked_too_late(&story.trace()));
        story.turn(|turn| turn.delete(1)).ask(8, 1).told(8, 410, "evicted");
        assert!(asked_too_late(&story.trace()));
    }

    #[test]
    fn what_comes_again_is_seen() {
        let mut story = Story::default();
        story.compare(0, "a").compare(1, "b").saves(&id(1)).saves(&id(2));
        assert!(!answered_again(&story.trace()) && !saved_again(&story.trace()));
        story.compare(2, "a").saves(&id(2));
        assert!(answered_again(&story.trace()) && saved_again(&story.trace()));
    }

    #[test]
    fn history_in_a_prompt_is_seen() {
        let mut story = Story::default();
        story.prompt(1, &[]);
        assert!(!history_used(&story.trace()));
        assert!(history_used(&story.prompt(2, &[1]).trace()));
    }
}
