//! Reads a script, field by field, and points at the first thing that makes no sense.

mod request;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ScriptError, closest};
use super::fields::{Fields, Found, Text};
use super::{Expect, Expectation, Failure, Script, ScriptChoices, ScriptFile, ScriptPlace, words};
use crate::choices::tape::{Deviation, Tape};
use crate::protocol::fault::{self, Codes, Fault, FaultSet};
use crate::protocol::site::OpCode;
use crate::scenario::scripted_fault::{Filter, ScriptedFault, glob};
use crate::scenario::{Kill, Scenario, Timing, limits};
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

const FIELDS: &[&str] = &[
    "story",
    "system",
    "variant",
    "model",
    "seed",
    "drawn_faults",
    "storm_ends_at",
    "timing",
    "max_crashes",
    "max_steps",
    "requests",
    "faults",
    "expect",
    "tape",
    "failure",
];
const FAULT: &[&str] = &["kind", "on", "at", "times", "skip", "chance", "by", "code"];
const FAILURE: &[&str] =
    &["thunderhead", "model", "promise", "message", "seed", "strategy", "choices", "trace", "sum"];

/// Every key, by the table that has it.
pub(super) const KEYS: [(&str, &[&str]); 5] = [
    ("script", FIELDS),
    ("request", request::REQUEST),
    ("body", request::BODY),
    ("fault", FAULT),
    ("failure", FAILURE),
];

pub(super) fn parse(file: &str, source: &str) -> Result<ScriptFile, ScriptError> {
    let text = Text { file, text: source };
    if !limits::BYTES.allows(source.len()) {
        let wrong = format!("the file has {} bytes", source.len());
        return Err(text.object(0..0, wrong, format!("{} are allowed", limits::BYTES.most)));
    }
    let root = DeTable::parse(source).map_err(|error| {
        let span = error.span().unwrap_or(source.len()..source.len());
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let fix = "correct it; a file that ends too soon may have been cut off";
        text.object(span, format!("not TOML: {message}"), fix)
    })?;
    let fields = Fields::new(text, root.get_ref(), 0..0, "a script", FIELDS)?;
    let drawn = fields.has("seed") || fields.has("tape");
    let (fault_targets, unread) = (Vec::new(), Vec::new());
    let mut reader = Reader {
        text,
        drawn,
        places: SortedMap::new(),
        fault_targets,
        unread,
        names: SortedSet::new(),
    };
    let script = reader.script(&fields)?;
    let Reader { places, fault_targets, unread, .. } = reader;
    let (file, text) = (file.into(), source.into());
    Ok(ScriptFile { script, file, text, places, fault_targets, unread })
}

struct Reader<'a> {
    text: Text<'a>,
    /// Whether anything is left to chance, or to a tape that has the outcome.
    drawn: bool,
    places: SortedMap<ScriptPlace, Range<usize>>,
    fault_targets: Vec<String>,
    unread: Vec<usize>,
    /// The names that requests have so far.
    names: SortedSet<&'a str>,
}

impl<'a> Reader<'a> {
    fn script(&mut self, fields: &Fields<'a>) -> Result<Script, ScriptError> {
        let story = fields.required("story")?;
        if story.value.trim().is_empty() {
            return Err(fields.object(
                "story",
                "the story is empty",
                "say in one sentence what happens",
            ));
        }
        let system = fields.required("system")?;
        self.places.insert(ScriptPlace::System, system.span);
        let variant = fields.string("variant")?;
        self.places.insert(ScriptPlace::Variant, fields.span("variant"));
        let model = fields.string("model")?;
        self.places.insert(ScriptPlace::Model, fields.span("model"));
        let scenario = self.scenario(fields)?;
        let choices = self.choices(fields, scenario.drawn_faults)?;
        let failure = match fields.value("failure") {
            Some(value) => Some(self.failure(value, &choices)?),
            None => None,
        };
        Ok(Script {
            story: story.value.into(),
            system: system.value.into(),
            variant: variant.map(|found| found.value.into()),
            model: model.map(|found| found.value.into()),
            scenario,
            choices,
            expect: self.expect(fields)?,
            failure,
        })
    }

    fn scenario(&mut self, fields: &Fields<'a>) -> Result<Scenario, ScriptError> {
        let mut scenario = Scenario::default();
        let drawn = fields.strings("drawn_faults", limits::FAULTS)?;
        let drawn: Result<Vec<Fault>, _> = drawn.iter().map(|name| self.fault_name(name)).collect();
        scenario.drawn_faults = drawn?.into_iter().collect();
        if let Some(after) = fields.duration("storm_ends_at")? {
            scenario.storm_ends_at = Time::ZERO + after;
        }
        let timings = [Timing::Latency, Timing::Order];
        let timing = fields.parsed("timing", "write \"latency\" or \"order\"", |name| {
            let found = timings.into_iter().find(|timing| timing.name() == name);
            found.ok_or_else(|| format!("unknown timing `{name}`"))
        })?;
        scenario.timing = timing.unwrap_or_default();
        let crashes = fields.number_within("max_crashes", limits::CRASHES)?;
        scenario.max_crashes = crashes.unwrap_or(scenario.max_crashes);
        let steps = fields.number_within("max_steps", limits::STEPS)?;
        scenario.max_steps = steps.unwrap_or(scenario.max_steps);
        for (index, value) in fields.list("requests", limits::REQUESTS)?.into_iter().enumerate() {
            scenario.requests.push(self.request(index, value)?);
        }
        let sent = limits::sent(&scenario.requests);
        if sent > limits::SENT.most {
            let wrong = format!("with their retries, all requests send {sent} bytes");
            let fix = format!("send at most {}", limits::SENT.most);
            let start = fields.span("requests").start;
            return Err(self.text.object(start..start + 1, wrong, fix));
        }
        for (index, value) in fields.list("faults", limits::FAULTS)?.into_iter().enumerate() {
            self.fault(index, value, &mut scenario)?;
        }
        Ok(scenario)
    }

    fn fault_name(&self, name: &Found<&str>) -> Result<Fault, ScriptError> {
        name.value.parse().map_err(|_| {
            let known = fault::ALL.iter().map(|kind| kind.name);
            let wrong = format!("unknown fault `{}`", name.value);
            self.text.object(name.span.clone(), wrong, closest(name.value, known))
        })
    }

    fn fault(
        &mut self,
        index: usize,
        value: &'a Spanned<DeValue<'a>>,
        scenario: &mut Scenario,
    ) -> Result<(), ScriptError> {
        let fields = Fields::of(self.text, value, "a fault", FAULT)?;
        let fault = self.fault_name(&fields.required("kind")?)?;
        let on = fields.required("on")?;
        self.places.insert(ScriptPlace::FaultOn(index), on.span);
        self.fault_targets.push(on.value.into());
        let only = |field: &str, fits: bool, of: &str| match fields.has(field) && !fits {
            true => {
                let wrong = format!("`{field}` means nothing for `{fault}`");
                Err(fields.object(field, wrong, format!("leave it out: it belongs to {of}")))
            }
            false => Ok(()),
        };
        let timed = fault == Fault::Crash && fields.has("at");
        only("at", timed, "`crash`")?;
        let kind = fault.kind();
        only("by", timed || kind.by, &format!("{}, and to a `crash` with `at`", late_faults()))?;
        let coded = kind.code != Codes::None && !timed;
        only("code", coded, "`fail` and those that `list` shows it with")?;
        let by = fields.duration("by")?;
        if timed {
            for field in ["times", "skip", "chance"] {
                only(
                    field,
                    false,
                    "faults on calls; a `crash` with `at` happens once, at that time",
                )?;
            }
            if on.value.contains('*') {
                let fix = "write out the name of one host; without `at`, a `*` is allowed";
                return Err(fields.object("on", "a crash at a time has one victim", fix));
            }
            let at = Time::ZERO + fields.duration("at")?.unwrap_or_default();
            scenario.kills.push(Kill { at, host: on.value.into(), down: by });
            return Ok(());
        }
        only("chance", !kind.classes.is_empty(), "faults on calls")?;
        let chance = fields.parsed("chance", words::CHANCE, words::chance)?;
        if chance.is_some() && !self.drawn {
            let fix = "add a `seed` to the script, or leave the chance out";
            return Err(fields.object("chance", "a chance without a seed never strikes", fix));
        }
        let filter = Filter::parse(on.value);
        let known = || OpCode::all().map(OpCode::name);
        if !fault.on_host() && !known().any(|call| glob(filter.call(), call)) {
            let wrong = format!("there is no call `{}`", filter.call());
            return Err(fields.object("on", wrong, closest(filter.call(), known())));
        }
        let code = code(&fields, fault, &filter)?;
        let often = if chance.is_some() { u32::MAX } else { 1 };
        scenario.faults.push(ScriptedFault {
            fault,
            on: filter,
            times: fields.number_within("times", limits::TIMES)?.unwrap_or(often),
            skip: fields.number_within("skip", limits::SKIP)?.unwrap_or(0),
            chance,
            by,
            code,
        });
        Ok(())
    }

    fn choices(&self, fields: &Fields<'a>, faults: FaultSet) -> Result<ScriptChoices, ScriptError> {
        let seed = fields.number("seed")?;
        if !fields.has("tape") {
            return Ok(seed.map_or(ScriptChoices::Benign, ScriptChoices::Seed));
        }
        if seed.is_some() {
            let fix = "keep one of them: a tape has every choice that a seed would draw";
            return Err(fields.object("seed", "a script has a seed or a tape, not both", fix));
        }
        let line = |line: &Found<&str>| {
            Deviation::from_words(line.value, faults).map_err(|wrong| {
                let fix = "write it as in \"lose_reply on relay → r2.put (2nd)\" or \"crash of relay (1st)\"";
                self.text.object(line.span.clone(), wrong, fix)
            })
        };
        let lines: Result<Vec<_>, _> =
            fields.strings("tape", limits::TAPE)?.iter().map(line).collect();
        Ok(ScriptChoices::Tape(Tape(lines?)))
    }

    fn expect(&mut self, fields: &Fields<'a>) -> Result<Option<Vec<Expect>>, ScriptError> {
        if !fields.has("expect") {
            return Ok(None);
        }
        let mut expected = Vec::new();
        for (index, line) in fields.strings("expect", limits::EXPECT)?.into_iter().enumerate() {
            let (word, promise) = line.value.split_once(' ').unwrap_or((line.value, ""));
            let known = Expectation::ALL.into_iter().find(|known| known.name() == word);
            let Some(word) = known else {
                let wrong = format!("`{word}` is nothing to expect");
                let fix = closest(word, Expectation::ALL.map(Expectation::name));
                return Err(self.text.object(
                    line.span,
                    wrong,
                    format!("begin with a word for when; {fix}"),
                ));
            };
            self.places.insert(ScriptPlace::Expect(index), line.span);
            expected.push(Expect { word, promise: promise.trim().into() });
        }
        Ok(Some(expected))
    }

    fn failure(
        &mut self,
        value: &'a Spanned<DeValue<'a>>,
        choices: &ScriptChoices,
    ) -> Result<Failure, ScriptError> {
        let fields = Fields::of(self.text, value, "the table of a failure", FAILURE)?;
        self.places.insert(ScriptPlace::Failure, fields.span("promise"));
        let missing = |name: &str| {
            let wrong = format!("the table of a failure has no `{name}`");
            self.text.object(value.span(), wrong, "the file may have been cut off: get it again")
        };
        let recorded = fields.number("choices")?.ok_or_else(|| missing("choices"))?;
        let found = match choices {
            ScriptChoices::Tape(tape) => tape.len(),
            ScriptChoices::Benign | ScriptChoices::Seed(_) => 0,
        };
        if found != recorded {
            let wrong = format!("the tape has {found} choices, {recorded} were recorded");
            let fix = "the file was cut off or edited: get it again, or correct `choices`";
            return Err(fields.object("choices", wrong, fix));
        }
        let trace = fields.parsed("trace", "16 hexadecimal digits", str::parse)?;
        Ok(Failure {
            thunderhead: fields.required("thunderhead")?.value.into(),
            model: fields.string("model")?.map(|found| found.value.into()),
            promise: fields.required("promise")?.value.into(),
            message: fields.required_long("message")?.value.into(),
            seed: fields.number("seed")?,
            strategy: fields.required("strategy")?.value.into(),
            choices: recorded,
            trace: trace.ok_or_else(|| missing("trace"))?,
            sum: fields.parsed("sum", "16 hexadecimal digits", str::parse)?,
        })
    }
}

/// The faults that take `by`, for an error message.
fn late_faults() -> String {
    let names = fault::ALL.iter().filter(|kind| kind.by).map(|kind| format!("`{}`", kind.name));
    names.collect::<Vec<_>>().join(", ")
}

/// The code of a fault, which must be one that it can have on such a call.
fn code(fields: &Fields, fault: Fault, on: &Filter) -> Result<Option<u32>, ScriptError> {
    let Some(code) = fields.number("code")? else { return Ok(None) };
    let known: Vec<u32> = match &fault.kind().code {
        Codes::In(range) if range.contains(&code) => return Ok(Some(code)),
        // A range without an upper end is shown by its first number.
        Codes::In(range) if *range.end() == u32::MAX => vec![*range.start()],
        Codes::In(range) => range.clone().collect(),
        Codes::Errors => {
            let calls = OpCode::all().filter(|call| on.fits(call.name()));
            calls.flat_map(OpCode::failures).copied().collect()
        }
        Codes::None => Vec::new(),
    };
    if known.contains(&code) {
        return Ok(Some(code));
    }
    if known.is_empty() {
        let wrong = format!("`{fault}` has no codes on `{on}`");
        return Err(fields.object("code", wrong, "leave it out"));
    }
    let known: Vec<String> = known.iter().map(u32::to_string).collect();
    let fix = closest(&code.to_string(), known.iter().map(String::as_str));
    Err(fields.object("code", format!("`{fault}` has no code {code} here"), fix))
}
