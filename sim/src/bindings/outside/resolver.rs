//! A resolver outside the cloud: DNS over HTTPS, in JSON.

use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::json;

use crate::bindings::cloud::Cloud;
use crate::engine::env::Env;
use crate::protocol::http::{Request, Response};
use crate::values::sorted_map::SortedMap;

/// Names and their addresses, behind `GET /dns-query?name=NAME&type=A`.
///
/// A name that is given several addresses is one whose owner changes his answers: the first is told in good weather,
/// and during the storm another may be drawn for each question.
#[derive(Clone, Debug, Default)]
pub struct Resolver {
    names: SortedMap<Arc<str>, Vec<Ipv4Addr>>,
}

/// What DNS says of a name that there is not.
const NXDOMAIN: u8 = 3;
/// The type of an IPv4 address.
const A: u8 = 1;

impl Resolver {
    /// Adds a name. Without any address it exists and leads nowhere.
    pub fn name(mut self, name: &str, addresses: &[Ipv4Addr]) -> Resolver {
        self.names.insert(name.into(), addresses.into());
        self
    }

    /// Adds the resolver outside the cloud.
    pub fn mount(self, cloud: &mut Cloud, host: &str) {
        cloud.outside(host, move |env: Env, request: Request| {
            let response = self.answer(&env, &request);
            async move { Ok(response) }
        });
    }

    fn answer(&self, env: &Env, request: &Request) -> Response {
        let asked = request.query("name");
        let (Some(name), true) = (asked, request.pathname() == "/dns-query") else {
            return Response::new(400, "");
        };
        // An absolute name ends in a dot.
        let known = name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase();
        let told = match self.names.get(&*known) {
            None => json!({ "Status": NXDOMAIN }),
            Some(addresses) => {
                let drawn = match addresses.len() {
                    0 | 1 => addresses.first(),
                    several => addresses.get(env.mood(several as u32) as usize),
                };
                let answers = drawn
                    .map(|address| json!({ "name": name, "type": A, "TTL": 0, "data": address }));
                json!({ "Status": 0, "Answer": answers.into_iter().collect::<Vec<_>>() })
            }
        };
        Response::json(&told).with_header("content-type", "application/dns-json")
    }
}
