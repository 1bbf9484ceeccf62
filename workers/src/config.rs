//! What `wrangler.jsonc`, `wrangler.json` or `wrangler.toml` says about a Worker.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_sim::queue::ConsumerConfig;
use thunderhead_sim::r2::EventType;
use thunderhead_sim::workflow::WorkflowConfig;

use crate::rules::Rule;
use crate::{environment, jsonc, migrations, secrets};

/// The configuration, as far as it matters to a simulation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The name of the Worker.
    pub(crate) name: String,
    /// The file of its main module.
    pub(crate) main: String,
    pub(crate) r2_buckets: Vec<Bucket>,
    pub(crate) queues: Queues,
    pub(crate) durable_objects: Objects,
    pub(crate) workflows: Vec<Workflow>,
    pub(crate) d1_databases: Vec<Database>,
    pub(crate) kv_namespaces: Vec<Namespace>,
    analytics_engine_datasets: Vec<Named>,
    ratelimits: Vec<RateLimit>,
    version_metadata: Option<Named>,
    pub(crate) services: Vec<Service>,
    migrations: Vec<Migration>,
    compatibility_flags: Vec<String>,
    pub(crate) vars: BTreeMap<String, Value>,
    pub(crate) triggers: Triggers,
    /// Whether the main module is taken as it is.
    pub(crate) no_bundle: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) alias: BTreeMap<String, String>,
    pub(crate) define: BTreeMap<String, String>,
    pub(crate) tsconfig: Option<String>,
    /// The statements that make each database what the Worker expects, by the name of the database.
    #[serde(skip)]
    pub(crate) d1_migrations: BTreeMap<String, Vec<String>>,
    /// The file that this is from, for messages.
    #[serde(skip)]
    pub(crate) file: String,
    /// What was noticed when it was read.
    #[serde(skip)]
    pub(crate) noticed: Vec<String>,
    /// No key of wrangler's: what `wrangler r2 bucket notification create` sets up beside the file.
    pub(crate) r2_notifications: Vec<Notification>,
    #[serde(flatten)]
    pub(crate) others: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bucket {
    pub(crate) binding: String,
    #[serde(default)]
    bucket_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Queues {
    pub(crate) producers: Vec<Producer>,
    pub(crate) consumers: Vec<Consumer>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Producer {
    pub(crate) binding: String,
    pub(crate) queue: String,
    #[serde(default)]
    pub(crate) delivery_delay: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Consumer {
    pub(crate) queue: String,
    max_batch_size: Option<u32>,
    max_batch_timeout: Option<f64>,
    max_retries: Option<u32>,
    pub(crate) dead_letter_queue: Option<String>,
    retry_delay: Option<u64>,
    max_concurrency: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Objects {
    pub(crate) bindings: Vec<Object>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) class_name: String,
    pub(crate) script_name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Workflow {
    pub(crate) binding: String,
    pub(crate) name: String,
    pub(crate) class_name: String,
    #[serde(default)]
    limits: WorkflowLimits,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WorkflowLimits {
    steps: Option<u32>,
}

impl Workflow {
    /// As the simulator takes it; `local` is the emulator on a developer's machine.
    pub fn config(&self, local: bool) -> WorkflowConfig {
        let config = if local { WorkflowConfig::miniflare() } else { WorkflowConfig::default() };
        WorkflowConfig { step_limit: self.limits.steps.unwrap_or(config.step_limit), ..config }
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Triggers {
    pub(crate) crons: Vec<String>,
}

/// A binding of which nothing but its name matters.
#[derive(Clone, Debug, Deserialize)]
struct Named {
    binding: String,
}

#[derive(Clone, Debug, Deserialize)]
struct RateLimit {
    name: String,
    simple: SimpleLimit,
}

/// So many calls in so many seconds.
#[derive(Clone, Debug, Deserialize)]
struct SimpleLimit {
    limit: u64,
    period: u64,
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
pub(crate) struct Service {
    pub(crate) binding: String,
    pub(crate) service: String,
    entrypoint: Option<String>,
    props: Option<Value>,
}

/// A migration of classes of objects; those that are new without `sqlite` keep keys and values alone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Migration {
    new_classes: Vec<String>,
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

impl Bucket {
    /// The name of the bucket; wrangler makes one up of the binding when there is none.
    pub fn bucket(&self) -> &str {
        self.bucket_name.as_deref().unwrap_or(&self.binding)
    }
}

impl Database {
    /// The name of the database.
    pub fn database(&self) -> &str {
        self.database_name.as_deref().unwrap_or(&self.binding)
    }
}

impl Consumer {
    /// As the simulator takes it; `local` is the emulator on a developer's machine.
    pub fn config(&self, local: bool) -> ConsumerConfig {
        let default = if local { ConsumerConfig::miniflare() } else { ConsumerConfig::default() };
        ConsumerConfig {
            max_batch_size: self.max_batch_size.unwrap_or(default.max_batch_size),
            max_batch_timeout: self
                .max_batch_timeout
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or(default.max_batch_timeout),
            max_retries: self.max_retries.unwrap_or(default.max_retries),
            dead_letter_queue: self.dead_letter_queue.as_deref().map(Into::into),
            retry_delay: self.retry_delay.map_or(default.retry_delay, Duration::from_secs),
            max_concurrency: self.max_concurrency.unwrap_or(default.max_concurrency),
            ..default
        }
    }
}

/// The names that wrangler knows, in the order in which it looks for them.
const NAMES: [&str; 3] = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];

impl Config {
    /// Reads the file in a folder, for an environment if one is named.
    pub fn read(folder: &Path, environment: Option<&str>) -> Result<Config, String> {
        for name in NAMES {
            let path = folder.join(name);
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            };
            let told = |why| format!("{}: {why}", path.display());
            let mut config = Config::parse_for(name, &text, environment).map_err(told)?;
            config.vars.extend(secrets::read(folder, environment));
            config.d1_migrations = migrations::read(folder, &config)?;
            return Ok(config);
        }
        Err(format!(
            "{}: there is no {}, which says what the Worker is",
            folder.display(),
            NAMES.join(", ")
        ))
    }

    /// Reads the text of a file of that name.
    pub fn parse(name: &str, text: &str) -> Result<Config, String> {
        Config::parse_for(name, text, None)
    }

    /// Reads the text of a file of that name, for an environment if one is named.
    pub fn parse_for(name: &str, text: &str, environment: Option<&str>) -> Result<Config, String> {
        let mut config: Config = match name.ends_with(".toml") {
            true => toml::from_str(text).map_err(|error| error.to_string())?,
            false => {
                serde_json::from_str(&jsonc::plain(text)).map_err(|error| error.to_string())?
            }
        };
        let mut noticed = Vec::new();
        if let Some(environment) = environment {
            // As plain values this time: which keys are there matters.
            let whole: Value = match name.ends_with(".toml") {
                true => toml::from_str(text).map_err(|error| error.to_string())?,
                false => {
                    serde_json::from_str(&jsonc::plain(text)).map_err(|error| error.to_string())?
                }
            };
            let selected = environment::select(&whole, environment)?;
            noticed = selected.noticed;
            config = serde_json::from_value(selected.config)
                .map_err(|error| format!("`env.{environment}`: {error}"))?;
        }
        if config.main.is_empty() {
            return Err(match config.others.contains_key("pages_build_output_dir") {
                true => "it is a Pages project, which is not simulated: only Workers are".into(),
                false => "there is no `main`, the file of the Worker".into(),
            });
        }
        config.main = config.main.trim_start_matches("./").into();
        if config.name.is_empty() {
            config.name = "worker".into();
        }
        config.file = name.into();
        config.noticed = noticed;
        Ok(config)
    }

    /// Whether objects of a class have SQL.
    pub(crate) fn has_sqlite(&self, class: &str) -> bool {
        !self
            .migrations
            .iter()
            .any(|migration| migration.new_classes.iter().any(|new| new == class))
    }

    /// The name of the Worker, and what `env` is made of, for the prelude.
    pub fn bindings(&self) -> Value {
        let node = self.compatibility_flags.iter().any(|flag| flag == "nodejs_compat");
        json!({ "name": self.name, "node": node, "all": self.all_bindings() })
    }

    /// What needs no service: it is all in the isolate.
    fn small_bindings(&self) -> Vec<Value> {
        let analytics = self.analytics_engine_datasets.iter();
        let analytics = analytics.map(|set| json!({ "kind": "analytics", "name": set.binding }));
        let limits = self.ratelimits.iter().map(|RateLimit { name, simple }| {
            json!({ "kind": "rateLimit", "name": name, "limit": simple.limit, "period": simple.period })
        });
        let version = self.version_metadata.iter();
        let version = version.map(|named| json!({ "kind": "version", "name": named.binding }));
        analytics.chain(limits).chain(version).collect()
    }

    fn all_bindings(&self) -> Value {
        let bound =
            |kind: &str, name: &str, to: &str| json!({ "kind": kind, "name": name, "to": to });
        let mut all: Vec<Value> = Vec::new();
        all.extend(self.r2_buckets.iter().map(|r2| bound("r2", &r2.binding, r2.bucket())));
        all.extend(
            self.queues.producers.iter().map(|queue| bound("queue", &queue.binding, &queue.queue)),
        );
        all.extend(
            self.durable_objects
                .bindings
                .iter()
                .map(|object| bound("object", &object.name, &object.name)),
        );
        all.extend(self.workflows.iter().map(|flow| bound("workflow", &flow.binding, &flow.name)));
        let kv = self.kv_namespaces.iter();
        all.extend(kv.map(|kv| bound("kv", &kv.binding, kv.namespace())));
        all.extend(self.small_bindings());
        all.extend(self.d1_databases.iter().map(|d1| bound("d1", &d1.binding, d1.database())));
        all.extend(self.services.iter().map(|Service { binding, service, entrypoint, props }| {
            json!({ "kind": "service", "name": binding, "to": service, "entrypoint": entrypoint, "props": props })
        }));
        let vars = self.vars.iter();
        all.extend(
            vars.map(|(name, value)| json!({ "kind": "value", "name": name, "value": value })),
        );
        let missing = self.missing().into_iter();
        all.extend(
            missing.map(|(name, what)| json!({ "kind": "missing", "name": name, "what": what })),
        );
        all.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        name = "shop"
        main = "./src/index.js"
        [vars]
        GREETING = "hello"
        [[r2_buckets]]
        binding = "PHOTOS"
        bucket_name = "photos"
        [[queues.consumers]]
        queue = "orders"
        max_batch_timeout = 0.5
        [[vectorize]]
        binding = "CACHE"
        index_name = "1"
    "#;

    #[test]
    fn toml_and_jsonc_say_the_same() {
        let json = r#"{
            "name": "shop", "main": "src/index.js", // the Worker
            "vars": { "GREETING": "hello" },
            "r2_buckets": [{ "binding": "PHOTOS", "bucket_name": "photos" }],
            "queues": { "consumers": [{ "queue": "orders", "max_batch_timeout": 0.5 }] },
            "vectorize": [{ "binding": "CACHE", "index_name": "1" }],
        }"#;
        let (toml, json) = (
            Config::parse("wrangler.toml", TOML).unwrap(),
            Config::parse("wrangler.jsonc", json).unwrap(),
        );
        assert_eq!(toml.main, json.main);
        assert_eq!(toml.bindings(), json.bindings());
        assert_eq!(toml.queues.consumers[0].config(false), json.queues.consumers[0].config(false));
        assert_eq!(
            toml.queues.consumers[0].config(false).max_batch_timeout,
            Duration::from_millis(500)
        );
    }

    #[test]
    fn a_binding_without_a_service_is_named_with_what_it_is() {
        let config = Config::parse("wrangler.toml", TOML).unwrap();
        assert_eq!(config.missing(), [("CACHE".to_string(), "Vectorize")]);
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let said = Config::parse("wrangler.json", "{\n\"main\": 1\n}").unwrap_err();
        assert!(said.contains("line 2"), "{said}");
        assert!(Config::parse("wrangler.json", "{}").unwrap_err().contains("`main`"));
    }
}
