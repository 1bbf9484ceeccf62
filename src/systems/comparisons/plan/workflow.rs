//! The plan's workflow: eight steps, and a ninth that is none.

use serde_json::{Value as Json, json};
use thunderhead_sim::workflow::WorkflowEvent;
use thunderhead_sim::{Body, Env, Error, Step, Stub};

use crate::systems::comparisons::connector::get_anywhere;
use crate::systems::comparisons::diff::EnvDiff;
use crate::systems::comparisons::envelope::{
    BodyFacts, Redirect, Routing, SignalEnvelope, Timing, kept_headers,
};
use crate::systems::comparisons::explainer::explain;
use crate::systems::comparisons::names::ENVPAIR_DO;
use crate::systems::comparisons::probe::is_redirect;
use crate::systems::comparisons::ring::ms;
use crate::systems::comparisons::target::{Refused, Target};
use crate::systems::comparisons::wire::{Comparison, FailComparison, SaveProbe, SaveResult, Side};
use crate::systems::json;

pub async fn compare(env: Env, event: WorkflowEvent, step: Step) -> Result<Body, Error> {
    let comparison: Comparison = json::read_once(&event.payload)?;
    let stub = || env.durable_object(ENVPAIR_DO).get_by_name(&comparison.pair_key);
    match steps(&env, &comparison, &step, stub()).await {
        Ok(()) => Ok(Body::from("true")),
        Err(error) => {
            let comparison_id = comparison.comparison_id.clone();
            let fail = FailComparison { comparison_id, error: error.to_string() };
            stub().rpc("failComparison", json::write(&fail)).await?;
            Err(error)
        }
    }
}

async fn steps(env: &Env, comparison: &Comparison, step: &Step, stub: Stub) -> Result<(), Error> {
    let id = || comparison.comparison_id.clone();
    let left: SignalEnvelope = probe_step(env, step, "probeLeft", &comparison.left_url).await?;
    let save = SaveProbe { comparison_id: id(), side: Side::Left, envelope: left };
    call(step, &stub, "saveLeftProbe", "saveProbe", json::write(&save)).await?;
    let left = save.envelope;
    let right: SignalEnvelope = probe_step(env, step, "probeRight", &comparison.right_url).await?;
    let save = SaveProbe { comparison_id: id(), side: Side::Right, envelope: right };
    call(step, &stub, "saveRightProbe", "saveProbe", json::write(&save)).await?;
    let right = save.envelope;
    let diff = step.do_("computeDiff", || {
        let diff = json::write(&EnvDiff::between(&left, &right));
        async move { Ok(diff) }
    });
    let diff: EnvDiff = json::read_once(&diff.await?)?;
    let history =
        call(step, &stub, "loadHistory", "getComparisonsForHistory", json::write(&5)).await?;
    let history: Json = json::read_once(&history)?;
    let explanation = step.do_("callLLM", || {
        let (env, id, diff, history) = (env.clone(), id(), diff.clone(), history.clone());
        async move { explain(&env, &id, &diff, &history).await.map(|text| json::write(&text)) }
    });
    let explanation: String = json::read_once(&explanation.await?)?;
    step.do_("saveResult", || {
        let timestamp = ms(env.now());
        let result = json!({ "diff": diff, "explanation": explanation, "timestamp": timestamp });
        let save = json::write(&SaveResult { comparison_id: id(), result });
        let stub = stub.clone();
        async move { stub.rpc("saveResult", save).await }
    })
    .await?;
    Ok(())
}

async fn call(
    step: &Step,
    stub: &Stub,
    name: &str,
    method: &'static str,
    args: Body,
) -> Result<Body, Error> {
    step.do_(name, || {
        let (stub, args) = (stub.clone(), args.clone());
        async move { stub.rpc(method, args).await }
    })
    .await
}

async fn probe_step(
    env: &Env,
    step: &Step,
    name: &str,
    url: &str,
) -> Result<SignalEnvelope, Error> {
    let seen = step.do_(name, || {
        let (env, url) = (env.clone(), url.to_string());
        async move { probe(&env, &url).await.map(|envelope| json::write(&envelope)) }
    });
    json::read_once(&seen.await?)
}

/// Follows redirects by hand, wherever they lead: only what was asked for is validated.
async fn probe(env: &Env, url: &str) -> Result<SignalEnvelope, Error> {
    let refused = |why: Refused| Error::app(why.to_string());
    let mut at = Target::parse(url).map_err(refused)?;
    let started = env.now();
    let mut redirects = Vec::new();
    loop {
        let answer = get_anywhere(env, &at).await?;
        let location = answer.headers.get("location").filter(|_| is_redirect(answer.status));
        let location = location.filter(|_| redirects.len() < 5);
        let Some(location) = location else {
            let landing = at.path_and_query();
            return Ok(SignalEnvelope {
                status: answer.status,
                headers: kept_headers(&answer.headers),
                redirects,
                routing: Routing { final_url: at.as_str().into(), landing, secure: at.is_secure() },
                timing: Timing { total_ms: (env.now() - started).as_millis() as u64 },
                body: BodyFacts::of(answer.body.bytes()),
            });
        };
        at = at.follow_unchecked(location).map_err(refused)?;
        redirects.push(Redirect { status: answer.status, to: at.path_and_query() });
    }
}
