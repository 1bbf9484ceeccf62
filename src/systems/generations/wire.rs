//! What travels between client, worker, object and provider, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use thunderhead_sim::SortedSet;

/// How many artifacts one request may ask for.
const COUNT_MAX: u32 = 8;
/// How many tags a generation or an artifact may be given at once, and how long each may be.
const TAGS_MAX: usize = 16;
const TAG_BYTES_MAX: usize = 64;
/// How many pixels wide and high an artifact may be, and what both numbers are multiples of.
const SIDE: std::ops::RangeInclusive<u64> = 128..=2_048;
const SIDE_STEP: u64 = 64;
/// The longest time, in seconds, that a client may give a generation. The message that looks after it
/// lives longer.
const TIMEOUT_MAX: u64 = 3_600;

/// What a client asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    pub model: String,
    #[serde(default)]
    pub input: Json,
    #[serde(default = "one")]
    pub count: u32,
    #[serde(default)]
    pub tags: SortedSet<String>,
    /// The client's own name for this request: asked again under the same name, it is the same.
    pub idempotency_key: Option<String>,
    /// How long it may take; what a model of its kind usually gets when not said.
    pub timeout_seconds: Option<u64>,
}

fn one() -> u32 {
    1
}

impl Wanted {
    /// What is wrong with it, if anything is.
    pub fn fault(&self) -> Option<String> {
        if self.model.is_empty() {
            return Some("a model is needed".into());
        }
        if !(1..=COUNT_MAX).contains(&self.count) {
            return Some(format!("from 1 to {COUNT_MAX} artifacts can be asked for"));
        }
        if let Some(fault) = tags_fault(&self.tags) {
            return Some(fault);
        }
        if !self.input.is_null() && !self.input.is_object() {
            return Some("`input` is an object".into());
        }
        let is_side = |n: u64| SIDE.contains(&n) && n.is_multiple_of(SIDE_STEP);
        for name in ["width", "height"] {
            let side = self.input.get(name);
            if side.is_some_and(|side| !side.as_u64().is_some_and(is_side)) {
                let (least, most) = (SIDE.start(), SIDE.end());
                return Some(format!(
                    "`{name}` is from {least} to {most} pixels, a multiple of {SIDE_STEP}"
                ));
            }
        }
        let timeout = self.timeout_seconds.unwrap_or(1);
        (!(1..=TIMEOUT_MAX).contains(&timeout))
            .then(|| format!("a generation may take from 1 to {TIMEOUT_MAX} seconds"))
    }

    /// What the object is told.
    pub fn called(self, id: &str, client: &str) -> Create {
        let Wanted { model, input, count, tags, timeout_seconds, .. } = self;
        Create { id: id.into(), model, input, count, tags, timeout_seconds, client: client.into() }
    }
}

/// What is wrong with tags, if anything is.
pub fn tags_fault<'a>(tags: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let (mut count, mut bad) = (0, false);
    for tag in tags {
        count += 1;
        bad |= !(1..=TAG_BYTES_MAX).contains(&tag.len());
    }
    (bad || count > TAGS_MAX)
        .then(|| format!("up to {TAGS_MAX} tags, each of 1 to {TAG_BYTES_MAX} bytes"))
}

/// The arguments of `create`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Create {
    pub id: String,
    pub model: String,
    pub input: Json,
    pub count: u32,
    pub tags: SortedSet<String>,
    pub timeout_seconds: Option<u64>,
    /// Whose it is.
    pub client: String,
}

/// What a model makes, and so how its jobs are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskType {
    /// The provider answers when it is done.
    Image,
    /// The provider answers at once and calls back when it is done.
    Video,
}

impl TaskType {
    /// What the model of this name makes.
    pub fn of_model(model: &str) -> TaskType {
        if model.starts_with("video") { TaskType::Video } else { TaskType::Image }
    }
}

/// What the provider says of a job: in its answers and in its webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    #[serde(rename = "taskUUID")]
    pub task_uuid: String,
    pub status: JobStatus,
    /// Where the result is, for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether another job of the same kind might fare better.
    #[serde(default)]
    pub retryable: bool,
}

/// What the provider says of an artifact besides its bytes; nothing of what it does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// In pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// In millionths of a dollar, because sums of fractions are not exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u32>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    Running,
    Succeeded,
    Failed,
}

/// What an object says of its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// There is none.
    Unknown,
    /// It is under way.
    Active,
    /// It is settled, and about to be in the library if it is not there yet.
    Settled,
}

/// How far a generation is: what pollers and subscribers are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub standing: Standing,
    pub count: u32,
    pub ready: u32,
    pub failed: u32,
    /// Whose it is, as long as the object knows; subscribers are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::Body;

    use super::*;
    use crate::systems::json;

    fn fault(body: &str) -> Option<String> {
        json::read::<Wanted>(&Body::from(body)).expect("it is JSON of the right shape").fault()
    }

    #[test]
    fn a_request_within_its_bounds_is_taken() {
        let most = (0..TAGS_MAX).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
        assert_eq!(fault(r#"{"model":"image-1"}"#), None);
        assert_eq!(fault(&format!(r#"{{"model":"m","count":8,"tags":[{most}]}}"#)), None);
        assert_eq!(fault(r#"{"model":"m","timeoutSeconds":3600}"#), None);
        assert_eq!(fault(r#"{"model":"m","input":{"width":128,"height":2048}}"#), None);
    }

    #[test]
    fn a_request_beyond_its_bounds_is_told_what_is_wrong() {
        let many = (0..=TAGS_MAX).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
        for (body, wrong) in [
            (r#"{"model":""}"#, "a model"),
            (r#"{"model":"m","count":0}"#, "artifacts"),
            (r#"{"model":"m","count":9}"#, "artifacts"),
            (r#"{"model":"m","tags":[""]}"#, "tags"),
            (&format!(r#"{{"model":"m","tags":[{many}]}}"#), "tags"),
            (&format!(r#"{{"model":"m","tags":["{}"]}}"#, "x".repeat(65)), "tags"),
            (r#"{"model":"m","input":"a cat"}"#, "an object"),
            (r#"{"model":"m","input":{"width":64}}"#, "`width`"),
            (r#"{"model":"m","input":{"width":2112}}"#, "`width`"),
            (r#"{"model":"m","input":{"height":1000}}"#, "`height`"),
            (r#"{"model":"m","input":{"height":-128}}"#, "`height`"),
            (r#"{"model":"m","input":{"height":"512"}}"#, "`height`"),
            (r#"{"model":"m","timeoutSeconds":0}"#, "seconds"),
            (r#"{"model":"m","timeoutSeconds":3601}"#, "seconds"),
        ] {
            let told = fault(body).unwrap_or_default();
            assert!(told.contains(wrong), "{body}: {told}");
        }
    }

    #[test]
    fn a_report_whose_figures_are_no_sizes_or_costs_is_not_read() {
        let report = |figures: &str| {
            let text = format!(r#"{{"taskUUID":"a-1","status":"succeeded"{figures}}}"#);
            json::read::<Report>(&Body::from(text)).map(|report| report.figures)
        };
        assert_eq!(report(""), Ok(Figures::default()));
        let known = Figures { width: Some(512), cost: Some(9), ..Figures::default() };
        assert_eq!(report(r#","width":512,"cost":9"#), Ok(known));
        for bad in [r#","cost":-1"#, r#","cost":0.5"#, r#","width":"512""#, r#","height":-1"#] {
            assert!(report(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_model_makes_films_or_pictures() {
        assert_eq!(TaskType::of_model("video-1"), TaskType::Video);
        assert_eq!(TaskType::of_model("image-1"), TaskType::Image);
    }
}
