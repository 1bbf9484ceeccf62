//! The calls of a run: where each goes and what has become of it.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use crate::engine::agenda::Scheduled;
use crate::engine::ids::{CallId, HostId, StubId, TaskId};
use crate::engine::verdict::Verdict;
use crate::protocol::fault::Fault;
use crate::protocol::site::OpCode;
use crate::protocol::trace::OutcomeId;
use crate::values::call::CallClass;
use crate::values::push_in_place::push_in_place;
use crate::values::time::Time;

/// How many calls there is room for at first: enough for an ordinary run.
const ROOM: usize = 256;

/// A call on its way. What it asks is in the trace.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub caller: HostId,
    /// The task that awaits the reply; none when a service made the call.
    pub task: Option<TaskId>,
    /// The host that handles the call; none when a service does.
    pub callee: Option<HostId>,
    /// Where the call arrives: at its callee or at a service.
    pub target: HostId,
    /// The stub it goes through.
    pub stub: Option<StubId>,
    pub code: OpCode,
    pub class: CallClass,
    /// The fault that strikes the call.
    pub fault: Option<Fault>,
    /// What that fault does. It is boxed because it is rare and large.
    pub verdict: Option<Box<Verdict>>,
    /// The reply, once there is one.
    pub outcome: Option<OutcomeId>,
    /// Whether the caller has its answer, so that later ones are discarded.
    pub closed: bool,
    /// Whether it takes effect at most once, whatever the storm wants.
    pub once: bool,
    /// Whether no future waits for the answer, or ever will. Only a live world tells.
    pub dropped: bool,
}

/// The order in which the calls through one stub arrive, which is the order in which they left.
#[derive(Debug, Default)]
struct StubOrder {
    /// The calls that have left and not arrived.
    pending: VecDeque<CallId>,
    /// When the last of them arrives.
    last: Time,
}

#[derive(Debug)]
pub(crate) struct Calls {
    calls: Vec<InFlight>,
    /// How many calls came before the first that is still kept. A simulation keeps them all.
    forgotten: usize,
    stub_orders: Vec<StubOrder>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls { calls: Vec::with_capacity(ROOM), forgotten: 0, stub_orders: Vec::new() }
    }
}

impl Calls {
    #[inline(always)]
    pub fn add(&mut self, flight: InFlight) -> CallId {
        let id = CallId::at(self.forgotten + self.calls.len());
        push_in_place(&mut self.calls, flight);
        id
    }

    /// The number that the next call gets.
    pub fn next(&self) -> u32 {
        CallId::at(self.forgotten + self.calls.len()).0
    }

    /// Numbers the calls from here, because an earlier process made those before.
    pub fn begin_at(&mut self, call: u32) {
        self.forgotten = call as usize;
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Forgets the calls before the first that is not over. Returns its number, if any were forgotten.
    pub fn forget_over(&mut self) -> Option<CallId> {
        let over = self.calls.iter().take_while(|flight| flight.closed && flight.dropped).count();
        self.calls.drain(..over);
        self.forgotten += over;
        (over > 0).then_some(CallId::at(self.forgotten))
    }

    pub fn iter(&self) -> impl Iterator<Item = &InFlight> {
        self.calls.iter()
    }

    pub fn open_stub(&mut self) -> StubId {
        let id = StubId::at(self.stub_orders.len());
        self.stub_orders.push(StubOrder::default());
        id
    }

    /// Lines a call up behind those that left earlier through its stub. Returns when it arrives: at `at`
    /// or, if they arrive later, with them.
    pub fn line_up(&mut self, call: CallId, at: Time) -> Time {
        let Some(stub) = self[call].stub else { return at };
        let order = &mut self.stub_orders[stub.index()];
        order.last = order.last.max(at);
        order.pending.push_back(call);
        order.last
    }

    /// Takes a call that has arrived out of the order of its stub.
    pub fn arrived(&mut self, call: CallId) {
        if let Some(stub) = self[call].stub {
            self.stub_orders[stub.index()].pending.retain(|pending| *pending != call);
        }
    }

    /// Whether an event may happen now: no earlier call through the same stub is still on its way.
    pub fn in_order(&self, event: &Scheduled) -> bool {
        let Scheduled::Arrive { call, .. } = event else { return true };
        let stub = self[*call].stub;
        stub.is_none_or(|stub| self.stub_orders[stub.index()].pending.front() == Some(call))
    }

    /// Where a message is going, and the number of the flow of work that it belongs to: 0 for what a
    /// service sends, then one for each task.
    pub fn target(&self, event: &Scheduled) -> Option<(HostId, u32)> {
        let (flight, replying) = match event {
            Scheduled::Arrive { call, .. } => (&self[*call], false),
            Scheduled::Reply { call } => (&self[*call], true),
            _ => return None,
        };
        let target = if replying { flight.caller } else { flight.target };
        Some((target, flight.task.map_or(0, |task| task.0 + 1)))
    }
}

impl Index<CallId> for Calls {
    type Output = InFlight;

    #[inline(always)]
    fn index(&self, call: CallId) -> &InFlight {
        &self.calls[call.index() - self.forgotten]
    }
}

impl IndexMut<CallId> for Calls {
    #[inline(always)]
    fn index_mut(&mut self, call: CallId) -> &mut InFlight {
        &mut self.calls[call.index() - self.forgotten]
    }
}
