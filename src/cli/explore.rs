//! `thunderhead explore SYSTEM`: searches one system for broken promises.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thunderhead_props::explore::{Broken, Bug, Findings, Progress, Search, Shard, Strategy, bugs};
use thunderhead_props::{COMPARED, quietly, search};
use thunderhead_sim::{Fault, FaultSet, Source};

use super::campaign::{Asked, Log};
use super::interrupt::Interrupt;
use super::keeping::Keeping;
use super::progress::{Pace, ProgressBar};
use super::stopwatch::Stopwatch;
use super::worker::Loaded;
use super::{Answer, CliError, Given, coverage, input, model, output};
use crate::failure::Found;
use crate::report;

/// The arguments of `explore`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system to search; `list` names all of them. The folder of a Worker is one too.
    pub system: String,
    /// The variant to search [default: the first, which is the reference].
    #[arg(long)]
    variant: Option<String>,
    /// How many runs [default: 1000; for enumerate, all within the bounds].
    #[arg(long)]
    runs: Option<u64>,
    /// The first seed: run number n has seed S + n.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How runs are chosen: random, pct, weather, enumerate or guided.
    #[arg(long, default_value = "random", value_parser = strategy)]
    strategy: Strategy,
    /// How many crashes a run may draw.
    #[arg(long, default_value_t = 3)]
    max_crashes: u32,
    /// For enumerate: how many choices of a run may deviate from the benign one.
    #[arg(long, default_value_t = 2)]
    max_deviations: usize,
    /// For enumerate: leave out runs that most likely show nothing that others do not show, to go deeper.
    #[arg(long)]
    reduced: bool,
    /// The faults that may happen, separated by commas; guided ignores it [default: those that
    /// `list` shows without a remark].
    // `--storm` is the former name, which scripts may still use.
    #[arg(long, alias = "storm", value_delimiter = ',')]
    faults: Vec<Fault>,
    /// For enumerate: the script whose requests are sent [default: the smallest workload].
    #[arg(long)]
    pub requests: Option<PathBuf>,
    #[command(flatten)]
    pub model: model::Arg,
    /// For the folder of a Worker: the environment [default: CLOUDFLARE_ENV, or none].
    #[arg(long)]
    pub env: Option<String>,
    /// The whole history of each failure, not only what led to it.
    #[arg(long)]
    history: bool,
    /// Tell which calls met which faults, and what was never tried.
    #[arg(long, conflicts_with = "resume")]
    coverage: bool,
    /// Keep in this file how far the search has come; if there is one, go on from there.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Play the Ith of N parts of the search; `merge` puts them together.
    #[arg(long, value_name = "I/N", requires = "resume")]
    shard: Option<Shard>,
    /// How many threads, which does not change the result [default: one per core].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The folder for failure files, created when there is a failure [default: failures].
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn strategy(name: &str) -> Result<Strategy, String> {
    Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| {
        format!(
            "there is no such strategy; known are: {}",
            Strategy::ALL.map(Strategy::name).join(", ")
        )
    })
}

/// The number of threads asked for, or one per core.
pub fn jobs(asked: Option<u16>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(cores, usize::from)
}

pub fn explore(given: Given, args: &Args) -> Result<Answer, CliError> {
    let search = asked_for(given, args)?;
    let worker = given.worker(search.system);
    let mut notes = Vec::new();
    if let Some(loaded) = worker {
        notes = loaded.notes();
        notes.extend(loaded.rehearsed(given.program)?);
    }
    let mut keeping = Keeping::new(args.out.as_ref(), Some("failures"))?.of(worker);
    let (watch, interrupt) = (Stopwatch::start(), Interrupt::listen());
    let mut bar = ProgressBar::new();
    let kept = RefCell::new(&mut keeping);
    // Runs of an earlier process do not count for the speed of this one.
    let (broken, begun) = (Cell::new(0), Cell::new(0));
    let mut found = |one: &Broken| {
        broken.set(broken.get() + 1);
        kept.borrow_mut().early(&search, one);
    };
    let mut go_on = |progress: Progress| {
        let (runs, all) = (progress.runs, search.runs_of(search.shard));
        let per_second = watch.per_second(runs - begun.get());
        let pace = Pace { progress, all, per_second, broken: broken.get() };
        bar.show(runs, all, &pace.to_string());
        kept.borrow().well() && !interrupt.came()
    };
    let (findings, before) = match &args.resume {
        None => (search.run_and_tell(&mut found, &mut go_on)?, 0),
        Some(path) => {
            can_be_taken_up(args.strategy)?;
            let env = worker.and_then(Loaded::environment);
            let asked = Asked::of(&search, &args.system, env, model::of(given));
            let mut log = Log::open(path, asked, search.shard)?;
            let saved = log.saved();
            begun.set(saved.as_ref().map_or(0, |saved| saved.runs));
            let findings = search.take_up(saved.as_ref(), &mut found, &mut |progress, now| {
                let noted = log.note(now);
                go_on(progress) && noted
            })?;
            log.finish();
            if let Some(why) = log.wrong {
                return Err(CliError::Unwritten(why));
            }
            (findings, begun.get())
        }
    };
    let speed = watch.per_second(findings.runs - before);
    drop(bar);
    let stopped = interrupt.came().then(|| stopped(&search, &findings, args.resume.is_some()));
    let answer = told(given, args.history, &search, &findings, keeping, Some(speed), notes)?;
    Ok(match stopped.flatten() {
        Some(note) => answer.interrupted(note),
        None => answer,
    })
}

/// The search that the arguments ask for.
fn asked_for<'a>(given: Given<'a>, args: &Args) -> Result<Search<'a>, CliError> {
    let usual = if args.strategy == Strategy::Enumerate { u64::MAX } else { 1_000 };
    let faults: FaultSet = args.faults.iter().copied().collect();
    let system = input::system(given, &args.system)?;
    let variant = input::variant(system, args.variant.as_deref())?;
    let requests = match &args.requests {
        Some(path) => Some(input::requests(path, given, system, variant)?),
        None => None,
    };
    Ok(Search {
        system,
        variant,
        strategy: args.strategy,
        seed: args.seed,
        runs: args.runs.unwrap_or(usual),
        max_crashes: args.max_crashes,
        max_deviations: args.max_deviations,
        reduced: args.reduced,
        faults: if args.faults.is_empty() { args.strategy.faults() } else { faults },
        requests,
        jobs: jobs(args.jobs),
        enough: Vec::new(),
        saves: true,
        coverage: args.coverage,
        shard: args.shard.unwrap_or(Shard::WHOLE),
    })
}

/// Refuses a strategy whose runs follow from each other.
fn can_be_taken_up(strategy: Strategy) -> Result<(), CliError> {
    match strategy.sampling() {
        Some(_) => Ok(()),
        None => Err(CliError::Input(format!(
            "--resume: a search with {strategy} cannot be taken up; random, pct and weather can"
        ))),
    }
}

/// How far a search came that was interrupted, and how to play the rest; none when nothing was left to play.
fn stopped(search: &Search, findings: &Findings, resumed: bool) -> Option<String> {
    let (runs, all) = (findings.runs, search.runs_of(search.shard));
    if runs >= all || findings.complete == Some(true) {
        return None;
    }
    let seed = search.seed.wrapping_add(runs);
    let rest = match (resumed, search.strategy.sampling()) {
        (true, _) => "the same command takes it up".to_string(),
        (false, Some(_)) if search.shard == Shard::WHOLE => {
            format!(
                "`--seed {seed} --runs {}` plays the rest; a search with `--resume FILE` can be taken up",
                all - runs
            )
        }
        (false, Some(_)) => "a search with `--resume FILE` can be taken up".into(),
        (false, None) => format!("a search with {} begins again", search.strategy),
    };
    let all = if all == u64::MAX { String::new() } else { format!(" of {all}") };
    Some(format!("interrupted after {runs}{all} runs: {rest}"))
}

/// Writes what was found into files, and tells it.
pub fn told(
    given: Given,
    history: bool,
    search: &Search,
    findings: &Findings,
    mut keeping: Keeping,
    speed: Option<u64>,
    mut notes: Vec<String>,
) -> Result<Answer, CliError> {
    let files: Vec<Option<PathBuf>> =
        findings.broken.iter().map(|broken| keeping.last(search, broken)).collect();
    let unwritten = keeping.finish();
    let code = match (&unwritten, findings.broken.is_empty()) {
        (Some(_), _) => output::UNWRITTEN,
        (None, true) => 0,
        (None, false) => 1,
    };
    let text = text(given.program, history, search, findings, &files, speed);
    let json = document(search, findings, &files, speed);
    notes.extend(findings.broken.iter().filter_map(|broken| other_the_second_time(search, broken)));
    notes.extend(unwritten.iter().map(|why| format!("error: {why}")));
    Ok(Answer { text, json, code, notes })
}

/// A note if the failing run, played again, is another one: then nothing can be replayed.
fn other_the_second_time(search: &Search, broken: &Broken) -> Option<String> {
    let source = Source::Tape(broken.run.tape());
    let again = quietly(|| search::play(search.variant, &broken.case.scenario, &source)).ok()?;
    (again.trace.hash() != broken.run.trace.hash()).then(|| {
        format!(
            "note: the run that breaks \"{}\" is another one when it is played again: the code depends on something \
             that no run decides, such as a clock or the order of a hash map. `testing::deterministic` shows where",
            broken.violation.promise
        )
    })
}

fn text(
    program: &str,
    whole: bool,
    search: &Search,
    findings: &Findings,
    files: &[Option<PathBuf>],
    speed: Option<u64>,
) -> String {
    let bugs = bugs(&findings.broken.iter().collect::<Vec<_>>());
    let mut text = summary(program, findings, files, &bugs);
    for bug in &bugs {
        let (broken, file) = (&findings.broken[bug.told], &files[bug.told]);
        let found = Found::by(search, broken);
        let (file, origin) = (name(file), origin(search, broken));
        text += &report::failure(&found, &found.story(), program, &file, &origin, whole);
    }
    let verdict = match findings.broken.len() {
        0 => report::good("every promise held"),
        broken => report::bad(&format!("{} broken", report::count(broken, "promise", "promises"))),
    };
    let (system, variant) = (&search.system.name, &search.variant.name);
    let runs = report::count(findings.runs, "run", "runs");
    let speed = speed.map_or(String::new(), |speed| format!(", {speed}/s"));
    let _ = writeln!(text, "{system} {variant}: {verdict} in {runs} ({}{speed})", search.strategy);
    match findings.complete {
        Some(true) => {
            let bound = search.max_deviations;
            let once = if search.reduced { ", like ones once" } else { "" };
            let _ = writeln!(
                text,
                "  complete: every run with at most {bound} deviations was visited{once}"
            );
        }
        Some(false) => text += "  not complete: there are more runs within the bounds\n",
        None => {}
    }
    if findings.broken.is_empty() && !search.system.promises.is_empty() {
        let _ = writeln!(
            text,
            "  one run in {COMPARED} was compared with the calm; `{program} check` searches for longer"
        );
    }
    if search.system.origin.is_some() && !findings.broken.is_empty() {
        text += "  more may hide behind this: a run is judged until its first broken promise, so mend it and search again\n";
    }
    for (name, times) in &findings.seen {
        let _ = writeln!(text, "  seen {times:>7} times: {name}");
    }
    let _ = writeln!(text, "  trace hash {}", findings.trace_hash);
    text + &findings.coverage.as_ref().map_or(String::new(), coverage::text)
}

/// One line for each of several failures, before they are told one by one.
fn summary(program: &str, findings: &Findings, files: &[Option<PathBuf>], bugs: &[Bug]) -> String {
    let mut text = String::new();
    if findings.broken.len() < 2 {
        return text;
    }
    let apart = match bugs.len() {
        1 => "one run breaks them all".into(),
        many => format!("{many} runs break them, which are told below"),
    };
    let _ = writeln!(text, "{} promises are broken; {apart}:", findings.broken.len());
    let places = bugs.iter().flat_map(|bug| std::iter::once(&bug.told).chain(&bug.others));
    for (broken, file) in places.map(|at| (&findings.broken[*at], &files[*at])) {
        let _ = writeln!(
            text,
            "  {} ({}, {})\n      {program} replay {}",
            broken.violation.promise,
            report::count(broken.times, "run", "runs"),
            report::count(broken.case.tape.len(), "deviation", "deviations"),
            name(file),
        );
    }
    text.push('\n');
    text
}

/// The name of a failure file, for messages.
pub fn name(file: &Option<PathBuf>) -> String {
    file.as_deref().map_or("(not written)".into(), input::shown)
}

/// Where a failing run came from.
pub fn origin(search: &Search, broken: &Broken) -> String {
    let found = match broken.seed {
        Some(seed) => format!("{} seed {seed} ({})", search.strategy, search.swarm(seed)),
        None => format!("{} from seed {}", search.strategy, search.seed),
    };
    format!("{found}, shrunk from {} choices", broken.shrunk_from)
}

fn document(
    search: &Search,
    findings: &Findings,
    files: &[Option<PathBuf>],
    speed: Option<u64>,
) -> Value {
    let violations = findings.broken.iter().zip(files);
    json!({
        "ok": findings.broken.is_empty(),
        "system": search.system.name,
        "variant": search.variant.name,
        "seed": search.seed,
        "strategy": search.strategy.name(),
        "runs": findings.runs,
        "runsPerSecond": speed,
        "traceHash": findings.trace_hash,
        "complete": findings.complete,
        "reduced": findings.complete.map(|_| search.reduced),
        "sometimes": findings.seen.iter().map(|(name, times)| json!({
            "promise": name, "invariant": name, "times": times,
        })).collect::<Vec<_>>(),
        "coverage": findings.coverage.as_ref().map(coverage::document),
        "violations": violations.map(|(broken, file)| violation(search, broken, file.as_deref())).collect::<Vec<_>>(),
    })
}

/// The JSON object of a shrunk violation.
pub fn violation(search: &Search, broken: &Broken, file: Option<&Path>) -> Value {
    let mut json = report::violation(&broken.run, &broken.violation);
    json["alsoBreaks"] = json!(broken.also);
    json["times"] = json!(broken.times);
    json["seed"] = json!(broken.seed);
    json["swarm"] = json!(broken.seed.map(|seed| search.swarm(seed).to_string()));
    json["requests"] = json!(broken.case.scenario.requests.len());
    json["deviations"] = json!(broken.case.tape.len());
    json["crashes"] = json!(broken.run.crashes);
    json["faults"] = json!(report::faults(&broken.run));
    json["lines"] = json!(broken.run.trace.events().len());
    json["traceHash"] = json!(broken.run.trace.hash());
    json["file"] = json!(file.map(|file| file.display().to_string()));
    json
}
