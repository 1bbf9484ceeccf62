//! R2, queues, D1, KV and workflows: the prelude writes the simulator's own operation as JSON.

use serde::Serialize;
use serde_json::{Value, json};
use thunderhead_sim::{Body, Error, Op, Outcome, Reply, kv, r2};

use super::Asked;
use crate::failure::{to_json, type_error, without_place};
use crate::pump::{Answer, Told, Work};

pub fn ask(asked: Asked) -> Result<Work, Value> {
    let mut op = operation(asked.json)?;
    // The bytes of a body travel beside the JSON.
    if let Op::R2(r2::Op::Put { body, .. } | r2::Op::UploadPart { body, .. })
    | Op::Kv(kv::Op::Put { value: body, .. }) = &mut op
    {
        *body = asked.bytes.unwrap_or(Body::empty());
    }
    let reply = asked.pump.env.ask(op);
    Ok(Box::pin(async move { answer(reply.await) }))
}

/// The operation. Most have no headers in them and are read at once; what is wrong with one is told without its place.
fn operation(json: &str) -> Result<Op, Value> {
    if !json.contains(r#""headers""#)
        && let Ok(op) = serde_json::from_str(json)
    {
        return Ok(op);
    }
    let mut op: Value = serde_json::from_str(json).map_err(type_error)?;
    headers(&mut op)?;
    // As text again: to read it from values too would be the same code once more, for another reader.
    serde_json::from_str(&op.to_string()).map_err(|error| type_error(without_place(&error)))
}

/// What a bucket answers to `get` beside the bytes.
#[derive(Serialize)]
struct R2<'a> {
    r2: Stored<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stored<'a> {
    object_body: ObjectBody<'a>,
}

#[derive(Serialize)]
struct ObjectBody<'a> {
    object: &'a r2::Object,
    range: r2::ByteRange,
}

fn written(told: &impl Serialize) -> String {
    serde_json::to_string(told).expect("metadata has only names as keys")
}

fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Ok(Reply::R2(r2::Reply::ObjectBody { object, range, body })) => {
            let object = ObjectBody { object: &object, range };
            Ok((Told::Json(written(&R2 { r2: Stored { object_body: object } })), Some(body)))
        }
        // The prelude reads the metadata of an object by the names of its fields. Where it passes an answer on as it
        // is, the fields are in the order of their names.
        Ok(reply @ Reply::R2(r2::Reply::Object(_) | r2::Reply::Stored(_))) => {
            Ok((Told::Json(written(&reply)), None))
        }
        Ok(Reply::Kv(kv::Reply::Value(Some(entry)))) => {
            let told = json!({ "metadata": entry.metadata, "expiration": entry.expiration });
            Ok((Told::Json(json!({ "kv": { "value": told } }).to_string()), Some(entry.value)))
        }
        Ok(reply) => Ok((Told::Json(json!(reply).to_string()), None)),
        Err(error) => Err(to_json(&error)),
    }
}

/// Headers may stand in place of a condition or of metadata. They are read where the simulator reads them.
fn headers(op: &mut Value) -> Result<(), Value> {
    let Some(options) = op.get_mut("r2").and_then(|r2| r2.get_mut("options")) else {
        return Ok(());
    };
    let refused = |error: r2::ArgumentError| to_json(&Error::R2(error.into()));
    if let Some(pairs) = pairs(options, "onlyIf") {
        options["onlyIf"] =
            json!(r2::Conditional::from_headers(&borrowed(&pairs)).map_err(refused)?);
    }
    if let Some(pairs) = pairs(options, "httpMetadata") {
        options["httpMetadata"] =
            json!(r2::HttpMetadata::from_headers(&borrowed(&pairs)).map_err(refused)?);
    }
    Ok(())
}

fn pairs(options: &Value, key: &str) -> Option<Vec<(String, String)>> {
    serde_json::from_value(options.get(key)?.get("headers")?.clone()).ok()
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (&**name, &**value)).collect()
}
