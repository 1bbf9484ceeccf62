//! Where a Worker keeps things: buckets, databases and namespaces, and what is told of changes to them.

use serde::Deserialize;
use thunderhead_sim::r2::EventType;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bucket {
    pub(crate) binding: String,
    #[serde(default)]
    bucket_name: Option<String>,
}

impl Bucket {
    /// The name of the bucket; wrangler makes one up of the binding when there is none.
    pub fn bucket(&self) -> &str {
        self.bucket_name.as_deref().unwrap_or(&self.binding)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Database {
    pub(crate) binding: String,
    #[serde(default)]
    database_name: Option<String>,
    /// The folder of the statements that make its tables.
    pub(crate) migrations_dir: Option<String>,
}

impl Database {
    /// The name of the database.
    pub fn database(&self) -> &str {
        self.database_name.as_deref().unwrap_or(&self.binding)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Namespace {
    pub(crate) binding: String,
    #[serde(default)]
    id: Option<String>,
}

impl Namespace {
    /// The name of the namespace: two bindings with one id are bound to the same one.
    pub fn namespace(&self) -> &str {
        self.id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&self.binding)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Notification {
    pub(crate) bucket: String,
    pub(crate) queue: String,
    pub(crate) prefix: Option<String>,
    pub(crate) suffix: Option<String>,
    #[serde(default = "created")]
    pub(crate) events: Vec<EventType>,
}

fn created() -> Vec<EventType> {
    vec![EventType::ObjectCreate]
}
