//! Writes a script: one request, fault and choice per line, and nothing that is said by default.

use std::fmt::Write;
use std::time::Duration;

use super::{Failure, Script, ScriptChoices, words};
use crate::protocol::trace::TraceHash;
use crate::scenario::scripted_fault::ScriptedFault;
use crate::scenario::{ClientRequest, Kill, Scenario};
use crate::values::body::{Body, BodySource};
use crate::values::hash::StableHasher;
use crate::values::hex::hex;
use crate::values::printable::is_unprintable;
use crate::values::time::Time;

impl Script {
    /// A hash over everything in a failure file but the hash itself: when it fits, nobody has changed the file.
    pub fn sum(&self) -> TraceHash {
        let mut unsealed = self.clone();
        if let Some(failure) = &mut unsealed.failure {
            failure.sum = None;
        }
        TraceHash::of(StableHasher::of(unsealed.to_toml().as_str()))
    }

    /// The same failure with its [`sum`](Script::sum).
    pub fn sealed(mut self) -> Script {
        let sum = self.sum();
        if let Some(failure) = &mut self.failure {
            failure.sum = Some(sum);
        }
        self
    }

    /// The script as TOML, which [`Script::parse`] reads back.
    pub fn to_toml(&self) -> String {
        let mut out = Lines(String::new());
        out.field("story", &quoted(&self.story));
        out.field("system", &quoted(&self.system));
        if let Some(variant) = &self.variant {
            out.field("variant", &quoted(variant));
        }
        if let Some(model) = &self.model {
            out.field("model", &quoted(model));
        }
        if let ScriptChoices::Seed(seed) = self.choices {
            out.field("seed", &seed.to_string());
        }
        out.scenario(&self.scenario);
        if let Some(expect) = &self.expect {
            out.list("expect", expect.iter().map(|line| quoted(&line.to_string())));
        }
        if let ScriptChoices::Tape(tape) = &self.choices {
            let lines = tape.in_words(self.scenario.drawn_faults);
            out.list("tape", lines.iter().map(|line| quoted(line)));
        }
        if let Some(failure) = &self.failure {
            out.failure(failure);
        }
        out.0
    }
}

struct Lines(String);

impl Lines {
    fn field(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.0, "{name} = {value}");
    }

    fn list(&mut self, name: &str, lines: impl Iterator<Item = String>) {
        let lines: Vec<String> = lines.map(|line| format!("    {line},\n")).collect();
        let rows = lines.concat();
        let value = if rows.is_empty() { "[]".into() } else { format!("[\n{rows}]") };
        self.field(name, &value);
    }

    fn scenario(&mut self, scenario: &Scenario) {
        let usual = Scenario::default();
        let drawn: Vec<String> =
            scenario.drawn_faults.iter().map(|fault| quoted(fault.kind().name)).collect();
        if !drawn.is_empty() {
            self.field("drawn_faults", &format!("[{}]", drawn.join(", ")));
        }
        if scenario.storm_ends_at != usual.storm_ends_at {
            self.field("storm_ends_at", &time(scenario.storm_ends_at - Time::ZERO));
        }
        if scenario.timing != usual.timing {
            self.field("timing", &quoted(scenario.timing.name()));
        }
        if scenario.max_crashes != usual.max_crashes {
            self.field("max_crashes", &scenario.max_crashes.to_string());
        }
        if scenario.max_steps != usual.max_steps {
            self.field("max_steps", &scenario.max_steps.to_string());
        }
        self.list("requests", scenario.requests.iter().map(request));
        let faults = scenario.faults.iter().map(fault).chain(scenario.kills.iter().map(kill));
        let faults: Vec<String> = faults.collect();
        if !faults.is_empty() {
            self.list("faults", faults.into_iter());
        }
    }

    /// `choices` comes first and the quoted `trace` last, so that no cut goes unnoticed.
    fn failure(&mut self, failure: &Failure) {
        self.0.push_str("\n[failure]\n");
        self.field("choices", &failure.choices.to_string());
        if let Some(sum) = failure.sum {
            self.field("sum", &quoted(&sum.to_string()));
        }
        self.field("thunderhead", &quoted(&failure.thunderhead));
        if let Some(model) = &failure.model {
            self.field("model", &quoted(model));
        }
        self.field("promise", &quoted(&failure.promise));
        self.field("message", &quoted(&failure.message));
        if let Some(seed) = failure.seed {
            self.field("seed", &seed.to_string());
        }
        self.field("strategy", &quoted(&failure.strategy));
        self.field("trace", &quoted(&failure.trace.to_string()));
    }
}

fn request(client: &ClientRequest) -> String {
    let mut row = Row::default();
    row.add("at", time(client.at - Time::ZERO));
    row.add("fetch", quoted(&format!("{} {}", client.request.method, client.request.path)));
    if !client.request.headers.is_empty() {
        let pairs = client.request.headers.iter();
        let pairs: Vec<String> =
            pairs.map(|(name, value)| format!("{} = {}", key(name), quoted(value))).collect();
        row.add("headers", format!("{{ {} }}", pairs.join(", ")));
    }
    if !client.request.body.is_empty() || client.request.body.source().is_some() {
        row.add("body", body(&client.request.body));
    }
    if &*client.from != "client" {
        row.add("from", quoted(&client.from));
    }
    if let Some(name) = &client.name {
        row.add("name", quoted(name));
    }
    if let Some(to) = &client.to {
        row.add("to", quoted(to));
    }
    if client.retries > 0 {
        row.add("retries", client.retries.to_string());
    }
    row.done()
}

/// A name as a key: bare where TOML allows it.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { quoted(name) }
}

fn body(body: &Body) -> String {
    match (body.source(), body.text()) {
        (Some(BodySource::File(path)), _) => format!("{{ file = {} }}", quoted(path)),
        (Some(BodySource::Picture(name)), _) => format!("{{ picture = {} }}", quoted(name)),
        (None, Some(text)) => quoted(text),
        (None, None) => format!("{{ hex = \"{}\" }}", hex(body.bytes())),
    }
}

fn fault(rule: &ScriptedFault) -> String {
    let mut row = Row::default();
    row.add("kind", quoted(rule.fault.kind().name));
    row.add("on", quoted(&rule.on.to_string()));
    let often = if rule.chance.is_some() { u32::MAX } else { 1 };
    if rule.times != often {
        row.add("times", rule.times.to_string());
    }
    if rule.skip > 0 {
        row.add("skip", rule.skip.to_string());
    }
    if let Some(chance) = rule.chance {
        row.add("chance", quoted(&words::chance_text(chance)));
    }
    if let Some(by) = rule.by {
        row.add("by", time(by));
    }
    if let Some(code) = rule.code {
        row.add("code", code.to_string());
    }
    row.done()
}

fn kill(kill: &Kill) -> String {
    let mut row = Row::default();
    row.add("kind", quoted("crash"));
    row.add("on", quoted(&kill.host));
    row.add("at", time(kill.at - Time::ZERO));
    if let Some(down) = kill.down {
        row.add("by", time(down));
    }
    row.done()
}

#[derive(Default)]
struct Row(Vec<String>);

impl Row {
    fn add(&mut self, name: &str, value: String) {
        self.0.push(format!("{name} = {value}"));
    }

    fn done(self) -> String {
        format!("{{ {} }}", self.0.join(", "))
    }
}

fn time(duration: Duration) -> String {
    quoted(&words::duration_text(duration))
}

/// A TOML string on one line, whatever is in it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unprintable(c) && c > '\u{ffff}' => {
                let _ = write!(out, "\\U{:08X}", c as u32);
            }
            c if is_unprintable(c) => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"story = "A \"story\" with\ttabs, é and \u0001."
system = "relay"
variant = "acks-early"
model = "resnet50=f32"
drawn_faults = ["delay", "lose_reply"]
storm_ends_at = "90s"
timing = "order"
max_crashes = 1
max_steps = 900
requests = [
    { at = "0s", fetch = "PUT /cat.jpg", body = "v1", from = "alice", to = "web", retries = 2 },
    { at = "1500ms", fetch = "PUT /dog.jpg", headers = { "a b" = "1", accept = "*/*" }, body = { hex = "ff00" } },
    { at = "2s", fetch = "PUT /owl.jpg", body = { file = "photos/owl.jpg" } },
    { at = "3s", fetch = "PUT /clock.png", body = { picture = "clock" }, name = "clock" },
    { at = "4s", fetch = "GET /{{clock.response.body.id}}" },
]
faults = [
    { kind = "lose_reply", on = "relay>r2.put photos/*", times = 2, skip = 1 },
    { kind = "fail", on = "r2.*", chance = "10%", code = 10001 },
    { kind = "delay", on = "fetch", by = "30s" },
    { kind = "crash", on = "relay", skip = 3 },
    { kind = "crash", on = "ROOM:*", code = 1 },
    { kind = "evict", on = "ROOM:lobby" },
    { kind = "fail", on = "d1.run", code = 8 },
    { kind = "fail", on = "object.rpc", code = 4 },
    { kind = "fail", on = "ai.run", code = 3040 },
    { kind = "fail", on = "workflow.create", code = 429 },
    { kind = "few_labels", on = "ai.run", code = 0 },
    { kind = "false_exists", on = "workflow.create", code = 1 },
    { kind = "stale_read", on = "d1.first", code = 3 },
    { kind = "crash", on = "relay", at = "3s", by = "5s" },
]
expect = [
    "always one receipt per upload",
    "violates every upload has its receipt",
]
tape = [
    "lose_reply on relay → r2.put (2nd)",
]

[failure]
choices = 1
thunderhead = "0.1.0"
model = "resnet50 on avx512, weights 0123abcd"
promise = "every upload has its receipt"
message = "cat.jpg has none"
seed = 7
strategy = "random"
trace = "00000000000000ff"
"#;

    #[test]
    fn a_script_that_says_everything_is_written_as_it_was_read() {
        let script = Script::parse("all.toml", EVERYTHING).unwrap().script;
        assert_eq!(script.to_toml(), EVERYTHING);
    }

    #[test]
    fn a_script_that_says_little_stays_short() {
        let text = "story = \"Nothing happens.\"\nsystem = \"relay\"\nrequests = []\n";
        assert_eq!(Script::parse("short.toml", text).unwrap().script.to_toml(), text);
    }

    #[test]
    fn a_sealed_failure_notices_every_change_and_only_those() {
        let sealed = Script::parse("all.toml", EVERYTHING).unwrap().script.sealed();
        let again = Script::parse("sealed.toml", &sealed.to_toml()).unwrap().script;
        assert_eq!((&again, again.failure.as_ref().unwrap().sum), (&sealed, Some(sealed.sum())));
        for (from, to) in [
            ("seed = 7", "seed = 8"),
            ("has none", "has two"),
            ("its receipt\"\nmessage", "a receipt\"\nmessage"),
            ("r2.put (2nd)", "r2.put (3rd)"),
            ("00ff", "00fe"),
            ("strategy = \"random\"", "strategy = \"pct\""),
            ("skip = 1", "skip = 2"),
            ("resnet50=f32", "resnet50=bf16"),
            ("on avx512", "on avx2"),
            ("picture = \"clock", "picture = \"maze"),
            ("\\u0001", "\\u0002"),
        ] {
            let changed = sealed.to_toml().replacen(from, to, 1);
            assert_ne!(changed, sealed.to_toml(), "{from}");
            let changed = Script::parse("changed.toml", &changed).unwrap().script;
            assert_ne!(changed.failure.as_ref().unwrap().sum, Some(changed.sum()), "{from}");
        }
    }

    #[test]
    fn what_is_unprintable_is_escaped_and_read_again() {
        let text = "a\u{202e}\u{e0041}\u{9b}\n\u{0}é";
        assert_eq!(quoted(text), r#""a\u202E\U000E0041\u009B\n\u0000é""#);
        let mut script = Script::parse("all.toml", EVERYTHING).unwrap().script;
        script.story = text.into();
        assert_eq!(Script::parse("again.toml", &script.to_toml()).unwrap().script, script);
    }

    #[test]
    fn every_cut_of_a_failure_file_is_noticed() {
        let whole = Script::parse("all.toml", EVERYTHING).unwrap().script;
        for end in (0..EVERYTHING.len()).filter(|end| EVERYTHING.is_char_boundary(*end)) {
            match Script::parse("cut.toml", &EVERYTHING[..end]) {
                Err(_) => {}
                // Before the last table there is a shorter script, which no longer is a failure;
                // behind its last character only a line break is missing.
                Ok(cut) => assert!(
                    cut.script.failure.is_none() || cut.script == whole,
                    "cut at {end}: {:?}",
                    cut.script.failure
                ),
            }
        }
    }
}
