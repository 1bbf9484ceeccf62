//! The pipeline: an upload lands in R2, its notification reaches an object through a queue, and the
//! object has a workflow of three steps classify it.

use std::cell::RefCell;
use std::time::Duration;

use thunderhead_sim::ai::RESNET_50;
use thunderhead_sim::queue::{ConsumerConfig, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType, Notification, Rule};
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::workflow::{CreateOptions, WorkflowConfig, WorkflowEvent};
use thunderhead_sim::{
    Body, ClientRequest, Cloud, DurableObject, Env, Error, MessageBatch, ObjectState, Request,
    Response, Step, Time,
};

/// How many uploads one run has.
pub const UPLOADS: u64 = 10;

/// The table of the object.
pub const CREATE: &str = "create table if not exists upload(key text primary key, event text not null, \
    time text not null, status text not null, label text)";
const UPSERT: &str = "insert into upload values (?, ?, ?, 'pending', null) on conflict(key) do \
    update set event = excluded.event, time = excluded.time, status = 'pending', label = null \
    where (excluded.time, excluded.event) > (upload.time, upload.event)";
const STATUS: &str = "select status from upload where key = ? and event = ?";
const STARTED: &str =
    "update upload set status = 'started' where key = ? and event = ? and status = 'pending'";
const CLASSIFIED: &str = "update upload set status = 'classified', label = ? where key = ? and \
    event = ? and status <> 'classified'";

/// What SQLite is given to do.
pub enum Executed {
    /// A statement and its parameters.
    Statement(&'static str, Vec<Value>),
    /// The turn is over: what it wrote is kept.
    Turn,
}

thread_local! {
    /// What the objects of a run execute, while somebody listens.
    static EXECUTED: RefCell<Option<Vec<Executed>>> = const { RefCell::new(None) };
}

/// The statements that `work` executes, turn by turn.
pub fn executed(work: impl FnOnce()) -> Vec<Executed> {
    EXECUTED.set(Some(Vec::new()));
    work();
    EXECUTED.take().unwrap_or_default()
}

fn note(executed: impl FnOnce() -> Executed) {
    EXECUTED.with_borrow_mut(|all| {
        if let Some(all) = all {
            all.push(executed());
        }
    });
}

/// Ten photos, some of them close enough together to share a batch.
pub fn uploads() -> Vec<ClientRequest> {
    let photo = |n: u64| {
        ClientRequest::new(
            Time::from_ms(n * 300),
            "PUT",
            &format!("/photo-{n}"),
            format!("take {n}"),
        )
        .retried(2)
    };
    (0..UPLOADS).map(photo).collect()
}

/// Puts the pipeline into a cloud.
pub fn mount(cloud: &mut Cloud) {
    cloud.queue("uploads", QueueConfig::default());
    let rules = vec![Rule::new("uploads", [EventType::ObjectCreate])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    cloud.durable_object::<Gallery>("GALLERY");
    cloud.workflow("classify", WorkflowConfig::default(), classify);
    cloud.worker("web").fetch(store);
    // Retries outlast the storm, so nothing ends in a dead-letter queue.
    let consumer = ConsumerConfig {
        max_batch_timeout: Duration::from_secs(1),
        max_retries: 100,
        retry_delay: Duration::from_secs(2),
        ..ConsumerConfig::default()
    };
    cloud.worker("consumer").queue(&[("uploads", consumer)], consume);
}

async fn store(env: Env, request: Request) -> Result<Response, Error> {
    let key = request.path.trim_start_matches('/');
    env.bucket("photos").put(key, request.body.clone()).execute().await?;
    Ok(Response::new(201, ""))
}

async fn consume(env: Env, batch: MessageBatch) -> Result<(), Error> {
    for message in batch.messages() {
        let Ok(event) = Notification::parse(&message.body().data) else {
            message.ack();
            continue;
        };
        let (key, time) = (&event.object.key, event.event_time.to_string());
        let etag = event.object.e_tag.as_deref().unwrap_or("none");
        let args = format!("{key} {key}-{etag}-{} {time}", event.event_time.unix_ms());
        let gallery = env.durable_object("GALLERY").get_by_name("all");
        match gallery.rpc("uploaded", args).await {
            Ok(_) => message.ack(),
            Err(_) => message.retry(),
        }
    }
    Ok(())
}

/// The object that knows where every photo stands.
struct Gallery {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Gallery {
    fn new(ctx: ObjectState, env: Env) -> Gallery {
        let gallery = Gallery { ctx, env };
        gallery.sql(CREATE, vec![]).expect("the table can be created");
        gallery
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let args: Vec<&str> = args.text().unwrap_or("").split(' ').collect();
        let answer = match (method, &args[..]) {
            ("uploaded", &[key, event, time]) => self.uploaded(key, event, time).await,
            ("classified", &[key, event, label]) => {
                self.sql(CLASSIFIED, vec![label.into(), key.into(), event.into()])?;
                Ok(Body::empty())
            }
            _ => Err(Error::app(format!("there is no {method} of {args:?}"))),
        };
        note(|| Executed::Turn);
        answer
    }
}

impl Gallery {
    async fn uploaded(&self, key: &str, event: &str, time: &str) -> Result<Body, Error> {
        self.sql(UPSERT, vec![key.into(), event.into(), time.into()])?;
        let status = self.sql(STATUS, vec![key.into(), event.into()])?;
        // Another status means that this was done before; none, that there is a newer upload.
        if status.as_deref() != Some("pending") {
            return Ok(Body::empty());
        }
        let workflow = self.env.workflow("classify");
        let params = format!("\"{key} {event}\"");
        note(|| Executed::Turn);
        match workflow.create(CreateOptions::new(event, params)).await {
            Ok(_) => {}
            // Somebody else has created it; but only an instance that can be found counts.
            Err(Error::Workflow(error)) if error.is_already_exists() => {
                workflow.get(event).await?;
            }
            Err(error) => return Err(error),
        }
        self.sql(STARTED, vec![key.into(), event.into()])?;
        Ok(Body::empty())
    }

    /// Executes a statement; the text in its first row, if there is one.
    fn sql(&self, sql: &'static str, bindings: Vec<Value>) -> Result<Option<String>, Error> {
        let mut rows = self.ctx.storage().exec(sql, &bindings)?;
        note(|| Executed::Statement(sql, bindings));
        let first = rows.raw().next();
        Ok(first.and_then(|row| row.first().and_then(|value| value.as_str().map(String::from))))
    }
}

async fn classify(env: Env, event: WorkflowEvent, step: Step) -> Result<Body, Error> {
    let upload = event.payload.text().unwrap_or("").trim_matches('"').to_string();
    let Some((key, _)) = upload.split_once(' ') else {
        return Err(Error::NonRetryable("the parameters name no upload".into()));
    };
    let photo = step
        .do_("load", || {
            let (env, key) = (env.clone(), key.to_string());
            async move {
                let found = env.bucket("photos").get(&key).execute().await?;
                let text = found.and_then(|found| found.body?.text().map(String::from));
                Ok(Body::from(format!("\"{}\"", text.unwrap_or_default())))
            }
        })
        .await?;
    let label = step
        .do_("classify", || {
            let (env, photo) = (env.clone(), photo.clone());
            async move {
                let labels = env.ai_run(RESNET_50, photo).await?;
                let label = labels.first().map_or("unknown", |label| &*label.label);
                Ok(Body::from(format!("\"{}\"", label.replace(' ', "_"))))
            }
        })
        .await?;
    step.do_("persist", || {
        let label = label.text().unwrap_or("").trim_matches('"').to_string();
        let (env, args) = (env.clone(), format!("{upload} {label}"));
        async move {
            let gallery = env.durable_object("GALLERY").get_by_name("all");
            gallery.rpc("classified", args).await?;
            Ok(Body::from("true"))
        }
    })
    .await
}
