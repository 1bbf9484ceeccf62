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
    /// The name of the bucket.
    pub fn bucket(&self) -> &str {
        self.bucket_name.as_deref().unwrap_or(&self.binding)
    }

    /// Without a name, it gets the one under which wrangler makes the bucket.
    pub fn name_after(&mut self, worker: &str) {
        let usual = || format!("{worker}-{}", self.binding).to_lowercase().replace('_', "-");
        self.bucket_name = Some(self.bucket_name.take().unwrap_or_else(usual));
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

    /// Whether its id is one that the platform has given it, which nobody can read.
    pub fn is_numbered(&self) -> bool {
        let id = self.id.as_deref().unwrap_or_default();
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// From here on it has another name.
    pub fn rename(&mut self, name: String) {
        self.id = Some(name);
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
