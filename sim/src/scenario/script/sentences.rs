//! The faults of a script in words, for the header of a history: `the reply to the first fetch web/* is lost`.
//!
//! Each fault has its sentence in the list of `protocol/fault.rs`; here its gaps are filled.

use super::words::{chance_text, duration_text};
use crate::scenario::Scenario;
use crate::scenario::scripted_fault::{Filter, ScriptedFault};

impl Scenario {
    /// What the script wants to go wrong, a sentence for each fault and each kill.
    ///
    /// ```
    /// use thunderhead_sim::{Fault, Scenario, ScriptedFault};
    ///
    /// let faults = vec![ScriptedFault::once(Fault::LoseReply, "fetch web/*")];
    /// let scenario = Scenario { faults, ..Scenario::default() };
    /// assert_eq!(scenario.faults_in_words(), ["the reply to the first fetch web/* is lost"]);
    /// ```
    pub fn faults_in_words(&self) -> Vec<String> {
        let struck = places(&self.faults);
        let faults = self.faults.iter().zip(&struck).map(|(rule, places)| sentence(rule, places));
        let kills = self.kills.iter().map(|kill| {
            let down = kill.down.map(|down| format!(" and is down for {}", duration_text(down)));
            format!("{} dies at {}{}", kill.host, kill.at, down.unwrap_or_default())
        });
        faults.chain(kills).collect()
    }
}

/// Which of the calls that its filter fits a rule strikes, counted from 1. A call is struck by one rule, so rules
/// with the same filter share them.
fn places(rules: &[ScriptedFault]) -> Vec<Vec<u32>> {
    /// A rule that strikes more calls than this strikes all of them, as far as words go.
    const MANY: usize = 32;
    let mut places: Vec<Vec<u32>> = vec![Vec::new(); rules.len()];
    let mut seen = vec![0; rules.len()];
    for (first, rule) in rules.iter().enumerate() {
        if rules[..first].iter().any(|earlier| earlier.on == rule.on) {
            continue;
        }
        let skips: u32 = rules.iter().map(|rule| rule.skip.min(1 << 16)).sum();
        for call in 1..=skips.saturating_add((MANY * rules.len()) as u32) {
            for at in (first..rules.len()).filter(|at| rules[*at].on == rule.on) {
                let rule = &rules[at];
                let spent = places[at].len() >= MANY.min(rule.times as usize);
                if spent || rule.chance.is_some() {
                    continue;
                }
                seen[at] += 1;
                if seen[at] > rule.skip {
                    places[at].push(call);
                    break;
                }
            }
        }
    }
    places
}

fn sentence(rule: &ScriptedFault, places: &[u32]) -> String {
    let who = who_dies(&rule.on);
    let told = rule.fault.kind().told;
    // "Its" call is that of the host which the sentence has just named.
    let own = told.contains("{who}") && rule.on.caller() == Some(who);
    let (calls, many) = calls(rule, places, own);
    let by = rule.by.map(duration_text);
    let by = |before: &str| by.as_ref().map_or(String::new(), |by| format!("{before}{by}"));
    let code = rule.code.map_or(String::new(), |code| format!(" ({code})"));
    let pick = |one: &'static str, several: &'static str| if many { several } else { one };
    let gaps = [
        ("{calls}", calls),
        ("{on}", rule.on.to_string()),
        ("{who}", who.to_string()),
        ("{is}", pick("is", "are").to_string()),
        ("{s}", pick("s", "").to_string()),
        ("{y}", pick("y", "ies").to_string()),
        ("{by}", by(" by ")),
        ("{for}", by(" for ")),
        ("{down}", by(" and is down for ")),
        ("{code}", code),
    ];
    gaps.iter().fold(told.to_string(), |told, (gap, words)| told.replace(gap, words))
}

/// The calls that a rule strikes, and whether those are several.
fn calls(rule: &ScriptedFault, places: &[u32], own: bool) -> (String, bool) {
    let (the, on) = if own {
        ("its", rule.on.without_caller().to_string())
    } else {
        ("the", rule.on.to_string())
    };
    if let Some(chance) = rule.chance {
        return (format!("{} of {on}", chance_text(chance)), true);
    }
    let ordinals: Vec<String> = places.iter().map(|place| ordinal(*place)).collect();
    let together = places.windows(2).all(|two| two[1] == two[0] + 1);
    match (places, &ordinals[..]) {
        ([1, ..], _) if rule.times == u32::MAX => (format!("all {on}"), true),
        ([first, ..], _) if rule.times == u32::MAX => {
            (format!("all {on} after {the} {}", ordinal(first - 1)), true)
        }
        (_, []) => (on, false),
        (_, [one]) => (format!("{the} {one} {on}"), false),
        (_, [one, two]) => (format!("{the} {one} and {two} {on}"), true),
        ([1, ..], _) if together => (format!("{the} first {} {on}", rule.times), true),
        (_, [first, .., last]) if together => (format!("{the} {first} to {last} {on}"), true),
        (_, [most @ .., last]) => (format!("{the} {} and {last} {on}", most.join(", ")), true),
    }
}

/// Who dies on such a call: the host that handles it, when it is handled by one of its own, and its caller otherwise.
fn who_dies(on: &Filter) -> &str {
    match on.call() {
        "fetch" | "queue.deliver" => "the worker",
        call if call.starts_with("object.") => "the object",
        "workflow.begin"
        | "workflow.beginStep"
        | "workflow.finishStep"
        | "workflow.sleep"
        | "workflow.sleepUntil"
        | "workflow.waitForEvent"
        | "workflow.finish" => "the engine",
        _ => on.caller().filter(|caller| !caller.contains('*')).unwrap_or("the caller"),
    }
}

/// `first` to `twelfth`, then `13th`.
fn ordinal(number: u32) -> String {
    const WORDS: [&str; 12] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
        "tenth", "eleventh", "twelfth",
    ];
    let word = number.checked_sub(1).and_then(|at| WORDS.get(at as usize));
    word.map_or_else(
        || match (number % 100, number % 10) {
            (11..=13, _) => format!("{number}th"),
            (_, 1) => format!("{number}st"),
            (_, 2) => format!("{number}nd"),
            (_, 3) => format!("{number}rd"),
            _ => format!("{number}th"),
        },
        ToString::to_string,
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::fault::{ALL, Fault};

    fn told(faults: Vec<ScriptedFault>) -> Vec<String> {
        Scenario { faults, ..Scenario::default() }.faults_in_words()
    }

    fn one(fault: Fault, on: &str, skip: u32, times: u32) -> String {
        let rule = ScriptedFault { skip, times, ..ScriptedFault::once(fault, on) };
        told(vec![rule]).remove(0)
    }

    #[test]
    fn calls_are_counted_in_words() {
        let refused = |skip, times| one(Fault::LoseRequest, "ai.run", skip, times);
        assert_eq!(refused(0, 1), "the first ai.run is lost on the way");
        assert_eq!(refused(3, 1), "the fourth ai.run is lost on the way");
        assert_eq!(refused(21, 1), "the 22nd ai.run is lost on the way");
        assert_eq!(refused(1, 2), "the second and third ai.run are lost on the way");
        assert_eq!(refused(0, 4), "the first 4 ai.run are lost on the way");
        assert_eq!(refused(1, 3), "the second to fourth ai.run are lost on the way");
        assert_eq!(refused(0, u32::MAX), "all ai.run are lost on the way");
        assert_eq!(refused(2, u32::MAX), "all ai.run after the second are lost on the way");
        let chance = Some(102);
        let rule = ScriptedFault { chance, ..ScriptedFault::once(Fault::Fail, "r2.*") };
        assert_eq!(told(vec![rule]), ["10% of r2.* are refused with a transient error"]);
    }

    #[test]
    fn rules_about_the_same_calls_share_them() {
        let before = ScriptedFault::once(Fault::CrashBefore, "r2.put");
        let after = ScriptedFault::once(Fault::CrashAfter, "r2.put");
        let other = ScriptedFault::once(Fault::LoseReply, "r2.get");
        assert_eq!(
            told(vec![before, other, after]),
            [
                "the caller dies on the first r2.put, before the effect",
                "the reply to the first r2.get is lost",
                "the caller dies on the second r2.put, after the effect",
            ]
        );
        let late = ScriptedFault { skip: 1, ..ScriptedFault::once(Fault::Delay, "r2.put") };
        let lost = ScriptedFault { times: 2, ..ScriptedFault::once(Fault::LoseReply, "r2.put") };
        assert_eq!(
            told(vec![late, lost]),
            ["the second r2.put is late", "the replies to the first and third r2.put are lost"]
        );
    }

    #[test]
    fn whoever_handles_a_call_dies_on_it_or_else_its_caller() {
        let dies = |on: &str| one(Fault::CrashBefore, on, 0, 1);
        for (on, start) in [
            ("queue.deliver uploads", "the worker dies on the first queue.deliver uploads,"),
            (
                "p>object.rpc LOCKS:a/lock",
                "the object dies on the first p>object.rpc LOCKS:a/lock,",
            ),
            ("workflow.finishStep", "the engine dies on the first workflow.finishStep,"),
            ("relay>r2.put receipts/*", "relay dies on its first r2.put receipts/*,"),
            ("workflow.create", "the caller dies on the first workflow.create,"),
        ] {
            assert_eq!(dies(on), format!("{start} before the effect"));
        }
    }

    #[test]
    fn every_fault_has_a_sentence_without_gaps() {
        for kind in ALL {
            for times in [1, 2] {
                let by = Some(Duration::from_secs(30));
                let rule = ScriptedFault::once(kind.fault, "fetch web/*");
                let told = told(vec![ScriptedFault { times, by, code: Some(7), ..rule }]).remove(0);
                assert!(!told.contains(['{', '}']) && told.contains("fetch web/*"), "{told}");
                assert_eq!(kind.by, told.contains("30s") && kind.fault != Fault::Crash, "{told}");
            }
        }
        let late = one(Fault::LateReply, "r2.get", 0, 1);
        assert_eq!(late, "the reply to the first r2.get is late");
        let down = one(Fault::Outage, "r2.get", 0, 1);
        assert_eq!(down, "from the first r2.get on, its target is down");
        let black = one(Fault::Blackout, "web>r2.put", 0, 1);
        assert_eq!(black, "every host dies on the first web>r2.put, after the effect");
        assert_eq!(one(Fault::LoseEvent, "r2.notify", 1, 1), "the second r2.notify is lost");
    }
}
