//! How a cloud is put back after a restart, from what was written down.

use crate::engine::ids::HostId;
use crate::engine::live::{KeptAlarm, KeptKey, Numbers, ObjectTurn};
use crate::engine::services::Service;
use crate::engine::world::State;
use crate::protocol::fault::Fault;
use crate::protocol::object::ObjectId;
use crate::protocol::trace::EventKind;
use crate::services::kv;
use crate::services::queue::Persisted;
use crate::values::body::Body;

/// Why something that was written down cannot be put back.
#[derive(Debug)]
pub enum RestoreError {
    /// It is not in the form that this version writes.
    Unreadable(String),
    /// The system has no such bucket, database, workflow or class of objects.
    Homeless(String),
}

impl std::fmt::Display for RestoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RestoreError::Unreadable(why) => write!(f, "it cannot be read: {why}"),
            RestoreError::Homeless(what) => write!(f, "the system has no {what}"),
        }
    }
}

impl std::error::Error for RestoreError {}

impl From<serde_json::Error> for RestoreError {
    fn from(error: serde_json::Error) -> RestoreError {
        RestoreError::Unreadable(error.to_string())
    }
}

/// How everything is put back.
// What reads JSON here and in the services is `inline`, for the reason given at `Trace::from_jsonl`.
impl State {
    #[inline]
    pub fn restore_row(
        &mut self,
        kind: &str,
        key: &str,
        value: &str,
        body: Option<Body>,
    ) -> Result<(), RestoreError> {
        let unreadable = || RestoreError::Unreadable(format!("`{kind} {key}`"));
        if kind == "numbers" {
            self.set_numbers(&serde_json::from_str(value)?);
            return Ok(());
        }
        let (home, name) = key.split_once('/').ok_or_else(unreadable)?;
        let homed = |what: &str, found: bool| match found {
            true => Ok(()),
            false => Err(RestoreError::Homeless(format!("{what} `{home}`"))),
        };
        match kind {
            "object" => {
                let object = serde_json::from_str(value)?;
                let body = body.ok_or_else(unreadable)?;
                homed("bucket", self.services.r2.restore_object(home, object, body))
            }
            "upload" => homed("bucket", self.services.r2.restore_upload(home, name, value)?),
            "message" => {
                let (queue, seq) = key.rsplit_once('/').ok_or_else(unreadable)?;
                let seq = seq.parse().map_err(|_| unreadable())?;
                let kept: Persisted = serde_json::from_str(value)?;
                self.services.queues.restore_message(queue, seq, kept);
                Ok(())
            }
            "instance" => {
                homed("workflow", self.services.workflows.restore_instance(home, name, value)?)
            }
            "alarm" => {
                let kept: KeptAlarm = serde_json::from_str(value)?;
                let host = self.restored_object(home, name, kept.name.as_deref())?;
                let object = self.hosts.object_mut(host);
                object.storage.set_kept_alarm(Some(kept.at));
                object.alarm.failures = kept.failures;
                if let Some(live) = &mut self.live {
                    live.kept_alarms.insert(host, value.into());
                }
                Ok(())
            }
            "key" => {
                let KeptKey { metadata, expiration } = serde_json::from_str(value)?;
                let entry = kv::Entry { value: body.ok_or_else(unreadable)?, metadata, expiration };
                homed("namespace", self.services.kv.restore_entry(home, name, entry))
            }
            _ => Err(unreadable()),
        }
    }

    /// Puts back an object of R2 whose bytes are in a file.
    #[inline]
    pub fn restore_filed(&mut self, key: &str, value: &str, file: u64) -> Result<(), RestoreError> {
        let bucket = key.split_once('/').map_or(key, |(bucket, _)| bucket);
        match self.services.r2.restore_filed(bucket, serde_json::from_str(value)?, file) {
            true => Ok(()),
            false => Err(RestoreError::Homeless(format!("bucket `{bucket}`"))),
        }
    }

    #[inline]
    pub fn restore_turn(&mut self, log: &str, did: &str) -> Result<(), RestoreError> {
        let unreadable = || RestoreError::Unreadable(format!("the log `{log}`"));
        if let Some(live) = &mut self.live {
            live.logs.grew(log, did.len());
        }
        match log.split_once('/').ok_or_else(unreadable)? {
            ("d1", database) => match self.services.d1.restore_commit(database, did)? {
                true => Ok(()),
                false => Err(RestoreError::Homeless(format!("database `{database}`"))),
            },
            ("object", object) => {
                let (namespace, hex) = object.rsplit_once('/').ok_or_else(unreadable)?;
                let turn: ObjectTurn = serde_json::from_str(did)?;
                let host = self.restored_object(namespace, hex, turn.name.as_deref())?;
                let again = self.hosts.object(host).storage.do_again(turn.did);
                again.map_err(|error| RestoreError::Unreadable(error.to_string()))
            }
            _ => Err(unreadable()),
        }
    }

    /// The host of an object that was there before the restart.
    pub fn restored_object(
        &mut self,
        namespace: &str,
        hex: &str,
        name: Option<&str>,
    ) -> Result<HostId, RestoreError> {
        let homeless = || RestoreError::Homeless(format!("class of objects `{namespace}`"));
        let class = self.hosts.classes.get_key_value(namespace).ok_or_else(homeless)?;
        let (namespace, class) = (class.0.clone(), class.1.clone());
        let id = match name {
            Some(name) => ObjectId::from_name(&namespace, name),
            None => ObjectId::from_hex(&namespace, hex)
                .map_err(|error| RestoreError::Unreadable(error.to_string()))?,
        };
        Ok(match self.hosts.find_object(&id) {
            Ok(host) => host,
            Err(hex) => self.add_object(id, hex, class),
        })
    }

    fn set_numbers(&mut self, numbers: &Numbers) {
        self.now = self.now.max(numbers.now);
        self.calls.begin_at(numbers.calls);
        self.trace.begin_at(numbers.calls);
        if let Some(live) = &mut self.live {
            live.told = numbers.told;
        }
        self.services.r2.set_numbers(numbers.r2);
        self.services.queues.set_numbers(numbers.queues);
        self.services.workflows.set_numbers(numbers.workflows);
    }

    /// The process has started again: every host that ran application code is dead, nothing is leased, and what was
    /// set for a time is set again.
    pub fn recover(&mut self) {
        let hosts = self.hosts.iter().filter(|host| host.can_crash);
        let died: Vec<HostId> = hosts.map(|host| host.id()).collect();
        for host in &died {
            self.record(*host, EventKind::Crash { fault: Fault::Crash, call: None });
        }
        for host in died {
            if self.hosts[host].object.is_some() {
                // An object is started by the next call.
                self.hosts[host].up = false;
                self.schedule_alarm(host);
            } else {
                self.hosts[host].life += 1;
                let life = self.hosts[host].life;
                self.record(host, EventKind::Boot { life });
            }
        }
        let follow = self.services.workflows.recover(self.now);
        self.follow(follow);
        self.schedule_pumps();
        self.record(
            Service::Cloud.host(),
            EventKind::Log { text: "the process has started again".into() },
        );
    }
}
