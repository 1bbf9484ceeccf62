//! The storage of a durable object: synchronous, as it is under SQLite.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use rquickjs::{
    Array, ArrayBuffer, Coerced, Ctx, Exception, FromJs, Function, IntoJs, Object, Result, Value,
};
use thunderhead_sim::storage::ListOptions;
use thunderhead_sim::{Body, Error, ObjectState, sqlite};

use super::convert::{body, text, throw};
use crate::failure::to_json;
use crate::host::Host;
use crate::ops;

pub fn install<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    sql(ctx, host, natives)?;
    keys(ctx, host, natives)?;
    alarm(ctx, host, natives)?;
    rest(ctx, host, natives)
}

fn of(ctx: &Ctx<'_>, host: &Host, number: u32) -> Result<ObjectState> {
    host.objects.get(number).ok_or_else(|| Exception::throw_type(ctx, "there is no such object"))
}

fn refused(ctx: &Ctx<'_>, error: &Error) -> rquickjs::Error {
    throw(ctx, &to_json(error))
}

fn sql<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let exec = move |ctx: Ctx<'js>,
                     object: u32,
                     query: String,
                     bindings: Array<'js>|
          -> Result<Object<'js>> {
        let bindings = bindings
            .iter::<Value>()
            .map(|bound| to_sql(&ctx, bound?))
            .collect::<Result<Vec<_>>>()?;
        let ran = of(&ctx, &this, object)?.storage().exec(&query, &bindings);
        let mut cursor = ran.map_err(|error| refused(&ctx, &error))?;
        let answer = Object::new(ctx.clone())?;
        let names: Vec<String> =
            cursor.column_names().iter().map(|name| name.to_string()).collect();
        answer.set("columns", names)?;
        let rows = Array::new(ctx.clone())?;
        for (at, row) in cursor.raw().enumerate() {
            let cells = Array::new(ctx.clone())?;
            for (at, cell) in row.iter().enumerate() {
                cells.set(at, from_sql(&ctx, cell)?)?;
            }
            rows.set(at, cells)?;
        }
        answer.set("rows", rows)?;
        answer.set("rowsRead", cursor.rows_read() as f64)?;
        answer.set("rowsWritten", cursor.rows_written() as f64)?;
        Ok(answer)
    };
    natives.set("sql", Function::new(ctx.clone(), exec)?)
}

fn to_sql<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<sqlite::Value> {
    if value.is_null() || value.is_undefined() {
        return Ok(sqlite::Value::Null);
    }
    if let Some(number) = value.as_number() {
        return Ok(sqlite::Value::Real(number.into()));
    }
    if let Some(buffer) = ArrayBuffer::from_value(value.clone()) {
        return Ok(sqlite::Value::Blob(body(&buffer)));
    }
    if value.is_big_int() {
        return Err(Exception::throw_type(ctx, "Cannot convert a BigInt value to a number"));
    }
    if value.is_symbol() {
        return Err(Exception::throw_type(ctx, "Cannot convert a Symbol value to a string"));
    }
    let Coerced(text) = Coerced::<String>::from_js(ctx, value)?;
    Ok(sqlite::Value::Text(text.into()))
}

fn from_sql<'js>(ctx: &Ctx<'js>, value: &sqlite::Value) -> Result<Value<'js>> {
    match value {
        sqlite::Value::Null => Ok(Value::new_null(ctx.clone())),
        sqlite::Value::Integer(number) => (*number as f64).into_js(ctx),
        sqlite::Value::Real(number) => number.get().into_js(ctx),
        sqlite::Value::Text(text) => (**text).into_js(ctx),
        sqlite::Value::Blob(body) => {
            Ok(ArrayBuffer::new_copy(ctx.clone(), body.bytes())?.into_value())
        }
    }
}

fn keys<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let get = move |ctx: Ctx<'js>, object: u32, key: String| -> Result<Option<String>> {
        let found = of(&ctx, &this, object)?.storage().get(&key);
        let found = found.map_err(|error| refused(&ctx, &error))?;
        Ok(found.map(|body| body.text().unwrap_or_default().to_string()))
    };
    natives.set("get", Function::new(ctx.clone(), get)?)?;
    let this = host.clone();
    let put = move |ctx: Ctx<'js>, object: u32, key: String, value: String| -> Result<()> {
        let stored = of(&ctx, &this, object)?.storage().put(&key, Body::from(value));
        stored.map_err(|error| refused(&ctx, &error))
    };
    natives.set("put", Function::new(ctx.clone(), put)?)?;
    let this = host.clone();
    let delete = move |ctx: Ctx<'js>, object: u32, key: String| -> Result<bool> {
        let deleted = of(&ctx, &this, object)?.storage().delete(&key);
        deleted.map_err(|error| refused(&ctx, &error))
    };
    natives.set("delete", Function::new(ctx.clone(), delete)?)?;
    let this = host.clone();
    let list = move |ctx: Ctx<'js>, object: u32, asked: Object<'js>| -> Result<Vec<Vec<String>>> {
        let key = |name: &str| text(&ctx, asked.get(name)?).map(|key| key.map(Arc::from));
        let options = ListOptions {
            start: key("start")?,
            start_after: key("startAfter")?,
            end: key("end")?,
            prefix: key("prefix")?,
            reverse: asked.get::<_, Option<bool>>("reverse")?.unwrap_or(false),
            limit: asked.get::<_, Value>("limit")?.as_number().map(|limit| limit as usize),
        };
        let listed = of(&ctx, &this, object)?.storage().list(&options);
        let listed = listed.map_err(|error| refused(&ctx, &error))?.into_iter();
        Ok(listed
            .map(|(key, body)| vec![key.to_string(), body.text().unwrap_or_default().into()])
            .collect())
    };
    natives.set("list", Function::new(ctx.clone(), list)?)?;
    let this = host.clone();
    let delete_all = move |ctx: Ctx<'js>, object: u32| -> Result<()> {
        of(&ctx, &this, object)?.storage().delete_all();
        Ok(())
    };
    natives.set("deleteAll", Function::new(ctx.clone(), delete_all)?)
}

fn alarm<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let get = move |ctx: Ctx<'js>, object: u32| -> Result<Option<f64>> {
        Ok(of(&ctx, &this, object)?.storage().get_alarm().map(|at| at.unix_ms() as f64))
    };
    natives.set("getAlarm", Function::new(ctx.clone(), get)?)?;
    let this = host.clone();
    let set = move |ctx: Ctx<'js>, object: u32, at: f64| -> Result<()> {
        let set = of(&ctx, &this, object)?.storage().set_alarm(ops::time(at));
        set.map_err(|error| refused(&ctx, &error))
    };
    natives.set("setAlarm", Function::new(ctx.clone(), set)?)?;
    let this = host.clone();
    let delete = move |ctx: Ctx<'js>, object: u32| -> Result<()> {
        of(&ctx, &this, object)?.storage().delete_alarm();
        Ok(())
    };
    natives.set("deleteAlarm", Function::new(ctx.clone(), delete)?)
}

fn rest<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let transaction =
        move |ctx: Ctx<'js>, object: u32, work: Function<'js>| -> Result<Value<'js>> {
            let mut thrown = None;
            let kept = of(&ctx, &this, object)?.storage().transaction_sync(|| {
                work.call::<_, Value>(()).map_err(|error| {
                    thrown = Some(error);
                    Error::app("undone")
                })
            });
            kept.map_err(|error| thrown.unwrap_or_else(|| refused(&ctx, &error)))
        };
    natives.set("transactionSync", Function::new(ctx.clone(), transaction)?)?;
    let this = host.clone();
    let abort = move |ctx: Ctx<'js>, object: u32, reason: Value<'js>| -> Result<()> {
        let (object, reason) = (of(&ctx, &this, object)?, text(&ctx, Some(reason))?);
        // The future of `abort` never ends; polled once, it has said all that it has to say.
        let never = std::pin::pin!(async { object.abort(reason.as_deref()).await });
        let _ = never.poll(&mut Context::from_waker(Waker::noop()));
        Ok(())
    };
    natives.set("abort", Function::new(ctx.clone(), abort)?)
}
