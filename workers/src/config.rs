//! What `wrangler.jsonc`, `wrangler.json` or `wrangler.toml` says about a Worker.

pub(crate) mod objects;
mod queues;
mod stores;
mod workflows;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use objects::{Migration, Object, Objects};
use queues::Queues;
use serde::Deserialize;
use serde_json::Value;
use stores::{Bucket, Database, Namespace, Notification};
use thunderhead_sim::SortedMap;
use workflows::Workflow;

use crate::assets::{Assets, AssetsConfig};
use crate::failure::without_place;
use crate::rules::Rule;
use crate::service_bindings::Wanted;
use crate::{environment, jsonc, keys, migrations, secrets};

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
    pub(crate) analytics_engine_datasets: Vec<Named>,
    pub(crate) ratelimits: Vec<RateLimit>,
    pub(crate) version_metadata: Option<Named>,
    pub(crate) send_email: Vec<Mail>,
    pub(crate) services: Vec<Service>,
    pub(crate) assets: Option<AssetsConfig>,
    /// The files that are served.
    #[serde(skip)]
    pub(crate) files: Assets,
    migrations: Vec<Migration>,
    pub(crate) compatibility_date: Option<String>,
    pub(crate) compatibility_flags: Vec<String>,
    pub(crate) vars: SortedMap<String, Value>,
    pub(crate) secrets: Secrets,
    pub(crate) triggers: Triggers,
    /// Whether the main module is taken as it is.
    pub(crate) no_bundle: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) alias: SortedMap<String, String>,
    pub(crate) define: SortedMap<String, String>,
    pub(crate) tsconfig: Option<String>,
    /// The statements that make each database what the Worker expects, by the name of the database.
    #[serde(skip)]
    pub(crate) d1_migrations: SortedMap<String, Vec<String>>,
    /// The file that this is from, for messages.
    #[serde(skip)]
    pub(crate) file: String,
    /// What was noticed when it was read.
    #[serde(skip)]
    pub(crate) noticed: Vec<String>,
    /// No key of wrangler's: what `wrangler r2 bucket notification create` sets up beside the file.
    pub(crate) r2_notifications: Vec<Notification>,
    #[serde(flatten)]
    pub(crate) others: SortedMap<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Triggers {
    pub(crate) crons: Vec<String>,
}

/// A binding of which nothing but its name matters.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Named {
    pub(crate) binding: String,
}

/// A binding that sends mail. To whom it may send is not simulated.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mail {
    pub(crate) name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RateLimit {
    pub(crate) name: String,
    pub(crate) simple: SimpleLimit,
}

/// So many calls in so many seconds.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SimpleLimit {
    pub(crate) limit: u64,
    pub(crate) period: u64,
}

/// The secrets that it cannot do without.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Secrets {
    pub(crate) required: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Service {
    pub(crate) binding: String,
    pub(crate) service: String,
    pub(crate) entrypoint: Option<String>,
    pub(crate) props: Option<Value>,
}

/// The names that wrangler knows, in the order in which it looks for them.
const NAMES: [&str; 3] = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];

impl Config {
    /// Whether there is a file in a folder that wrangler finds by itself.
    pub(crate) fn is_in(folder: &Path) -> bool {
        NAMES.iter().any(|name| folder.join(name).is_file())
    }

    /// Whether a path is that of a configuration: `wrangler.jsonc`, or another one that wrangler is told of, such as
    /// `wrangler.consumer.jsonc`.
    pub fn is_one(path: &Path) -> bool {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let kinds = [".json", ".jsonc", ".toml"];
        name.starts_with("wrangler")
            && kinds.iter().any(|kind| name.ends_with(kind))
            && path.is_file()
    }

    /// The configurations in a folder: the one that wrangler finds by itself, and then those that it is told of.
    pub(crate) fn all_in(folder: &Path) -> Vec<PathBuf> {
        let first = NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_other =
            |path: &PathBuf| Config::is_one(path) && NAMES.iter().all(|name| !path.ends_with(name));
        let mut others: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_other).collect();
        others.sort();
        first.into_iter().chain(others).collect()
    }

    /// The folder of a Worker that is named by its folder or by its configuration.
    pub(crate) fn folder(place: &Path) -> &Path {
        match place.parent().filter(|_| place.is_file()) {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => place,
        }
    }

    /// The workflows that are its own.
    pub(crate) fn own_workflows(&self) -> impl Iterator<Item = &Workflow> {
        let own = |script: &String| *script == self.name;
        self.workflows.iter().filter(move |one| one.script_name.as_ref().is_none_or(own))
    }

    /// The objects whose classes are its own.
    pub(crate) fn own_objects(&self) -> impl Iterator<Item = &Object> {
        self.durable_objects.bindings.iter().filter(|object| object.is_of(&self.name))
    }

    /// What it needs of other Workers.
    pub(crate) fn wanted(&self) -> Vec<Wanted<'_>> {
        let services = self.services.iter().map(|service| &service.service);
        let objects = &self.durable_objects.bindings;
        let classes = objects.iter().filter_map(|object| object.script_name.as_ref());
        let workflows = self.workflows.iter().filter_map(|flow| flow.script_name.as_ref());
        let names = services.chain(classes).chain(workflows).filter(|name| **name != self.name);
        let queues = self.queues.producers.iter().map(|producer| &producer.queue);
        let is_consumed =
            |queue: &&String| self.queues.consumers.iter().any(|one| one.queue == **queue);
        let queues = queues.filter(|queue| !is_consumed(queue));
        let names = names.map(|name| Wanted::Worker(name));
        names.chain(queues.map(|queue| Wanted::Consumer(queue))).collect()
    }

    /// The name on the cloud of a class of its own, for another Worker, which calls it `wanted`.
    pub(crate) fn namespace_of(&mut self, class: &str, wanted: &str) -> String {
        if let Some(known) = self.own_objects().find(|object| object.class_name == class) {
            return known.namespace().into();
        }
        let namespace = format!("{}-{wanted}", self.name);
        self.durable_objects.bindings.push(Object {
            name: namespace.clone(),
            class_name: class.into(),
            script_name: None,
            namespace: None,
            unbound: true,
        });
        namespace
    }

    /// Reads a file, or the one in a folder, for an environment if one is named.
    pub fn read(place: &Path, environment: Option<&str>) -> Result<Config, String> {
        let folder = Config::folder(place);
        let path = match place.is_file() {
            true => Some(place.to_path_buf()),
            false => NAMES.iter().map(|name| folder.join(name)).find(|path| path.exists()),
        };
        let path = path.ok_or_else(|| {
            let (folder, names) = (folder.display(), NAMES.join(", "));
            format!("{folder}: there is no {names}, which says what the Worker is")
        })?;
        let told = |why: String| format!("{}: {why}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| told(error.to_string()))?;
        // What the template generator fills in.
        let text = text.replace("<WORKER_NAME>", "worker");
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or(NAMES[0]);
        let mut config = Config::parse_for(name, &text, environment).map_err(told)?;
        config.vars.extend(secrets::read(folder, environment));
        config.d1_migrations = migrations::read(folder, &config)?;
        config.serve_files(folder);
        Ok(config)
    }

    /// That of a module that is no Worker.
    pub(crate) fn of_module(main: &str) -> Config {
        Config { name: "storm".into(), main: main.into(), ..Config::default() }
    }

    /// Reads the text of a file of that name.
    pub fn parse(name: &str, text: &str) -> Result<Config, String> {
        Config::parse_for(name, text, None)
    }

    /// Reads the text of a file of that name, for an environment if one is named.
    pub fn parse_for(name: &str, text: &str, environment: Option<&str>) -> Result<Config, String> {
        let mut config: Config = match name.ends_with(".toml") {
            true => toml::from_str(text).map_err(|error| not_toml(text, &error))?,
            false => {
                serde_json::from_str(&jsonc::plain(text)).map_err(|error| error.to_string())?
            }
        };
        let mut noticed = Vec::new();
        if let Some(environment) = environment {
            // As plain values this time: which keys are there matters.
            let whole: Value = match name.ends_with(".toml") {
                true => toml::from_str(text).map_err(|error| not_toml(text, &error))?,
                false => {
                    serde_json::from_str(&jsonc::plain(text)).map_err(|error| error.to_string())?
                }
            };
            let selected = environment::select(&whole, environment)?;
            noticed = selected.noticed;
            // As text again: to read it from values too would be the same code once more, for another reader.
            config = serde_json::from_str(&selected.config.to_string())
                .map_err(|error| format!("`env.{environment}`: {}", without_place(&error)))?;
        }
        if config.main.is_empty() && config.assets.is_none() {
            return Err(match config.others.contains_key("pages_build_output_dir") {
                true => "it is a Pages project, which is not simulated: only Workers are".into(),
                false => "there is no `main`, the file of the Worker".into(),
            });
        }
        config.main = config.main.trim_start_matches("./").into();
        if config.name.is_empty() {
            config.name = "worker".into();
        }
        for bucket in &mut config.r2_buckets {
            bucket.name_after(&config.name);
        }
        config.ratelimits.extend(older_rate_limits(&config.others));
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

    fn serve_files(&mut self, folder: &Path) {
        let Some(assets) = &self.assets else { return };
        self.files = Assets::read(folder, assets);
        if let Some(directory) = self.files.directory().filter(|_| self.files.is_empty()) {
            self.noticed.push(format!(
                "`assets.directory`: there are no files in `{directory}`; if a build makes them, run it first"
            ));
        }
    }

    /// The name of the host that the binding of the assets leads to.
    pub(crate) fn assets_host(&self) -> String {
        format!("{}-assets", self.name)
    }
}

/// The rate limits that are declared as they were before they had a key of their own.
fn older_rate_limits(others: &SortedMap<String, Value>) -> Vec<RateLimit> {
    let bindings = others.get("unsafe").and_then(|other| other.get("bindings")?.as_array());
    let limits = bindings.into_iter().flatten().filter(|one| keys::is_rate_limit(one));
    limits.filter_map(|one| serde_json::from_value(one.clone()).ok()).collect()
}

/// What is wrong with a text in TOML, on one line.
fn not_toml(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{}{}", line.unwrap_or_default(), error.message())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    fn a_rate_limit_may_be_declared_as_it_was_before_it_had_a_key() {
        let config = |bindings: &str| {
            let text = format!(r#"{{ "main": "a.js", "unsafe": {{ "bindings": [{bindings}] }} }}"#);
            Config::parse("wrangler.json", &text).unwrap()
        };
        let limit = r#"{ "name": "LIMIT", "type": "ratelimit", "namespace_id": "1",
            "simple": { "limit": 5, "period": 60 } }"#;
        let known = config(limit);
        let [one] = &known.ratelimits[..] else { panic!("{:?}", known.ratelimits) };
        assert_eq!((&*one.name, one.simple.limit, one.simple.period), ("LIMIT", 5, 60));
        assert!(known.notes().is_empty(), "{:?}", known.notes());
        let other = config(&format!(r#"{limit}, {{ "name": "X", "type": "internal" }}"#));
        assert_eq!(other.ratelimits.len(), 1);
        assert!(other.notes()[0].contains("`unsafe` is not simulated"), "{:?}", other.notes());
    }

    #[test]
    fn what_is_wrong_with_toml_is_said_on_one_line() {
        let wrong = "name = \"web\"\nmain = \"a.js\"\ncompatibility_date = 2026-01-01\n";
        let said = Config::parse("wrangler.toml", wrong).unwrap_err();
        assert!(said.starts_with("line 3: invalid type") && !said.contains('\n'), "{said}");
    }

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
