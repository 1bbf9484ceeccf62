//! `thunderhead check`: searches every variant of every system, or of some, with every strategy.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use thunderhead_props::explore::{Broken, Bug, Findings, Search, Strategy, bugs};
use thunderhead_props::{Expected, Name, System, Variant};

use super::interrupt::Interrupt;
use super::keeping::Keeping;
use super::progress::ProgressBar;
use super::stopwatch::Stopwatch;
use super::{Answer, CliError, Given, explore, input, list, model, output};
use crate::failure::Found;
use crate::model::Choice;
use crate::report;

/// The arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The systems [default: all]. The folder of a Worker is one too.
    pub systems: Vec<String>,
    /// For the folder of a Worker: the environment [default: CLOUDFLARE_ENV, or none].
    #[arg(long)]
    pub env: Option<String>,
    /// How long to search, in total.
    #[arg(long, default_value_t = 15, conflicts_with = "runs")]
    seconds: u64,
    /// Play this many runs per variant and strategy instead, which gives the same result every time.
    #[arg(long)]
    runs: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many threads [default: one per core].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The folder for failure files [default: failures, and only for what should hold]; when given,
    /// expected refutations are written as well.
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub model: model::Arg,
}

/// The strategies that a check goes through. The last one draws storms of days, which only some systems are built for;
/// a variant that must be refuted is refuted without it.
const STRATEGIES: [Strategy; 5] =
    [Strategy::Random, Strategy::Pct, Strategy::Enumerate, Strategy::Guided, Strategy::Weather];

fn strategies(system: &System, variant: &Variant) -> &'static [Strategy] {
    match variant.expected == Expected::Holds && system.outlasts_days() {
        true => &STRATEGIES,
        false => &STRATEGIES[..4],
    }
}

/// One line of the table.
struct Checked<'a> {
    /// Its place in the list of systems and variants.
    place: usize,
    system: &'a System,
    variant: &'a Variant,
    runs: u64,
    complete: bool,
    /// The smallest failure of each broken promise, with the search that found it.
    broken: Vec<(Search<'a>, Broken, Option<PathBuf>)>,
    /// The `sometimes` promises that a reference never showed, without which a check proves little.
    unseen: Vec<Name>,
}

impl Checked<'_> {
    fn bugs(&self) -> Vec<Bug> {
        bugs(&self.broken.iter().map(|(_, broken, _)| broken).collect::<Vec<_>>())
    }

    fn ok(&self) -> bool {
        match &self.variant.expected {
            Expected::Holds => self.broken.is_empty() && self.unseen.is_empty(),
            Expected::Refuted(promises) => self
                .broken
                .iter()
                .any(|(_, broken, _)| promises.contains(&broken.violation.promise)),
        }
    }
}

pub fn check(given: Given, args: &Args) -> Result<Answer, CliError> {
    let mut asked = Vec::new();
    for name in &args.systems {
        asked.push(&input::system(given, name)?.name);
    }
    let mut notes = Vec::new();
    for loaded in given.workers {
        notes.extend(loaded.notes());
        notes.extend(loaded.rehearsed(given.program)?);
    }
    let wanted = |system: &&System| asked.is_empty() || asked.contains(&&system.name);
    let variants = given
        .systems
        .iter()
        .filter(wanted)
        .flat_map(|system| system.variants().iter().map(move |variant| (system, variant)));
    let mut work: Vec<(usize, (&System, &Variant))> = variants.enumerate().collect();
    // A variant that is refuted early leaves the rest of its time to those that must hold.
    work.sort_by_key(|(_, (_, variant))| variant.expected == Expected::Holds);
    let (watch, interrupt) = (Stopwatch::start(), Interrupt::listen());
    let mut bar = ProgressBar::new();
    let mut checked = Vec::new();
    let steps = work.len() as u64;
    let mut unwritten = None;
    // Noticed now, not after the search.
    Keeping::new(args.out.as_ref(), None)?;
    for (done, (place, (system, variant))) in work.into_iter().enumerate() {
        let left = Duration::from_secs(args.seconds).saturating_sub(watch.elapsed());
        let share = left / (steps as u32 - done as u32);
        let budget = Budget { args, watch: Stopwatch::start(), share, interrupt: &interrupt };
        let what = format!("{} {}", system.name, variant.name);
        bar.show(done as u64, steps, &what);
        let mut tick = |runs: u64| bar.show(done as u64, steps, &format!("{what}: {runs} runs"));
        // Unexpected failures are written always, and expected ones when a folder is given.
        let usual = (variant.expected == Expected::Holds).then_some("failures");
        let mut keeping = Keeping::new(args.out.as_ref(), usual)?.of(given.worker(system));
        let mut line = one(system, variant, &budget, &mut keeping, &mut tick)?;
        for (search, broken, file) in &mut line.broken {
            *file = keeping.last(search, broken);
        }
        unwritten = unwritten.or(keeping.finish());
        // Of a variant that was not searched to the end, only what is broken is known.
        if !interrupt.came() || !line.broken.is_empty() {
            checked.push(Checked { place, ..line });
        }
        if interrupt.came() {
            break;
        }
    }
    drop(bar);
    checked.sort_by_key(|line| line.place);
    let ok = checked.iter().all(Checked::ok);
    let searched = checked.len() as u64;
    let interrupted = interrupt.came() && searched < steps;
    // What was not searched may be as expected or not.
    let verdict = (!ok || !interrupted).then_some(ok);
    let text = table(given.program, &checked, verdict);
    let json = document(given.program, &checked, ok);
    let code = if unwritten.is_some() { output::UNWRITTEN } else { u8::from(!ok) };
    notes.extend(unwritten.iter().map(|why| format!("error: {why}")));
    let answer = Answer { text, json, code, notes };
    Ok(match interrupted {
        true => answer.interrupted(format!(
            "interrupted after {searched} of {steps} variants: those that are not in the table were not searched, and the \
             same command begins again"
        )),
        false => answer,
    })
}

/// How long one variant is searched.
struct Budget<'a> {
    args: &'a Args,
    watch: Stopwatch,
    share: Duration,
    interrupt: &'a Interrupt,
}

impl Budget<'_> {
    /// Whether the first `part` of `parts` of the share is not used up.
    fn lasts(&self, part: usize, parts: usize) -> bool {
        let time = || self.watch.elapsed() < self.share * part as u32 / parts as u32;
        !self.interrupt.came() && (self.args.runs.is_some() || time())
    }
}

fn one<'a>(
    system: &'a System,
    variant: &'a Variant,
    budget: &Budget,
    keeping: &mut Keeping,
    tick: &mut dyn FnMut(u64),
) -> Result<Checked<'a>, CliError> {
    let mut line = Checked {
        place: 0,
        system,
        variant,
        runs: 0,
        complete: false,
        broken: Vec::new(),
        unseen: Vec::new(),
    };
    let mut seen: Vec<(Name, u64)> = Vec::new();
    let enough = match &variant.expected {
        Expected::Holds => Vec::new(),
        Expected::Refuted(promises) => promises.clone(),
    };
    let strategies = strategies(system, variant);
    for (at, strategy) in strategies.iter().copied().enumerate() {
        let search = Search {
            seed: budget.args.seed,
            runs: budget.args.runs.unwrap_or(u64::MAX),
            jobs: explore::jobs(budget.args.jobs),
            enough: enough.clone(),
            saves: false,
            ..Search::new(system, variant, strategy)
        };
        let before = line.runs;
        let findings =
            search.run_and_tell(&mut |broken| keeping.early(&search, broken), &mut |progress| {
                tick(before + progress.runs);
                budget.lasts(at + 1, strategies.len())
            })?;
        let Findings { runs, complete, seen: now, broken, .. } = findings;
        line.runs += runs;
        line.complete |= complete == Some(true);
        merge(&mut seen, now);
        line.broken.extend(broken.into_iter().map(|broken| (search.clone(), broken, None)));
        if !line.broken.is_empty() || budget.interrupt.came() {
            break;
        }
    }
    if variant.expected == Expected::Holds && line.broken.is_empty() {
        line.unseen =
            seen.into_iter().filter(|(_, times)| *times == 0).map(|(name, _)| name).collect();
    }
    Ok(line)
}

fn merge(seen: &mut Vec<(Name, u64)>, now: Vec<(Name, u64)>) {
    match seen.is_empty() {
        true => *seen = now,
        false => seen.iter_mut().zip(now).for_each(|(all, (_, times))| all.1 += times),
    }
}

fn table(program: &str, checked: &[Checked], ok: Option<bool>) -> String {
    let width = checked.iter().map(|line| name(line).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in checked {
        let found = if line.broken.is_empty() { "holds" } else { "refuted" };
        let verdict = format!("{found:<8}");
        let verdict = if line.ok() { report::good(&verdict) } else { report::bad(&verdict) };
        let complete =
            if line.complete { ", every run with at most 2 deviations among them" } else { "" };
        let runs = report::count(line.runs, "run", "runs");
        let _ = writeln!(text, "{:<width$}  {verdict} {runs}{complete}", name(line));
        for bug in line.bugs() {
            let (search, broken, file) = &line.broken[bug.told];
            let lines = broken.run.trace.events().len();
            let others = bug.others.iter().map(|at| &*line.broken[*at].1.violation.promise);
            let others: String = others.map(|name| format!("; {name}")).collect();
            let _ = writeln!(
                text,
                "{:width$}           {}{others}: {}, {}",
                "",
                broken.violation.promise,
                report::count(broken.case.tape.len(), "deviation", "deviations"),
                report::count(lines, "line", "lines"),
            );
            let _ = writeln!(
                text,
                "{:width$}           {}",
                "",
                see(program, search, broken, file.as_ref())
            );
        }
        for unseen in &line.unseen {
            let _ = writeln!(text, "{:width$}           never seen: {unseen}", "");
        }
    }
    for line in checked.iter().filter(|line| !line.ok()) {
        text += &stories(program, line);
    }
    text += &match ok {
        None => String::new(),
        Some(true) => {
            format!("{}: what must hold holds, what is wrong is refuted\n", report::good("ok"))
        }
        Some(false) => format!("{}: see above\n", report::bad("not as expected")),
    };
    text
}

/// What led to each failure of what must hold.
fn stories(program: &str, line: &Checked) -> String {
    let tell = |bug: Bug| {
        let (search, broken, file) = &line.broken[bug.told];
        let (found, file) = (Found::by(search, broken), explore::name(file));
        let origin = explore::origin(search, broken);
        format!("\n{}", report::failure(&found, &found.story(), program, &file, &origin, false))
    };
    line.bugs().into_iter().map(tell).collect()
}

fn name(line: &Checked) -> String {
    format!("{} {}", line.system.name, line.variant.name)
}

/// The command that shows a failure.
fn see(program: &str, search: &Search, broken: &Broken, file: Option<&PathBuf>) -> String {
    if let Some(file) = file {
        return format!("{program} replay {}", input::shown(file));
    }
    let (system, variant) = (&search.system.name, &search.variant.name);
    let choice = match (search.strategy, broken.seed) {
        (_, Some(seed)) => format!("--strategy {} --seed {seed} --runs 1", search.strategy),
        (Strategy::Enumerate, None) => "--strategy enumerate".into(),
        (strategy, None) => format!("--strategy {strategy} --seed {}", search.seed),
    };
    let model = broken.run.model.as_deref().and_then(Choice::of_identity);
    let model = model.map_or(String::new(), |model| format!(" --model {model}"));
    format!("{program} explore {system} --variant {variant} {choice}{model}")
}

fn document(program: &str, checked: &[Checked], ok: bool) -> Value {
    let systems = checked.iter().map(|line| {
        let broken = line.broken.iter();
        json!({
            "system": line.system.name,
            "variant": line.variant.name,
            "expected": list::expected(&line.variant.expected),
            "ok": line.ok(),
            "runs": line.runs,
            "complete": line.complete,
            "unseen": line.unseen,
            "violations": broken.map(|(search, broken, file)| {
                let mut json = explore::violation(search, broken, file.as_deref());
                json["strategy"] = json!(search.strategy.name());
                json["see"] = json!(see(program, search, broken, file.as_ref()));
                json
            }).collect::<Vec<_>>(),
        })
    });
    json!({ "ok": ok, "systems": systems.collect::<Vec<_>>() })
}
