//! Tapes: lines of choices, played on a storm.

use thunderhead_sim::{Deviation, Script};

use crate::{Input, mutation, scripts};

/// Lines of choices, one per line of the input.
pub const TAPES: Input = Input {
    name: "tapes",
    about: "lines of choices: read, written, and played on a storm of the relay",
    examples,
    words: || {
        vec![
            "ready",
            "order",
            "latency",
            "verdict",
            "amount",
            "crash",
            "evict",
            "jitter",
            "restart",
            "pick",
            "mood",
            "random",
            "relay",
            "web",
            "client",
            "queues",
            "r2.put",
            "r2.get",
            "queue.deliver",
            "fetch",
            "#",
            "=",
            "/",
            ">",
        ]
    },
    mutated: mutation::text,
    check,
};

fn examples() -> Vec<Vec<u8>> {
    let choices = [
        "verdict relay>r2.get #1 = 2/8",
        "crash relay #1 = 1/2",
        "verdict web>r2.put #1 = 5/8\namount web>r2.put #1 = 2/3\nrestart relay #1 = 3/4",
        "latency queues>queue.deliver #2 = 1/4\nverdict relay>r2.put #2 = 3/7",
    ];
    choices.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        if let Ok(choice) = line.parse::<Deviation>() {
            let written = choice.to_string();
            if written.parse() != Ok(choice) {
                return Err(format!(
                    "`{line}` was written as `{written}`, which is another choice"
                ));
            }
        }
    }
    // As a script has it. A line that is no choice is an objection, which is short and clean.
    let lines: Vec<String> = text.lines().map(|line| format!("{line:?}")).collect();
    let lines =
        lines.join(",\n").replace("\\u{", "\\\\u{").replace("\\0", "\\\\0").replace("\\'", "'");
    let script = format!(
        "story = \"x\"\nsystem = \"relay\"\ndrawn_faults = [\"delay\", \"fail\", \"lose_reply\", \"crash\", \"reorder\"]\n\
         requests = [{{ fetch = \"PUT /cat.jpg\", body = \"v\", retries = 2 }}, {{ at = \"1s\", fetch = \"PUT /cat.jpg\" }}]\n\
         tape = [{lines}]\n"
    );
    match Script::parse("tape.toml", &script) {
        Ok(file) => scripts::play(file),
        Err(error) => scripts::objection(&error.to_string()),
    }
}
