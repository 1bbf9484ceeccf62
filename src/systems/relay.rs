//! The upload relay: a photo lands in R2, a notification reaches a queue, and a consumer writes a
//! receipt that names the version it saw. Small enough to read in a minute, and it has every window
//! between two durable effects that the larger systems have.

mod mistakes;

use std::sync::LazyLock;
use std::time::Duration;

use thunderhead_props::{RELAY, System, Variant};
use thunderhead_sim::queue::{ConsumerConfig, QueueConfig};
use thunderhead_sim::r2::{BucketConfig, Conditional, EventType, Notification, Rule};
use thunderhead_sim::{
    ClientRequest, Cloud, Env, Error, Message, MessageBatch, Request, Response, Rng, Time,
};

use crate::systems::backoff::Backoff;
use crate::systems::mistake::with_mistakes;

/// The relay, one correct implementation and three with a planted bug each.
pub static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let reference = Variant::holds(
        "reference",
        "reads the receipt before the photo and writes only if the receipt is unchanged",
        |cloud| mount(cloud, Write::Guarded),
    );
    let system = System::new(
        "relay",
        "an upload to R2 is noticed through a queue and gets a receipt",
        reference,
    );
    with_mistakes(system, mistakes::ALL, |cloud| mount(cloud, Write::Mistaken))
        .with_variant(Variant::refuted(
            "acks-early",
            "acknowledges the message, then writes",
            &["every upload has its receipt"],
            |cloud| mount(cloud, Write::AckFirst),
        ))
        .with_variant(Variant::refuted(
            "writes-twice",
            "writes whenever a message comes",
            &["one receipt per upload", "receipts never go back"],
            |cloud| mount(cloud, Write::Always),
        ))
        .with_variant(Variant::refuted(
            "loses-order",
            "skips a receipt that is there, but does not guard the write",
            &["receipts never go back", "one receipt per upload"],
            |cloud| mount(cloud, Write::Unguarded),
        ))
        .with_workload(workload)
        .with_smallest(|| vec![upload(0, "/cat.jpg", 1)])
        .with_promises(RELAY)
        .outlasting_days()
});

/// Half of the hundred retries that a queue allows last for three days. The others are for deliveries that are lost or
/// end without a word: those come again at the queue's own pace, because nobody can ask for a longer pause.
const BACKOFF: Backoff =
    Backoff { pause: Duration::from_secs(2), even: 10, longest: Duration::from_secs(2 * 3600) };

fn mount(cloud: &mut Cloud, write: Write) {
    cloud.queue(
        "uploads",
        QueueConfig { defect: mistakes::defect(cloud), ..QueueConfig::default() },
    );
    let rules = vec![Rule::new("uploads", [EventType::ObjectCreate])];
    cloud.bucket("photos", BucketConfig { rules, ..BucketConfig::default() });
    cloud.bucket("receipts", BucketConfig::default());
    mistakes::mount(cloud);
    cloud.worker("web").fetch(store);
    // Retries outlast an outage of days, so nothing ends in a dead-letter queue the relay does not have.
    let consumer = ConsumerConfig {
        max_batch_size: 2,
        max_batch_timeout: Duration::from_secs(1),
        max_retries: if mistakes::GIVES_UP.is_made_in(cloud) { 3 } else { 100 },
        retry_delay: BACKOFF.pause,
        ..ConsumerConfig::default()
    };
    let consume = move |env, batch| consume(env, batch, write);
    cloud.worker("relay").queue(&[("uploads", consumer)], consume);
}

/// `PUT /name` stores a photo.
async fn store(env: Env, request: Request) -> Result<Response, Error> {
    let key = request.path.trim_start_matches('/');
    env.bucket("photos").put(key, request.body.clone()).execute().await?;
    Ok(Response::new(201, ""))
}

#[derive(Clone, Copy)]
enum Write {
    Guarded,
    AckFirst,
    Always,
    Unguarded,
    /// Guarded, with a mistake that the deployment names.
    Mistaken,
}

async fn consume(env: Env, batch: MessageBatch, write: Write) -> Result<(), Error> {
    for message in batch.messages() {
        let Ok(event) = Notification::parse(&message.body().data) else {
            // Not a notification now, and not one tomorrow: trying again would not help.
            env.log("malformed message acknowledged");
            message.ack();
            continue;
        };
        let key = &*event.object.key;
        match write {
            Write::AckFirst => {
                message.ack();
                guarded(&env, key).await?;
            }
            Write::Guarded => settle(message, guarded(&env, key).await),
            Write::Always => settle(message, always(&env, key).await),
            Write::Unguarded => settle(message, unguarded(&env, key).await),
            Write::Mistaken => mistakes::careless(&env, message, key).await,
        }
    }
    Ok(())
}

fn settle(message: &Message, written: Result<(), Error>) {
    match written {
        Ok(()) => message.ack(),
        Err(_) => BACKOFF.retry(message),
    }
}

/// Writes the receipt of the photo as it is now, unless another consumer got there first.
///
/// The receipt is read before the photo. Were it the other way round, a consumer could read an old
/// photo, wait while a newer receipt is written, and then replace that one in good faith.
async fn guarded(env: &Env, key: &str) -> Result<(), Error> {
    loop {
        let receipt = env.bucket("receipts").get(key).execute().await?;
        let Some(photo) = env.bucket("photos").head(key).await? else { return Ok(()) };
        let unchanged = match &receipt {
            Some(found) if names(found.body.as_ref(), &photo.version) => return Ok(()),
            Some(found) => Conditional::etag_matches(&*found.object.etag),
            None => Conditional::etag_does_not_match("*"),
        };
        let receipts = env.bucket("receipts");
        let put = receipts.put(key, &*photo.version).only_if(unchanged);
        if put.execute().await?.is_some() {
            return Ok(());
        }
    }
}

async fn always(env: &Env, key: &str) -> Result<(), Error> {
    let Some(photo) = env.bucket("photos").head(key).await? else { return Ok(()) };
    env.bucket("receipts").put(key, &*photo.version).execute().await.map(|_| ())
}

async fn unguarded(env: &Env, key: &str) -> Result<(), Error> {
    let receipt = env.bucket("receipts").get(key).execute().await?;
    let Some(photo) = env.bucket("photos").head(key).await? else { return Ok(()) };
    if receipt.is_some_and(|found| names(found.body.as_ref(), &photo.version)) {
        return Ok(());
    }
    env.bucket("receipts").put(key, &*photo.version).execute().await.map(|_| ())
}

fn names(receipt: Option<&thunderhead_sim::Body>, version: &str) -> bool {
    receipt.and_then(|body| body.text()) == Some(version)
}

/// Up to six uploads of three names, some of them close enough together to race.
fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    const GAPS_MS: [u64; 5] = [0, 3, 40, 1_000, 6_000];
    const NAMES: [&str; 3] = ["/cat.jpg", "/dog.jpg", "/owl.jpg"];
    let mut at = 0;
    let requests = (0..1 + rng.below(6)).map(|turn| {
        at += GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize];
        // Mostly the same name: that is where the races are.
        let name = if rng.chance(640) { NAMES[0] } else { NAMES[rng.below(3) as usize] };
        upload(at, name, turn + 1)
    });
    requests.collect()
}

fn upload(at_ms: u64, path: &str, take: u32) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at_ms), "PUT", path, format!("take {take}")).retried(2)
}
