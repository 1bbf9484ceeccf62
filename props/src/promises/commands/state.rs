//! The state beside a stream is what its messages make.

use serde_json::Value;
use thunderhead_sim::{SortedMap, SortedSet};

use super::contents::Contents;
use super::facts::{Change, Fact, Message, facts};
use super::oracle::Oracle;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static LIVE: Promise = Promise::always_shared(
    "live state is rebuilt state",
    "at every instant the state beside a stream is what its messages make, and an answer is a state that it had while the question was open",
    live,
);

/// What the messages of each stream make, one after another. A stream that was added to is not read again from its
/// beginning.
#[derive(Default)]
struct Rebuilt<'a>(SortedMap<&'a str, Vec<(Said<'a>, Oracle)>>);

/// Type and data of a message: what a state follows from.
type Said<'a> = (&'a str, &'a str);

impl<'a> Rebuilt<'a> {
    /// The state after the first messages of a stream.
    fn state(&mut self, workflow: &'a str, stream: &[Message<'a>]) -> Value {
        let known = self.0.entry(workflow).or_default();
        let said = |message: &Message<'a>| (message.message_type, message.data);
        let same = known.iter().zip(stream).take_while(|((of, _), is)| *of == said(is)).count();
        if same < known.len().min(stream.len()) {
            known.truncate(same);
        }
        for message in stream.iter().skip(known.len()) {
            let mut oracle = known.last().map(|(_, oracle)| oracle.clone()).unwrap_or_default();
            oracle.hear(message);
            known.push((said(message), oracle));
        }
        let last = stream.len().checked_sub(1).map(|last| &known[last].1);
        last.cloned().unwrap_or_default().state
    }
}

fn live(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut rebuilt = Rebuilt::default();
    // The group that each open question is about, and how long its stream was when it came.
    let mut asked: SortedMap<u32, (&str, i64)> = SortedMap::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Rows(changes) => {
                let mut touched = SortedSet::new();
                for change in changes.iter() {
                    if let Change::Message(_, Some(message)) = change {
                        touched.insert(message.workflow);
                    }
                    if let Change::State { workflow, .. } = change {
                        touched.insert(workflow);
                    }
                    contents.apply(change);
                }
                for workflow in touched {
                    agrees(&contents, &mut rebuilt, workflow)
                        .map_err(|wrong| Finding::at(at, wrong))?;
                }
            }
            Fact::Asked { call, request } if &*request.method == "GET" => {
                if let Some(group) = group(&request.path) {
                    asked.entry(call).or_insert((group, version(&contents, group)));
                }
            }
            Fact::Answered { call, response } => {
                let Some((group, since)) = asked.get(&call) else { continue };
                let told = match response.status {
                    200 => response.body.read().unwrap_or_default(),
                    404 => serde_json::json!({ "version": 0, "state": { "status": "notStarted" } }),
                    _ => continue,
                };
                let truth = is_true(&contents, &mut rebuilt, (group, *since), &told);
                truth.map_err(|wrong| Finding::at(at, wrong))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `/groups/NAME` and nothing behind it.
fn group(path: &str) -> Option<&str> {
    path.strip_prefix("/groups/").filter(|rest| !rest.contains(['/', '?']))
}

fn version(contents: &Contents, workflow: &str) -> i64 {
    contents.streams.get(workflow).map_or(0, |stream| stream.len() as i64)
}

/// The state beside a stream is that of the whole stream.
fn agrees<'a>(
    contents: &Contents<'a>,
    rebuilt: &mut Rebuilt<'a>,
    workflow: &'a str,
) -> Result<(), String> {
    let stream = contents.streams.get(workflow).map(Vec::as_slice).unwrap_or_default();
    let expected = rebuilt.state(workflow, stream);
    let Some((version, state)) = contents.states.get(workflow) else {
        return Err(format!("{workflow} has {} messages and no state", stream.len()));
    };
    let state: Value = serde_json::from_str(state).unwrap_or_default();
    if (*version, &state) != (stream.len() as i64, &expected) {
        let length = stream.len();
        return Err(format!(
            "{workflow} is said to be {state} at {version}; its {length} messages make {expected}"
        ));
    }
    Ok(())
}

/// An answer was true at some moment since the question.
fn is_true<'a>(
    contents: &Contents<'a>,
    rebuilt: &mut Rebuilt<'a>,
    (workflow, since): (&'a str, i64),
    told: &Value,
) -> Result<(), String> {
    let stream = contents.streams.get(workflow).map(Vec::as_slice).unwrap_or_default();
    let version = told["version"].as_i64().unwrap_or(-1);
    let length = stream.len() as i64;
    if !(since..=length).contains(&version) {
        return Err(format!("{workflow} was at {since} to {length}, not at {version}"));
    }
    let expected = rebuilt.state(workflow, &stream[..version as usize]);
    match told["state"] == expected {
        true => Ok(()),
        false => Err(format!("{workflow} was {expected} at {version}, not {}", told["state"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::commands::mutants::{Story, event};

    const INITIATED: &str = r#"{"guests":["ann"]}"#;
    const PENDING: &str = r#"{"status":"pending","guests":{"ann":"pending"}}"#;
    const LEFT: &str = r#"{"status":"pending","guests":{"ann":"checkedOut"}}"#;

    fn set(version: i64, state: &str) -> String {
        format!("insert or replace into workflow_states values ('g', {version}, '{state}')")
    }

    /// The group begins, its state with it.
    fn begun(version: i64, state: &str) -> Story {
        let mut story = Story::default();
        let append = event(1, "a", "GroupCheckoutInitiated", INITIATED);
        story.sql(&format!("{append}; {}", set(version, state)));
        story
    }

    fn left(story: &mut Story, version: i64, state: &str) {
        let append = event(2, "b", "GuestCheckedOut", r#"{"guest":"ann"}"#);
        story.sql(&format!("{append}; {}", set(version, state)));
    }

    #[test]
    fn a_state_that_is_written_with_its_messages_is_as_it_should_be() {
        let mut story = begun(1, PENDING);
        left(&mut story, 2, LEFT);
        let append = event(3, "c", "GroupCheckoutCompleted", "{}");
        story.sql(&format!("{append}; {}", set(3, r#"{"status":"completed"}"#)));
        assert_eq!(live(&Reading::of(&story.trace())), Ok(()));
    }

    #[test]
    fn a_state_that_lags_runs_ahead_or_is_another_is_rejected() {
        for (version, state) in [(1, PENDING), (3, LEFT), (2, PENDING)] {
            let mut story = begun(1, PENDING);
            left(&mut story, version, state);
            let finding = live(&Reading::of(&story.trace())).unwrap_err();
            assert_eq!(finding.event, Some(1));
            assert!(finding.message.contains("its 2 messages make"), "{}", finding.message);
        }
    }

    #[test]
    fn a_stream_without_a_state_and_a_state_of_its_own_are_rejected() {
        let mut story = Story::default();
        story.event(1, "a", "GroupCheckoutInitiated", INITIATED);
        assert_eq!(
            live(&Reading::of(&story.trace())),
            Err(Finding::at(0, "g has 1 messages and no state"))
        );
        let mut story = begun(1, PENDING);
        story.sql(&set(1, LEFT));
        assert_eq!(live(&Reading::of(&story.trace())).unwrap_err().event, Some(1));
    }

    #[test]
    fn an_answer_of_while_one_asked_is_true_and_an_older_one_is_not() {
        let told =
            |version: i64, state: &str| format!(r#"{{"version":{version},"state":{state}}}"#);
        let mut story = begun(1, PENDING);
        story.asked(0, "/groups/g");
        left(&mut story, 2, LEFT);
        story.answered(0, 200, &told(1, PENDING));
        assert_eq!(live(&Reading::of(&story.trace())), Ok(()));
        story.asked(1, "/groups/g").answered(1, 200, &told(1, PENDING));
        assert_eq!(
            live(&Reading::of(&story.trace())),
            Err(Finding::at(5, "g was at 2 to 2, not at 1"))
        );
    }

    #[test]
    fn an_answer_that_never_was_is_rejected() {
        let mut story = begun(1, PENDING);
        story.asked(0, "/groups/g");
        story.answered(0, 200, &format!(r#"{{"version":1,"state":{LEFT}}}"#));
        assert_eq!(live(&Reading::of(&story.trace())).unwrap_err().event, Some(2));
        let mut story = begun(1, PENDING);
        story.asked(0, "/groups/g").answered(0, 404, "");
        assert_eq!(
            live(&Reading::of(&story.trace())),
            Err(Finding::at(2, "g was at 1 to 1, not at 0"))
        );
    }
}
