//! The workflow of one upload: `load-image`, `classify-image`, `persist-result`.
//!
//! It classifies the bytes of its event and no others. When R2 does not hold them any more it asks the
//! agent whether to look again or to end without a result.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use thunderhead_sim::agents::AgentWorkflow;
use thunderhead_sim::ai::RESNET_50;
use thunderhead_sim::r2::Conditional;
use thunderhead_sim::workflow::{Backoff, StepConfig, WorkflowEvent};
use thunderhead_sim::{Body, Env, Error, Step};

use super::messages::Progress;
use super::mistakes;
use super::names::{AGENT, BUCKET};
use super::wire::{NamedProgress, Params};
use crate::systems::json;

/// As patient as an outage of three days needs. What is wrong with a picture itself is never tried again.
fn patient() -> StepConfig {
    StepConfig::retries(240, Duration::from_secs(10), Backoff::Linear)
}

/// The body of an instance.
pub async fn run(env: Env, event: WorkflowEvent, step: Step) -> Result<Body, Error> {
    AgentWorkflow::wrap(env, event, step, |workflow| async move {
        let params = Params::of(&workflow)?;
        Classification { workflow, params: Rc::new(params), image: Rc::default() }.run().await
    })
    .await
}

struct Classification {
    workflow: AgentWorkflow,
    params: Rc<Params>,
    /// The bytes, as long as this life lasts. They may be larger than what a step can remember.
    image: Rc<RefCell<Option<Body>>>,
}

impl Classification {
    async fn run(&self) -> Result<Body, Error> {
        loop {
            match self.classify().await {
                Ok(Json::Null) if self.gone().await? == "\"stop\"" => {
                    return Ok(Body::from("null"));
                }
                Ok(Json::Null) => {}
                Ok(label) => return self.persist("persistClassificationSuccess", label).await,
                Err(error) => {
                    let failure = json!({ "error": error.to_string() });
                    return self.persist("persistClassificationFailure", failure).await;
                }
            }
        }
    }

    /// The likeliest label, or nothing when the bytes are gone.
    async fn classify(&self) -> Result<Json, Error> {
        let step = self.workflow.step();
        if mistakes::CLASSIFIES_IN_ADVANCE.is_made(self.workflow.env()) {
            self.classifying().await;
        }
        let loaded = step.do_with("load-image", patient(), || {
            let (env, params, image) = self.parts();
            async move {
                let found = load(&env, &params).await?;
                let loaded = found.is_some();
                *image.borrow_mut() = found;
                Ok(Body::from(if loaded { "true" } else { "false" }))
            }
        });
        if loaded.await?.text() == Some("false") {
            return Ok(Json::Null);
        }
        if !mistakes::CLASSIFIES_IN_ADVANCE.is_made(self.workflow.env()) {
            self.classifying().await;
        }
        let label = step.do_with("classify-image", patient(), || {
            let (env, params, image) = self.parts();
            async move {
                let remembered = image.borrow().clone();
                let bytes = match remembered {
                    Some(bytes) => Some(bytes),
                    // An earlier life loaded them.
                    None => load(&env, &params).await?,
                };
                let Some(bytes) = bytes else { return Ok(Body::from("null")) };
                let given_up = mistakes::GIVES_UP_ON_THE_MODEL.is_made(&env);
                let labels = env.ai_run(RESNET_50, bytes).await.map_err(|error| match error {
                    Error::Ai(error) if given_up => Error::NonRetryable(error.to_string().into()),
                    other => permanent(other),
                })?;
                if mistakes::UNWRAPS_LABEL.is_made(&env) {
                    labels.first().expect("the model has a label");
                }
                let top = if mistakes::SECOND_LABEL.is_made(&env) {
                    labels.get(1)
                } else {
                    labels.first()
                };
                let Some(top) = top else {
                    return Err(Error::app("the model gave no label"));
                };
                let label = json!({ "label": &*top.label, "score": top.score.millionths() });
                Ok(Body::from(label.to_string()))
            }
        });
        let label = label.await?;
        json::read(&label)
    }

    /// Tells the agent that the model is asked. Nothing depends on it, so that it fails must not stop anything.
    async fn classifying(&self) {
        let name = self.params.name.clone();
        let progress = NamedProgress { name, progress: Progress::classifying() };
        let progress = serde_json::to_value(progress).expect("plain data with text keys is JSON");
        if let Err(error) = self.workflow.report_progress(progress).await {
            self.workflow.env().log(format!("the progress is not known: {error}"));
        }
    }

    /// Asks the agent what to do about bytes that are gone.
    async fn gone(&self) -> Result<String, Error> {
        self.image.take();
        let answer = self.tell("image-gone", "onImageGone", json!({})).await?;
        Ok(answer.text().unwrap_or_default().into())
    }

    async fn persist(&self, method: &'static str, result: Json) -> Result<Body, Error> {
        self.tell("persist-result", method, result.clone()).await?;
        // The result of the instance repeats it, in case the agent could not be reached.
        Ok(Body::from(self.about(result).to_string()))
    }

    /// Calls the agent in a step, by a new stub each time: one that has seen a reset stays broken.
    async fn tell(&self, name: &str, method: &'static str, about: Json) -> Result<Body, Error> {
        let args = self.about(about).to_string();
        let call = || {
            let (env, params, _) = self.parts();
            let args = args.clone();
            let one = mistakes::ONE_STUB.is_made(&env).then(|| self.workflow.agent().clone());
            async move {
                if let Some(agent) = one {
                    return agent.rpc(method, args).await;
                }
                let agent = env.durable_object(AGENT).get_by_name(params.organisation());
                agent.rpc(method, args).await
            }
        };
        self.workflow.step().do_with(name, patient(), call).await
    }

    fn about(&self, mut result: Json) -> Json {
        result["name"] = self.params.name.as_str().into();
        result["eventId"] = self.params.event_id.as_str().into();
        result
    }

    fn parts(&self) -> (Env, Rc<Params>, Rc<RefCell<Option<Body>>>) {
        (self.workflow.env().clone(), self.params.clone(), self.image.clone())
    }
}

/// The bytes of the event, if R2 still holds them.
async fn load(env: &Env, params: &Params) -> Result<Option<Body>, Error> {
    let bucket = env.bucket(BUCKET);
    let mut get = bucket.get(&params.key);
    if !mistakes::READS_WHATEVER_IS_THERE.is_made(env) {
        get = get.only_if(Conditional::etag_matches(params.e_tag.as_str()));
    }
    Ok(get.execute().await?.and_then(|found| found.body))
}

/// What will not be different tomorrow is not tried again.
fn permanent(error: Error) -> Error {
    match error {
        Error::Ai(error) if !error.is_transient() => Error::NonRetryable(error.to_string().into()),
        other => other,
    }
}
