//! How the prelude begins operations, tells how handlers ended, settles messages and names objects.

use std::rc::Rc;

use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, FromJs, Function, Object, Result, Value};
use thunderhead_sim::{Env, Error, MessageBatch, ObjectId};

use super::convert::{bytes, global_scope, text, throw};
use crate::host::{Ended, Host};
use crate::ops;

pub fn install<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    operations(ctx, host, natives)?;
    ends(ctx, host, natives)?;
    messages(ctx, host, natives)?;
    objects(ctx, host, natives)
}

fn operations<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let begin = move |ctx: Ctx<'js>, id: u32, kind: String, json: String, data: Opt<Value<'js>>| {
        let pump = this.running.borrow().clone().ok_or_else(|| global_scope(&ctx))?;
        let work = ops::begin(&this, &pump, &kind, &json, bytes(data.0));
        let listens = [ops::LISTENS, ops::DEADLINE].contains(&&*kind);
        pump.begin(id, listens, work.map_err(|error| throw(&ctx, &error))?);
        Ok::<(), rquickjs::Error>(())
    };
    natives.set("begin", Function::new(ctx.clone(), begin)?)?;
    let this = host.clone();
    let rpc = move |ctx: Ctx<'js>, id: u32, stub: u32, method: String, args: String| {
        let pump = this.running.borrow().clone().ok_or_else(|| global_scope(&ctx))?;
        let work = ops::object::rpc(&this, stub, method, args);
        pump.begin(id, false, work.map_err(|error| throw(&ctx, &error))?);
        Ok::<(), rquickjs::Error>(())
    };
    natives.set("rpc", Function::new(ctx.clone(), rpc)?)?;
    let this = host.clone();
    let cancel = move |id: u32| {
        let pump = this.running.borrow().clone();
        pump.into_iter().for_each(|pump| pump.cancel(id));
    };
    natives.set("cancel", Function::new(ctx.clone(), cancel)?)
}

fn ends<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let returned =
        move |id: u32, json: String, goes_on: bool, open: bool, data: Opt<Value<'js>>| {
            let result = Ok((json, bytes(data.0)));
            this.ended.borrow_mut().insert(id, Ended { result, goes_on, open });
            this.wake(id);
        };
    natives.set("returned", Function::new(ctx.clone(), returned)?)?;
    let this = host.clone();
    let thrown = move |id: u32, json: String| {
        this.ended
            .borrow_mut()
            .insert(id, Ended { result: Err(this.thrown(&json)), goes_on: false, open: false });
        this.wake(id);
    };
    natives.set("thrown", Function::new(ctx.clone(), thrown)?)?;
    let this = host.clone();
    let waited = move |ctx: Ctx<'js>, id: u32, error: Opt<Value<'js>>| -> Result<()> {
        let result = text(&ctx, error.0)?.map_or(Ok(()), |json| Err(this.thrown(&json)));
        this.waited.borrow_mut().insert(id, result);
        this.wake(id);
        Ok(())
    };
    natives.set("waited", Function::new(ctx.clone(), waited)?)
}

fn messages<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let ack = move |id: u32, at: Opt<u32>| {
        let Some(batch) = this.batches.borrow().get(&id).cloned() else { return };
        match at.0 {
            None => batch.ack_all(),
            Some(at) => {
                batch.messages().iter().skip(at as usize).take(1).for_each(|message| message.ack())
            }
        }
    };
    natives.set("ack", Function::new(ctx.clone(), ack)?)?;
    let this = host.clone();
    let again = move |ctx: Ctx<'js>, id: u32, at: Value<'js>, delay: Value<'js>| -> Result<()> {
        let Some(batch) = this.batches.borrow().get(&id).cloned() else { return Ok(()) };
        let delay =
            if delay.is_undefined() { None } else { Some(f64::from_js(&ctx, delay)? as u32) };
        let at = if at.is_undefined() { None } else { Some(u32::from_js(&ctx, at)?) };
        retry(&batch, at, delay);
        Ok(())
    };
    natives.set("retry", Function::new(ctx.clone(), again)?)
}

fn retry(batch: &MessageBatch, at: Option<u32>, delay: Option<u32>) {
    match (at.map(|at| batch.messages().get(at as usize)), delay) {
        (None, None) => batch.retry_all(),
        (None, Some(delay)) => batch.retry_all_with(delay),
        (Some(Some(message)), None) => message.retry(),
        (Some(Some(message)), Some(delay)) => message.retry_with(delay),
        (Some(None), _) => {}
    }
}

fn objects<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let id = move |ctx: Ctx<'js>, namespace: String, kind: String, text: String| {
        let env = this.env().ok_or_else(|| global_scope(&ctx))?;
        let id = object(&env, &namespace, &kind, &text);
        id.map(|id| id.to_string()).map_err(|error| Exception::throw_type(&ctx, &error.to_string()))
    };
    natives.set("objectId", Function::new(ctx.clone(), id)?)?;
    let this = host.clone();
    let stub = move |ctx: Ctx<'js>, namespace: String, kind: String, text: String| {
        let env = this.env().ok_or_else(|| global_scope(&ctx))?;
        let id = object(&env, &namespace, &kind, &text);
        let id = id.map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?;
        Ok::<u32, rquickjs::Error>(this.stubs.add(env.durable_object(&namespace).get(id)))
    };
    natives.set("stub", Function::new(ctx.clone(), stub)?)
}

/// The id that a name, 64 digits or nothing stands for.
fn object(
    env: &Env,
    namespace: &str,
    kind: &str,
    text: &str,
) -> std::result::Result<ObjectId, Error> {
    let namespace = env.durable_object(namespace);
    match kind {
        "name" => Ok(namespace.id_from_name(text)),
        "unique" => Ok(namespace.unique_id()),
        _ => namespace.id_from_string(text),
    }
}
