//! A tiny cloud for the engine's own tests: `web` stores what it is sent, `worker` counts batches.

use thunderhead_sim::queue::{ConsumerConfig, MessageBody, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType, Rule as NotifyRule};
use thunderhead_sim::*;

/// `PUT /key` stores to R2 and answers 201; each new object reaches `worker` through a queue.
pub fn mount(cloud: &mut Cloud) {
    cloud.queue("events", QueueConfig::default());
    let rules = vec![NotifyRule::new("events", [EventType::ObjectCreate])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    cloud.worker("web").fetch(|env, request| async move {
        env.bucket("photos").put(&request.path[1..], request.body.clone()).execute().await?;
        Ok(Response::new(201, ""))
    });
    let consumer = ConsumerConfig { max_batch_size: 2, ..ConsumerConfig::default() };
    cloud.worker("worker").queue(&[("events", consumer)], |env, batch| async move {
        for message in batch.messages() {
            env.log(format!("got {}", short(message.body())));
        }
        Ok(())
    });
}

fn short(body: &MessageBody) -> String {
    let event = r2::Notification::parse(&body.data).map(|event| event.object.key.to_string());
    event.unwrap_or_else(|error| error.to_string())
}

/// Uploads at the given milliseconds, each once.
pub fn uploads(at: &[u64]) -> Vec<ClientRequest> {
    let send = |(n, at): (usize, &u64)| {
        ClientRequest::new(Time::from_ms(*at), "PUT", &format!("/{n}"), "x")
    };
    at.iter().enumerate().map(send).collect()
}

/// The benign run of `sends` with some scripted faults.
pub fn play(requests: Vec<ClientRequest>, rules: Vec<ScriptedFault>) -> Run {
    let scenario = Scenario { requests, faults: rules, ..Scenario::default() };
    simulate(&scenario, &Source::Tape(Tape::benign()), &mount).expect("the scenario fits")
}

/// The lines of the trace that contain `part`, without time and number.
pub fn lines(run: &Run, part: &str) -> Vec<String> {
    let text = run.trace.wide();
    let found = text.lines().filter(|line| line.contains(part));
    found.map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")).collect()
}

/// How many lines of the trace contain `part`.
pub fn count(run: &Run, part: &str) -> usize {
    lines(run, part).len()
}
