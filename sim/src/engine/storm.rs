//! Decides what goes wrong with a call: first by the script's rules, then by the tape.

use std::time::Duration;

use crate::choices::words::DOWNTIMES;
use crate::choices::{Choices, HostKey, Odds};
use crate::engine::ids::HostId;
use crate::engine::outages::Outages;
use crate::engine::verdict::{Verdict, Wanted};
use crate::protocol::fault::{Fault, FaultSet};
use crate::protocol::op::Op;
use crate::protocol::site::{ChoiceKind, OpCode};
use crate::scenario::Scenario;
use crate::scenario::scripted_fault::{ScriptedFault, glob};
use crate::values::call::CallClass;
use crate::values::time::Time;

/// A chance of one half, in 1024ths.
const HALF: u16 = 512;

/// Who makes a call, whom a crash would hit, and what is asked.
pub(crate) struct Crossing<'a> {
    pub caller: HostKey,
    pub caller_name: &'a str,
    /// Whether there is a host that may die of it.
    pub can_crash: bool,
    /// The service, worker or object that it is for.
    pub target: HostId,
    pub op: &'a Op,
    pub code: OpCode,
    pub class: CallClass,
    pub now: Time,
}

#[derive(Debug)]
pub(crate) struct Storm {
    active: bool,
    crashes_left: u32,
    faults: FaultSet,
    /// Kept beside them because it is asked before every step.
    reorders: bool,
    tables: [Table; CallClass::ALL.len()],
    rules: Vec<Active>,
    outages: Outages,
}

/// The verdicts that can be drawn for one class of calls, those that kill a host last.
#[derive(Debug, Default)]
struct Table {
    faults: Vec<Fault>,
    rates: Vec<u16>,
    harmless: usize,
}

#[derive(Debug)]
struct Active {
    rule: ScriptedFault,
    seen: u32,
    struck: u32,
}

impl Storm {
    pub fn new(scenario: &Scenario, choices: &Choices) -> Storm {
        let tables = CallClass::ALL.map(|class| {
            let faults: Vec<Fault> = scenario.drawn_faults.striking(class).collect();
            let rates = faults.iter().map(|fault| choices.swarm().rate(*fault)).collect();
            let harmless = faults.iter().filter(|fault| !fault.is_crash()).count();
            Table { faults, rates, harmless }
        });
        let rules = scenario.faults.iter().cloned();
        Storm {
            active: true,
            crashes_left: scenario.max_crashes,
            faults: scenario.drawn_faults,
            reorders: scenario.drawn_faults.contains(Fault::Reorder),
            tables,
            rules: rules.map(|rule| Active { rule, seen: 0, struck: 0 }).collect(),
            outages: Outages::default(),
        }
    }

    pub fn end(&mut self) {
        self.active = false;
        self.reorders = false;
        self.rules.clear();
        self.outages.end();
    }

    /// Whether anything is drawn at all.
    pub fn active(&self) -> bool {
        self.active
    }

    /// Whether what is outside the cloud has moods.
    pub fn moody(&self) -> bool {
        self.active && self.faults.contains(Fault::Mood)
    }

    /// Whether order is drawn.
    pub fn reorders(&self) -> bool {
        self.reorders
    }

    /// Whether a host may die after a poll. Asked after each poll.
    pub fn kills(&self) -> bool {
        let drawn = self.crashes_left > 0 && self.faults.contains(Fault::Crash);
        self.active && (drawn || !self.rules.is_empty())
    }

    /// Whether the script wants the next batch of `queue` out of order.
    pub fn scripted_reorder(&mut self, queue: &str) -> bool {
        let found = self.rules.iter_mut().find(|active| {
            let rule = &active.rule;
            rule.fault == Fault::Reorder && active.struck < rule.times && rule.on.names_queue(queue)
        });
        let Some(active) = found else { return false };
        active.seen += 1;
        let strikes = active.seen > active.rule.skip;
        active.struck += u32::from(strikes);
        strikes
    }

    /// Whether nothing can go wrong with a call of that class, which is quicker to know than what does.
    pub fn spares(&self, class: CallClass) -> bool {
        !self.active || self.rules.is_empty() && self.tables[class as usize].faults.is_empty()
    }

    /// What goes wrong with this call, if anything does.
    pub fn verdict(
        &mut self,
        choices: &mut Choices,
        crossing: &Crossing,
    ) -> Option<(Fault, Verdict)> {
        if !self.active {
            return None;
        }
        if let Some(left) = self.outages.left(crossing.target, crossing.now)
            && Fault::Outage.kind().classes.contains(&crossing.class)
        {
            return Some((Fault::Outage, Verdict::Outage(left)));
        }
        if !self.rules.is_empty()
            && let Some(verdict) = self.scripted(choices, crossing)
        {
            return Some(verdict);
        }
        let table = &self.tables[crossing.class as usize];
        if table.faults.is_empty() {
            return None;
        }
        let crashes = crossing.can_crash && self.crashes_left > 0;
        let options = if crashes { table.faults.len() } else { table.harmless };
        let of = options as u32 + 1;
        let odds = Odds::Each(&table.rates);
        match choices.choose(ChoiceKind::Verdict, crossing.caller, crossing.code, of, odds) {
            0 => None,
            drawn => {
                let fault = table.faults[drawn as usize - 1];
                self.settle(choices, crossing, fault, Wanted::default())
            }
        }
    }

    fn scripted(&mut self, choices: &mut Choices, crossing: &Crossing) -> Option<(Fault, Verdict)> {
        let class = crossing.class;
        let matching = self.rules.iter_mut().find_map(|active| {
            let fits = active.rule.applies(class)
                && active.struck < active.rule.times
                && (crossing.can_crash || !active.rule.fault.is_crash())
                && active.rule.on.matches(crossing.caller_name, crossing.op);
            if !fits {
                return None;
            }
            active.seen += 1;
            let strikes = active.seen > active.rule.skip
                && match active.rule.chance {
                    None => true,
                    Some(chance) => {
                        let (host, op) = (crossing.caller, crossing.code);
                        choices.choose(ChoiceKind::Verdict, host, op, 2, Odds::Rare(chance)) == 1
                    }
                };
            strikes.then(|| {
                active.struck += 1;
                (active.rule.fault, Wanted { by: active.rule.by, code: active.rule.code })
            })
        });
        let (fault, wanted) = matching?;
        self.settle(choices, crossing, fault, wanted)
    }

    /// Draws what the script leaves open about a fault, takes a crash from the budget, begins an outage.
    fn settle(
        &mut self,
        choices: &mut Choices,
        crossing: &Crossing,
        fault: Fault,
        wanted: Wanted,
    ) -> Option<(Fault, Verdict)> {
        if fault.is_crash() {
            self.spend_crash();
        }
        let verdict = Verdict::draw(fault, crossing.op, wanted, |of| {
            let (host, op) = (crossing.caller, crossing.code);
            choices.choose(ChoiceKind::Amount, host, op, of as u32, Odds::Even) as usize
        })?;
        if let Verdict::Outage(length) = verdict {
            self.outages.begin(crossing.target, crossing.now + length);
        }
        Some((fault, verdict))
    }

    /// Whether `host` dies after the poll that has just ended.
    pub fn crashes(&mut self, choices: &mut Choices, host: HostKey, name: &str) -> bool {
        if !self.active {
            return false;
        }
        if self.scripted_host(Fault::Crash, name, |code| code.is_none()).is_some() {
            return true;
        }
        if self.crashes_left == 0 || !self.faults.contains(Fault::Crash) {
            return false;
        }
        let odds = Odds::Rare(choices.swarm().rate(Fault::Crash));
        let dies = choices.choose(ChoiceKind::Crash, host, OpCode::NONE, 2, odds) == 1;
        if dies {
            self.spend_crash();
        }
        dies
    }

    /// How a turn of an object ends: 0 well, 1 in a crash after its writes are kept, 2 in a crash
    /// before, which loses them.
    pub fn turn_ends(
        &mut self,
        choices: &mut Choices,
        host: HostKey,
        name: &str,
        wrote: bool,
    ) -> u32 {
        if !self.active {
            return 0;
        }
        // A turn that wrote nothing has nothing to lose, so that rule waits for one that did.
        let fits = |code: Option<u32>| code.is_none() || wrote;
        if let Some(code) = self.scripted_host(Fault::Crash, name, fits) {
            return if code.is_none() { 1 } else { 2 };
        }
        if self.crashes_left == 0 || !self.faults.contains(Fault::Crash) {
            return 0;
        }
        let odds = Odds::Rare(choices.swarm().rate(Fault::Crash));
        let of = if wrote { 3 } else { 2 };
        let end = choices.choose(ChoiceKind::Crash, host, OpCode::NONE, of, odds);
        if end > 0 {
            self.spend_crash();
        }
        end
    }

    /// Whether an object that was idle has lost its memory. One that hibernates has, as often as not.
    pub fn evicts(
        &mut self,
        choices: &mut Choices,
        host: HostKey,
        name: &str,
        hibernates: bool,
    ) -> bool {
        if !self.active {
            return false;
        }
        if self.scripted_host(Fault::Evict, name, |_| true).is_some() {
            return true;
        }
        let of = if self.faults.contains(Fault::Evict) { 2 } else { 1 };
        let rate = choices.swarm().rate(Fault::Evict);
        let odds = Odds::Rare(if hibernates && rate > 0 { rate.max(HALF) } else { rate });
        choices.choose(ChoiceKind::Evict, host, OpCode::NONE, of, odds) == 1
    }

    /// The code of the rule that names a host instead of a call and strikes now, if one does.
    fn scripted_host(
        &mut self,
        fault: Fault,
        name: &str,
        fits: impl Fn(Option<u32>) -> bool,
    ) -> Option<Option<u32>> {
        let active = self.rules.iter_mut().find(|active| {
            let rule = &active.rule;
            rule.fault == fault
                && active.struck < rule.times
                && fits(rule.code)
                && glob(rule.on.call(), name)
        })?;
        active.seen += 1;
        let strikes = active.seen > active.rule.skip;
        active.struck += u32::from(strikes);
        strikes.then_some(active.rule.code)
    }

    fn spend_crash(&mut self) {
        self.crashes_left = self.crashes_left.saturating_sub(1);
    }

    /// How long a host that has died stays down.
    pub fn downtime(&mut self, choices: &mut Choices, host: HostKey) -> Duration {
        let of = if self.active { DOWNTIMES.len() as u32 } else { 1 };
        DOWNTIMES[choices.choose(ChoiceKind::Restart, host, OpCode::NONE, of, Odds::Even) as usize]
    }
}
