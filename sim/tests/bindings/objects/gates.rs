//! Gates and turns of durable objects under every placement of two crashes, against a model of a few
//! lines: what a caller was told is true, and what was lost was never told to anybody.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::*;

/// A till: each sale is a row, and is announced to a bucket in the same turn.
struct Till {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Till {
    fn new(ctx: ObjectState, env: Env) -> Till {
        let created =
            ctx.storage().exec("create table if not exists sale(n integer primary key)", &[]);
        created.unwrap();
        Till { ctx, env }
    }

    async fn rpc(&self, method: &str, _args: Body) -> Result<Body, Error> {
        let storage = self.ctx.storage();
        if method == "sell" {
            let n = storage.exec("insert into sale default values returning n", &[])?.one()?;
            let n = n[0].1.to_string();
            // Announced after the row is written and before anything is awaited: the output gate
            // must hold it back until the row is kept.
            self.env.bucket("sales").put(&n, "sold").execute().await?;
            return Ok(Body::from(n));
        }
        let count = storage.exec("select count(*) from sale", &[])?.one()?;
        Ok(Body::from(count[0].1.to_string()))
    }
}

fn mount(cloud: &mut Cloud) {
    cloud.bucket("sales", r2::BucketConfig::default());
    cloud.durable_object::<Till>("TILL");
    cloud.client("customer", |env| async move {
        let till = || env.durable_object("TILL").get_by_name("one");
        let mut told = 0;
        for _ in 0..2 {
            if till().rpc("sell", "").await.is_ok() {
                told += 1;
            }
        }
        env.sleep(Duration::from_secs(100)).await;
        let rows: u32 = till().rpc("count", "").await.unwrap().text().unwrap().parse().unwrap();
        let announced = env.bucket("sales").list().execute().await.unwrap().objects.len() as u32;
        env.log(format!("told {told} rows {rows} announced {announced}"));
    });
}

#[test]
fn what_leaves_an_object_is_kept_wherever_it_dies() {
    let faults = FaultSet::crashes();
    let scenario = Scenario {
        drawn_faults: faults,
        timing: Timing::Order,
        max_crashes: 2,
        ..Scenario::default()
    };
    let mut tapes = Enumerate::new(3);
    let (mut lost, mut untold) = (0, 0);
    while let Some(tape) = tapes.next_tape() {
        let run = simulate(&scenario, &Source::Tape(tape), &mount).unwrap();
        assert_eq!(run.end, End::Quiet, "{}", run.trace);
        let line = run.trace.events().iter().rev().find_map(|event| match &event.kind {
            EventKind::Log { text } => Some(text.to_string()),
            _ => None,
        });
        let numbers: Vec<u32> =
            line.unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
        let (told, rows, announced) = (numbers[0], numbers[1], numbers[2]);
        // The model: a sale is either nothing, or a row; an announcement and an answer follow it.
        assert!(told <= announced && announced <= rows && rows <= 2, "{}", run.trace);
        lost += u32::from(rows < 2);
        untold += u32::from(told < rows);
        tapes.tell(&run);
    }
    assert!(tapes.visited() > 70, "{} runs", tapes.visited());
    assert!(lost > 10 && untold > 10, "lost {lost}, untold {untold}: the windows were open");
}

/// An object whose alarm books a job once, whatever happens to it.
struct Booker {
    ctx: ObjectState,
    env: Env,
}

impl DurableObject for Booker {
    fn new(ctx: ObjectState, env: Env) -> Booker {
        Booker { ctx, env }
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        self.ctx.storage().put("job", "open")?;
        self.ctx.storage().set_alarm(self.env.now() + Duration::from_secs(1))?;
        Ok(Body::empty())
    }

    async fn alarm(&self, _info: AlarmInfo) -> Result<(), Error> {
        self.env.bucket("sales").put("job", "done").execute().await?;
        self.ctx.storage().put("job", "done")?;
        Ok(())
    }
}

#[test]
fn an_alarm_that_was_set_runs_at_least_once_wherever_the_object_dies() {
    let faults = [Fault::Duplicate, Fault::LoseReply].into_iter().chain(FaultSet::crashes().iter());
    let scenario = Scenario {
        drawn_faults: faults.collect(),
        timing: Timing::Order,
        max_crashes: 2,
        ..Scenario::default()
    };
    let mut tapes = Enumerate::new(3);
    let mut repeated = 0;
    while let Some(tape) = tapes.next_tape() {
        let run = simulate(&scenario, &Source::Tape(tape), &|cloud| {
            cloud.bucket("sales", r2::BucketConfig::default());
            cloud.durable_object::<Booker>("BOOKER");
            cloud.client("customer", |env| async move {
                let booked = env.durable_object("BOOKER").get_by_name("one").rpc("book", "").await;
                env.sleep(Duration::from_secs(200)).await;
                let done = env.bucket("sales").head("job").await;
                env.log(format!("{} {}", booked.is_ok(), matches!(done, Ok(Some(_)))));
            });
        })
        .unwrap();
        let text = run.trace.to_string();
        assert_eq!(run.end, End::Quiet, "{text}");
        // The model: who was told that it is booked finds it done.
        assert!(!text.contains("log    true false"), "{text}");
        repeated += u32::from(text.matches("effect").count() > 4);
        tapes.tell(&run);
    }
    assert!(tapes.visited() > 300, "{} runs", tapes.visited());
    assert!(repeated > 10, "the alarm ran more than once in {repeated} runs");
}

/// Clients that listen get what is broadcast after the writes it tells of; a dropped one gets nothing.
struct Board(ObjectState);

impl DurableObject for Board {
    fn new(ctx: ObjectState, _env: Env) -> Board {
        Board(ctx)
    }

    async fn rpc(&self, _method: &str, args: Body) -> Result<Body, Error> {
        self.0.storage().put("last", args.clone())?;
        self.0.broadcast(args);
        Ok(Body::empty())
    }

    async fn web_socket_message(&self, socket: u32, message: Body) -> Result<(), Error> {
        self.0.send(socket, format!("echo {}", message.text().unwrap_or("")));
        Ok(())
    }
}

fn board(rules: Vec<ScriptedFault>) -> Vec<String> {
    let scenario = Scenario { faults: rules, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
        cloud.durable_object::<Board>("BOARD");
        cloud.client("listener", |env| async move {
            let socket = env.durable_object("BOARD").get_by_name("b").connect().await.unwrap();
            socket.send("hi");
            while let Some(message) = socket.recv().await {
                env.log(format!("heard {}", message.text().unwrap()));
            }
            env.log("hung up");
        });
        cloud.client("writer", |env| async move {
            env.sleep(Duration::from_secs(1)).await;
            let board = env.durable_object("BOARD").get_by_name("b");
            board.rpc("say", "one").await.unwrap();
            let _ = board.rpc("say", "two").await;
        });
    })
    .unwrap();
    assert_eq!(run.end, End::Quiet, "a client that listens is not stuck\n{}", run.trace);
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

#[test]
fn connected_clients_hear_what_is_broadcast_and_dropped_ones_do_not() {
    assert_eq!(board(vec![]), ["heard echo hi", "heard one", "heard two"]);
    let dropped =
        ScriptedFault { skip: 1, ..ScriptedFault::once(Fault::LoseRequest, "object.push") };
    assert_eq!(board(vec![dropped]), ["heard echo hi", "hung up"]);
    let dies = ScriptedFault { skip: 1, ..ScriptedFault::once(Fault::CrashBefore, "object.rpc") };
    assert_eq!(board(vec![dies]), ["heard echo hi", "heard one", "hung up"]);
}
