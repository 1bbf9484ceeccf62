//! Connects to a target: the one place from which a probe leaves.
//!
//! A URL does not say what its name resolves to, and the owner of a name may change that from one question to the next.
//! So the name is resolved here, the address is checked, and the connection goes to that address.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;
use thunderhead_sim::{Body, Env, Error, Request, Response};

use super::mistakes;
use super::target::{Target, public};

/// The resolver's host.
pub const RESOLVER: &str = "dns";

/// What a resolver answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Resolved {
    /// 0 when the name is there.
    status: u16,
    #[serde(default)]
    answer: Vec<Record>,
}

#[derive(Debug, Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: u16,
    data: String,
}

/// The type of an IPv4 address. Others are the names on the way to one.
const A: u16 = 1;
/// The statuses of a resolver that knows the name, and of one that knows that there is none.
const NOERROR: u16 = 0;
const NXDOMAIN: u16 = 3;

/// Asks a target for its page, at an address that has been checked. A request that was lost is worth another try; a
/// name or a host that is not there is not.
pub async fn get(env: &Env, target: &Target) -> Result<Response, Error> {
    get_checked(env, target).await.map_err(|error| match error {
        Error::NetworkLost if !mistakes::PROBES_ONCE.is_made(env) => Error::NetworkLost,
        other => Error::NonRetryable(other.to_string().into()),
    })
}

async fn get_checked(env: &Env, target: &Target) -> Result<Response, Error> {
    if mistakes::CHECKS_NAMES_ONLY.is_made(env) {
        return get_anywhere(env, target).await;
    }
    let address = match target.address() {
        // Checked when the target was made.
        Some(address) => address,
        None => {
            let address = resolve(env, target.domain()).await?;
            let refused = |why| Error::app(format!("{} resolves inside: {why}", target.domain()));
            public(address).map_err(refused)?;
            address
        }
    };
    if mistakes::RESOLVES_TWICE.is_made(env) {
        return get_anywhere(env, target).await;
    }
    ask(env, target, address).await
}

/// The same without a look at the address, as the plan and some mistakes have it.
pub async fn get_anywhere(env: &Env, target: &Target) -> Result<Response, Error> {
    let address = match target.address() {
        Some(address) => address,
        None => resolve(env, target.domain()).await?,
    };
    ask(env, target, address).await
}

async fn ask(env: &Env, target: &Target, address: IpAddr) -> Result<Response, Error> {
    let request = Request::new("GET", &target.path_and_query(), "");
    let (peer, request) = (target.peer(address), request.with_header("host", &target.host()));
    env.fetch_outside(&peer, target.is_secure(), request).await
}

/// The address of a name now.
async fn resolve(env: &Env, name: &str) -> Result<IpAddr, Error> {
    let question = Request::new("GET", &format!("/dns-query?name={name}&type=A"), "");
    let question = question.with_header("accept", "application/dns-json");
    let answer = env.fetch_outside(RESOLVER, false, question).await?;
    address_in(&answer.body).map_err(|why| Error::app(format!("{name} {why}")))
}

/// The first address in the answer of a resolver, or why there is none.
fn address_in(answer: &Body) -> Result<IpAddr, String> {
    let unreadable = |error: &dyn Display| format!("cannot be resolved: {error}");
    let told: Resolved = answer.parse().map_err(|error| unreadable(&error))?;
    if told.status != NOERROR && told.status != NXDOMAIN {
        return Err(unreadable(&format!("the resolver answers {}", told.status)));
    }
    let mut addresses = told.answer.iter().filter(|record| record.kind == A);
    let first = addresses.next().ok_or("has no address")?;
    first.data.parse::<Ipv4Addr>().map(IpAddr::from).map_err(|error| unreadable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_an_answer_is_taken_and_names_on_the_way_are_passed_over() {
        let answer = r#"{"Status":0,"Answer":[
            {"name":"a.example","type":5,"TTL":9,"data":"b.example."},
            {"name":"b.example","type":1,"TTL":9,"data":"93.184.215.14"},
            {"name":"b.example","type":1,"TTL":9,"data":"10.0.0.1"}]}"#;
        assert_eq!(address_in(&answer.into()), Ok(Ipv4Addr::new(93, 184, 215, 14).into()));
    }

    #[test]
    fn an_answer_without_an_address_says_why() {
        for (answer, why) in [
            (r#"{"Status":3}"#, "has no address"),
            (r#"{"Status":0,"Answer":[]}"#, "has no address"),
            (r#"{"Status":0,"Answer":[{"type":5,"data":"b.example."}]}"#, "has no address"),
            (r#"{"Status":2}"#, "cannot be resolved: the resolver answers 2"),
            (
                r#"{"Status":0,"Answer":[{"type":1,"data":"::1"}]}"#,
                "cannot be resolved: invalid IPv4 address syntax",
            ),
        ] {
            assert_eq!(address_in(&answer.into()), Err(why.into()), "{answer}");
        }
        for nonsense in ["", "[]", "<html>", r#"{"Status":"0"}"#, r#"{"Status":70000}"#] {
            let why = address_in(&nonsense.into()).expect_err("it is no answer");
            assert!(why.starts_with("cannot be resolved: "), "{nonsense}: {why}");
        }
    }
}
