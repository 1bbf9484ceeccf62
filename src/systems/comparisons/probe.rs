//! The active probe: asks a URL, follows its redirects by hand, and says what it saw.

use thunderhead_sim::{Env, Error};

use super::connector;
use super::envelope::{BodyFacts, Redirect, Routing, SignalEnvelope, Timing, kept_headers};
use super::mistakes;
use super::target::Target;

/// How many redirects are followed.
const REDIRECTS_MAX: usize = 5;

/// Probes a URL. Whatever a site answers is a fact; only a site that says nothing is an error, and
/// one that is worth another try.
pub async fn probe(env: &Env, url: &str) -> Result<SignalEnvelope, Error> {
    // Checked when it was asked for; but the worker that did so is not the one that connects.
    let mut target = Target::parse(url).map_err(refused)?;
    let (home, started) = (target.host(), env.now());
    let mut redirects = Vec::new();
    loop {
        let answer = connector::get(env, &target).await?;
        // A redirect that does not say where to is an answer like any other.
        let location = answer.headers.get("location").filter(|_| is_redirect(answer.status));
        let Some(location) = location else {
            return Ok(SignalEnvelope {
                status: answer.status,
                headers: kept_headers(&answer.headers),
                redirects,
                routing: Routing {
                    final_url: target.as_str().into(),
                    landing: seen_from(&home, &target),
                    secure: target.is_secure(),
                },
                timing: Timing { total_ms: (env.now() - started).as_millis() as u64 },
                body: BodyFacts::of(answer.body.bytes()),
            });
        };
        let endless = mistakes::FOLLOWS_FOR_EVER.is_made(env);
        if redirects.len() == REDIRECTS_MAX && !endless {
            return Err(Error::NonRetryable(format!("{url} redirects without end").into()));
        }
        target = match mistakes::FOLLOWS_ANYWHERE.is_made(env) {
            true => target.follow_unchecked(location).map_err(refused)?,
            false => target.follow(location).map_err(refused)?,
        };
        redirects.push(Redirect { status: answer.status, to: seen_from(&home, &target) });
    }
}

/// Whether an answer of this status leads elsewhere.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// A target as seen from a host: without the host when it is this one.
fn seen_from(home: &str, target: &Target) -> String {
    let path = target.path_and_query();
    if target.host() == home { path } else { format!("{}{path}", target.host()) }
}

fn refused(why: super::target::Refused) -> Error {
    Error::NonRetryable(why.to_string().into())
}
