//! Calls to durable objects, and what an object does with every other event kept out.

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_sim::{Error, ObjectState};

use super::{Asked, done, encoded};
use crate::failure::type_error;
use crate::host::Host;
use crate::invocation::{Call, Invocation, Unawaited};
use crate::pump::Work;

/// A call of a stub, by its number.
pub fn rpc(host: &Host, stub: u32, method: String, args: String) -> Result<Work, Value> {
    let stub = host.stubs.get(stub).ok_or_else(|| type_error("there is no such stub"))?;
    Ok(Box::pin(async move { encoded(stub.rpc(&method, args).await) }))
}

/// A function of the program, by its number, that an object waits for.
#[derive(Deserialize)]
struct Inside {
    object: u32,
    callback: u32,
}

/// The object, and the function as work of the simulator.
fn inside(
    asked: &Asked,
) -> Result<(ObjectState, impl Future<Output = Result<(), Error>> + 'static + use<>), Value> {
    let Inside { object, callback } = asked.parse()?;
    let object =
        asked.host.objects.get(object).ok_or_else(|| type_error("there is no such object"))?;
    let call = Call::new("callback", &json!({ "callback": callback }));
    let (env, home) = (asked.pump.env.clone(), &asked.pump.home);
    let invocation = Invocation::new(asked.isolate()?, env, home, call, Unawaited::GoOn);
    let work =
        async move { invocation.await.map(drop).map_err(|thrown| Error::app(thrown.text())) };
    Ok((object, work))
}

/// The gate closes now, and not when the answer is waited for.
pub fn block(asked: &Asked) -> Result<Work, Value> {
    let (object, work) = inside(asked)?;
    let handle = object.block_concurrency_while(work);
    Ok(Box::pin(async move { done(handle.await) }))
}

pub fn transaction(asked: &Asked) -> Result<Work, Value> {
    let (object, work) = inside(asked)?;
    Ok(Box::pin(async move { done(object.transaction(work).await) }))
}
