//! Compares the labels of rows with the classifier's own answers for the bytes that R2 held.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use thunderhead_model::{Classifier, simulated};
use thunderhead_sim::sqlite::{RowChange, Value};
use thunderhead_sim::{Body, EventKind, Op, Reply, Run, r2};

/// What the classifier itself says of pictures; it is asked once for each.
pub struct Truth {
    classifier: Classifier,
    known: BTreeMap<Body, Option<(String, u32)>>,
}

impl Truth {
    pub fn of(classifier: Classifier) -> Truth {
        Truth { classifier, known: BTreeMap::new() }
    }

    /// The best label and its score in millionths; nothing for what is no picture.
    pub fn label(&mut self, bytes: &Body) -> Option<(String, u32)> {
        let classifier = &self.classifier;
        let ask = || {
            let labels = classifier.classify(bytes.bytes()).ok()?;
            let best = simulated::label(labels.first()?);
            Some((best.label.to_string(), best.score.millionths()))
        };
        self.known.entry(bytes.clone()).or_insert_with(ask).clone()
    }
}

/// Every label that a row of the run shows, each compared with the truth about the bytes that R2 held under the key
/// and etag of the row's event.
pub fn compared(run: &Run, truth: &mut Truth) -> Result<Vec<String>, String> {
    let mut held = Held::default();
    let mut shown = Vec::new();
    for event in run.trace.events() {
        match &event.kind {
            EventKind::Effect { call, outcome } => {
                if let (Op::R2(op), Ok(Reply::R2(reply))) =
                    (run.trace.op(*call), run.trace.outcome(*outcome))
                {
                    held.step(op, reply);
                }
            }
            EventKind::Rows { changes } => {
                for (event, label, score) in changes.iter().filter_map(labelled) {
                    let bytes = held.by_event.get(event).ok_or("a label of bytes never held")?;
                    let own = truth.label(bytes);
                    if own.as_ref() != Some(&(label.to_string(), score)) {
                        return Err(format!("{bytes}: the row says {label} {score}, not {own:?}"));
                    }
                    shown.push(label.to_string());
                }
            }
            _ => {}
        }
    }
    Ok(shown)
}

/// The event, the label and the score in millionths of a row that shows a label.
fn labelled(change: &RowChange) -> Option<(&str, &str, u32)> {
    let text = |column: &str| change.value_after(column).and_then(Value::as_str);
    let event = text("eventId").or_else(|| text("latestEventId")).or_else(|| text("id"))?;
    let score = change.value_after("classificationScore")?.as_f64()?;
    Some((event, text("classificationLabel")?, (score * 1e6).round() as u32))
}

/// The bytes of every object that R2 ever held, followed through puts, copies and parts.
#[derive(Default)]
struct Held {
    now: BTreeMap<String, Body>,
    parts: BTreeMap<String, Body>,
    by_event: BTreeMap<String, Body>,
}

impl Held {
    fn step(&mut self, op: &r2::Op, reply: &r2::Reply) {
        if let r2::Op::UploadPart { upload_id, body, .. } = op {
            // The workload sends uploads of one part.
            self.parts.insert(upload_id.to_string(), body.clone());
        }
        let r2::Reply::Stored(object) = reply else { return };
        let bytes = match op {
            r2::Op::Put { body, .. } => body,
            r2::Op::Copy { source_key, .. } => &self.now[&**source_key],
            r2::Op::CompleteMultipartUpload { upload_id, .. } => &self.parts[&**upload_id],
            other => panic!("{other} has stored something"),
        };
        let bytes = bytes.clone();
        let id = Sha256::digest(format!("{}:{}", object.key, object.etag));
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.by_event.insert(id, bytes.clone());
        self.now.insert(object.key.to_string(), bytes);
    }
}
