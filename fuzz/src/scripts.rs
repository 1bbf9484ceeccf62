//! Scenario scripts: read, played, and shown in every format.

use thunderhead_sim::{Script, unprintable};

use crate::{Input, mutation};

/// The scripts of the repository and what becomes of them.
pub const SCRIPTS: Input = Input {
    name: "scripts",
    about: "scenario scripts: read, written, played and shown",
    examples,
    words,
    mutated: mutation::text,
    check,
};

/// Every key of a script, and some values.
fn words() -> Vec<&'static str> {
    let keys = Script::KEYS.iter().flat_map(|(_, keys)| keys.iter().copied());
    let values = [
        "relay",
        "uploads",
        "generations",
        "comparisons",
        "commands",
        "crash",
        "evict",
        "lose_reply",
        "duplicate",
        "delay",
        "reorder",
        "50%",
        "order",
        "9999999h",
        "PUT /",
        "resnet50",
        "stand-in",
        "clock",
    ];
    keys.chain(values).collect()
}

/// Every script of the repository.
pub fn examples() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    crate::files(std::path::Path::new(folder)).into_iter().map(|(_, text)| text).collect()
}

/// No objection is long, and no character of it is raw.
pub fn objection(error: &str) -> Result<(), String> {
    if error.len() > 20_000 {
        return Err(format!("an objection of {} bytes", error.len()));
    }
    clean("an objection", error)
}

/// What is printed has no raw characters but line breaks of our own.
pub fn clean(what: &str, text: &str) -> Result<(), String> {
    match text.split('\n').find_map(unprintable) {
        Some(c) => Err(format!("{what} has a raw {c:?}")),
        None => Ok(()),
    }
}

fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let file = match Script::parse("a.toml", &text) {
        Ok(file) => file,
        Err(error) => return objection(&error.to_string()),
    };
    let written = file.script.to_toml();
    match Script::parse("again.toml", &written) {
        Ok(again) if again.script == file.script => {}
        Ok(again) => return Err(format!("{:?} was written as {:?}", file.script, again.script)),
        Err(error) => {
            return Err(format!("what was written is not read again: {error}\n{written}"));
        }
    }
    play(file)
}

/// Plays a script and shows its history in every format.
pub fn play(file: thunderhead_sim::ScriptFile) -> Result<(), String> {
    let playable = match crate::playable(file) {
        Ok(playable) => playable,
        Err(error) => return objection(&error.to_string()),
    };
    let played = match playable.play() {
        Ok(played) => played,
        Err(error) => return objection(&error.to_string()),
    };
    let history = thunderhead::history::History::new(&playable, &played);
    let trace = &played.run.trace;
    let (short, events) = (history.short(), trace.events().len());
    clean("a history", &short)?;
    clean("a wide history", &history.wide())?;
    clean("a diagram", &trace.to_mermaid())?;
    clean("JSON lines", &trace.to_jsonl())?;
    clean("a trace for Perfetto", &trace.to_chrome())?;
    clean("a page", &trace.to_html(&playable.script().story))?;
    let wide = trace.wide();
    let rows = |event: &thunderhead_sim::Event| match &event.kind {
        thunderhead_sim::EventKind::Rows { changes } => changes.len().max(1),
        _ => 1,
    };
    let lines: usize = trace.events().iter().map(rows).sum();
    if wide.lines().count() != lines {
        return Err(format!("{} lines for {events} events", wide.lines().count()));
    }
    Ok(())
}
