//! The same of gates, alarms and connections of durable objects.

use std::cell::Cell;
use std::time::Duration;

use thunderhead_sim::r2::BucketConfig;
use thunderhead_sim::*;

use super::{SECOND, in_order, sometimes, store, times};

/// An object that stores something when it is told to, when its alarm goes off, and when a client says something.
struct Keeper {
    ctx: ObjectState,
    env: Env,
    heard: Cell<u32>,
}

impl DurableObject for Keeper {
    fn new(ctx: ObjectState, env: Env) -> Keeper {
        Keeper { ctx, env, heard: Cell::default() }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        match method {
            "arm" => {
                self.ctx.storage().set_alarm(self.env.now() + SECOND)?;
                self.env.log("armed");
            }
            "work" => {
                self.env.log("work>");
                let _ = store(&self.env).await;
                self.env.log("work<");
            }
            "guard" => {
                self.env.log("guard>");
                let env = self.env.clone();
                let work = async move {
                    while store(&env).await.is_err() {}
                    Ok(())
                };
                self.ctx.block_concurrency_while(work).await?;
                self.env.log("guard<");
            }
            _ => {}
        }
        Ok(Body::empty())
    }

    /// Only the object `strict` fails when it cannot store.
    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        self.env.log(format!("alarm {}>", info.retry_count));
        let stored = store(&self.env).await;
        self.env.log("alarm<");
        if self.ctx.id().name() == Some("strict") { stored } else { Ok(()) }
    }

    async fn web_socket_message(&self, socket: u32, message: Body) -> Result<(), Error> {
        let said = message.text().unwrap_or_default();
        self.env.log(format!("{said}>"));
        self.heard.set(self.heard.get() + 1);
        let heard = self.heard.get();
        if let Err(error) = store(&self.env).await {
            self.env.log("threw");
            return Err(error);
        }
        self.env.log(format!("{said}<"));
        self.ctx.send(socket, heard.to_string());
        Ok(())
    }
}

fn keeper(env: &Env, name: &str) -> Stub {
    env.durable_object("KEEPER").get_by_name(name)
}

/// A cloud with such objects.
fn shop(cloud: &mut Cloud) {
    cloud.bucket("shelf", BucketConfig::default());
    cloud.durable_object::<Keeper>("KEEPER");
}

/// Calls a method every second, and says when the object was reset for having been busy too long.
async fn insist(env: Env, name: &str, method: &str) {
    for _ in 0..30 {
        if let Err(Error::Object(error)) = keeper(&env, name).rpc(method, "").await
            && error.durable_object_reset
            && error.overloaded
        {
            env.log(format!("{method} {name} failed"));
        }
        env.sleep(SECOND).await;
    }
}

#[test]
fn a_storm_holds_a_gate_for_longer_than_thirty_seconds() {
    const NAMES: [&str; 4] = ["one", "two", "three", "four"];
    let mount = |cloud: &mut Cloud| {
        shop(cloud);
        for name in NAMES {
            cloud.client(&format!("guard of {name}"), |env| insist(env, name, "guard"));
            cloud.client(&format!("guest of {name}"), |env| insist(env, name, "look"));
        }
    };
    // The call that was queued fails as the one does that held the gate.
    let failed =
        |run: &Run, method: &str, name: &str| in_order(run, &[&*format!("{method} {name} failed")]);
    sometimes(&mount, |run| {
        NAMES.into_iter().any(|name| failed(run, "guard", name) && failed(run, "look", name))
    });
}

/// Sets an alarm of a second, and asks for something else some milliseconds later.
fn armed(name: &'static str, ms: u64, method: &'static str) -> impl Fn(&mut Cloud) {
    move |cloud: &mut Cloud| {
        shop(cloud);
        cloud.client("alice", move |env| async move {
            let _ = keeper(&env, name).rpc("arm", "").await;
            env.sleep(Duration::from_millis(ms)).await;
            let _ = keeper(&env, name).rpc(method, "").await;
        });
    }
}

#[test]
fn a_storm_runs_an_alarm_beside_a_request_that_waits() {
    sometimes(&armed("one", 500, "work"), |run| in_order(run, &["work>", "alarm 0>", "work<"]));
}

#[test]
fn a_storm_keeps_an_alarm_waiting_for_a_gate() {
    sometimes(&armed("one", 500, "guard"), |run| {
        assert!(!in_order(run, &["guard>", "alarm 0>", "guard<"]), "{}", run.trace);
        let set = times(run, &["armed"]);
        let held = times(run, &["guard>", "guard<", "alarm 0>"]);
        set.zip(held).is_some_and(|(set, held)| (held[0]..held[1]).contains(&(set[0] + 1_000)))
    });
}

#[test]
fn a_storm_lets_an_alarm_be_set_again_while_its_handler_runs() {
    let lines = ["armed", "alarm 0>", "armed", "alarm<", "alarm 0>"];
    // The second is due before the handler of the first has ended.
    sometimes(&armed("one", 1_200, "arm"), |run| {
        times(run, &lines).is_some_and(|at| at[2] + 1_000 < at[3])
    });
}

#[test]
fn a_storm_tries_an_alarm_again_before_the_one_that_was_set_meanwhile() {
    let lines = ["armed", "armed", "alarm 1>", "alarm 0>"];
    sometimes(&armed("strict", 1_600, "arm"), |run| in_order(run, &lines));
}

#[test]
fn a_storm_lets_the_handlers_of_two_messages_interleave() {
    let mount = |cloud: &mut Cloud| {
        shop(cloud);
        cloud.client("alice", |env| async move {
            if let Ok(socket) = keeper(&env, "one").connect().await {
                ["a", "b"].into_iter().for_each(|message| socket.send(message));
                while socket.recv().await.is_some() {}
            }
        });
    };
    sometimes(&mount, |run| in_order(run, &["a>", "b>", "a<"]));
}

#[test]
fn a_handler_of_messages_that_throws_in_a_storm_keeps_its_connection_and_its_memory() {
    let mount = |cloud: &mut Cloud| {
        shop(cloud);
        cloud.client("alice", |env| async move {
            let Ok(socket) = keeper(&env, "one").connect().await else { return };
            for _ in 0..6 {
                socket.send("a");
                match env.timeout(SECOND, socket.recv()).await {
                    Some(Some(heard)) => env.log(heard.text().unwrap_or_default()),
                    Some(None) => return,
                    None => {}
                }
            }
        });
    };
    // The object counts in memory what it hears.
    let counts = ["2", "3", "4", "5", "6"];
    sometimes(&mount, |run| counts.into_iter().any(|count| in_order(run, &["threw", count])));
}
