//! What of a running cloud has to be written down after each tick, and how it is put back.

use std::sync::Arc;

use crate::engine::host::Host;
use crate::engine::ids::{HostId, SocketId};
use crate::engine::live::{Flaw, KeptAlarm, KeptKey, Numbers, ObjectTurn};
use crate::engine::redo_logs::Place;
use crate::engine::world::State;
use crate::protocol::object::ObjectId;
use crate::services::r2::Part;
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

/// A row of what a cloud keeps: it replaces the one of the same kind and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is: `object`, `upload`, `message`, `instance`, `alarm`, `key` (of KV) or `numbers`.
    pub kind: &'static str,
    /// Which one.
    pub key: String,
    /// The row in JSON; none when it is to be deleted.
    pub value: Option<String>,
    /// The bytes that go with it.
    pub body: Option<Body>,
    /// The file that has those bytes instead of the row. It is written before the row is, unless there are no bytes:
    /// then it has been written before.
    pub file: Option<u64>,
    /// Until when it is kept, if nothing holds it in memory: an instance that has ended.
    pub kept_until: Option<Time>,
    /// When it is read back, if nothing holds it in memory until then: a message that is due much later.
    pub later: Option<Later>,
}

/// A message that leaves the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// When it is due.
    pub due: Time,
    /// How many bytes it has.
    pub bytes: u64,
}

impl Row {
    fn new(kind: &'static str, key: String, value: Option<String>) -> Row {
        Row { kind, key, value, body: None, file: None, kept_until: None, later: None }
    }
}

/// Something that was written to a database, to be written again in the same order after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The database: `d1/NAME`, or `object/NAMESPACE/DIGITS`.
    pub log: String,
    /// What was done, in JSON.
    pub did: String,
}

/// A database as a whole. It takes the place of its last image and of every [`Turn`] of its log so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The database, as in [`Turn::log`].
    pub log: String,
    /// What there is beside the pages, in JSON.
    pub beside: String,
    /// The pages of the database: those of a file of SQLite.
    pub pages: Vec<u8>,
    /// The file that has the pages instead. It is there, and has to be synced before this takes effect.
    pub file: Option<u64>,
}

/// Everything that changed in one tick. It takes effect together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// They are the so-many-th that are not empty.
    pub number: u64,
    /// When that was.
    pub now: Time,
    /// Rows that were replaced.
    pub rows: Vec<Row>,
    /// Databases that are written down as a whole, and whose logs begin anew.
    pub images: Vec<Image>,
    /// What was appended to the logs of databases.
    pub turns: Vec<Turn>,
    /// What happened, as JSON lines; empty unless the history is kept.
    pub history: String,
}

impl Changes {
    /// Whether there is nothing to write down.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.images.is_empty()
            && self.turns.is_empty()
            && self.history.is_empty()
    }
}

/// How many calls there are before those that are over are forgotten.
const FORGET_FROM: usize = 1_024;

pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("what is written down is JSON")
}

/// The key of the [`Row`] of a message: keys are ordered as numbers are.
pub fn message_key(queue: &str, number: u64) -> String {
    format!("{queue}/{number:020}")
}

/// What has changed, one function for each kind.
impl State {
    pub fn take_changes(&mut self) -> Changes {
        let (now, history) = (self.now, self.take_history());
        let mut changes = Changes { now, history, ..Changes::default() };
        self.changed_parts(&mut changes.rows);
        self.changed_messages(&mut changes.rows);
        self.changed_instances(&mut changes.rows);
        self.changed_alarms(&mut changes.rows);
        self.changed_keys(&mut changes.rows);
        self.changed_databases(&mut changes);
        if !changes.is_empty() {
            let value = Some(json(&self.numbers()));
            changes.rows.push(Row::new("numbers", "all".into(), value));
        }
        if let Some(live) = self.live.as_mut().filter(|_| !changes.is_empty()) {
            live.taken += 1;
            changes.number = live.taken;
        }
        changes
    }

    /// Forgets what nothing refers to any more: calls that are over, and the hosts of instances that have ended.
    pub fn forget(&mut self) {
        let ended = self.live.as_mut().map(|live| std::mem::take(&mut live.ended));
        for name in ended.unwrap_or_default() {
            let Some(host) = self.hosts.named(&name) else { continue };
            // A closure that was not awaited may still run there; its host is then kept for good.
            if !self.is_busy(host) && self.hosts[host].workflow_engine.take().is_some() {
                self.hosts.remove(host);
            }
        }
        let over = self.live.as_mut().map(|live| std::mem::take(&mut live.over));
        for call in over.unwrap_or_default() {
            let flight = &self.calls[call];
            if flight.closed {
                self.trace.let_go(call.0, flight.outcome);
            }
        }
        // Looked at now and then, so that it costs little for each call.
        if self.calls.len() < FORGET_FROM {
            return;
        }
        let Some(first) = self.calls.forget_over() else { return };
        if self.objects.sockets.has_closed() {
            let kept = first.0..self.calls.next();
            let named = kept.filter_map(|call| self.trace.op(call).socket()).map(SocketId);
            self.objects.sockets.forget_closed(&named.collect::<Vec<_>>());
        }
        let needed = self.calls.iter().filter_map(|flight| flight.outcome).min();
        self.trace.forget_before(first.0, needed);
    }

    /// The changes up to this number are on disk, so that what they have need not be held in memory.
    pub fn written(&mut self, number: u64) {
        let Some(live) = &mut self.live else { return };
        while let Some((_, part, file)) = live.leaving.pop_front_if(|(with, ..)| *with <= number) {
            if let Part::Object { bucket, key } = part {
                self.services.r2.has_left(&bucket, &key, file);
            }
        }
        self.services.workflows.written(number);
        self.services.queues.written(self.now, number);
    }

    fn take_history(&mut self) -> String {
        let Some(live) = &mut self.live else { return String::new() };
        let mut text = String::new();
        if live.tells {
            live.told = self.trace.lines_from(live.told, &mut live.bodies, &mut text);
        }
        self.trace.forget_events();
        text
    }

    fn changed_parts(&mut self, rows: &mut Vec<Row>) {
        let Some(live) = &mut self.live else { return };
        for part in std::mem::take(&mut live.parts) {
            rows.push(match &part {
                Part::Object { bucket, key } => {
                    let row = Row::new("object", format!("{bucket}/{key}"), None);
                    let Some(kept) = self.services.r2.keep_object(bucket, key) else {
                        rows.push(row);
                        continue;
                    };
                    if let (Some(file), Some(_)) = (kept.file, &kept.body) {
                        live.leaving.push_back((live.taken + 1, part.clone(), file));
                    }
                    let value = Some(json(&kept.object));
                    Row { value, body: kept.body, file: kept.file, ..row }
                }
                Part::Upload { bucket, id } => {
                    let value = self.services.r2.kept_upload(bucket, id);
                    Row::new("upload", format!("{bucket}/{id}"), value)
                }
            });
        }
    }

    fn changed_messages(&mut self, rows: &mut Vec<Row>) {
        let number = self.live.as_ref().map_or(0, |live| live.taken + 1);
        let changed = self.services.queues.take_kept(self.now, number).into_iter();
        rows.extend(changed.map(|message| {
            let key = message_key(&message.queue, message.seq);
            let later = message.later.map(|(due, bytes)| Later { due, bytes });
            Row { later, ..Row::new("message", key, message.kept.as_ref().map(json)) }
        }));
    }

    fn changed_instances(&mut self, rows: &mut Vec<Row>) {
        let number = self.live.as_ref().map_or(0, |live| live.taken + 1);
        let changed = self.services.workflows.take_kept(number).into_iter();
        rows.extend(changed.map(|kept| {
            let key = format!("{}/{}", kept.workflow, kept.id);
            Row { kept_until: kept.kept_until, ..Row::new("instance", key, kept.value) }
        }));
    }

    fn changed_alarms(&mut self, rows: &mut Vec<Row>) {
        let Some(live) = &mut self.live else { return };
        for host in std::mem::take(&mut live.alarms) {
            let object = self.hosts.object(host);
            let name = object.id.name().map(Arc::from);
            // A handler that has begun and not ended is begun again, unless it has set or deleted its alarm.
            let begun = object.alarm.running.filter(|_| !object.storage.alarm_touched());
            let set = object.storage.kept_alarm();
            let kept = match (begun, set) {
                (Some(info), _) => Some((info.scheduled_time, info.retry_count)),
                (None, set) => set.map(|at| (at, object.alarm.failures)),
            };
            let value = kept.map(|(at, failures)| json(&KeptAlarm { name, at, failures }));
            let before = match &value {
                Some(value) => live.kept_alarms.insert(host, value.clone()),
                None => live.kept_alarms.remove(&host),
            };
            // A turn that only reads leaves the alarm as it is, and then there is nothing to write.
            if before == value {
                continue;
            }
            rows.push(Row::new("alarm", object_key(&object.id), value));
        }
    }

    fn changed_keys(&mut self, rows: &mut Vec<Row>) {
        let changed = self.services.kv.take_kept().into_iter();
        rows.extend(changed.map(|(namespace, key, entry)| {
            let value = entry.as_ref().map(|entry| json(&KeptKey::of(entry)));
            let body = entry.map(|entry| entry.value.clone());
            Row { body, ..Row::new("key", format!("{namespace}/{key}"), value) }
        }));
    }

    fn changed_databases(&mut self, changes: &mut Changes) {
        let Some(live) = &mut self.live else { return };
        let commits = self.services.d1.take_kept().into_iter();
        let commits =
            commits.map(|(name, did)| (Turn { log: format!("d1/{name}"), did }, Place::D1(name)));
        let turns = std::mem::take(&mut live.turns).into_iter().map(|(host, turn)| {
            let log = format!("object/{}", object_key(&self.hosts.object(host).id));
            (Turn { log, did: json(&turn) }, Place::Object(host))
        });
        let mut heavy = SortedMap::new();
        for (turn, place) in commits.chain(turns) {
            if live.logs.grew(&turn.log, turn.did.len()) {
                heavy.insert(turn.log.clone(), place);
            }
            changes.turns.push(turn);
        }
        self.take_images(heavy, changes);
    }

    fn numbers(&self) -> Numbers {
        Numbers {
            now: self.now,
            calls: self.calls.next(),
            told: self.live.as_ref().map_or(0, |live| live.told),
            r2: self.services.r2.numbers(),
            queues: self.services.queues.numbers(),
            workflows: self.services.workflows.numbers(),
        }
    }
}

/// Whether there is anything left to do.
impl State {
    /// Whether no message waits, no instance runs, no alarm is set and no task has work.
    pub fn is_at_rest(&self) -> bool {
        let queues = &self.services.queues;
        let empty = |queue| {
            let none = queues.waiting(queue).next().is_none() && !queues.any_later(queue);
            none && queues.in_flight(queue) == 0
        };
        let quiet = |host: &Host| {
            let object = host.object.as_ref();
            object.is_none_or(|object| {
                object.alarm.running.is_none() && object.storage.kept_alarm().is_none()
            })
        };
        self.queueing.consumed().all(empty)
            && self.services.workflows.is_at_rest()
            && self.hosts.iter().all(quiet)
            && self.tasks.alive().all(|(_, task)| task.listens)
    }
}

/// What the rest of the engine tells of changes that the services do not notice themselves.
impl State {
    /// The turn of an object has been committed.
    pub fn note_turn(&mut self, host: HostId) {
        let Some(live) = &mut self.live else { return };
        let object = self.hosts.object(host);
        let did = object.storage.take_redo();
        if !did.is_empty() {
            let name = object.id.name().map(Arc::from);
            live.turns.push((host, ObjectTurn { name, did }));
        }
        live.alarms.insert(host);
    }

    /// The alarm of an object may have changed.
    pub fn note_alarm(&mut self, host: HostId) {
        if let Some(live) = &mut self.live {
            live.alarms.insert(host);
        }
    }

    /// Whether a deliberate mistake is to be made.
    pub fn has_flaw(&self, flaw: Flaw) -> bool {
        self.live.as_ref().is_some_and(|live| live.flaw == Some(flaw))
    }
}

fn object_key(id: &ObjectId) -> String {
    format!("{}/{}", id.namespace(), id.hex())
}
