//! A durable object whose class is JavaScript. Every life of every object has an isolate of its own.

use std::rc::Rc;

use rquickjs::Function;
use rquickjs::function::Opt;
use serde_json::json;
use thunderhead_sim::{AlarmInfo, Body, DurableObject, Env, Error, Frame, ObjectState};

use crate::config;
use crate::failure::Thrown;
use crate::home::Home;
use crate::invocation::{Background, Call, Invocation, Returned, Unawaited};
use crate::isolate::Isolate;
use crate::ops::socket::told;
use crate::platform::Isolates;
use crate::pump::Pump;

/// An object of a class that has an alarm handler, or of one that has none.
pub struct WorkerObject<const ALARM: bool> {
    state: ObjectState,
    env: Env,
    /// Where others find what its JavaScript keeps for them.
    home: Rc<Home>,
    /// Its isolate and its number there, or why it could not be constructed.
    alive: Result<(Rc<Isolate>, u32), Thrown>,
}

impl<const ALARM: bool> WorkerObject<ALARM> {
    /// Constructs an object of the class in a new isolate.
    pub fn construct(
        isolates: &Isolates,
        binding: &config::objects::Object,
        sqlite: bool,
        state: ObjectState,
        env: Env,
    ) -> Self {
        let place =
            json!({ "kind": "object", "namespace": &*binding.name, "id": state.id().to_string() });
        let home = isolates.home(place.to_string());
        let alive = isolates.get().map_err(Thrown::new);
        let class = Class { name: &binding.class_name, sqlite };
        let alive = alive.and_then(|isolate| construct(isolate, &class, &state, &env, &home));
        WorkerObject { state, env, home, alive }
    }

    /// Calls a handler of the object. One that could not be constructed is reset, and so is one whose isolate has
    /// ended.
    async fn call(
        &self,
        kind: &'static str,
        mut json: serde_json::Value,
        bytes: Body,
        args: Option<Body>,
    ) -> Result<String, Thrown> {
        let (isolate, number) = match &self.alive {
            Ok(alive) => alive,
            Err(thrown) => self.state.abort(Some(&thrown.text())).await,
        };
        json["object"] = (*number).into();
        let call = Call { bytes, args, ..Call::new(kind, &json) };
        let (isolated, env) = (isolate.clone(), self.env.clone());
        let invocation = Invocation::new(isolated, env, &self.home, call, Unawaited::GoOn);
        let ended = invocation.await;
        if let Some(reason) = isolate.host().condemned() {
            self.env.log(&*reason);
            self.state.abort(Some(&reason)).await;
        }
        let Returned { json, background, .. } = ended?;
        background.into_iter().for_each(|background| drop(self.env.spawn(background)));
        Ok(json)
    }
}

/// A class, and whether its storage has SQL.
struct Class<'a> {
    name: &'a str,
    sqlite: bool,
}

/// Runs the constructor. What it begins goes on beside the calls that follow.
fn construct(
    isolate: Rc<Isolate>,
    class: &Class,
    state: &ObjectState,
    env: &Env,
    home: &Rc<Home>,
) -> Result<(Rc<Isolate>, u32), Thrown> {
    let number = isolate.host().objects.add(state.clone());
    let (digits, name) = (state.id().to_string(), state.id().name().map(str::to_string));
    let pump = Pump::new(env.clone(), 0, home);
    let thrown = isolate.enter(&pump, |_, hooks| {
        let construct: Function = hooks.get("construct")?;
        construct.call::<_, Option<String>>((number, class.name, class.sqlite, digits, Opt(name)))
    })?;
    if let Some(thrown) = thrown {
        return Err(Thrown::parse(&thrown));
    }
    if !pump.is_empty() {
        drop(env.spawn(Background::rest(isolate.clone(), pump)));
    }
    Ok((isolate, number))
}

impl<const ALARM: bool> DurableObject for WorkerObject<ALARM> {
    const ALARM: bool = ALARM;

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let json = json!({ "method": method });
        // What is thrown is the caller's to catch.
        let returned = self.call("rpc", json, Body::empty(), Some(args)).await;
        let returned = returned.map_err(|thrown| Error::app(thrown.text()))?;
        Ok(Body::from(returned))
    }

    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        let json = json!({ "retryCount": info.retry_count, "scheduledTime": info.scheduled_time.unix_ms() });
        let rang = self.call("alarm", json, Body::empty(), None).await;
        rang.map(drop).map_err(|thrown| thrown.uncaught(&self.env))
    }

    async fn web_socket_frame(&self, end: u32, frame: Frame) -> Result<(), Error> {
        let (mut json, bytes) = told(frame);
        json["end"] = end.into();
        let handled = self.call("frame", json, bytes.unwrap_or(Body::empty()), None).await;
        handled.map(drop).map_err(|thrown| thrown.uncaught(&self.env))
    }
}
