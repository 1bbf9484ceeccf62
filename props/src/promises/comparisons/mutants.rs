//! Histories of comparisons, written by hand.

use std::sync::Arc;

use serde_json::json;
use thunderhead_sim::sqlite::{Row, RowChange, Value};
use thunderhead_sim::{Event, EventKind, Op, Reply, Request, Response, SortedMap, Time, Trace};

/// The pair that a story is about.
pub const PAIR: (&str, &str) = ("https://l.example/", "https://r.example/");
/// A pair that shares its left side with the story's pair.
pub const OTHER: (&str, &str) = ("https://l.example/", "https://other.example/");
const STORE: u16 = 0;
const WEB: u16 = 1;
const ELSEWHERE: u16 = 2;
const ACTORS: [&str; 3] = ["ENVPAIR_DO:k", "web", "ENVPAIR_DO:k2"];
const ENVELOPE: &str =
    r#"{"status":200,"routing":{"landing":"/"},"headers":{"server":"a"},"body":{}}"#;

/// The id of comparison `n` of the story's pair.
pub fn id(n: u32) -> String {
    format!("k:{n}")
}

/// A history made by hand. The first entry of a trace has index 0.
pub struct Story {
    trace: Trace,
    rows: SortedMap<String, Row>,
    elsewhere: bool,
}

impl Default for Story {
    fn default() -> Story {
        let trace = Trace::new(ACTORS.map(Arc::from).into());
        Story { trace, rows: SortedMap::new(), elsewhere: false }
    }
}

impl Story {
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }

    fn push(&mut self, actor: u16, what: EventKind) -> &mut Story {
        let at = Time::from_ms(self.trace.events().len() as u64);
        self.trace.push(Event { at, actor, kind: what });
        self
    }

    /// A number for a call. Tests number their own calls below 100.
    fn number(&self) -> u32 {
        100 + self.trace.events().len() as u32
    }

    /// Rows change in one transaction.
    pub fn turn(&mut self, tell: impl FnOnce(Turn) -> Turn) -> &mut Story {
        let turn = Turn { rows: std::mem::take(&mut self.rows), changes: Vec::new() };
        let Turn { rows, changes } = tell(turn);
        self.rows = rows;
        let store = if self.elsewhere { ELSEWHERE } else { STORE };
        self.push(store, EventKind::Rows { changes: changes.into() })
    }

    /// What follows happens at another object.
    pub fn elsewhere(&mut self) -> &mut Story {
        self.elsewhere = true;
        self
    }

    pub fn created(&mut self, numbers: &[u32]) -> &mut Story {
        self.turn(|turn| numbers.iter().fold(turn, |turn, n| turn.create(*n)))
    }

    pub fn probed(&mut self, n: u32) -> &mut Story {
        self.turn(|turn| turn.probe(n, "left", 1).probe(n, "right", 2))
    }

    pub fn completed(&mut self, n: u32) -> &mut Story {
        self.turn(|turn| turn.set(n, "completed"))
    }

    pub fn completed_with(&mut self, n: u32, diff: &str) -> &mut Story {
        let result: &str = format!(r#"{{"diff":{diff}}}"#).leak();
        self.turn(|turn| turn.set_with(n, "completed", |told, _| *told = Some(result)))
    }

    /// Comparison `n` completes with a result that is unlike all others.
    pub fn explained(&mut self, n: u32) -> &mut Story {
        let result: &str = json!({ "of": n }).to_string().leak();
        self.turn(|turn| turn.set_with(n, "completed", |told, _| *told = Some(result)))
    }

    pub fn failed(&mut self, n: u32) -> &mut Story {
        self.turn(|turn| turn.set(n, "failed"))
    }

    /// The pair is told how many to keep.
    pub fn keep(&mut self, keep: u32) -> &mut Story {
        let row = vec![
            ("key".into(), Value::from("keep")),
            ("value".into(), Value::from(keep.to_string())),
        ];
        let key = vec![Value::from("keep")];
        self.turn(|mut turn| {
            turn.changes.push(RowChange {
                table: "_cf_KV".into(),
                key,
                before: None,
                after: Some(row),
            });
            turn
        })
    }

    fn asked(&mut self, call: u32, request: Request) -> &mut Story {
        self.trace.set_op(call, Op::Fetch { to: "web".into(), request });
        self.push(WEB, EventKind::Begin { call })
    }

    /// A client asks for a comparison to be made.
    pub fn compare(&mut self, call: u32, name: &str) -> &mut Story {
        self.asked(call, Request::new("POST", "/compare", name))
    }

    /// A client asks for a comparison of a pair.
    pub fn compare_pair(&mut self, call: u32, pair: (&str, &str), name: &str) -> &mut Story {
        let body = json!({ "leftUrl": pair.0, "rightUrl": pair.1, "requestId": name });
        self.asked(call, Request::new("POST", "/compare", body.to_string()))
    }

    /// Somebody asks for another number of comparisons to be kept.
    pub fn set_keep(&mut self, call: u32, authorization: &str, keep: u32) -> &mut Story {
        let request = Request::new("PUT", "/keep", json!({ "keep": keep }).to_string());
        self.asked(call, request.with_header("authorization", authorization))
    }

    /// A client asks where comparison `n` stands.
    pub fn ask(&mut self, call: u32, n: u32) -> &mut Story {
        self.asked(call, Request::new("GET", &format!("/compare/{}", id(n)), ""))
    }

    fn answered(&mut self, call: u32, response: Response) -> &mut Story {
        let outcome = self.trace.keep(Ok(Reply::Fetch(response)));
        self.push(WEB, EventKind::End { call, outcome })
    }

    pub fn answered_id(&mut self, call: u32, n: u32) -> &mut Story {
        let body = json!({ "comparisonId": id(n) }).to_string();
        self.answered(call, Response::new(201, body))
    }

    pub fn told(&mut self, call: u32, status: u16, told: &str) -> &mut Story {
        self.answered(call, Response::new(status, json!({ "status": told }).to_string()))
    }

    /// The worker sends a request to another host.
    pub fn fetched(&mut self, to: &str) -> &mut Story {
        self.fetch(to, Request::new("GET", "/", ""))
    }

    fn fetch(&mut self, to: &str, request: Request) -> &mut Story {
        let call = self.number();
        self.trace.set_op(call, Op::Fetch { to: to.into(), request });
        self.push(WEB, EventKind::Call { call })
    }

    /// The model is asked to explain comparison `n` with others in view.
    pub fn prompt(&mut self, n: u32, past: &[u32]) -> &mut Story {
        let past: Vec<_> =
            past.iter().map(|n| json!({ "status": "completed", "result": { "of": n } })).collect();
        self.prompt_text(&json!({ "comparisonId": id(n), "history": past }).to_string())
    }

    pub fn prompt_text(&mut self, text: &str) -> &mut Story {
        self.fetch("model", Request::new("POST", "/", text))
    }

    /// A probe of this comparison is being saved.
    pub fn saves(&mut self, id: &str) -> &mut Story {
        let (object, method) = (ACTORS[0].into(), "saveProbe".into());
        let call = self.number();
        self.trace.set_op(call, Op::Rpc { object, method, args: id.into() });
        self.push(STORE, EventKind::Begin { call })
    }
}

/// Changes of rows that are kept as one.
pub struct Turn {
    rows: SortedMap<String, Row>,
    changes: Vec<RowChange>,
}

impl Turn {
    fn change(mut self, table: &str, key: String, after: Option<Row>) -> Turn {
        let before = match &after {
            Some(row) => self.rows.insert(key.clone(), row.clone()),
            None => self.rows.remove(&key),
        };
        let key = vec![Value::from(key)];
        self.changes.push(RowChange { table: table.into(), key, before, after });
        self
    }

    pub fn create(self, n: u32) -> Turn {
        self.create_of(PAIR, &id(n))
    }

    pub fn create_of(self, pair: (&str, &str), id: &str) -> Turn {
        let row = comparison(pair, id, 7, "running", None, None);
        self.change("comparisons", id.into(), Some(row))
    }

    pub fn create_as(self, n: u32, status: &str) -> Turn {
        let row = comparison(PAIR, &id(n), 7, status, Some("{}"), None);
        self.change("comparisons", id(n), Some(row))
    }

    /// The row gets a status, with a result or an error that is unlike any before it.
    pub fn set(self, n: u32, status: &str) -> Turn {
        let result: &str = format!(r#"{{"change":{}}}"#, self.rows.len()).leak();
        self.set_with(n, status, |told, _| *told = told.map(|_| result))
    }

    pub fn set_with(
        self,
        n: u32,
        status: &str,
        spoil: impl FnOnce(&mut Option<&'static str>, &mut Option<&'static str>),
    ) -> Turn {
        let mut result = (status == "completed").then_some("{}");
        let mut error = (status == "failed").then_some("no");
        spoil(&mut result, &mut error);
        // A second completion is told apart from the first by its time alone.
        let again = self.rows.get(&id(n)).is_some_and(|row| row[4].1.as_str() == Some(status));
        let row = comparison(PAIR, &id(n), if again { 8 } else { 7 }, status, result, error);
        self.change("comparisons", id(n), Some(row))
    }

    /// The time of creation changes.
    pub fn retime(self, n: u32) -> Turn {
        let row = comparison(PAIR, &id(n), 9, "running", None, None);
        self.change("comparisons", id(n), Some(row))
    }

    pub fn delete(self, n: u32) -> Turn {
        self.change("comparisons", id(n), None)
    }

    pub fn probe(self, n: u32, side: &str, ts: i64) -> Turn {
        self.probe_with(n, side, ts, ENVELOPE)
    }

    pub fn probe_with(self, n: u32, side: &str, ts: i64, envelope: &str) -> Turn {
        let row = vec![
            ("comparison_id".into(), Value::from(id(n))),
            ("ts".into(), Value::Integer(ts)),
            ("side".into(), Value::from(side)),
            ("envelope_json".into(), Value::from(envelope)),
        ];
        let key = format!("{}:{side}:{ts}", id(n));
        self.change("probes", key, Some(row))
    }

    pub fn delete_probes(mut self, n: u32) -> Turn {
        let of = format!("{}:", id(n));
        let keys: Vec<String> =
            self.rows.keys().filter(|key| key.starts_with(&of)).cloned().collect();
        for key in keys {
            self = self.change("probes", key, None);
        }
        self
    }
}

fn comparison(
    (left, right): (&str, &str),
    id: &str,
    ts: i64,
    status: &str,
    result: Option<&str>,
    error: Option<&str>,
) -> Row {
    vec![
        ("id".into(), Value::from(id)),
        ("ts".into(), Value::Integer(ts)),
        ("left_url".into(), Value::from(left)),
        ("right_url".into(), Value::from(right)),
        ("status".into(), Value::from(status)),
        ("result_json".into(), Value::from(result)),
        ("error".into(), Value::from(error)),
    ]
}
