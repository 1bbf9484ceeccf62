//! What the object must hold at every moment, told from its history.

use std::collections::{BTreeMap, BTreeSet};

use thunderhead_sim::*;

/// The alarm as the platform knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Alarm {
    #[default]
    None,
    At(u64),
    /// A retry, whose exact time is drawn.
    Between(u64, u64),
}

impl Alarm {
    fn admits(self, ms: Option<u64>) -> bool {
        match (self, ms) {
            (Alarm::None, None) => true,
            (Alarm::At(at), Some(ms)) => at == ms,
            (Alarm::Between(from, to), Some(ms)) => (from..=to).contains(&ms),
            _ => false,
        }
    }
}

/// The longest that an ordinary message travels.
const LATENCY: u64 = 30;

#[derive(Clone, Default)]
struct Stored {
    keys: BTreeMap<String, String>,
    rows: Vec<String>,
    alarm: Alarm,
    /// Whether the present turn has set or deleted the alarm.
    own_alarm: bool,
    /// Whether the alarm was set or deleted since its handler began.
    touched: bool,
    /// The marks of everything that was written.
    marks: BTreeSet<u32>,
}

#[derive(Default)]
pub struct Model {
    kept: Stored,
    /// With what the present turn has done.
    now: Stored,
    /// As it was when each open transaction began, the innermost last.
    before: Vec<Stored>,
    running: bool,
    failures: u32,
    /// When the alarm is tried again. One that is set meanwhile waits for that.
    retry: Option<Alarm>,
    /// Whether the last alarm was lost on the way, so that nobody saw when its failure was noticed. What was set
    /// meanwhile may have come before that, and then there is no retry.
    unseen: bool,
    /// What was said to connected clients, and what was told to callers.
    heard: Vec<u32>,
    pub lost: u32,
    pub retried: u32,
    pub rolled_back: u32,
}

impl Model {
    /// Follows a history; the first thing in it that should not be.
    #[allow(clippy::too_many_lines, reason = "one arm for each kind of event")]
    pub fn of(trace: &Trace) -> Result<Model, String> {
        let mut model = Model::default();
        let died_after: BTreeSet<u32> = (trace.events().iter())
            .filter_map(|event| match event.kind {
                EventKind::Crash { fault: Fault::CrashAfter, call } => call,
                _ => None,
            })
            .collect();
        let arrived: BTreeSet<u32> = (trace.events().iter())
            .filter_map(|event| match event.kind {
                EventKind::Begin { call } => Some(call),
                EventKind::Crash { call, .. } => call,
                _ => None,
            })
            .collect();
        for event in trace.events() {
            let of_object = trace.actor(event).starts_with("OBJECT");
            let wrong = |what: String| format!("{} {what}", event.at);
            let ms = event.at.as_ms();
            match &event.kind {
                EventKind::Log { text } if of_object => {
                    let words: Vec<&str> = text.split(' ').collect();
                    model.does(&words).map_err(wrong)?;
                }
                EventKind::Log { text } => {
                    let mark = text.split(' ').nth(1).and_then(|mark| mark.parse::<u32>().ok());
                    model.heard.extend(mark);
                }
                EventKind::Rows { .. } if of_object => {
                    if !model.before.is_empty() {
                        return Err(wrong("rows were kept while a transaction was open".into()));
                    }
                    model.now.own_alarm = false;
                    model.kept = model.now.clone();
                    if model.kept.alarm == Alarm::None && model.retry.take().is_some() {
                        model.failures = 0;
                    }
                }
                EventKind::Crash { .. } | EventKind::Abort { .. } if of_object => {
                    model.lost += u32::from(model.kept.marks != model.now.marks);
                    model.now = model.kept.clone();
                    model.before.clear();
                    model.alarm_failed(ms);
                }
                EventKind::Call { call } => {
                    if let Op::Alarm { info, .. } = trace.op(*call) {
                        let at = info.scheduled_time.as_ms();
                        let (kept, mut retry) = (model.kept.alarm, model.retry.take());
                        let unseen = std::mem::take(&mut model.unseen);
                        if unseen && retry != Some(kept) && kept.admits(Some(at)) {
                            (retry, model.failures) = (None, 0);
                        }
                        if at > ms || !retry.unwrap_or(kept).admits(Some(at)) {
                            let kept = format!("{kept:?} is kept, {retry:?} is tried again");
                            return Err(wrong(format!("an alarm for {at} is sent, and {kept}")));
                        }
                        model.running = true;
                        if retry.is_none_or(|retry| retry == kept) {
                            model.set_kept(Alarm::None);
                        }
                        model.watch();
                        // A crash of an object that is down already leaves no event.
                        if !arrived.contains(call) {
                            model.alarm_failed(ms);
                            model.unseen = true;
                        }
                    }
                }
                EventKind::Begin { call } if matches!(trace.op(*call), Op::Alarm { .. }) => {
                    model.running = true;
                    model.watch();
                }
                EventKind::End { call, outcome } if !died_after.contains(call) => {
                    if !matches!(trace.op(*call), Op::Alarm { .. }) {
                    } else if trace.outcome(*outcome).is_err() {
                        model.alarm_failed(ms);
                    } else {
                        (model.running, model.failures) = (false, 0);
                        model.drop_retry();
                    }
                }
                _ => {}
            }
        }
        if let Some(mark) = model.heard.iter().find(|mark| !model.kept.marks.contains(mark)) {
            return Err(format!("{mark} was heard of, and is not kept"));
        }
        if model.kept.alarm != Alarm::None || model.running {
            return Err(format!("{:?} was kept and never sent", model.kept.alarm));
        }
        Ok(model)
    }

    /// The platform changes the alarm: beneath the present turn, if that has changed it too.
    fn set_kept(&mut self, alarm: Alarm) {
        for stored in [&mut self.now].into_iter().chain(&mut self.before) {
            if !stored.own_alarm {
                stored.alarm = alarm;
            }
        }
        self.kept.alarm = alarm;
    }

    fn watch(&mut self) {
        for stored in [&mut self.now, &mut self.kept].into_iter().chain(&mut self.before) {
            stored.touched = false;
        }
    }

    /// The alarm's handler has not ended well, if it was running.
    fn alarm_failed(&mut self, ms: u64) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        if self.kept.touched || self.kept.alarm != Alarm::None {
            self.failures = 0;
            return;
        }
        if self.failures == 6 {
            // The platform gives it up.
            self.failures = 0;
            return;
        }
        let pause = 2_000 << self.failures;
        self.failures += 1;
        self.retried += 1;
        let retry = Alarm::Between(ms + pause, ms + pause + pause / 4 + LATENCY);
        self.retry = Some(retry);
        self.set_kept(retry);
    }

    /// The alarm has run after all: what failed was the object while the alarm was on its way.
    fn drop_retry(&mut self) {
        let retry = self.retry.take();
        if retry == Some(self.kept.alarm) && !self.kept.touched {
            self.set_kept(Alarm::None);
        }
    }

    fn does(&mut self, words: &[&str]) -> Result<(), String> {
        if let Some(mark) = words.get(1).and_then(|mark| mark.parse::<u32>().ok())
            && words[0] != "rings"
        {
            self.now.marks.insert(mark);
            self.now.keys.insert("mark".into(), mark.to_string());
        }
        match *words {
            ["put", mark, n] => drop(self.now.keys.insert(format!("k{n}"), mark.into())),
            ["delete", _, n] => drop(self.now.keys.remove(&format!("k{n}"))),
            ["insert", mark, n] => self.now.rows.push(format!("{n}:{mark}")),
            ["alarm", _, at] => {
                self.now.alarm = Alarm::At(at.parse().map_err(|_| "a time".to_string())?);
                (self.now.touched, self.now.own_alarm) = (true, true);
            }
            ["unalarm", _] => {
                self.now.alarm = Alarm::None;
                (self.now.touched, self.now.own_alarm) = (true, true);
            }
            ["begin"] => self.before.push(self.now.clone()),
            ["keep"] => drop(self.before.pop()),
            ["roll"] => {
                self.rolled_back += 1;
                self.now = self.before.pop().expect("a transaction is open");
            }
            ["sees", keys, "|", rows, "|", alarm] => return self.seen(keys, rows, alarm),
            _ => {}
        }
        Ok(())
    }

    fn seen(&mut self, keys: &str, rows: &str, alarm: &str) -> Result<(), String> {
        let held: Vec<String> =
            self.now.keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let alarm_ms = alarm.parse().ok();
        let same = keys == held.join(",") && rows == self.now.rows.join(",");
        if same && self.now.alarm.admits(alarm_ms) {
            return Ok(());
        }
        let (held, rows_held) = (held.join(","), self.now.rows.join(","));
        let expected = format!("{held} | {rows_held} | {:?}", self.now.alarm);
        Err(format!("the object sees `{keys} | {rows} | {alarm}` instead of `{expected}`"))
    }
}
