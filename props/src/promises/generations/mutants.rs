//! Histories of generations, written by hand.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use thunderhead_sim::sqlite::{Row, RowChange, Value};
use thunderhead_sim::{EventKind, Fault, Op, Reply, Request, Response, Trace, r2};

use crate::mutant::{History, object as stored};

/// A history made by hand: of generation `g`, unless it says otherwise. The first entry has index 0.
#[derive(Clone, Default)]
pub struct Story(History);

impl Story {
    /// Generation `g` was asked for and its id given (entries 0 and 1), and its object told (2).
    pub fn given(wanted: &Json) -> Story {
        let mut story = Story::default();
        story.give(0, "g", wanted).create("g", wanted["count"].as_u64().unwrap_or(1));
        story
    }

    pub fn trace(&self) -> Trace {
        self.0.trace()
    }

    pub fn waits(&mut self, seconds: u64) -> &mut Story {
        self.0.waits(Duration::from_secs(seconds));
        self
    }

    /// A number for a call. Tests number their own calls below 200.
    fn number(&self) -> u32 {
        200 + self.0.trace().events().len() as u32
    }

    fn push_as(&mut self, name: &str, what: EventKind) -> &mut Story {
        self.0.push_as(name, what);
        self
    }

    pub fn calm(&mut self) -> &mut Story {
        self.push_as("cloud", EventKind::Calm)
    }

    pub fn died(&mut self, generation: &str) -> &mut Story {
        self.push_as(&object(generation), EventKind::Crash { fault: Fault::Crash, call: None })
    }

    /// A request reaches the worker.
    pub fn asked(&mut self, call: u32, method: &str, path: &str, body: &Json) -> &mut Story {
        let request = Request::new(method, path, body.to_string());
        self.0.begins(call, Op::Fetch { to: "web".into(), request });
        self
    }

    /// The worker answers a request.
    pub fn answered(&mut self, call: u32, status: u16, body: &Json) -> &mut Story {
        let response = Response::new(status, body.to_string());
        self.0.ends_as("web", call, Reply::Fetch(response));
        self
    }

    /// A request of a client reaches the worker.
    pub fn asked_by(&mut self, client: &str, call: u32, method: &str, path: &str) -> &mut Story {
        let request = Request::new(method, path, "");
        let request = request.with_header("authorization", &format!("Bearer key-of-{client}"));
        self.0.begins(call, Op::Fetch { to: "web".into(), request });
        self
    }

    pub fn give(&mut self, call: u32, id: &str, wanted: &Json) -> &mut Story {
        self.asked(call, "POST", "/generations", wanted).answered(call, 201, &json!({ "id": id }))
    }

    /// A client asks where a generation stands, and is told.
    pub fn told(&mut self, call: u32, id: &str, status: u16, told: &str) -> &mut Story {
        self.asked(call, "GET", &format!("/generations/{id}"), &Json::Null).answered(
            call,
            status,
            &json!({ "status": told }),
        )
    }

    /// A client fetches an artifact, with a header unless its name is empty, and is answered.
    pub fn fetches(
        &mut self,
        call: u32,
        artifact: &str,
        (name, value): (&str, &str),
        response: Response,
    ) -> &mut Story {
        let request = Request::new("GET", &format!("/artifacts/{artifact}/bytes"), "");
        let request = request.with_header("authorization", "Bearer key-of-ann");
        let request = if name.is_empty() { request } else { request.with_header(name, value) };
        self.0.begins(call, Op::Fetch { to: "web".into(), request });
        self.0.ends_as("web", call, Reply::Fetch(response));
        self
    }

    /// A webhook comes, and is answered.
    pub fn webhook(&mut self, call: u32, id: &str, status: u16) -> &mut Story {
        let path = format!("/webhook?generation_id={id}");
        self.asked(call, "POST", &path, &json!({ "taskUUID": "a-1" })).answered(
            call,
            status,
            &Json::Null,
        )
    }

    pub fn create(&mut self, id: &str, count: u64) -> &mut Story {
        let args = json!({ "count": count }).to_string().into();
        let name = object(id);
        let op = Op::Rpc { object: name.as_str().into(), method: "create".into(), args };
        let call = self.number();
        self.0.begins_as(&name, call, op);
        self
    }

    /// An object stores something.
    pub fn stored(&mut self, id: &str) -> &mut Story {
        self.push_as(&object(id), EventKind::Rows { changes: [].into() })
    }

    /// An object tells its subscribers something.
    pub fn pushed(&mut self, id: &str, message: &Json) -> &mut Story {
        let op = Op::Push { socket: 0, message: message.to_string().into() };
        let call = self.number();
        self.0.calls(&object(id), call, op);
        self
    }

    /// An object asks for a job.
    pub fn submits(&mut self, call: u32, task: &str) -> &mut Story {
        let body = json!({ "taskUUID": task }).to_string();
        let request = Request::new("POST", "/tasks", body);
        self.0.calls(&object("g"), call, Op::Fetch { to: "provider".into(), request });
        self
    }

    /// An object has an answer.
    pub fn hears(&mut self, call: u32) -> &mut Story {
        self.0.returns(&object("g"), call, Reply::Done);
        self
    }

    fn log(&mut self, text: String) -> &mut Story {
        self.push_as("provider", EventKind::Log { text: text.into() })
    }

    pub fn accepted(&mut self, task: &str, artifact: &str, generation: &str) -> &mut Story {
        self.log(format!("accepted {task} for {artifact} of {generation}"))
    }

    pub fn charged(&mut self, task: &str, artifact: &str) -> &mut Story {
        self.log(format!("charged {task} for {artifact} of g"))
    }

    /// Like `charged`, with `WIDTH x HEIGHT, COST`.
    pub fn charged_with(&mut self, task: &str, artifact: &str, figures: &str) -> &mut Story {
        self.log(format!("charged {task} for {artifact} of g: {figures}"))
    }

    /// The provider answers a request for a result.
    pub fn served(&mut self, task: &str, status: u16, bytes: &str) -> &mut Story {
        let request = Request::new("GET", &format!("/results/{task}?until=1"), "");
        let call = self.number();
        self.0.begins(call, Op::Fetch { to: "provider".into(), request });
        self.0.ends_as("provider", call, Reply::Fetch(Response::new(status, bytes)));
        self
    }

    /// The provider answers a request for a part of a result.
    pub fn served_part(&mut self, task: &str, range: &str, etag: &str, bytes: &str) -> &mut Story {
        let request = Request::new("GET", &format!("/results/{task}?until=1"), "");
        let call = self.number();
        self.0.begins(call, Op::Fetch { to: "provider".into(), request });
        let response = Response::new(206, bytes).with_header("etag", etag);
        let response = response.with_header("content-range", &format!("bytes {range}"));
        self.0.ends_as("provider", call, Reply::Fetch(response));
        self
    }

    /// The object of `g` begins an upload, and is told its id.
    pub fn opened(&mut self, artifact: &str, upload: &str) -> &mut Story {
        let key: Arc<str> = format!("artifacts/{artifact}").into();
        let options = Arc::default();
        let op =
            r2::Op::CreateMultipartUpload { bucket: "media".into(), key: key.clone(), options };
        let (call, of) = (self.number(), object("g"));
        self.0.calls(&of, call, Op::R2(op));
        let reply = r2::Reply::MultipartUpload { key, upload_id: upload.into() };
        self.0.returns(&of, call, Reply::R2(reply));
        self
    }

    /// A part is uploaded.
    pub fn part(&mut self, upload: &str, part_number: i64, bytes: &str) -> &mut Story {
        let (bucket, key) = ("media".into(), "artifacts/a".into());
        let body = bytes.into();
        let op = r2::Op::UploadPart { bucket, key, upload_id: upload.into(), part_number, body };
        let reply = r2::Reply::UploadedPart(uploaded(part_number));
        self.0.effect_of(Op::R2(op), Ok(Reply::R2(reply)));
        self
    }

    /// An upload becomes an object.
    pub fn completed(&mut self, artifact: &str, upload: &str, parts: &[i64]) -> &mut Story {
        let key = format!("artifacts/{artifact}");
        let made = stored(&r2::Op::put("media", key.as_str(), ""));
        let op = r2::Op::CompleteMultipartUpload {
            bucket: "media".into(),
            key: key.into(),
            upload_id: upload.into(),
            parts: parts.iter().map(|number| uploaded(*number)).collect(),
        };
        self.0.effect_of(Op::R2(op), Ok(Reply::R2(r2::Reply::Stored(Arc::new(made)))));
        self
    }

    /// An upload is given up.
    pub fn aborted(&mut self, upload: &str) -> &mut Story {
        let (bucket, key) = ("media".into(), "artifacts/a".into());
        let op = r2::Op::AbortMultipartUpload { bucket, key, upload_id: upload.into() };
        self.0.effect_of(Op::R2(op), Ok(Reply::R2(r2::Reply::Aborted)));
        self
    }

    /// The bucket has something.
    pub fn put(&mut self, artifact: &str, bytes: &str) -> &mut Story {
        self.0.stored("media", &format!("artifacts/{artifact}"), bytes, "v");
        self
    }

    /// An object is about to write something.
    pub fn putting(&mut self, generation: &str, artifact: &str) -> &mut Story {
        let op = Op::R2(r2::Op::put("media", format!("artifacts/{artifact}"), "x"));
        let call = self.number();
        self.0.calls(&object(generation), call, op);
        self
    }

    pub fn deleted(&mut self, artifact: &str) -> &mut Story {
        let op = Op::R2(r2::Op::delete("media", format!("artifacts/{artifact}")));
        self.0.effect_of(op, Ok(Reply::R2(r2::Reply::Deleted)));
        self
    }

    /// Rows of the library change, as one.
    pub fn library(&mut self, changes: &[RowChange]) -> &mut Story {
        self.push_as("d1", EventKind::Rows { changes: changes.into() })
    }

    /// An artifact of `g` is made as it should be: job, bytes, object, row. Seven entries.
    pub fn made(&mut self, artifact: &str) -> &mut Story {
        let task = format!("{artifact}-1");
        self.accepted(&task, artifact, "g").charged(&task, artifact).served(&task, 200, artifact);
        self.putting("g", artifact).put(artifact, artifact).library(&[row_artifact(artifact, "g")])
    }

    /// The row of a generation is written.
    pub fn written(&mut self, id: &str, status: &str, count: i64) -> &mut Story {
        self.library(&[row_generation(id, status, count)])
    }
}

/// The ETag that R2 gives these bytes.
pub fn etag_of(bytes: &str) -> String {
    stored(&r2::Op::put("media", "artifacts/a", bytes)).etag.to_string()
}

fn uploaded(part_number: i64) -> r2::UploadedPart {
    r2::UploadedPart { part_number, etag: "e".into() }
}

fn object(generation: &str) -> String {
    format!("GENERATION:{generation}")
}

fn text(name: &str, value: &str) -> (Arc<str>, Value) {
    (name.into(), Value::from(value))
}

fn inserted(table: &str, id: &str, row: Row) -> RowChange {
    RowChange { table: table.into(), key: vec![id.into()], before: None, after: Some(row) }
}

/// A generation comes into the library.
pub fn row_generation(id: &str, status: &str, count: i64) -> RowChange {
    let count = ("output_count".into(), Value::Integer(count));
    let row = vec![text("id", id), text("client", "ann"), text("status", status), count];
    inserted("generations", id, row)
}

/// An artifact comes into the library.
pub fn row_artifact(id: &str, generation: &str) -> RowChange {
    let row = vec![text("id", id), text("client", "ann"), text("generation_id", generation)];
    inserted("artifacts", id, row)
}

/// A tag comes into the library.
pub fn row_tag(tag: &str, generation: &str) -> RowChange {
    inserted("tags", tag, vec![text("tag", tag), text("target_id", generation)])
}

/// The deletion of a row that was inserted.
pub fn gone(change: RowChange) -> RowChange {
    RowChange { before: change.after, after: None, ..change }
}
