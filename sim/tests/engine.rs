//! The engine, from outside.
use thunderhead_sim::queue::{ConsumerConfig, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, EventType};
use thunderhead_sim::*;

fn mount(cloud: &mut Cloud) {
    cloud.queue("uploads", QueueConfig::default());
    let rules = vec![r2::Rule::new("uploads", [EventType::ObjectCreate])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    cloud.bucket("copies", BucketConfig::default());
    cloud.worker("web").fetch(|env, request| async move {
        env.bucket("photos").put(&request.path[1..], request.body.clone()).execute().await?;
        Ok(Response::new(201, ""))
    });
    cloud.worker("relay").queue(
        &[("uploads", ConsumerConfig::default())],
        |env, batch| async move {
            for message in batch.messages() {
                let event = r2::Notification::parse(&message.body().data)
                    .map_err(|e| Error::app(e.to_string()))?;
                let Some(found) = env.bucket("photos").get(&event.object.key).execute().await?
                else {
                    continue;
                };
                env.bucket("copies").put(&event.object.key, found.body.unwrap()).execute().await?;
                message.ack();
            }
            Ok(())
        },
    );
}

#[test]
fn smoke() {
    let scenario = Scenario {
        sends: vec![
            Send::new(Time::ZERO, "PUT", "/cat.jpg", "meow"),
            Send::new(Time::from_ms(700), "PUT", "/dog.jpg", "woof"),
        ],
        faults: FaultSet::explored(),
        ..Scenario::default()
    };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount).unwrap();
    println!("{}", run.trace);
    println!("{:?} {} draws", run.end, run.draws.len());
    for seed in 0..4 {
        let run = simulate(
            &scenario,
            &Source::Random { seed, swarm: Swarm::of_seed(seed, scenario.faults) },
            &mount,
        )
        .unwrap();
        println!("{}", run.trace);
        println!(
            "{:?} {} draws {}",
            run.end,
            run.draws.len(),
            Swarm::of_seed(seed, scenario.faults)
        );
        let again = simulate(&scenario, &Source::Tape(run.tape()), &mount).unwrap();
        assert_eq!(again.trace.to_string(), run.trace.to_string());
        assert_eq!(again.trace.hash(), run.trace.hash());
        let back = Trace::from_jsonl(&run.trace.to_jsonl()).unwrap();
        assert_eq!(back.to_string().replace(" ", ""), run.trace.to_string().replace(" ", ""));
    }
}
