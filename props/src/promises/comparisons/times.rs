//! Times are those at which things happened.

use serde_json::Value;
use thunderhead_sim::Trace;

use super::facts::{comparison, probe, rows};
use crate::promise::{Finding, Promise};

pub static TRUE: Promise = Promise::always(
    "times are true",
    "a comparison, a probe and a result bear the time in milliseconds at which they were made: none is of the future, and none is older than its comparison",
    times_are_true,
);

fn times_are_true(trace: &Trace) -> Result<(), Finding> {
    let mut began = thunderhead_sim::SortedMap::new();
    for (at, _, changes) in rows(trace) {
        let now = i64::try_from(trace.events()[at].at.unix_ms()).unwrap_or(i64::MAX);
        let check =
            |what: &str, id: &str, since: i64, time: i64| match (since..=now).contains(&time) {
                true => Ok(()),
                false => {
                    let message = format!("{what} of {id} is of {time}, not of {since} to {now}");
                    Err(Finding::at(at, message))
                }
            };
        for change in changes {
            if let Some((before, Some(after))) = comparison(change) {
                let since = *began.entry(after.id).or_insert(after.ts);
                check("the beginning", after.id, 0, after.ts)?;
                if let Some(result) = after.result
                    && before.is_none_or(|before| before.result != after.result)
                {
                    let result: Value = serde_json::from_str(result).unwrap_or_default();
                    let time = result["timestamp"].as_i64().unwrap_or_default();
                    check("the result", after.id, since, time)?;
                }
            }
            if let Some((_, Some(saved))) = probe(change) {
                let since = began.get(saved.comparison).copied().unwrap_or_default();
                check("a probe", saved.comparison, since, saved.ts)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::{Story, id};

    /// The beginning of simulated time, in milliseconds since 1970. The beginnings of comparisons in stories are of
    /// another age.
    fn start() -> i64 {
        thunderhead_sim::Time::ZERO.unix_ms() as i64
    }

    fn completed_at(timestamp: i64) -> Result<(), Finding> {
        let mut story = Story::default();
        let result: &str = format!("{{\"timestamp\":{timestamp}}}").leak();
        story.created(&[1]);
        story.turn(|turn| turn.set_with(1, "completed", |told, _| *told = Some(result)));
        times_are_true(&story.trace())
    }

    #[test]
    fn a_result_of_the_past_since_its_comparison_is_as_it_should_be() {
        assert_eq!(completed_at(7), Ok(()));
        assert_eq!(completed_at(start() + 1), Ok(()));
    }

    #[test]
    fn a_result_of_the_future_or_older_than_its_comparison_is_rejected() {
        let (earliest, latest) = (7, start() + 1);
        for wrong in [earliest - 1, latest + 1] {
            let range = format!("{earliest} to {latest}");
            let message = format!("the result of {} is of {wrong}, not of {range}", id(1));
            assert_eq!(completed_at(wrong), Err(Finding::at(1, message)));
        }
    }

    #[test]
    fn a_probe_of_the_future_is_rejected() {
        let mut story = Story::default();
        story.created(&[1]).turn(|turn| turn.probe(1, "left", start() + 2));
        assert_eq!(times_are_true(&story.trace()).unwrap_err().event, Some(1));
    }
}
