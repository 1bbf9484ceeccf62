//! `fetch`, to another Worker or to a host outside of the cloud.

use std::pin::Pin;

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_sim::{Body, Error, Request, Response};
use url::{Position, Url};

use super::Asked;
use crate::failure::{to_json, type_error};
use crate::outside::INTERNET;
use crate::pump::{Told, Work};

#[derive(Deserialize)]
struct Fetch {
    /// The Worker that a service binding names; without one, the host in the address.
    service: Option<String>,
    url: String,
    method: String,
    headers: Vec<(String, String)>,
}

/// What a Worker throws that is bound as a service is told as its own.
fn thrown_by(error: &Error, bound: bool) -> Value {
    let mut told = to_json(error);
    if bound && matches!(error, Error::App(_)) {
        told["remote"] = true.into();
    }
    told
}

pub fn fetch(asked: Asked) -> Result<Work, Value> {
    let Fetch { service, url, method, headers } = asked.parse()?;
    let (url, bound) = (Url::parse(&url).map_err(type_error)?, service.is_some());
    let host = url.host_str().unwrap_or_default();
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let mut request = Request::new(&method, path, asked.bytes.clone().unwrap_or(Body::empty()));
    request.headers = headers.into_iter().collect();
    let to = service.unwrap_or_else(|| match asked.pump.env.serves(host) {
        true => host.into(),
        false => {
            request.headers.set("host", &url[Position::BeforeHost..Position::AfterPort]);
            INTERNET.into()
        }
    });
    let env = &asked.pump.env;
    let fetch: Pin<Box<dyn Future<Output = Result<Response, Error>>>> = match bound {
        true => Box::pin(env.fetch_bound(&to, request)),
        false => Box::pin(env.fetch(&to, request)),
    };
    Ok(Box::pin(async move {
        let response = fetch.await.map_err(|error| thrown_by(&error, bound))?;
        let headers: Vec<(&str, &str)> = response.headers.iter().collect();
        let head = json!({ "status": response.status, "headers": headers }).to_string();
        Ok((Told::Json(head), Some(response.body)))
    }))
}
