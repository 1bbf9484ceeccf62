//! A fault that a script asks for by name: on which calls, how often, how strong.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::fault::Fault;
use crate::protocol::op::Op;
use crate::values::call::CallClass;

/// One scripted fault.
///
/// It strikes the first `times` matching calls after skipping `skip`, or each with a `chance`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScriptedFault {
    /// The fault that strikes.
    pub fault: Fault,
    /// To which calls.
    pub on: Filter,
    /// How many times at most.
    pub times: u32,
    /// How many matching calls pass first.
    pub skip: u32,
    /// Drawn from the tape with this chance in 1024 instead of always.
    pub chance: Option<u16>,
    /// How long a delay, or how long a crashed host stays down.
    pub by: Option<Duration>,
    /// Which error, how many labels or writes, what is lost: `docs/platform.md` has it by fault.
    pub code: Option<u32>,
}

impl ScriptedFault {
    /// The rule that strikes the first call matching `on`.
    pub fn once(fault: Fault, on: &str) -> ScriptedFault {
        let on = Filter::parse(on);
        ScriptedFault { fault, on, times: 1, skip: 0, chance: None, by: None, code: None }
    }

    /// Whether this fault makes sense for such a call.
    pub(crate) fn applies(&self, class: CallClass) -> bool {
        self.fault.kind().classes.contains(&class)
    }
}

/// Which calls: `[CALLER>]CALL[ TARGET]`, with `*` standing for anything.
///
/// ```
/// use thunderhead_sim::Filter;
///
/// assert_eq!(Filter::parse("relay>r2.put photos/*").to_string(), "relay>r2.put photos/*");
/// assert_eq!(Filter::parse("queue.deliver").to_string(), "queue.deliver");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Filter {
    caller: Option<String>,
    call: String,
    target: Option<String>,
}

impl Filter {
    /// Reads a filter; every text is one.
    pub fn parse(text: &str) -> Filter {
        let (caller, rest) = match text.split_once('>') {
            Some((caller, rest)) => (Some(caller.trim().to_string()), rest.trim()),
            None => (None, text.trim()),
        };
        let (call, target) = match rest.split_once(' ') {
            Some((call, target)) => (call, Some(target.trim().to_string())),
            None => (rest, None),
        };
        Filter { caller, call: call.to_string(), target }
    }

    /// The pattern for the call's name alone: for `crash` and `evict` it names the host.
    pub fn call(&self) -> &str {
        &self.call
    }

    /// The pattern for the caller's name, when it has one.
    pub fn caller(&self) -> Option<&str> {
        self.caller.as_deref()
    }

    /// The pattern for what the call is about, when it has one.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// A filter for the calls of all callers.
    pub fn without_caller(&self) -> Filter {
        Filter { caller: None, ..self.clone() }
    }

    /// Whether the name of a call, or of a host, fits its pattern for that.
    pub fn fits(&self, name: &str) -> bool {
        glob(&self.call, name)
    }

    /// Whether it names the deliveries of `queue`.
    pub(crate) fn names_queue(&self, queue: &str) -> bool {
        glob(&self.call, "queue.deliver")
            && self.target.as_ref().is_none_or(|pattern| glob(pattern, queue))
    }

    /// Whether call and target match; the caller is not looked at.
    pub fn about(&self, op: &Op) -> bool {
        glob(&self.call, op.code().name())
            && self.target.as_ref().is_none_or(|pattern| glob(pattern, &op.target()))
    }

    pub(crate) fn matches(&self, caller: &str, op: &Op) -> bool {
        self.caller.as_ref().is_none_or(|pattern| glob(pattern, caller)) && self.about(op)
    }
}

impl std::fmt::Display for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(caller) = &self.caller {
            write!(f, "{caller}>")?;
        }
        f.write_str(&self.call)?;
        match &self.target {
            Some(target) => write!(f, " {target}"),
            None => Ok(()),
        }
    }
}

impl From<String> for Filter {
    fn from(text: String) -> Filter {
        Filter::parse(&text)
    }
}

impl From<Filter> for String {
    fn from(filter: Filter) -> String {
        filter.to_string()
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for any run of characters.
///
/// The pieces between the stars are searched for one after the other, each as early as possible. That is
/// enough, because a star may stand for whatever is in between, and no character is looked at again for
/// an earlier piece: the time is linear in both lengths.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(text) = text.strip_prefix(head) else { return false };
    let Some(mut text) = text.strip_suffix(tail) else { return false };
    middle.split('*').all(|piece| match text.find(piece) {
        Some(at) => {
            text = &text[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, text, fits) in [
            ("r2.put", "r2.put", true),
            ("r2.*", "r2.put", true),
            ("*", "", true),
            ("photos/*.jpg", "photos/a/b.jpg", true),
            ("photos/*.jpg", "photos/b.png", false),
            ("*a*b*", "xxaxxb", true),
            ("é*", "éa", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
            ("a**b", "ab", true),
            ("a*bc*c", "abcbc", true),
            ("*x*", "y", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} on {text}");
        }
    }

    /// The definition, for short texts.
    fn slow(pattern: &str, text: &str) -> bool {
        let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
        let Some(rest) = text.strip_prefix(head) else { return false };
        let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        starts.into_iter().any(|at| slow(tail, &rest[at..]))
    }

    #[test]
    fn a_pattern_fits_what_its_definition_says() {
        let words = |letters: &[&str], most: u32| -> Vec<String> {
            let mut all = vec![String::new()];
            for length in 1..=most {
                let longer = (0..letters.len().pow(length)).map(|n| {
                    let digits = (0..length).map(|at| n / letters.len().pow(at) % letters.len());
                    digits.map(|digit| letters[digit]).collect::<String>()
                });
                all.extend(longer);
            }
            all
        };
        let texts = words(&["a", "é"], 5);
        for pattern in words(&["a", "é", "*"], 5) {
            for text in &texts {
                assert_eq!(glob(&pattern, text), slow(&pattern, text), "{pattern} on {text}");
            }
        }
    }

    #[test]
    fn many_stars_on_a_long_text_take_linear_time() {
        // With the time growing by a power of the length for each star, this would not end.
        let text = "a".repeat(1 << 20);
        assert!(!glob(&("*a".repeat(1_000) + "*b*"), &text));
        assert!(glob(&("*a".repeat(1_000) + "*"), &text));
    }
}
