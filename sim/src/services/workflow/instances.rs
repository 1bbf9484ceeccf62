//! All the instances of one workflow, and whose turn it is.

use std::collections::VecDeque;
use std::sync::Arc;

use super::archive::Archive;
use super::config::{MAX_BATCH_INSTANCES, MAX_EVENT_TYPE_LEN, MAX_ID_LEN, WorkflowConfig};
use super::error::{API_ALREADY_EXISTS, API_DUPLICATE_IN_BATCH, Abort, Code, Error};
use super::id::{Engine, is_valid_name, numbered_uuid};
use super::instance::Instance;
use super::op::{CreateOptions, Op};
use super::reply::{BatchError, Follow, Reply, StepEvent};
use super::{Anomaly, Numbers};
use crate::values::body::Body;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// One workflow with all its instances.
#[derive(Clone, Debug)]
pub(super) struct Instances {
    pub(super) name: Arc<str>,
    pub(super) settings: WorkflowConfig,
    pub(super) instances: SortedMap<Arc<str>, Instance>,
    /// Those that wait for their turn, the one that has waited longest first.
    pub(super) queue: VecDeque<Arc<str>>,
    /// No instance expires before, so that not every operation has to look at all of them.
    pub(super) expires: Time,
    /// The instances that changed since they were last written down, if anybody writes them down.
    pub(super) changed: Option<SortedSet<Arc<str>>>,
    /// Those that have ended and are not held in memory, in a process that runs for long.
    pub(super) archive: Option<Archive>,
}

/// What `create` found.
enum Found {
    Nothing,
    Existing { accepted: bool },
}

impl Instances {
    pub fn new(name: Arc<str>, settings: WorkflowConfig) -> Instances {
        Instances {
            name,
            settings,
            instances: SortedMap::new(),
            queue: VecDeque::new(),
            expires: Time::NEVER,
            changed: None,
            archive: None,
        }
    }

    pub fn get(&self, id: &str) -> Option<&Instance> {
        self.instances.get(id)
    }

    pub fn settings(&self) -> &WorkflowConfig {
        &self.settings
    }

    pub fn apply(
        &mut self,
        now: Time,
        (op, anomaly): (&Op, Option<Anomaly>),
        numbers: &mut Numbers,
        follow: &mut Vec<Follow>,
    ) -> Result<Reply, Error> {
        self.read_back(now, op);
        let settings = &self.settings;
        if self.expires <= now {
            let changed = &mut self.changed;
            self.instances.retain(|id, instance| {
                let kept = instance.expires(settings) > now;
                if !kept && let Some(changed) = changed {
                    changed.insert(id.clone());
                }
                kept
            });
            let times = self.instances.values().map(|instance| instance.expires(settings));
            self.expires = times.min().unwrap_or(Time::NEVER);
        }
        let anomaly = match settings.options.exists_means_made {
            true => anomaly.map(|_| Anomaly::CreatedButExists),
            false => anomaly,
        };
        let reply = match op {
            Op::Create { options, .. } => self.create(now, options, anomaly, numbers),
            Op::CreateBatch { batch, .. } => self.create_batch(now, batch, anomaly, numbers),
            Op::Get { id, .. } => match self.instances.contains_key(id) {
                true => Ok(Reply::Instance { id: Arc::clone(id) }),
                false => Err(Error::get_unknown()),
            },
            op => match op.engine() {
                Some(engine) => {
                    let instance = self.instances.get_mut(&engine.id);
                    let instance = instance.ok_or(Error::Aborted(Abort::Delete))?;
                    let lives = &mut numbers.lives;
                    instance.engine_op(now, (op, engine.generation), settings, lives, follow)
                }
                None => self.handle_op(now, op, follow),
            },
        };
        if let Op::Finish { engine: Engine { id, .. }, .. } | Op::Terminate { id, .. } = op
            && let Some(ended) = self.instances.get(id)
        {
            self.expires = self.expires.min(ended.expires(&self.settings));
        }
        if let Some(changed) = &mut self.changed
            && !matches!(op, Op::Get { .. } | Op::Status { .. })
            && let Some(id) = op.instance()
        {
            changed.insert(id.into());
        }
        self.schedule(numbers, follow);
        reply
    }

    /// What a handle can ask.
    fn handle_op(&mut self, now: Time, op: &Op, follow: &mut Vec<Follow>) -> Result<Reply, Error> {
        let options = self.settings.options;
        let id = op.instance().unwrap_or_default();
        let instance = self.instances.get_mut(id);
        let instance = instance.ok_or_else(|| Error::refused(Code::NotFound, id, options))?;
        match op {
            Op::Status { .. } => return Ok(Reply::Status(instance.status(options))),
            Op::Pause { .. } => instance.pause(now, follow),
            Op::Resume { .. } => instance.resume(now, options)?,
            Op::Terminate { .. } => instance.terminate(now, options, follow)?,
            Op::Restart { from, .. } => instance.restart(from.as_ref(), options, follow)?,
            Op::Delete { .. } => {
                instance.retire(Abort::Delete, follow);
                self.instances.remove(id);
            }
            Op::SendEvent { event_type, payload, .. } => {
                let any = options.miniflare_events_of_any_type;
                if !any && !is_valid_name(event_type, MAX_EVENT_TYPE_LEN) {
                    return Err(Error::refused(Code::InvalidEventType, event_type, options));
                }
                if !options.fits(payload.len()) {
                    return Err(Error::refused(Code::TooLarge, "Event payload", options));
                }
                let (payload, event_type) = (payload.clone(), Arc::clone(event_type));
                let event = StepEvent { payload, event_type, timestamp: now };
                instance.send_event(event, options, follow)?;
            }
            _ => unreachable!("{op} does not need a handle"),
        }
        let waits = |instance: &Instance| instance.needs_life();
        if self.instances.get(id).is_some_and(waits) && !self.queue.iter().any(|at| **at == *id) {
            self.queue.push_back(id.into());
        }
        Ok(Reply::Done)
    }

    fn create(
        &mut self,
        now: Time,
        options: &CreateOptions,
        anomaly: Option<Anomaly>,
        numbers: &mut Numbers,
    ) -> Result<Reply, Error> {
        self.check(options)?;
        let id = id_of(options, numbers);
        let exists = Error::refused(Code::AlreadyExists, &id, self.settings.options);
        match (self.find(&id), anomaly) {
            (Found::Existing { accepted: true }, _) => Ok(Reply::Instance { id }),
            (Found::Existing { accepted: false }, _) => Err(exists),
            (Found::Nothing, Some(Anomaly::ExistsWithoutInstance)) => Err(exists),
            (Found::Nothing, Some(Anomaly::CreatedButExists)) => {
                self.insert(now, &id, options);
                Err(exists)
            }
            (Found::Nothing, None) => {
                self.insert(now, &id, options);
                Ok(Reply::Instance { id })
            }
        }
    }

    fn create_batch(
        &mut self,
        now: Time,
        batch: &[CreateOptions],
        mut anomaly: Option<Anomaly>,
        numbers: &mut Numbers,
    ) -> Result<Reply, Error> {
        let options = self.settings.options;
        if batch.is_empty() {
            return Err(Error::refused(Code::EmptyBatch, "", options));
        }
        if batch.len() > MAX_BATCH_INSTANCES {
            return Err(Error::refused(Code::BatchTooLarge, "", options));
        }
        batch.iter().try_for_each(|options| self.check(options))?;
        let (mut created, mut errors, mut seen) = (Vec::new(), Vec::new(), SortedSet::new());
        let error = |id: &Arc<str>, code, name| {
            let message = format!("workflows.api.error.instance.{name}").into();
            BatchError { id: Arc::clone(id), code, message }
        };
        for request in batch {
            let id = id_of(request, numbers);
            let repeated = !seen.insert(Arc::clone(&id));
            match self.find(&id) {
                _ if repeated && !options.miniflare4_create_accepts_existing => {
                    errors.push(error(&id, API_DUPLICATE_IN_BATCH, "duplicate_in_batch"));
                }
                Found::Existing { .. } if options.miniflare4_create_accepts_existing => {
                    created.push(id);
                }
                Found::Existing { .. } => {
                    errors.push(error(&id, API_ALREADY_EXISTS, "already_exists"));
                }
                Found::Nothing => {
                    // Something odd happens to one instance, not to the whole batch.
                    let odd = anomaly.take();
                    if odd != Some(Anomaly::ExistsWithoutInstance) {
                        self.insert(now, &id, request);
                    }
                    match odd {
                        Some(_) => errors.push(error(&id, API_ALREADY_EXISTS, "already_exists")),
                        None => created.push(id),
                    }
                }
            }
        }
        Ok(Reply::Batch { created, errors })
    }

    fn check(&self, request: &CreateOptions) -> Result<(), Error> {
        let options = self.settings.options;
        if let Some(id) = request.id.as_deref().filter(|id| !is_valid_name(id, MAX_ID_LEN)) {
            return Err(Error::refused(Code::InvalidId, id, options));
        }
        match request.params.as_ref().is_none_or(|params| options.fits(params.len())) {
            true => Ok(()),
            false => Err(Error::refused(Code::TooLarge, "Workflow params", options)),
        }
    }

    fn find(&self, id: &str) -> Found {
        let options = self.settings.options;
        match self.instances.get(id) {
            None => Found::Nothing,
            Some(instance) => Found::Existing {
                accepted: options.miniflare4_create_accepts_existing
                    || options.miniflare_racing_creates_all_resolve && !instance.has_begun(),
            },
        }
    }

    fn insert(&mut self, now: Time, id: &Arc<str>, request: &CreateOptions) {
        let params = request.params.clone().unwrap_or_else(|| Body::from("{}"));
        let instance = Instance::new(now, (&self.name, id), params, request.retention);
        self.instances.insert(Arc::clone(id), instance);
        if let Some(changed) = &mut self.changed {
            changed.insert(Arc::clone(id));
        }
        self.queue.push_back(Arc::clone(id));
    }

    /// Starts as many of those that wait as may run.
    pub(super) fn schedule(&mut self, numbers: &mut Numbers, follow: &mut Vec<Follow>) {
        let instances = &mut self.instances;
        self.queue.retain(|id| instances.get(id).is_some_and(Instance::needs_life));
        if self.queue.is_empty() {
            return;
        }
        let most = usize::try_from(self.settings.concurrency).unwrap_or(usize::MAX);
        // When all of them may run, nobody has to count who does, which would be a look at each for each.
        let free = if instances.len() <= most {
            self.queue.len()
        } else {
            most.saturating_sub(instances.values().filter(|instance| instance.occupies()).count())
        };
        for _ in 0..free {
            let Some(id) = self.queue.pop_front() else { break };
            let instance = instances.get_mut(&id).expect("the queue was just cleared of the gone");
            if let Some(changed) = &mut self.changed {
                changed.insert(Arc::clone(&id));
            }
            numbers.lives += 1;
            instance.start(numbers.lives, follow);
        }
    }
}

fn id_of(request: &CreateOptions, numbers: &mut Numbers) -> Arc<str> {
    request.id.clone().unwrap_or_else(|| {
        numbers.ids += 1;
        numbered_uuid(numbers.ids)
    })
}
