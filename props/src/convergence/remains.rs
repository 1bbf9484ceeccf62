//! What a run leaves behind, as records: rows, stored objects and values of KV.

use serde_json::Value as Json;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Body, StableHasher, Trace};

use crate::history::{contents, named, namespaces, rows};

/// One thing that is left: a row of a table, an object in a bucket, or a value of KV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The database or the object that has the table; `r2` for what a bucket holds, `kv` for what a
    /// namespace holds.
    pub owner: String,
    /// The table, the bucket or the namespace.
    pub table: String,
    /// The columns and their texts. A value in JSON is several cells, such as `value.tasks[0].status`.
    pub cells: Vec<(String, String)>,
}

impl Record {
    /// The text of its first column, which is nearly always its name.
    pub fn name(&self) -> Option<&str> {
        self.cells.first().map(|(_, name)| &**name)
    }

    /// The first and the last event that wrote it, as indices.
    pub fn written(&self, trace: &Trace) -> Vec<usize> {
        self.name().map_or(Vec::new(), |name| named(trace, name))
    }
}

/// Everything that a run leaves behind. The platform's own tables are left out, but for keys and values.
pub fn remains(trace: &Trace) -> Vec<Record> {
    let mut records = Vec::new();
    for held in rows(trace).iter().filter(|held| held.table != "_cf_METADATA") {
        let mut cells = Vec::new();
        for (column, value) in held.row {
            put(&mut cells, column, shown(value));
        }
        records.push(Record { owner: held.owner.into(), table: held.table.into(), cells });
    }
    for stored in contents(trace).iter() {
        let mut cells = vec![("key".to_string(), stored.key().to_string())];
        cells.push(("version".into(), stored.version().into()));
        match stored.body {
            Some(body) => put(&mut cells, "body", text(body)),
            None => cells.push(("etag".into(), stored.object.etag.to_string())),
        }
        records.push(Record { owner: "r2".into(), table: stored.bucket.into(), cells });
    }
    for ((namespace, key), value) in namespaces(trace) {
        let mut cells = vec![("key".to_string(), key.to_string())];
        put(&mut cells, "value", text(value));
        records.push(Record { owner: "kv".into(), table: namespace.into(), cells });
    }
    records
}

/// Adds a cell, or those of the parts when the text is an object or a list in JSON.
fn put(cells: &mut Vec<(String, String)>, column: &str, text: String) {
    match serde_json::from_str::<Json>(&text) {
        Ok(json @ (Json::Object(_) | Json::Array(_))) => flatten(cells, column.into(), &json),
        _ => cells.push((column.into(), text)),
    }
}

fn flatten(cells: &mut Vec<(String, String)>, path: String, json: &Json) {
    match json {
        Json::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                flatten(cells, format!("{path}.{name}"), field);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                flatten(cells, format!("{path}[{at}]"), item);
            }
        }
        Json::String(text) => cells.push((path, text.clone())),
        other => cells.push((path, other.to_string())),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Text(text) => text.to_string(),
        Value::Blob(bytes) => text(bytes),
        other => other.to_string(),
    }
}

/// Text as it is, and other bytes by their hash, in decimal so that it is no name.
fn text(body: &Body) -> String {
    match body.text() {
        Some(text) => text.into(),
        None => format!("bytes {:?}", StableHasher::of(&body.bytes()).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::History;

    #[test]
    fn an_object_in_json_has_a_cell_for_each_of_its_parts() {
        let mut history = History::default();
        history.stored("photos", "cat", r#"{"tags":["a",{"b":1}],"none":[]}"#, "v1");
        let left = remains(&history.trace());
        let cells: Vec<String> =
            left[0].cells.iter().skip(2).map(|(name, text)| format!("{name}={text}")).collect();
        assert_eq!(cells, ["body.none=[]", "body.tags[0]=a", "body.tags[1].b=1"]);
        assert_eq!((&*left[0].owner, &*left[0].table), ("r2", "photos"));
    }
}
