//! Histories of the image pipeline made by hand, for the tests of its promises.

use std::sync::Arc;

use thunderhead_sim::ai::{self, Label, Score};
use thunderhead_sim::queue::{self, Fate, MessageBody, MessageId, Metrics};
use thunderhead_sim::r2::{self, Action, Date, Notification, NotificationObject};
use thunderhead_sim::sqlite::{Row, RowChange, Value};
use thunderhead_sim::{Body, Error, EventKind, Op, Reply, Request, Response, Trace, workflow};

use super::contents::event_id;
use crate::mutant::History;

/// The name that the histories are about.
pub const KEY: &str = "acme/cat.jpg";

/// The agent of its organisation.
const AGENT: &str = "ORGANIZATION:acme";
/// The calls by which the agent looks at R2 have numbers behind this one.
const LOOKS: u32 = 1_000;

/// A history of one name, `cat.jpg` of `acme`.
#[derive(Clone, Default)]
pub struct Story {
    history: History,
    row: Option<Row>,
    /// The row of an instance in the tracking table.
    tracked: Option<Row>,
    calls: u32,
    /// The call of the last who asked for a picture.
    asked: u32,
}

impl Story {
    pub fn trace(&self) -> Trace {
        self.history.trace()
    }

    /// The history, and where its last event stands.
    pub fn ended(&self) -> (Trace, usize) {
        let trace = self.trace();
        let last = trace.events().len() - 1;
        (trace, last)
    }

    /// R2 stores these bytes, and message `message` will tell of it.
    pub fn stored(&mut self, bytes: &str, message: u8) -> &mut Story {
        self.history.stored("images", KEY, bytes, "v");
        self.told(Action::PutObject, message)
    }

    /// R2 removes the object, and message `message` will tell of it.
    pub fn removed(&mut self, message: u8) -> &mut Story {
        let op = Op::R2(r2::Op::delete("images", KEY));
        self.history.effect_of(op, Ok(Reply::R2(r2::Reply::Deleted)));
        self.told(Action::DeleteObject, message)
    }

    fn told(&mut self, action: Action, message: u8) -> &mut Story {
        self.calls += 1;
        let object = NotificationObject { key: KEY.into(), size: None, e_tag: None };
        let (account, event_time) = ("a".into(), Date::from_unix_ms(0));
        let bucket = "images".into();
        let event = Notification { account, action, bucket, object, event_time, copy_source: None };
        let op = Op::Notify { queue: "uploads".into(), event };
        self.history.calls("r2", self.calls, op.clone());
        self.history.answered(self.calls, op, Ok(sent(message)));
        self
    }

    /// R2 answers the agent's call of this number that it holds these bytes. The answer is on its way.
    pub fn looks(&mut self, call: u32, bytes: &str) -> &mut Story {
        let op = Op::R2(r2::Op::head("images", KEY));
        self.history.calls(AGENT, LOOKS + call, op.clone());
        self.history.answered(LOOKS + call, op, Ok(held(bytes)));
        self
    }

    /// The agent has the answer to that call, and goes on with it.
    pub fn hears(&mut self, call: u32, bytes: &str) -> &mut Story {
        self.history.returns(AGENT, LOOKS + call, held(bytes));
        let op = Op::Workflow(workflow::Op::create("OrganizationWorkflow", "any", "{}"));
        self.history.calls(AGENT, 2 * LOOKS + call, op);
        self
    }

    /// The agent has the answer to that call, and asks again.
    pub fn hears_and_asks_again(&mut self, call: u32, bytes: &str) -> &mut Story {
        self.history.returns(AGENT, LOOKS + call, held(bytes));
        self.history.calls(AGENT, 2 * LOOKS + call, Op::R2(r2::Op::head("images", KEY)));
        self
    }

    /// A stranger sends a message to the queue.
    pub fn sent(&mut self, text: &str, message: u8) -> &mut Story {
        let op = Op::Queue(queue::Op::send("uploads", MessageBody::text(text)));
        self.history.effect_of(op, Ok(sent(message)));
        self
    }

    /// The queue decides about a message.
    pub fn settled(&mut self, message: u8, fate: Fate) -> &mut Story {
        let (call, queue, message) = (None, "uploads".into(), id(message));
        self.history.push(EventKind::Settle { call, queue, message, fate });
        self
    }

    /// A consumer begins with a message.
    pub fn delivered(&mut self, message: u8) -> &mut Story {
        self.history.reaches(id(message));
        self
    }

    /// The agent begins with a call.
    pub fn asked_agent(&mut self, method: &str) -> &mut Story {
        self.calls += 1;
        let object = "ORGANIZATION:acme".into();
        let op = Op::Rpc { object, method: method.into(), args: Body::empty() };
        self.history.begins(self.calls, op);
        self
    }

    pub fn acked(&mut self, message: u8) -> &mut Story {
        self.settled(message, Fate::Acked)
    }

    /// The instance for these bytes is created, under this id when it is not the usual one.
    pub fn created(&mut self, bytes: &str, id: Option<&str>) -> &mut Story {
        let event = event_of(bytes);
        let usual = format!("imgcls_{event}");
        let id = id.unwrap_or(&usual);
        self.instance(id, format!(r#"{{"eventId":"{event}"}}"#))
    }

    /// An instance for these bytes is created, by an application that has a name of its own for the event.
    pub fn created_as(&mut self, bytes: &str, event: &str) -> &mut Story {
        let etag = object(bytes).etag;
        let params = format!(r#"{{"key":"{KEY}","eTag":"{etag}","eventId":"{event}"}}"#);
        self.instance(event, params)
    }

    fn instance(&mut self, id: &str, params: String) -> &mut Story {
        let op = Op::Workflow(workflow::Op::create("OrganizationWorkflow", id, params));
        let reply = Reply::Workflow(workflow::Reply::Instance { id: id.into() });
        self.history.effect_of(op, Ok(reply));
        self.history.push_as(&format!("OrganizationWorkflow/{id}"), EventKind::Boot { life: 1 });
        self
    }

    /// Creating the instance for these bytes fails.
    pub fn refused(&mut self, bytes: &str, error: workflow::Error) -> &mut Story {
        let id = format!("imgcls_{}", event_of(bytes));
        let op = Op::Workflow(workflow::Op::create("OrganizationWorkflow", &id, "{}"));
        self.history.effect_of(op, Err(Error::Workflow(error)));
        self
    }

    /// The instance for these bytes has its row in the tracking table, with this status.
    pub fn tracked(&mut self, bytes: &str, status: &str) -> &mut Story {
        let id = Value::from(format!("imgcls_{}", event_of(bytes)));
        let after = vec![("workflow_id".into(), id), ("status".into(), status.into())];
        let before = self.tracked.replace(after.clone());
        self.change("acme", "cf_agents_workflows", before, Some(after))
    }

    /// The instance for these bytes ends, in the platform's word for how.
    pub fn ends(&mut self, bytes: &str, how: &str) -> &mut Story {
        let id: Arc<str> = format!("imgcls_{}", event_of(bytes)).into();
        let workflow = "OrganizationWorkflow".into();
        let op = match how {
            "terminated" => workflow::Op::Terminate { workflow, id },
            _ => {
                let engine = workflow::Engine { workflow, id, generation: 1 };
                let thrown = || workflow::StepError::new("Error", "no");
                let result = if how == "complete" { Ok(Body::from("null")) } else { Err(thrown()) };
                workflow::Op::Finish { engine, result }
            }
        };
        let reply = Reply::Workflow(workflow::Reply::Done);
        self.history.effect_of(Op::Workflow(op), Ok(reply));
        self
    }

    /// The instance for these bytes has another life.
    pub fn runs(&mut self, bytes: &str) -> &mut Story {
        let host = format!("OrganizationWorkflow/imgcls_{}", event_of(bytes));
        self.history.push_as(&host, EventKind::Boot { life: 2 });
        self
    }

    /// A workflow reads the object while it holds these bytes.
    pub fn read(&mut self, bytes: &str) -> &mut Story {
        let object = Arc::new(object(bytes));
        let (range, body) = (object.range(), Body::from(bytes));
        let op = Op::R2(r2::Op::get("images", KEY));
        let reply = r2::Reply::ObjectBody { object, range, body };
        self.history.effect_of(op, Ok(Reply::R2(reply)));
        self
    }

    /// The model says what these bytes are.
    pub fn labelled(&mut self, bytes: &str, label: &str) -> &mut Story {
        let op = Op::Ai(ai::Op { model: ai::RESNET_50.into(), image: bytes.into() });
        let label = Label { label: label.into(), score: Score::from_millionths(500_000) };
        self.history.effect_of(op, Ok(Reply::Ai([label].into())));
        self
    }

    /// The model refuses these bytes, for this reason.
    pub fn not_labelled(&mut self, bytes: &str, error: ai::Error) -> &mut Story {
        let op = Op::Ai(ai::Op { model: ai::RESNET_50.into(), image: bytes.into() });
        self.history.effect_of(op, Err(Error::Ai(error)));
        self
    }

    /// The row of the name says this of these bytes.
    pub fn row(&mut self, bytes: &str, status: &str, label: Option<&str>) -> &mut Story {
        let after = row(bytes, status, label);
        let before = self.row.replace(after.clone());
        self.change("acme", "Upload", before, Some(after))
    }

    /// The row of the name says that these bytes failed, for this reason.
    pub fn failed_row(&mut self, bytes: &str, error: &str) -> &mut Story {
        let mut after = row(bytes, "failed", None);
        after.push(("error".into(), error.into()));
        let before = self.row.replace(after.clone());
        self.change("acme", "Upload", before, Some(after))
    }

    /// The agent tells a client this.
    pub fn pushed(&mut self, message: &str) -> &mut Story {
        self.calls += 1;
        let op = Op::Push { socket: 0, message: message.into() };
        self.history.calls(AGENT, self.calls, op);
        self
    }

    /// R2 fails the agent's question about the name.
    pub fn unanswered(&mut self) -> &mut Story {
        self.calls += 1;
        let op = r2::Op::head("images", KEY);
        let error = r2::Error::for_op(&op, r2::transient_errors(&op)[0]);
        self.history.calls(AGENT, self.calls, Op::R2(op));
        self.history.refused(AGENT, self.calls, Error::R2(error));
        self
    }

    /// Somebody begins to ask for the picture, with this header if it has a name.
    pub fn asks_picture(&mut self, header: (&str, &str)) -> &mut Story {
        self.calls += 1;
        self.asked = self.calls;
        self.asks_picture_again(header)
    }

    /// The request of the last who asked comes once more.
    pub fn asks_picture_again(&mut self, (name, value): (&str, &str)) -> &mut Story {
        let mut request = Request::new("GET", "/acme/cat.jpg?as=ann@acme", "");
        if !name.is_empty() {
            request.headers.set(name, value);
        }
        self.history.begins(self.asked, Op::Fetch { to: "web".into(), request });
        self
    }

    /// The last who asked gets this answer.
    pub fn gets(&mut self, response: Response) -> &mut Story {
        self.history.ends(self.asked, Reply::Fetch(response));
        self
    }

    /// The name has no row any more.
    pub fn no_row(&mut self) -> &mut Story {
        let before = self.row.take();
        self.change("acme", "Upload", before, None)
    }

    /// The row moves to the new table.
    pub fn migrated(&mut self) -> &mut Story {
        let row = self.row.take().expect("there is a row to move");
        let insert = change("UploadCurrent", None, Some(row.clone()));
        let delete = change("Upload", Some(row), None);
        let changes = vec![insert, delete].into();
        self.history.push_as("ORGANIZATION:acme", EventKind::Rows { changes });
        self
    }

    /// Another organisation has a row for these bytes.
    pub fn strange_row(&mut self, bytes: &str) -> &mut Story {
        self.change("globex", "Upload", None, Some(row(bytes, "queued", None)))
    }

    fn change(
        &mut self,
        organisation: &str,
        table: &str,
        before: Option<Row>,
        after: Option<Row>,
    ) -> &mut Story {
        let changes = vec![change(table, before, after)].into();
        self.history.push_as(&format!("ORGANIZATION:{organisation}"), EventKind::Rows { changes });
        self
    }

    /// A message is on the list of those that were rejected.
    pub fn rejected(&mut self, message: u8) -> &mut Story {
        let row = vec![("message".into(), Value::from(id(message).to_string()))];
        let changes = vec![change("Rejected", None, Some(row))].into();
        self.history.push_as("OPERATOR:uploads", EventKind::Rows { changes });
        self
    }

    /// A worker answers a request.
    pub fn served(&mut self, path: &str, status: u16) -> &mut Story {
        self.calls += 1;
        let op = Op::Fetch { to: "web".into(), request: Request::new("GET", path, "") };
        self.history.begins(self.calls, op);
        self.history.ends(self.calls, Reply::Fetch(Response::new(status, "")));
        self
    }

    /// A client connects and fetches this list.
    pub fn watched(&mut self, list: &str) -> &mut Story {
        self.calls += 2;
        let (connect, fetch) = (self.calls - 1, self.calls);
        let op = Op::Connect { object: "ORGANIZATION:acme".into() };
        self.history.calls("browser", connect, op);
        self.history.returns("browser", connect, Reply::Socket(0));
        let request = Request::new("GET", "/acme?as=ann@acme", "");
        self.history.calls("browser", fetch, Op::Fetch { to: "web".into(), request });
        self.history.returns("browser", fetch, Reply::Fetch(Response::new(200, list)));
        self
    }

    /// The client's browser dies.
    pub fn closed(&mut self) -> &mut Story {
        let fault = thunderhead_sim::Fault::Crash;
        self.history.push_as("browser", EventKind::Crash { fault, call: None });
        self
    }
}

/// The event of these bytes.
pub fn event_of(bytes: &str) -> String {
    event_id(KEY, &object(bytes).etag)
}

/// The ETag of these bytes.
pub fn etag_of(bytes: &str) -> String {
    object(bytes).etag.to_string()
}

fn row(bytes: &str, status: &str, label: Option<&str>) -> Row {
    let score = label.map(|_| Value::from(0.5));
    let values = [
        ("name", Value::from("cat.jpg")),
        ("eventId", event_of(bytes).into()),
        ("status", status.into()),
        ("classificationLabel", label.into()),
        ("classificationScore", score.into()),
    ];
    values.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn change(table: &str, before: Option<Row>, after: Option<Row>) -> RowChange {
    RowChange { table: table.into(), key: vec![1.into()], before, after }
}

fn sent(message: u8) -> Reply {
    let metrics = Metrics::default();
    Reply::Queue(queue::Reply::Sent { id: id(message), metrics })
}

fn id(message: u8) -> MessageId {
    serde_json::from_str(&format!("\"{message:032x}\"")).expect("an id of 32 digits")
}

/// What R2 makes of these bytes.
fn object(bytes: &str) -> r2::Object {
    let mut store = r2::R2::new();
    store.create_bucket("images", r2::BucketConfig::default()).expect("a good name");
    let put = r2::Op::put("images", KEY, bytes);
    let reply = store.apply(thunderhead_sim::Time::ZERO, &put).reply.expect("stored");
    (**reply.object().expect("a put answers with its object")).clone()
}

/// What R2 answers to `head` while it holds these bytes.
fn held(bytes: &str) -> Reply {
    Reply::R2(r2::Reply::Object(Arc::new(object(bytes))))
}
