//! A message that comes to a queue from outside of the Worker: a line `QUEUE` of `storm.http`, and the request that
//! carries it to a host that sends it.

use thunderhead_sim::queue::MessageBody;
use thunderhead_sim::{Env, Error, Headers, Request, Response, answers};

/// The method of a request that carries a message. Its path has the name of the queue.
pub const QUEUE: &str = "QUEUE";

/// The status that its sender gets: the consumer has yet to see the message.
const ACCEPTED: u16 = 202;

/// The request of `QUEUE orders`. A message is a document in JSON, unless its `content-type` is of text.
pub fn request(queue: &str, headers: Headers, text: &str) -> Result<Request, String> {
    if queue.is_empty() || queue.contains([' ', '/']) {
        return Err(format!("`{queue}` is no queue; write its name, as in `QUEUE orders`"));
    }
    let mut request = Request::new(QUEUE, &format!("/{queue}"), text);
    request.headers = headers;
    // One that uses answers is read when they have come.
    match body(&request) {
        Err(why) if answers::names(&request).is_empty() => Err(format!(
            "the message is not JSON: {why}; write `content-type: text/plain` above it if it is text"
        )),
        _ => Ok(request),
    }
}

/// The queue that a request is for.
pub fn queue(request: &Request) -> &str {
    request.path.trim_start_matches('/')
}

fn body(request: &Request) -> Result<MessageBody, String> {
    let kind = request.headers.get("content-type").unwrap_or_default();
    let text = request.body.text().unwrap_or_default();
    if kind.starts_with("text/") {
        return Ok(MessageBody::text(text));
    }
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    MessageBody::json(&value).map_err(|error| error.to_string())
}

/// Puts the message of a request into its queue.
pub async fn send(env: Env, request: Request) -> Result<Response, Error> {
    let body = body(&request).map_err(Error::app)?;
    env.queue(queue(&request)).send(body).await?;
    Ok(Response::new(ACCEPTED, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_json_or_what_its_header_says() {
        let order = request("orders", Headers::default(), "{\"id\": 1}").unwrap();
        assert_eq!((&*order.method, queue(&order)), (QUEUE, "orders"));
        assert_eq!(body(&order).unwrap().data.text(), Some("{\"id\":1}"));
        let mut headers = Headers::default();
        headers.append("content-type", "text/plain");
        let text = request("orders", headers, "tea").unwrap();
        assert_eq!(body(&text).unwrap(), MessageBody::text("tea"));
        let said = request("orders", Headers::default(), "tea").unwrap_err();
        assert!(said.starts_with("the message is not JSON: expected"), "{said}");
        assert!(request("a b", Headers::default(), "1").unwrap_err().contains("`a b` is no queue"));
    }
}
