//! The compare workflow: nine steps, each of which may be done again at any point.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use thunderhead_sim::workflow::{Backoff, StepConfig, WorkflowEvent};
use thunderhead_sim::{Body, Env, Error, Step, Stub};

use super::diff::EnvDiff;
use super::envelope::SignalEnvelope;
use super::envpair::HISTORY;
use super::explainer::explain;
use super::mistakes;
use super::names::ENVPAIR_DO;
use super::probe::probe;
use super::wire::{Comparison, ComparisonStatus, FailComparison, SaveProbe, SaveResult, Side};
use crate::systems::json;

/// What must reach the object is tried for three days: 10 s after the first failure, then 20 s, 30 s…
fn patient() -> StepConfig {
    StepConfig::retries(240, Duration::from_secs(10), Backoff::Linear)
}

/// A site that says nothing for ten minutes is a finding. With the platform's own five retries, six requests that are
/// lost on their way would be one too, although the site is well.
fn probing() -> StepConfig {
    StepConfig::retries(10, Duration::from_secs(10), Backoff::Linear)
}

/// The body of an instance. The instance is created before any row, so every row has a workflow that
/// finishes it.
pub async fn compare(env: Env, event: WorkflowEvent, step: Step) -> Result<Body, Error> {
    let comparison: Comparison = json::read_once(&event.payload)?;
    let one_stub = mistakes::KEEPS_ONE_STUB.is_made(&env);
    let kept = one_stub.then(|| env.durable_object(ENVPAIR_DO).get_by_name(&comparison.pair_key));
    let run = Compare { env, step, comparison, kept };
    match run.to_the_end().await {
        Ok(status) => Ok(json::write(&status)),
        // A step has failed for good. Anything else is the end of this life of the engine, and the
        // next one goes on.
        Err(Error::Step(error)) => {
            run.fail(error.to_string()).await.map(|status| json::write(&status))
        }
        Err(error) => Err(error),
    }
}

struct Compare {
    env: Env,
    step: Step,
    comparison: Comparison,
    /// The stub of every call, where that mistake is made.
    kept: Option<Stub>,
}

impl Compare {
    async fn to_the_end(&self) -> Result<ComparisonStatus, Error> {
        let id = || self.comparison.comparison_id.clone();
        let status = self.save("createComparison", "createComparison", &self.comparison).await?;
        if status != ComparisonStatus::Running {
            return Ok(status);
        }
        let left = self.probe("probeLeft", &self.comparison.left_url).await?;
        let probe = SaveProbe { comparison_id: id(), side: Side::Left, envelope: left };
        let status = self.save("saveLeftProbe", "saveProbe", &probe).await?;
        if status != ComparisonStatus::Running {
            return Ok(status);
        }
        let left = probe.envelope;
        let right = self.probe("probeRight", &self.comparison.right_url).await?;
        let probe = SaveProbe { comparison_id: id(), side: Side::Right, envelope: right };
        let status = match mistakes::SAVES_ONE_SIDE.is_made(&self.env) {
            true => status,
            false => self.save("saveRightProbe", "saveProbe", &probe).await?,
        };
        if status != ComparisonStatus::Running {
            return Ok(status);
        }
        let (left, right) = match probe.envelope {
            right if mistakes::COMPARES_WITH_ITSELF.is_made(&self.env) => (right.clone(), right),
            right if mistakes::SWAPS_SIDES.is_made(&self.env) => (right, left),
            right => (left, right),
        };
        let diff = self.step.do_("computeDiff", || {
            let diff = json::write(&EnvDiff::between(&left, &right));
            async move { Ok(diff) }
        });
        let diff: EnvDiff = json::read_once(&diff.await?)?;
        let history = self.call("loadHistory", "getComparisonsForHistory", &HISTORY);
        let history: serde_json::Value = history.await?;
        let explanation = self.step.do_("callLLM", || {
            let (env, id, diff, history) = (self.env.clone(), id(), diff.clone(), history.clone());
            async move { explain(&env, &id, &diff, &history).await.map(|text| json::write(&text)) }
        });
        let explanation: String = json::read_once(&explanation.await?)?;
        let result = json!({ "diff": diff, "explanation": explanation });
        let comparison_id = match mistakes::RESULT_ASTRAY.is_made(&self.env) {
            true => self.comparison.pair_key.clone(),
            false => id(),
        };
        let save = SaveResult { comparison_id, result };
        self.save("saveResult", "saveResult", &save).await
    }

    async fn fail(&self, error: String) -> Result<ComparisonStatus, Error> {
        let comparison_id = self.comparison.comparison_id.clone();
        self.save("failComparison", "failComparison", &FailComparison { comparison_id, error })
            .await
    }

    async fn probe(&self, name: &str, url: &str) -> Result<SignalEnvelope, Error> {
        if mistakes::PROBES_OUTSIDE_A_STEP.is_made(&self.env) {
            return probe(&self.env, url).await;
        }
        let seen = self.step.do_with(name, probing(), || {
            let (env, url) = (self.env.clone(), url.to_string());
            async move { probe(&env, &url).await.map(|envelope| json::write(&envelope)) }
        });
        json::read_once(&seen.await?)
    }

    /// Tells the object something; where the comparison stands after that.
    async fn save(
        &self,
        name: &str,
        method: &'static str,
        args: &impl Serialize,
    ) -> Result<ComparisonStatus, Error> {
        self.call(name, method, args).await
    }

    /// Calls the object in a step, through a new stub each time: a stub that has seen the object die
    /// is broken for good.
    async fn call<T: DeserializeOwned>(
        &self,
        name: &str,
        method: &'static str,
        args: &impl Serialize,
    ) -> Result<T, Error> {
        let args = json::write(args);
        let answer = self.step.do_with(name, patient(), || {
            let pair = &self.comparison.pair_key;
            let new = || self.env.durable_object(ENVPAIR_DO).get_by_name(pair);
            let stub = self.kept.clone().unwrap_or_else(new);
            let args = args.clone();
            async move { stub.rpc(method, args).await }
        });
        json::read_once(&answer.await?)
    }
}
