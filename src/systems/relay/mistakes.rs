//! Slips in the relay. `SETTLES_AGAIN` and `FORGETS_DELIVERIES` are slips of its queue: no application can break what a
//! queue promises.
//!
//! `written` repeats the reference's `guarded` and makes the slips of the consumer. A slip in what every variant shares
//! is made where that is, as `GIVES_UP` in `mount`.

mod copies;

use thunderhead_sim::queue::Defect;
use thunderhead_sim::r2::Conditional;
use thunderhead_sim::{Cloud, Env, Error, Message};

use super::{names, settle};
use crate::systems::mistake::{Mistake, mistakes};

mistakes! {
    PHOTO_FIRST = "photo-first", "reads the photo before the receipt",
        breaks "receipts never go back";
    WRITES_AGAIN = "writes-again", "does not look whether the receipt names this version already",
        breaks "one receipt per upload";
    TAKES_NO_FOR_AN_ANSWER = "takes-no-for-an-answer", "a receipt that was refused because another is there counts as written",
        breaks nothing;
    ACKS_FAILURES = "acks-failures", "acknowledges a message whose receipt could not be written",
        breaks "every upload has its receipt";
    NEVER_RENEWS = "never-renews", "leaves a receipt alone that is there, whatever it names",
        breaks "every upload has its receipt";
    NAMES_BYTES = "names-bytes", "the receipt names the etag, which the same bytes share, and not the version",
        breaks "receipts never go back";
    GIVES_UP = "gives-up", "three retries, and no dead-letter queue",
        breaks "no message is given up";
    UNWRAPS = "unwraps", "takes it for granted that R2 answers",
        breaks "the application comes to rest";
    KEEPS_COPIES = "keeps-copies", "acknowledges a message that four objects hold in memory, each of which writes the receipt later",
        breaks "every upload has its receipt";
    NEVER_SLOWS_DOWN = "never-slows-down", "a hundred tries at an even pace, which are over within minutes",
        breaks "every upload has its receipt";
    SETTLES_AGAIN = "settles-again", "the queue settles a message again that was settled",
        breaks "a settled message stays settled";
    FORGETS_DELIVERIES = "forgets-deliveries", "the queue forgets a delivery whose result never came",
        breaks "no message is lost";
}

/// What is wrong with the queue of this deployment.
pub fn defect(cloud: &Cloud) -> Option<Defect> {
    let again = SETTLES_AGAIN.is_made_in(cloud).then_some(Defect::SettlesAgain);
    again.or(FORGETS_DELIVERIES.is_made_in(cloud).then_some(Defect::ForgetsDeliveries))
}

/// Adds what only a mistake needs.
pub fn mount(cloud: &mut Cloud) {
    if KEEPS_COPIES.is_made_in(cloud) {
        copies::mount(cloud);
    }
}

/// Handles a message as the reference does, but for the mistake that is made.
pub async fn careless(env: &Env, message: &Message, key: &str) {
    let written = match KEEPS_COPIES.is_made(env) {
        true => copies::hand_over(env, key).await,
        false => written(env, key).await,
    };
    match written {
        Err(error) if UNWRAPS.is_made(env) => panic!("R2 always answers: {error}"),
        Err(_) if ACKS_FAILURES.is_made(env) => message.ack(),
        Err(_) if NEVER_SLOWS_DOWN.is_made(env) => message.retry(),
        written => settle(message, written),
    }
}

async fn written(env: &Env, key: &str) -> Result<(), Error> {
    loop {
        let first = match PHOTO_FIRST.is_made(env) {
            true => env.bucket("photos").head(key).await?,
            false => None,
        };
        let receipt = env.bucket("receipts").get(key).execute().await?;
        let photo = match first {
            Some(photo) => Some(photo),
            None => env.bucket("photos").head(key).await?,
        };
        let Some(photo) = photo else { return Ok(()) };
        let unchanged = match &receipt {
            Some(_) if NEVER_RENEWS.is_made(env) => return Ok(()),
            Some(found)
                if names(found.body.as_ref(), &photo.version) && !WRITES_AGAIN.is_made(env) =>
            {
                return Ok(());
            }
            Some(found) => Conditional::etag_matches(&*found.object.etag),
            None => Conditional::etag_does_not_match("*"),
        };
        let named = if NAMES_BYTES.is_made(env) { &*photo.etag } else { &*photo.version };
        let receipts = env.bucket("receipts");
        let put = receipts.put(key, named).only_if(unchanged).execute().await?;
        if put.is_some() || TAKES_NO_FOR_AN_ANSWER.is_made(env) {
            return Ok(());
        }
    }
}
