//! The story of a failure: what led to it, and where it parts from the nearest run that holds.

use std::fmt::Write;

use thunderhead_props::divergence::{Divergence, Nearest, nearest};
use thunderhead_props::{System, Variant, Violation, quietly};
use thunderhead_sim::{Case, Run, Trace};

/// No line is wider.
const WIDTH: usize = 120;
/// So many lines of each run are shown from where they part.
const PARTED: usize = 4;

/// What is said when there is no run that holds to compare with.
pub const NO_FAULT: &str = "No fault is needed: these requests break the promise by themselves.";
/// What is said when no single fault makes the difference.
pub const NONE_HOLDS: &str =
    "No single fault is to blame: without any one of them the promise is broken too.";

/// The story of a run that breaks a promise, in lines of at most 120 columns.
pub fn told(
    system: &System,
    variant: &Variant,
    case: &Case,
    run: &Run,
    violation: &Violation,
) -> String {
    let story = violation.story(&run.trace);
    let nearest = quietly(|| nearest(system, variant, case, run, &violation.promise));
    format!("{}\n{}", story.text, parted(run, &nearest))
}

fn parted(run: &Run, nearest: &Nearest) -> String {
    match nearest {
        Nearest::NoFault => format!("{NO_FAULT}\n"),
        Nearest::NoneHolds => format!("{NONE_HOLDS}\n"),
        Nearest::Holds(parting) => {
            let Divergence { without, events: (mine, theirs), run: other } = &**parting;
            let without = run.trace.abbreviated(without);
            let mut text =
                wrapped(&format!("Without \"{without}\" the promise holds. The runs part here:"));
            lines(&mut text, "with", &run.trace, *mine);
            lines(&mut text, "without", &other.trace, *theirs);
            text
        }
    }
}

/// The first lines of a run from the event at `from` on.
fn lines(text: &mut String, label: &str, trace: &Trace, from: usize) {
    let events = trace.events().iter().skip(from).take(PARTED);
    let told: Vec<(String, String, String)> = events
        .map(|event| (event.at.to_string(), trace.actor_short(event), trace.describe(event)))
        .collect();
    let longest = |of: fn(&(String, String, String)) -> &str| {
        told.iter().map(|one| of(one).chars().count()).max().unwrap_or(0)
    };
    let (time, name) = (longest(|(at, ..)| at), longest(|(_, actor, _)| actor));
    if told.is_empty() {
        let _ = writeln!(text, "  {label:<9}the run is over");
    }
    for (nth, (at, actor, said)) in told.iter().enumerate() {
        let label = if nth == 0 { label } else { "" };
        let line = format!("  {label:<9}{at:>time$}  {actor:<name$}  {said}");
        let _ = writeln!(text, "{}", cut(&line));
    }
}

fn cut(line: &str) -> String {
    match line.chars().nth(WIDTH) {
        None => line.into(),
        Some(_) => line.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

/// A sentence on lines, broken between words.
fn wrapped(sentence: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in sentence.split(' ') {
        let length = word.chars().count();
        let fits = width + 1 + length <= WIDTH;
        text += if width == 0 {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        };
        width = if fits && width > 0 { width + 1 + length } else { length };
        text += word;
    }
    text + "\n"
}
