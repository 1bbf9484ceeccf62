//! Scenario scripts: one story per TOML file, readable by people and pinned by tests. A failure is
//! written in the same format, so that it can be committed as a scenario.

mod error;
mod fields;
mod read;
mod sentences;
pub(crate) mod words;
mod write;

use std::fmt;
use std::ops::Range;

pub use error::{ScriptError, closest};

use crate::choices::Source;
use crate::choices::swarm::Swarm;
use crate::choices::tape::Tape;
use crate::protocol::trace::TraceHash;
use crate::scenario::{Scenario, limits};
use crate::values::body::{Body, BodySource};
use crate::values::sorted_map::SortedMap;

/// A story: which system, what is sent to it, what goes wrong, what must come of it.
///
/// ```
/// use thunderhead_sim::Script;
///
/// let text = r#"
/// story = "The reply to the upload is lost and the client tries again."
/// system = "relay"
/// requests = [{ at = "0s", fetch = "PUT /cat.jpg", body = "v1", retries = 2 }]
/// faults = [{ kind = "lose_reply", on = "fetch web/*" }]
/// "#;
/// let script = Script::parse("lost-reply.toml", text).unwrap().script;
/// assert_eq!(script.scenario.requests.len(), 1);
/// assert_eq!(Script::parse("again.toml", &script.to_toml()).unwrap().script, script);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// What happens, in one sentence.
    pub story: String,
    /// The system it happens to.
    pub system: String,
    /// The variant of it; the system's first when not said.
    pub variant: Option<String>,
    /// The model that looks at pictures; the simulator's stand-in when not said.
    pub model: Option<String>,
    /// What is sent and what goes wrong.
    pub scenario: Scenario,
    /// Where the choices that the script leaves open come from.
    pub choices: ScriptChoices,
    /// What must come of it; when not said, every promise holds.
    pub expect: Option<Vec<Expect>>,
    /// For a failure: what was recorded of it.
    pub failure: Option<Failure>,
}

/// Where the choices come from that a script leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptChoices {
    /// All are benign: only what the script asks for goes wrong.
    Benign,
    /// Random by this seed, within the script's `drawn_faults`.
    Seed(u64),
    /// The choices are replayed from a tape.
    Tape(Tape),
}

/// One expectation of a script about a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// What is expected of the promise.
    pub word: Expectation,
    /// The name of the promise.
    pub promise: String,
}

/// What can be expected of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// It holds at every moment.
    Always,
    /// It holds when all is quiet.
    Eventually,
    /// It is seen in this run.
    Sometimes,
    /// It is broken in this run.
    Violates,
}

impl Expectation {
    /// Every word that an expectation can begin with.
    pub const ALL: [Expectation; 4] = [
        Expectation::Always,
        Expectation::Eventually,
        Expectation::Sometimes,
        Expectation::Violates,
    ];

    /// The word as scripts have it.
    pub fn name(self) -> &'static str {
        match self {
            Expectation::Always => "always",
            Expectation::Eventually => "eventually",
            Expectation::Sometimes => "sometimes",
            Expectation::Violates => "violates",
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word.name(), self.promise)
    }
}

/// What was recorded of a failing run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The version of Thunderhead that wrote it.
    pub thunderhead: String,
    /// The model that it was made with, precisely; the simulator's stand-in when not said.
    pub model: Option<String>,
    /// The promise that was broken.
    pub promise: String,
    /// How the promise was broken.
    pub message: String,
    /// The seed that found it, when a seed did.
    pub seed: Option<u64>,
    /// The strategy that found it.
    pub strategy: String,
    /// How many choices the tape has: fewer lines mean that the file was cut off.
    pub choices: usize,
    /// The hash of its trace.
    pub trace: TraceHash,
    /// The hash of the file, when it has one: see [`Script::sum`].
    pub sum: Option<TraceHash>,
}

impl Script {
    /// The keys of a script, of a request, of a body, of a fault and of a failure.
    pub const KEYS: [(&str, &[&str]); 5] = read::KEYS;

    /// Where its choices come from, for [`simulate`](crate::simulate).
    pub fn source(&self) -> Source {
        match &self.choices {
            ScriptChoices::Benign => Source::Tape(Tape::benign()),
            ScriptChoices::Tape(tape) => Source::Tape(tape.clone()),
            ScriptChoices::Seed(seed) => Source::Random {
                seed: *seed,
                swarm: Swarm::of_seed(*seed, self.scenario.drawn_faults),
            },
        }
    }

    /// Reads a script; `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Result<ScriptFile, ScriptError> {
        read::parse(file, text)
    }

    /// Which version wrote this failure file, read even when nothing else in it makes sense.
    pub fn version_of(text: &str) -> Option<String> {
        let table = toml::de::DeTable::parse(text).ok()?;
        let failure = table.get_ref().get("failure")?.get_ref().as_table()?;
        Some(failure.get("thunderhead")?.get_ref().as_str()?.to_string())
    }
}

/// A script together with the text it was read from, so that later objections can point at it.
#[derive(Clone, Debug)]
pub struct ScriptFile {
    /// The script that the file holds.
    pub script: Script,
    file: String,
    text: String,
    places: SortedMap<ScriptPlace, Range<usize>>,
    /// The `on` of each fault, in the order of the file.
    fault_targets: Vec<String>,
    /// The requests whose bodies are named and have no bytes yet.
    unread: Vec<usize>,
}

/// A part of a script that only a reader who knows the system can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptPlace {
    /// The system's name.
    System,
    /// The variant's name.
    Variant,
    /// The model's name.
    Model,
    /// The receiver of a request, by its index.
    RequestTo(usize),
    /// The body of a request, by the index of the request.
    RequestBody(usize),
    /// The target of a fault, by its index among all faults of the script.
    FaultOn(usize),
    /// An expectation, by its index.
    Expect(usize),
    /// The promise that was recorded as broken.
    Failure,
}

impl ScriptFile {
    /// The file's name, as it was given.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// An objection to what stands at `place`; to the whole file when it is not there.
    pub fn object(
        &self,
        place: ScriptPlace,
        wrong: impl Into<String>,
        fix: impl Into<String>,
    ) -> ScriptError {
        let span = self.places.get(&place).cloned().unwrap_or(0..0);
        ScriptError::new(&self.file, &self.text, span, wrong.into(), fix.into())
    }

    /// The bodies that the script names and whose bytes are not there yet, each with its place.
    pub fn unread(&self) -> impl Iterator<Item = (ScriptPlace, &BodySource)> {
        self.unread.iter().filter_map(|index| {
            let source = self.script.scenario.requests[*index].request.body.source()?;
            Some((ScriptPlace::RequestBody(*index), source))
        })
    }

    /// Gets the bytes of every body that the script names. `read` is told how many bytes there may be at most; when
    /// it fails, it says what is wrong and what to do.
    pub fn fill(
        &mut self,
        mut read: impl FnMut(&BodySource, u64) -> Result<Vec<u8>, (String, String)>,
    ) -> Result<(), ScriptError> {
        for index in std::mem::take(&mut self.unread) {
            let place = ScriptPlace::RequestBody(index);
            let Some(source) = self.script.scenario.requests[index].request.body.source().cloned()
            else {
                continue;
            };
            let bytes = read(&source, limits::SENT.most)
                .map_err(|(wrong, fix)| self.object(place, wrong, fix))?;
            self.script.scenario.requests[index].request.body = Body::named(source, bytes);
            // Checked each time, so that no more than one body too many is ever held.
            let sent = limits::sent(&self.script.scenario.requests);
            if sent > limits::SENT.most {
                let wrong = format!("with their retries, all requests send {sent} bytes");
                let fix =
                    format!("send at most {}: a smaller file, or fewer retries", limits::SENT.most);
                return Err(self.object(place, wrong, fix));
            }
        }
        Ok(())
    }

    /// The places of all faults, in the order of the file, with what their `on` says.
    pub fn faults_on(&self) -> impl Iterator<Item = (ScriptPlace, &str)> {
        let targets = self.fault_targets.iter().enumerate();
        targets.map(|(index, on)| (ScriptPlace::FaultOn(index), on.as_str()))
    }
}
