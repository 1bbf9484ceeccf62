//! Which events concern an upload: those of the requests, calls and messages that name it, and everything that the
//! instances of workflows do that were made for it.
//!
//! A batch has messages of several organisations, and a commit has rows of several uploads. Of those, only the ones of
//! this upload remain. Who only looks at a picture leaves no trace here: nothing has happened to it.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use thunderhead_sim::queue::{self, MessageId};
use thunderhead_sim::{Op, Outcome, Reply, Request, r2, workflow};

use super::Upload;

pub struct About {
    key: String,
    name: String,
    /// The name as it stands in JSON.
    quoted: String,
    /// How the names of the organisation's own objects end.
    owned: String,
    /// Calls that concern it.
    calls: BTreeSet<u64>,
    messages: BTreeSet<MessageId>,
    /// Instances of workflows, as their hosts are called.
    instances: BTreeSet<String>,
}

impl About {
    pub fn new(upload: &Upload) -> About {
        About {
            key: upload.key(),
            name: upload.name.clone(),
            quoted: Value::from(&*upload.name).to_string().trim_matches('"').into(),
            owned: format!(":{}", upload.organisation),
            calls: BTreeSet::new(),
            messages: BTreeSet::new(),
            instances: BTreeSet::new(),
        }
    }

    /// Whether a line is worth reading: a look that costs little, because nearly all are about other uploads.
    pub fn may_concern(&self, line: &str) -> bool {
        let head = Head::of(line);
        let of_instances = || head.actor == "workflows" || head.is("rows");
        head.call.is_some_and(|call| self.calls.contains(&call))
            || self.instances.contains(head.actor)
            || (head.is("settle") && !self.messages.is_empty())
            || (!self.instances.is_empty() && of_instances())
            || line.contains(&self.quoted)
    }

    /// Whether an event concerns the upload. What it says of others is taken out.
    pub fn concerns(&mut self, line: &mut Value) -> bool {
        let actor = line["actor"].as_str().unwrap_or_default().to_string();
        match line["kind"].as_str() {
            Some("rows") => return actor.ends_with(&self.owned) && self.keep_rows(line),
            Some("settle") => {
                let id = MessageId::deserialize(&line["message"]);
                return id.is_ok_and(|id| self.messages.contains(&id));
            }
            _ => {}
        }
        let call = line["call"].as_u64();
        let known = call.is_some_and(|call| self.calls.contains(&call));
        let Some(Ok(mut op)) = line.get("op").map(Op::deserialize) else {
            return known || self.instances.contains(&actor);
        };
        let concerned = self.is_asked(&actor, &mut op) || self.instances.contains(&actor) || known;
        if concerned {
            self.calls.extend(call);
            let outcome =
                line.get("outcome").and_then(|outcome| Outcome::deserialize(outcome).ok());
            self.learn(&op, outcome);
            line["op"] = serde_json::to_value(op).unwrap_or_default();
        }
        concerned
    }

    /// Leaves the rows that name the upload or one of its instances. Returns whether there are any.
    fn keep_rows(&self, line: &mut Value) -> bool {
        let Some(changes) = line["changes"].as_array_mut() else { return false };
        let is_ours = |text: &str| {
            text == self.name
                || self.instances.iter().any(|host| host.rsplit('/').next() == Some(text))
        };
        changes.retain(|change| says(change, &is_ours));
        !changes.is_empty()
    }

    /// Whether `actor` asks for something that is about the upload.
    fn is_asked(&self, actor: &str, op: &mut Op) -> bool {
        let is_name = |text: &str| text == self.name;
        let names = |op: &Op| serde_json::to_value(op).is_ok_and(|op| says(&op, &is_name));
        let by_its_object = actor.ends_with(&self.owned);
        match op {
            Op::Fetch { request, .. } => request.method != "GET" && self.is_path(request),
            Op::R2(r2::Op::Get { .. } | r2::Op::Head { .. }) if !by_its_object => false,
            Op::R2(op) => op.keys().iter().any(|key| **key == *self.key),
            Op::Notify { event, .. } => *event.object.key == *self.key,
            Op::Rpc { object, .. } => object.ends_with(&self.owned) && names(op),
            Op::Deliver { batch, .. } => {
                batch.messages.retain(|message| self.messages.contains(&message.id));
                !batch.messages.is_empty()
            }
            Op::Workflow(asked) => {
                let engine = asked.engine().map(|engine| (&*engine.workflow, &*engine.id));
                let instance = asked.instance().map(|id| (asked.workflow(), id));
                let is_known = |(workflow, id): (&str, &str)| {
                    self.instances.contains(&format!("{workflow}/{id}"))
                };
                engine.into_iter().chain(instance).any(is_known) || (by_its_object && names(op))
            }
            Op::Queue(_) => by_its_object && names(op),
            _ => false,
        }
    }

    fn is_path(&self, request: &Request) -> bool {
        request.pathname().trim_start_matches('/') == self.key
    }

    /// Remembers what has come of a call: messages that were sent, and instances that were made.
    fn learn(&mut self, op: &Op, outcome: Option<Outcome>) {
        match (op, outcome) {
            (_, Some(Ok(Reply::Queue(queue::Reply::Sent { id, .. })))) => {
                self.messages.insert(id);
            }
            (Op::Workflow(op), Some(Ok(Reply::Workflow(workflow::Reply::Instance { id })))) => {
                self.instances.insert(format!("{}/{id}", op.workflow()));
            }
            _ => {}
        }
    }
}

/// What an event begins with, up to its question.
struct Head<'a> {
    actor: &'a str,
    call: Option<u64>,
    kind: &'a str,
}

impl<'a> Head<'a> {
    fn of(line: &'a str) -> Head<'a> {
        let text = line.find("\"op\":").map_or(line, |end| &line[..end]);
        let after = |mark: &str| text.find(mark).map_or("", |at| &text[at + mark.len()..]);
        let word = |mark| after(mark).split('"').next().unwrap_or_default();
        let digits = after("\"call\":");
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next();
        Head {
            actor: word("\"actor\":\""),
            call: digits.and_then(|digits| digits.parse().ok()),
            kind: word("\"kind\":\""),
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }
}

/// Whether one of the texts in a value is meant; a text may be JSON itself.
fn says(value: &Value, is_meant: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) if is_meant(text) => true,
        Value::String(text) if text.starts_with(['{', '[']) => {
            serde_json::from_str(text).is_ok_and(|inner: Value| says(&inner, is_meant))
        }
        Value::Array(values) => values.iter().any(|value| says(value, is_meant)),
        Value::Object(fields) => fields.values().any(|value| says(value, is_meant)),
        _ => false,
    }
}
