//! How long an object stays in memory, and what becomes of the messages on its connections.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::time::Duration;

use thunderhead_sim::*;

/// Counts visits in memory and in storage, tells both numbers to everybody who is connected, and echoes messages.
struct Room {
    ctx: ObjectState,
    visits: Cell<u32>,
}

impl DurableObject for Room {
    fn new(ctx: ObjectState, _env: Env) -> Room {
        Room { ctx, visits: Cell::new(0) }
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        let stored = storage.get("visits")?;
        let stored = stored.map_or(0, |visits| visits.text().unwrap().parse::<u32>().unwrap()) + 1;
        storage.put("visits", stored.to_string())?;
        self.visits.set(self.visits.get() + 1);
        self.ctx.broadcast(format!("{} of {stored}", self.visits.get()));
        Ok(Body::empty())
    }

    async fn web_socket_message(&self, socket: u32, message: Body) -> Result<(), Error> {
        self.ctx.send(socket, message);
        Ok(())
    }
}

/// What somebody hears who connects and says `hi`, while a visitor pauses so many milliseconds before each visit.
fn heard(fault: ScriptedFault, pauses: &'static [u64]) -> Vec<String> {
    let scenario = Scenario { faults: vec![fault], ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Room>("ROOM");
        cloud.client("listener", |env| async move {
            let socket = env.durable_object("ROOM").get_by_name("all").connect().await.unwrap();
            socket.send("hi");
            while let Some(message) = socket.recv().await {
                let seconds = env.now().as_ms() / 1_000;
                env.log(format!("{} at {seconds} s", message.text().unwrap()));
            }
            env.log("hung up");
        });
        cloud.client("visitor", move |env| async move {
            let room = env.durable_object("ROOM").get_by_name("all");
            for pause in pauses {
                env.sleep(Duration::from_millis(*pause)).await;
                room.rpc("visit", "").await.unwrap();
            }
        });
    });
    let run = run.unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

#[test]
fn an_object_is_evicted_after_ten_idle_seconds_and_keeps_its_storage_and_its_connections() {
    let heard = heard(ScriptedFault::once(Fault::Evict, "ROOM:all"), &[1_000, 9_990, 10_000]);
    assert_eq!(heard, ["hi at 0 s", "1 of 1 at 1 s", "2 of 2 at 10 s", "1 of 3 at 20 s"]);
}

#[test]
fn a_message_on_a_connection_is_late_or_ends_it_in_either_direction() {
    for call in ["object.message", "object.push"] {
        let by = Some(Duration::from_secs(5));
        let late = ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, call) };
        assert_eq!(heard(late, &[]), ["hi at 5 s"], "{call}");
        let lost = ScriptedFault::once(Fault::LoseRequest, call);
        assert_eq!(heard(lost, &[]), ["hung up"], "{call}");
    }
}
