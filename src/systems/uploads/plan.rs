//! The plans to the letter. Each is refuted; `docs/findings.md` tells how.
//!
//! Where a plan is silent or contradicts itself, one reading is chosen, the one that is kinder to it:
//! the stricter of two policies for duplicate ids, the ETag of the notification as in the plan's
//! contract, `head` only to see that the object is there, and terminal validation failures acknowledged.

mod rows;
mod times;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use thunderhead_sim::agents::{Agent, AgentWorkflow, RunWorkflowOptions};
use thunderhead_sim::ai::RESNET_50;
use thunderhead_sim::queue::ConsumerConfig;
use thunderhead_sim::workflow::WorkflowEvent;
use thunderhead_sim::{Body, Env, Error, Message, MessageBatch, ObjectStorage, Step};

pub use rows::Rows;
pub use times::Times;

use super::names::{AGENT, BUCKET, DEAD_LETTERS, QUEUE, WORKFLOW, parse_key};
use super::organization::is_duplicate;
use super::wire::Params;
use crate::systems::json;

/// Three retries, and a dead-letter queue that is never read.
pub fn queues() -> [(&'static str, ConsumerConfig); 1] {
    let consumer = ConsumerConfig {
        max_batch_timeout: Duration::from_secs(1),
        retry_delay: Duration::from_secs(5),
        dead_letter_queue: Some(DEAD_LETTERS.into()),
        ..ConsumerConfig::default()
    };
    [(QUEUE, consumer)]
}

/// What the consumers read of a notification.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notice {
    action: String,
    object: NoticedObject,
    event_time: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NoticedObject {
    key: String,
    e_tag: Option<String>,
}

/// What a notification calls for.
enum Action {
    Nothing,
    Call { organisation: String, method: &'static str, args: Json },
}

/// The consumer of uploads, and of deletions where the plan has them.
pub async fn consume(env: Env, batch: MessageBatch, deletes: bool) -> Result<(), Error> {
    for message in batch.messages() {
        match handle(&env, message, deletes).await {
            Ok(()) => message.ack(),
            Err(_) => message.retry(),
        }
    }
    Ok(())
}

async fn handle(env: &Env, message: &Message, deletes: bool) -> Result<(), Error> {
    match action(env, message, deletes).await? {
        Action::Nothing => Ok(()),
        Action::Call { organisation, method, args } => {
            let agent = env.durable_object(AGENT).get_by_name(&organisation);
            agent.rpc(method, args.to_string()).await.map(|_| ())
        }
    }
}

async fn action(env: &Env, message: &Message, deletes: bool) -> Result<Action, Error> {
    let Ok(notice) = json::read::<Notice>(&message.body().data) else { return Ok(Action::Nothing) };
    let Some((organisation, name)) = parse_key(&notice.object.key) else {
        return Ok(Action::Nothing);
    };
    let organisation = organisation.to_string();
    let (key, event_time) = (&notice.object.key, &notice.event_time);
    match (&*notice.action, notice.object.e_tag) {
        ("PutObject", Some(e_tag)) => {
            if env.bucket(BUCKET).head(key).await?.is_none() {
                return Ok(Action::Nothing);
            }
            let args = json!({ "name": name, "key": key, "eTag": e_tag, "eventTime": event_time });
            Ok(Action::Call { organisation, method: "ingestUploadEvent", args })
        }
        ("DeleteObject" | "LifecycleDeletion", _) if deletes => {
            let args = json!({ "name": name, "key": key, "eventTime": event_time });
            Ok(Action::Call { organisation, method: "onDelete", args })
        }
        _ => Ok(Action::Nothing),
    }
}

/// What the consumer tells the agent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    name: String,
    key: String,
    #[serde(default)]
    e_tag: String,
    event_time: String,
}

/// Starts the workflow of an event; a duplicate id is success once the instance is seen, and the
/// missing tracking row is repaired.
async fn run_workflow(
    agent: &Agent,
    storage: &ObjectStorage,
    input: &Input,
    event_id: &str,
    id: &str,
) -> Result<(), Error> {
    let params = json!({ "name": input.name, "key": input.key, "eventId": event_id });
    let options = RunWorkflowOptions { id: Some(id.into()), ..Default::default() };
    match agent.run_workflow(WORKFLOW, params, options).await {
        Ok(_) => Ok(()),
        Err(error) if is_duplicate(&error) => {
            agent.get_workflow_status(WORKFLOW, id).await?;
            if agent.get_workflow(id)?.is_none() {
                let insert = "insert into cf_agents_workflows \
                    (id, workflow_id, workflow_name, status) values (?1, ?1, ?2, 'queued')";
                storage.exec(insert, &[id.into(), WORKFLOW.into()])?;
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The workflow: the picture is read by its key, and its bytes are the result of a step.
pub async fn run(env: Env, event: WorkflowEvent, step: Step) -> Result<Body, Error> {
    AgentWorkflow::wrap(env, event, step, |workflow| async move {
        let params = Params::of(&workflow)?;
        let (method, mut result) = match classify(&workflow, &params).await {
            Ok(label) => ("persistClassificationSuccess", label),
            Err(error) => ("persistClassificationFailure", json!({ "error": error.to_string() })),
        };
        result["name"] = params.name.as_str().into();
        result["eventId"] = params.event_id.as_str().into();
        let persist = || {
            let (agent, args) = (workflow.agent().clone(), result.to_string());
            async move { agent.rpc(method, args).await }
        };
        workflow.step().do_("persist-result", persist).await
    })
    .await
}

async fn classify(workflow: &AgentWorkflow, params: &Params) -> Result<Json, Error> {
    let image = workflow.step().do_("load-image", || {
        let (env, key) = (workflow.env().clone(), params.key.clone());
        async move {
            let found = env.bucket(BUCKET).get(&key).execute().await?;
            let bytes = found.and_then(|found| found.body);
            let bytes = bytes.ok_or_else(|| Error::app("the image is not there"))?;
            Ok(Body::from(json!(bytes.bytes()).to_string()))
        }
    });
    let image: Vec<u8> = json::read(&image.await?)?;
    let label = workflow.step().do_("classify-image", || {
        let (env, image) = (workflow.env().clone(), Body::from(image.clone()));
        async move {
            let labels = env.ai_run(RESNET_50, image).await?;
            let top = labels.first().ok_or_else(|| Error::app("there is no label"))?;
            let label = json!({ "label": &*top.label, "score": top.score.millionths() });
            Ok(Body::from(label.to_string()))
        }
    });
    json::read(&label.await?)
}
