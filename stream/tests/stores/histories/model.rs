//! What a store does, without a database.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use thunderhead_stream::{Claim, Error, Key, Message, NewMessage, Next, Parked};

use super::placed;

/// All streams, and what is known about carrying out their commands.
#[derive(Debug, Default)]
pub struct Model {
    messages: BTreeMap<Key, Message>,
    deliveries: BTreeMap<Key, Delivery>,
    /// How often those were claimed that are processed.
    attempts: BTreeMap<Key, i64>,
}

#[derive(Clone, Debug, Default)]
struct Delivery {
    due: i64,
    attempts: i64,
    failures: i64,
    vanished: i64,
    begun: bool,
    deaths: i64,
    lease: Option<(String, i64)>,
    parked_at: Option<i64>,
}

impl Model {
    pub fn keys(&self) -> Vec<Key> {
        self.messages.keys().cloned().collect()
    }

    pub fn stream(&self, workflow: &str) -> Vec<Message> {
        let of_it = |message: &&Message| message.workflow_id == workflow;
        self.messages.values().filter(of_it).cloned().collect()
    }

    pub fn version(&self, workflow: &str) -> i64 {
        self.stream(workflow).len() as i64
    }

    pub fn append(
        &mut self,
        workflow: &str,
        version: i64,
        batch: &[NewMessage],
        now: i64,
    ) -> Result<i64, Error> {
        let ids: Vec<&str> = batch.iter().map(|new| new.message_id.as_str()).collect();
        let stream = self.stream(workflow);
        let stream: Vec<&str> = stream.iter().map(|message| message.message_id.as_str()).collect();
        if let Some(at) = stream.windows(ids.len()).position(|window| window == ids) {
            return Ok((at + ids.len()) as i64);
        }
        let there = |id: &&&str| self.messages.values().any(|message| message.message_id == **id);
        if let Some(id) = ids.iter().find(there) {
            return Err(Error::DuplicateId { message_id: id.to_string() });
        }
        let actual = stream.len() as i64;
        if version != actual {
            return Err(Error::Conflict { actual });
        }
        for (new, position) in batch.iter().zip(actual + 1..) {
            let message = placed(new, workflow, position, now);
            if message.is_pending() {
                let delivery = Delivery { due: now, ..Delivery::default() };
                self.deliveries.insert(message.key(), delivery);
            }
            self.messages.insert(message.key(), message);
        }
        Ok(actual + ids.len() as i64)
    }

    pub fn pending(&self) -> Vec<Message> {
        let pending = |message: &&Message| message.processed == Some(false);
        self.messages.values().filter(pending).cloned().collect()
    }

    pub fn claim(&mut self, processor: &str, now: i64, lease: i64, limit: u32) -> Vec<Claim> {
        let due = |delivery: &Delivery| delivery.parked_at.is_none() && delivery.due <= now;
        let all = self.deliveries.iter();
        let mut keys: Vec<(i64, Key)> = all
            .filter(|(_, delivery)| due(delivery))
            .map(|(key, delivery)| (delivery.due, key.clone()))
            .collect();
        keys.sort();
        keys.truncate(limit as usize);
        keys.sort_by(|(_, one), (_, other)| one.cmp(other));
        let claims = keys.into_iter().map(|(_, key)| {
            let delivery = self.deliveries.get_mut(&key).unwrap();
            delivery.attempts += 1;
            delivery.vanished += i64::from(delivery.lease.is_some());
            delivery.deaths += i64::from(std::mem::take(&mut delivery.begun));
            delivery.due = now + lease;
            delivery.lease = Some((processor.to_owned(), delivery.attempts));
            Claim {
                message: self.messages[&key].clone(),
                processor: processor.to_owned(),
                until: now + lease,
                attempt: delivery.attempts,
                failures: delivery.failures,
                vanished: delivery.vanished,
                deaths: delivery.deaths,
            }
        });
        claims.collect()
    }

    pub fn set_flag(&mut self, key: &Key, flag: bool, at: Option<i64>) -> bool {
        let Some(message) = self.messages.get_mut(key) else { return false };
        if message.processed != Some(!flag) {
            return false;
        }
        (message.processed, message.processed_at) = (Some(flag), at);
        if flag {
            let delivery = self.deliveries.remove(key).unwrap_or_default();
            self.attempts.insert(key.clone(), delivery.attempts);
        } else {
            let attempts = self.attempts.remove(key).unwrap_or_default();
            let delivery = Delivery { due: message.created_at, attempts, ..Delivery::default() };
            self.deliveries.insert(key.clone(), delivery);
        }
        true
    }

    /// The delivery whose lease this is.
    fn held(&mut self, claim: &Claim) -> Option<&mut Delivery> {
        let delivery = self.deliveries.get_mut(&claim.message.key())?;
        let held = delivery.lease == Some((claim.processor.clone(), claim.attempt));
        held.then_some(delivery)
    }

    pub fn begin(&mut self, claim: &Claim) -> bool {
        self.held(claim).map(|delivery| delivery.begun = true).is_some()
    }

    pub fn came_back(&mut self, claim: &Claim) -> bool {
        let delivery = self.deliveries.get_mut(&claim.message.key());
        let Some(delivery) = delivery.filter(|known| known.attempts >= claim.attempt) else {
            return false;
        };
        (delivery.vanished, delivery.deaths) = (0, 0);
        true
    }

    pub fn fail(&mut self, claim: &Claim, next: Next, now: i64) -> bool {
        let Some(delivery) = self.held(claim) else { return false };
        delivery.failures += 1;
        delivery.lease = None;
        (delivery.vanished, delivery.begun, delivery.deaths) = (0, false, 0);
        match next {
            Next::RetryAfter(pause) => delivery.due = now + pause,
            Next::Park => delivery.parked_at = Some(now),
        }
        true
    }

    pub fn release(&mut self, claim: &Claim, now: i64) -> bool {
        let Some(delivery) = self.held(claim) else { return false };
        delivery.begun = false;
        delivery.lease = None;
        delivery.due = now;
        true
    }

    pub fn parked(&self) -> Vec<Parked> {
        let parked = self.deliveries.iter().filter_map(|(key, delivery)| {
            Some(Parked {
                message: self.messages[key].clone(),
                attempts: delivery.attempts,
                failures: delivery.failures,
                error: "no".to_owned(),
                parked_at: delivery.parked_at?,
            })
        });
        parked.collect()
    }

    pub fn unpark(&mut self, key: &Key, now: i64) -> bool {
        let Some(delivery) = self.deliveries.get_mut(key) else { return false };
        if delivery.parked_at.is_none() {
            return false;
        }
        *delivery = Delivery { due: now, attempts: delivery.attempts, ..Delivery::default() };
        true
    }
}
