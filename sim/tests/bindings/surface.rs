//! What handles offer in Rust as the runtime's do in JavaScript.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::queue::{MessageBody, MessageSendRequest, QueueConfig};
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::workflow::{CreateOptions, StepConfig, WorkflowConfig};
use thunderhead_sim::*;

/// What a run in which a client does `work` has logged.
fn logged(scenario: &Scenario, mount: &dyn Fn(&mut Cloud)) -> Vec<String> {
    let run = simulate(scenario, &Source::Tape(Tape::benign()), mount).unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    let logged = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    logged.collect()
}

#[test]
fn send_answers_with_the_backlog() {
    let logged = logged(&Scenario::default(), &|cloud| {
        cloud.queue("shape", QueueConfig::default());
        cloud.client("client", |env| async move {
            let queue = env.queue("shape");
            let one = queue.send(MessageBody::text("abc")).await.unwrap();
            let message = || MessageSendRequest::from(MessageBody::text("de"));
            let two = queue.send_with(message()).await.unwrap();
            let four = queue.send_batch(vec![message(), message()]).await.unwrap();
            for metrics in [one, two, four] {
                env.log(format!("{} {}", metrics.backlog_count, metrics.backlog_bytes));
            }
        });
    });
    assert_eq!(logged, ["1 3", "2 5", "4 9"]);
}

#[test]
fn the_first_row_gives_one_of_its_columns_or_null_or_an_error() {
    logged(&Scenario::default(), &|cloud| {
        cloud.d1("pets");
        cloud.migrate("pets", &["create table cat (name text, age integer)"]);
        cloud.client("client", |env| async move {
            let pets = env.d1("pets");
            let first =
                async |sql: &str, column: &str| pets.prepare(sql).first_column(column).await;
            assert_eq!(first("select name from cat", "name").await, Ok(Value::Null), "no row");
            pets.prepare("insert into cat values ('Tom', 3)").run().await.unwrap();
            assert_eq!(first("select * from cat", "age").await, Ok(Value::Integer(3)));
            let missing = first("select * from cat", "colour").await.unwrap_err();
            assert!(matches!(missing, Error::D1(_)), "{missing}");
        });
    });
}

/// An object that tells what becomes of several keys at once.
struct Keys(ObjectState);

impl DurableObject for Keys {
    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        let storage = self.0.storage();
        storage.put_multiple(&[("c", "3".into()), ("a", "1".into()), ("b", "2".into())])?;
        let found = storage.get_multiple(&["c", "missing", "a", "c"])?.into_iter();
        let found: Vec<String> = found.map(|(key, value)| format!("{key}={value}")).collect();
        let deleted = storage.delete_multiple(&["a", "missing", "b"])?;
        let left = storage.list(&Default::default())?.len();
        Ok(Body::from(format!("{} and {deleted} deleted, {left} left", found.join(" "))))
    }

    fn new(ctx: ObjectState, _env: Env) -> Keys {
        Keys(ctx)
    }
}

#[test]
fn many_keys_are_read_in_order_stored_as_one_and_deleted_with_a_count() {
    let logged = logged(&Scenario::default(), &|cloud| {
        cloud.durable_object::<Keys>("KEYS");
        cloud.client("client", |env| async move {
            let told = env.durable_object("KEYS").get_by_name("x").rpc("", "").await.unwrap();
            env.log(told.text().unwrap());
        });
    });
    assert_eq!(logged, [r#"a="1" c="3" and 2 deleted, 1 left"#]);
}

/// A workflow that tells its event and its attempts; its first two attempts fail.
fn attempts(cloud: &mut Cloud) {
    cloud.workflow("wf", WorkflowConfig::default(), |env, event, step| async move {
        env.log(format!("{} of {}: {}", event.instance_id, event.workflow_name, event.payload));
        let work = |context: StepContext| {
            let env = env.clone();
            async move {
                let StepContext { name, count, attempt } = context;
                env.log(format!("{name} {count} attempt {attempt}"));
                env.sleep(Duration::from_secs(1)).await;
                if attempt < 3 { Err(Error::app("not yet")) } else { Ok(Body::from("1")) }
            }
        };
        step.do_attempts("c", StepConfig::default(), work).await
    });
    cloud.client("client", |env| async move {
        env.workflow("wf").create(CreateOptions::new("evs", "{}")).await.unwrap();
    });
}

#[test]
fn run_event_shape() {
    assert_eq!(logged(&Scenario::default(), &attempts)[0], r#"evs of wf: "{}""#);
}

#[test]
fn an_attempt_has_its_number_also_after_a_crash() {
    let told = |scenario: &Scenario| {
        let logged = logged(scenario, &attempts).into_iter();
        logged.filter(|line| line.contains("attempt")).collect::<Vec<_>>()
    };
    let expected = ["c 1 attempt 1", "c 1 attempt 2", "c 1 attempt 3"];
    assert_eq!(told(&Scenario::default()), expected);
    let kill = Kill { at: Time::from_ms(500), host: "wf/evs".into(), down: None };
    let killed = Scenario { kills: vec![kill], ..Scenario::default() };
    assert_eq!(told(&killed), expected, "the attempt that the crash cut short is the first");
}

/// Sends to a queue without a consumer, and asks for the class of an object.
fn habits(emulated: bool) -> String {
    let logged = logged(&Scenario::default(), &|cloud| {
        if emulated {
            cloud.emulate();
        }
        cloud.queue("jobs", QueueConfig::default());
        cloud.bucket("shelf", r2::BucketConfig::default());
        cloud.workflow("wf", WorkflowConfig::default(), |_, _, _| async { Ok(Body::empty()) });
        cloud.client("client", |env| async move {
            env.queue("jobs").send(MessageBody::text("job")).await.unwrap();
            let kept = env.queue("jobs").metrics().await.unwrap().backlog_count;
            let put = env.bucket("shelf").put("k", "v").execute().await.unwrap().unwrap();
            let create = async || env.workflow("wf").create(CreateOptions::new("a", "{}")).await;
            create().await.unwrap();
            env.sleep(Duration::from_secs(1)).await;
            let twice = create().await.unwrap_err();
            env.log(format!("{kept} {:?} {twice}", put.storage_class));
        });
    });
    logged[0].clone()
}

#[test]
fn the_habits_of_the_emulator_are_asked_for_once() {
    let exists = "(instance.already_exists)";
    assert_eq!(habits(false), format!("1 Some(Standard) {exists} Instance already exists"));
    let emulated =
        format!("WorkflowError: {exists} Workflow instance with id \"a\" already exists");
    assert_eq!(habits(true), format!("0 None {emulated}"));
}
