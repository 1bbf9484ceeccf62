//! What JavaScript can ask for and wait for. Each operation is one future of the simulator.

mod http;
pub mod object;
mod service;
pub mod socket;
mod step;

use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use thunderhead_sim::{Body, EPOCH_MS, Error, Time};

use crate::failure::{to_json, type_error};
use crate::host::Host;
use crate::isolate::Isolate;
use crate::pump::{Answer, Pump, Told, Work};

/// Who asks, and with what.
pub struct Asked<'a> {
    host: &'a Rc<Host>,
    pump: &'a Rc<Pump>,
    json: &'a str,
    bytes: Option<Body>,
}

/// The operation of a writer that waits for a word of its reader.
pub const LISTENS: &str = "listen";
/// The operation of a signal that aborts others when its time has come. Nobody awaits it.
pub const DEADLINE: &str = "deadline";

/// Begins the operation called `kind`.
pub fn begin(
    host: &Rc<Host>,
    pump: &Rc<Pump>,
    kind: &str,
    json: &str,
    bytes: Option<Body>,
) -> Result<Work, Value> {
    let asked = Asked { host, pump, json, bytes };
    match kind {
        "ask" => service::ask(asked),
        "sleep" | DEADLINE => sleep(&asked),
        "turn" => Ok(turn(&asked)),
        "fetch" => http::fetch(asked),
        "block" => object::block(&asked),
        "transaction" => object::transaction(&asked),
        "socket" | LISTENS => socket::next(&asked),
        "write" => socket::write(&asked),
        "step.do" => step::run(&asked),
        "step.sleep" => step::sleep(&asked),
        "step.sleepUntil" => step::sleep_until(&asked),
        "step.waitForEvent" => step::wait_for_event(&asked),
        other => Err(type_error(format!("there is no operation `{other}`"))),
    }
}

impl Asked<'_> {
    fn parse<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Value> {
        serde_json::from_str(self.json).map_err(type_error)
    }

    /// The isolate that asks, for work that calls back into it.
    fn isolate(&self) -> Result<Rc<Isolate>, Value> {
        let isolate = self.host.isolate.borrow().upgrade();
        isolate.ok_or_else(|| type_error("the isolate is gone"))
    }
}

fn sleep(asked: &Asked) -> Result<Work, Value> {
    let ms: u64 = asked.parse()?;
    let sleep = asked.pump.env.sleep(Duration::from_millis(ms));
    Ok(Box::pin(async move {
        sleep.await;
        Ok((Told::Nothing, None))
    }))
}

/// How long it takes until a commit is confirmed: long enough for other events to come in between.
const COMMIT: Duration = Duration::from_millis(1);

/// The end of the turn: what an object has written is committed.
fn turn(asked: &Asked) -> Work {
    let end = asked.pump.env.sleep(COMMIT);
    Box::pin(async move {
        end.await;
        Ok((Told::Nothing, None))
    })
}

/// An answer that says only whether it worked.
fn done(result: Result<(), Error>) -> Answer {
    result.map(|()| (Told::Nothing, None)).map_err(|error| to_json(&error))
}

/// An answer that is text: a value that the prelude has encoded.
fn encoded(result: Result<Body, Error>) -> Answer {
    result.map(|body| (Told::Text(body), None)).map_err(|error| to_json(&error))
}

/// A time in JavaScript's milliseconds.
pub fn time(unix_ms: f64) -> Time {
    Time::from_ms((unix_ms as u64).saturating_sub(EPOCH_MS))
}
