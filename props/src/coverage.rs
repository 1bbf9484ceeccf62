//! What a search has tried: which calls met which faults.

use thunderhead_sim::{EventKind, Fault, FaultSet, Op, SortedMap, SortedSet, Trace};

/// Who makes a call, and which call it is. Objects of one class are one caller, and so are the instances of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallSite {
    /// The worker, the class of objects, the workflow or the client.
    pub caller: String,
    /// The call: `r2.put`, or a method of an object.
    pub call: String,
}

/// What happened at the calls of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// How many calls there were.
    pub calls: u64,
    /// How many of them each fault struck; a fault that can strike them and never did has a zero.
    pub faults: SortedMap<Fault, u64>,
}

/// A fault that never struck the calls of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    /// The calls.
    pub site: CallSite,
    /// The fault.
    pub fault: Fault,
    /// How many times it would have struck them, if it struck them as often as it did others.
    pub expected: u64,
}

/// Which calls met which faults, over any number of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    sites: SortedMap<CallSite, Met>,
}

impl Coverage {
    /// Adds a run in which `drawn` could happen.
    pub fn add(&mut self, trace: &Trace, drawn: FaultSet) {
        let mut sites: SortedMap<u32, CallSite> = SortedMap::new();
        let mut struck: SortedSet<(u32, Fault)> = SortedSet::new();
        for event in trace.events() {
            match event.kind {
                EventKind::Call { call } => {
                    let op = trace.op(call);
                    let site = CallSite { caller: class(trace.actor(event)), call: name(op) };
                    let met = self.sites.entry(site.clone()).or_default();
                    met.calls += 1;
                    for fault in drawn.striking(op.class()) {
                        met.faults.entry(fault).or_default();
                    }
                    sites.insert(call, site);
                }
                EventKind::Fault { call: Some(call), fault, .. }
                | EventKind::Crash { call: Some(call), fault } => {
                    // A blackout is one fault, though every host that dies of it says so.
                    let first = struck.insert((call, fault));
                    let site = sites.get(&call).and_then(|site| self.sites.get_mut(site));
                    if let Some(met) = site.filter(|_| first) {
                        *met.faults.entry(fault).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds what another search has tried.
    pub fn merge(&mut self, other: Coverage) {
        for (site, met) in other.sites {
            let own = self.sites.entry(site).or_default();
            own.calls += met.calls;
            for (fault, times) in met.faults {
                *own.faults.entry(fault).or_default() += times;
            }
        }
    }

    /// Every site, in the order of callers.
    pub fn sites(&self) -> impl Iterator<Item = (&CallSite, &Met)> {
        self.sites.iter()
    }

    /// The faults that never struck the calls of a site though they could have, the most surprising first.
    pub fn untried(&self) -> Vec<Untried> {
        let mut struck: SortedMap<Fault, (u64, u64)> = SortedMap::new();
        for met in self.sites.values() {
            for (fault, times) in &met.faults {
                let (all, calls) = struck.entry(*fault).or_default();
                (*all, *calls) = (*all + times, *calls + met.calls);
            }
        }
        let mut untried: Vec<Untried> = Vec::new();
        for (site, met) in &self.sites {
            for (fault, _) in met.faults.iter().filter(|(_, times)| **times == 0) {
                let (all, calls) = struck[fault];
                let expected = met.calls.saturating_mul(all) / calls.max(1);
                untried.push(Untried { site: site.clone(), fault: *fault, expected });
            }
        }
        // The sort is stable, so equals stay in the order of callers.
        untried.sort_by_key(|one| std::cmp::Reverse(one.expected));
        untried
    }
}

/// What a host is one of: `ORGANIZATION` of `ORGANIZATION:acme`, and the workflow of an instance.
fn class(actor: &str) -> String {
    let end = actor.find([':', '/']).unwrap_or(actor.len());
    actor[..end].into()
}

fn name(op: &Op) -> String {
    match op {
        Op::Rpc { object, method, .. } => format!("{}.{method}", class(object)),
        Op::Fetch { to, .. } => format!("fetch {}", class(to)),
        Op::Deliver { to, .. } => format!("queue.deliver {}", class(to)),
        _ => op.code().name().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use thunderhead_sim::{Event, Time, r2};

    use super::*;

    fn trace(events: &[(u16, EventKind)]) -> Trace {
        let mut trace = Trace::new(vec!["web".into(), "ORG:a".into(), "ORG:b".into()]);
        for (actor, kind) in events {
            if let EventKind::Call { call } = kind {
                let (bucket, key): (Arc<str>, Arc<str>) = ("photos".into(), "cat".into());
                trace.set_op(*call, Op::R2(r2::Op::Delete { bucket, keys: vec![key] }));
            }
            trace.push(Event { at: Time::ZERO, actor: *actor, kind: kind.clone() });
        }
        trace
    }

    fn call(call: u32) -> EventKind {
        EventKind::Call { call }
    }

    fn struck(call: u32, fault: Fault) -> EventKind {
        EventKind::Fault { call: Some(call), fault, by: None }
    }

    #[test]
    fn objects_of_one_class_are_one_caller_and_what_never_struck_them_is_named() {
        let drawn: FaultSet = [Fault::Delay, Fault::LoseReply].into_iter().collect();
        let mut coverage = Coverage::default();
        let lost = struck(0, Fault::LoseReply);
        coverage.add(&trace(&[(0, call(0)), (0, lost.clone()), (0, lost), (1, call(1))]), drawn);
        let mut second = Coverage::default();
        second.add(&trace(&[(2, call(0)), (2, call(1)), (2, struck(1, Fault::Delay))]), drawn);
        coverage.merge(second);
        let sites: Vec<_> = coverage
            .sites()
            .map(|(site, met)| (&*site.caller, &*site.call, met.calls, met.faults.clone()))
            .collect();
        let met = |delay, lost| SortedMap::from([(Fault::Delay, delay), (Fault::LoseReply, lost)]);
        let expected = [("ORG", "r2.delete", 3, met(1, 0)), ("web", "r2.delete", 1, met(0, 1))];
        assert_eq!(sites, expected);
        let untried = coverage.untried();
        let untried: Vec<_> =
            untried.iter().map(|one| (&*one.site.caller, one.fault, one.expected)).collect();
        assert_eq!(untried, [("ORG", Fault::LoseReply, 0), ("web", Fault::Delay, 0)]);
    }

    #[test]
    fn what_strikes_other_calls_often_is_expected_here_too() {
        let drawn: FaultSet = [Fault::LoseReply].into_iter().collect();
        let mut coverage = Coverage::default();
        for _ in 0..10 {
            let lost = struck(0, Fault::LoseReply);
            coverage.add(&trace(&[(0, call(0)), (0, lost), (1, call(1)), (1, call(2))]), drawn);
        }
        // Ten of thirty calls were struck, and none of the object's twenty.
        let untried = coverage.untried();
        assert_eq!((untried.len(), untried[0].expected), (1, 6), "{untried:?}");
    }
}
