//! What the promises of `storm.ts` see of a run, as JSON.

use serde_json::{Value as Json, json};
use thunderhead_props::history::{self, Ended, contents_before, exchanges, instances, rows_before};
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Body, EventKind, Op, SortedMap, Trace, kv};

use crate::outside::INTERNET;
use crate::worker::workload::is_client;

/// The moments at which something that is kept has changed: just behind these events, by their indices.
pub fn moments(trace: &Trace) -> Vec<usize> {
    let changes = trace.events().iter().enumerate().filter(|(_, event)| match event.kind {
        EventKind::Rows { .. } => true,
        EventKind::Effect { call, .. } => match trace.op(call) {
            Op::Frame { frame, .. } => frame.is_of_body(),
            op => matches!(op, Op::R2(_) | Op::Kv(_)),
        },
        EventKind::Return { call, .. } => matches!(trace.op(call), Op::Fetch { .. }),
        _ => false,
    });
    changes.map(|(at, _)| at).collect()
}

/// Everything just before the event with that index.
pub fn before(trace: &Trace, end: usize) -> Json {
    let rows = rows_before(trace, end);
    let rows = rows.iter().filter(|held| held.table != "_cf_METADATA").map(|held| {
        let row: SortedMap<&str, Json> =
            held.row.iter().map(|(name, value)| (&**name, cell(value))).collect();
        json!({ "owner": held.owner, "table": held.table, "row": row })
    });
    let contents = contents_before(trace, end);
    let objects = contents.iter().map(
        |stored| json!({ "bucket": stored.bucket, "key": stored.key(), "text": stored.text() }),
    );
    let values = values(trace, end).into_iter().map(|((namespace, key), value)| {
        json!({ "namespace": namespace, "key": key, "value": text(value) })
    });
    let outside = history::served(trace, INTERNET).take_while(|(at, ..)| *at < end);
    let outside = outside.map(|(_, request, response)| {
        let url = format!("https://{}{}", request.headers.get("host").unwrap_or_default(), request.path);
        json!({ "method": request.method, "url": url, "body": text(&request.body), "status": response.status })
    });
    let workflows = instances(trace).map(|one| {
        let ended = one.ended.filter(|(at, _)| *at < end).map(|(_, ended)| ended);
        json!({ "workflow": one.workflow, "id": one.id, "status": status(ended) })
    });
    json!({
        "rows": rows.collect::<Vec<_>>(),
        "objects": objects.collect::<Vec<_>>(),
        "values": values.collect::<Vec<_>>(),
        "requests": requests(trace, end),
        "outside": outside.collect::<Vec<_>>(),
        "workflows": workflows.collect::<Vec<_>>(),
    })
}

/// The requests of clients, one for every try.
fn requests(trace: &Trace, end: usize) -> Vec<Json> {
    let sent = exchanges(trace).filter(|one| one.sent < end && is_client(one.from));
    let told = sent.map(|one| {
        let response = one.response.filter(|_| one.ended.is_some_and(|at| at < end));
        // A body that is streamed is an answer when it has ended, and none if it broke off.
        let body = match history::streamed(trace, &one) {
            Some(body) => {
                let ended = body.ended.is_some_and(|at| at < end) && !body.broken;
                ended.then(|| body.before(end))
            }
            None => response.map(|response| response.body.clone()),
        };
        json!({
            "method": one.request.method,
            "path": one.request.path,
            "body": text(&one.request.body),
            "at": trace.events()[one.sent].at.unix_ms(),
            "status": response.map(|response| response.status),
            "answer": body.as_ref().map(text),
        })
    });
    told.collect()
}

fn values(trace: &Trace, end: usize) -> SortedMap<(&str, &str), &Body> {
    let mut held = SortedMap::new();
    for (_, op, outcome) in trace.effects().take_while(|(at, ..)| *at < end) {
        match (op, outcome) {
            (Op::Kv(kv::Op::Put { namespace, key, value, .. }), Ok(_)) => {
                held.insert((&**namespace, &**key), value);
            }
            (Op::Kv(kv::Op::Delete { namespace, key }), Ok(_)) => {
                held.remove(&(&**namespace, &**key));
            }
            _ => {}
        }
    }
    held
}

fn status(ended: Option<Ended<'_>>) -> &'static str {
    match ended {
        None => "running",
        Some(Ended::Completed(_)) => "complete",
        Some(Ended::Errored(_)) => "errored",
        Some(Ended::Terminated) => "terminated",
        Some(Ended::Deleted) => "deleted",
    }
}

fn text(body: &Body) -> String {
    String::from_utf8_lossy(body.bytes()).into_owned()
}

fn cell(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => (*number).into(),
        Value::Real(number) => number.get().into(),
        Value::Text(text) => Json::from(&**text),
        Value::Blob(body) => Json::from(body.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::{Event, Frame, Reply, Request, Response, STREAM, Time};

    use super::*;

    #[test]
    fn a_body_that_is_streamed_is_an_answer_when_it_has_ended() {
        let mut trace = Trace::new(vec!["client".into()]);
        let push = |trace: &mut Trace, kind| trace.push(Event { at: Time::ZERO, actor: 0, kind });
        let request = Request::new("GET", "/", "");
        trace.set_op(0, Op::Fetch { to: "web".into(), request });
        push(&mut trace, EventKind::Call { call: 0 });
        let response = Response::new(200, "").with_header(STREAM, "0");
        let outcome = trace.keep(Ok(Reply::Fetch(response)));
        push(&mut trace, EventKind::Return { call: 0, outcome });
        let frames = [Frame::Part("a".into()), Frame::Part("b".into()), Frame::End];
        for (call, frame) in (1..).zip(frames) {
            trace.set_op(call, Op::Frame { end: 0, frame });
            let outcome = trace.keep(Ok(Reply::Done));
            push(&mut trace, EventKind::Effect { call, outcome });
        }
        assert_eq!(moments(&trace), [1, 2, 3, 4]);
        let seen = |end| before(&trace, end)["requests"][0]["answer"].clone();
        assert_eq!([1, 2, 3, 4].map(seen), [const { Json::Null }; 4]);
        assert_eq!(seen(5), json!("ab"));
    }
}
