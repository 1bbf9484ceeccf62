//! What `explore --coverage` prints: which calls met which faults.

use std::fmt::Write;

use serde_json::{Value, json};
use thunderhead_props::coverage::{CallSite, Coverage, Met};

use crate::report;

/// From so many on, it is more than chance that a fault never struck: about one time in 150.
const SURPRISING: u64 = 5;

/// A table of the calls, and what was never tried.
pub fn text(coverage: &Coverage) -> String {
    let shown = |site: &CallSite| format!("{} → {}", site.caller, site.call);
    let untried = coverage.untried();
    let sites: Vec<(String, &Met)> =
        coverage.sites().map(|(site, met)| (shown(site), met)).collect();
    let width = sites.iter().map(|(site, _)| site.chars().count()).max().unwrap_or(0).min(60);
    let mut text = String::new();
    let calls = report::count(sites.len(), "kind of call", "kinds of calls");
    let _ = writeln!(
        text,
        "\n{calls}, how often each was made, and how many faults met it of those that can:"
    );
    for (site, met) in &sites {
        let (struck, all) =
            (met.faults.values().filter(|times| **times > 0).count(), met.faults.len());
        let _ = writeln!(text, "  {site:<width$} {:>9} {struck:>4} of {all}", met.calls);
    }
    match untried.len() {
        0 => text += "every fault has struck every kind of call that it can strike\n",
        many => {
            let pairs = report::count(many, "fault never struck", "faults never struck");
            let _ = writeln!(text, "{pairs} a kind of call that it can strike:");
            for one in &untried {
                let why = match one.expected {
                    few if few < SURPRISING => "too few calls to tell".into(),
                    many => format!("by chance it would have, about {many} times"),
                };
                let _ = writeln!(
                    text,
                    "  {:<width$} {:<14} {why}",
                    shown(&one.site),
                    one.fault.to_string()
                );
            }
        }
    }
    text
}

/// The calls and what was never tried, as a JSON document.
pub fn document(coverage: &Coverage) -> Value {
    let untried = coverage.untried();
    let sites = coverage.sites().map(|(site, met)| {
        let faults: serde_json::Map<String, Value> =
            met.faults.iter().map(|(fault, times)| (fault.to_string(), json!(times))).collect();
        json!({ "caller": site.caller, "call": site.call, "calls": met.calls, "faults": faults })
    });
    json!({
        "calls": sites.collect::<Vec<_>>(),
        "untried": untried.iter().map(|one| json!({
            "caller": one.site.caller, "call": one.site.call, "fault": one.fault.to_string(),
            "expected": one.expected,
        })).collect::<Vec<_>>(),
    })
}
