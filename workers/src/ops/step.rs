//! The steps of a workflow.

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_sim::workflow::{Millis, StepConfig, StepError};
use thunderhead_sim::{Body, Error, Step, StepContext};

use super::{Asked, done, encoded, time};
use crate::failure::{to_json, type_error};
use crate::invocation::{Call, Invocation, Unawaited};
use crate::pump::{Told, Work};

#[derive(Deserialize)]
struct Do {
    step: u32,
    name: String,
    config: Value,
    callback: u32,
}

fn steps(asked: &Asked, number: u32) -> Result<Step, Value> {
    asked.host.steps.get(number).ok_or_else(|| type_error("there is no such workflow"))
}

pub fn run(asked: &Asked) -> Result<Work, Value> {
    let Do { step, name, config, callback } = asked.parse()?;
    let config: StepConfig = serde_json::from_value(config)
        .map_err(|_| to_json(&Error::Step(StepError::invalid_config(&name))))?;
    let (steps, isolate) = (steps(asked, step)?, asked.isolate()?);
    let (env, home) = (asked.pump.env.clone(), asked.pump.home.clone());
    Ok(Box::pin(async move {
        let work = |context: StepContext| {
            let json = json!({ "callback": callback, "attempt": context.attempt });
            let call = Call::new("step", &json);
            let (isolate, env) = (isolate.clone(), env.clone());
            let invocation = Invocation::new(isolate, env, &home, call, Unawaited::GoOn);
            async move {
                let returned = invocation.await.map_err(|thrown| thrown.of_step())?;
                Ok(Body::from(returned.json))
            }
        };
        encoded(steps.do_attempts(&name, config, work).await)
    }))
}

#[derive(Deserialize)]
struct Sleep {
    step: u32,
    name: String,
    duration: Millis,
}

pub fn sleep(asked: &Asked) -> Result<Work, Value> {
    let Sleep { step, name, duration } = asked.parse()?;
    let steps = steps(asked, step)?;
    Ok(Box::pin(async move { done(steps.sleep(&name, duration.0).await) }))
}

#[derive(Deserialize)]
struct SleepUntil {
    step: u32,
    name: String,
    until: f64,
}

pub fn sleep_until(asked: &Asked) -> Result<Work, Value> {
    let SleepUntil { step, name, until } = asked.parse()?;
    let steps = steps(asked, step)?;
    Ok(Box::pin(async move { done(steps.sleep_until(&name, time(until)).await) }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WaitForEvent {
    step: u32,
    name: String,
    event_type: String,
    timeout: Option<Millis>,
}

pub fn wait_for_event(asked: &Asked) -> Result<Work, Value> {
    let WaitForEvent { step, name, event_type, timeout } = asked.parse()?;
    let steps = steps(asked, step)?;
    Ok(Box::pin(async move {
        let timeout = timeout.map(|timeout| timeout.0);
        let event = steps.wait_for_event(&name, &event_type, timeout).await;
        let event = event.map_err(|error| to_json(&error))?;
        let (payload, at) = (event.payload.text(), event.timestamp.unix_ms());
        Ok((
            Told::Json(
                json!({ "payload": payload, "timestamp": at, "type": event.event_type })
                    .to_string(),
            ),
            None,
        ))
    }))
}
