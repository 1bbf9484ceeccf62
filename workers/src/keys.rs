//! The keys of wrangler's configuration: those that change nothing here, and bindings that are not simulated. No key is
//! left out without a word.

use serde_json::Value;
use thunderhead_sim::closest;

use crate::config::Config;

/// Bindings that the simulator has no service for, and what they are. Each is a list of tables with a `binding`, or one
/// such table.
const MISSING: [(&str, &str); 13] = [
    ("ai", "Workers AI"),
    ("vectorize", "Vectorize"),
    ("hyperdrive", "Hyperdrive"),
    ("browser", "Browser Rendering"),
    ("images", "Images"),
    ("dispatch_namespaces", "Workers for Platforms"),
    ("mtls_certificates", "client certificates"),
    ("pipelines", "Pipelines"),
    ("secrets_store_secrets", "the Secrets Store"),
    ("media", "Media Transformations"),
    ("worker_loaders", "dynamic Workers"),
    ("vpc_services", "Workers VPC"),
    ("logfwdr", "log forwarding"),
];

/// Keys that say how a Worker is deployed, and change nothing of what it does here.
const DEPLOYMENT: [&str; 27] = [
    "$schema",
    "account_id",
    "base_dir",
    "compatibility_date",
    "compatibility_flags",
    "dev",
    "env",
    "find_additional_modules",
    "first_party_worker",
    "keep_names",
    "keep_vars",
    "legacy_env",
    "limits",
    "logpush",
    "minify",
    "observability",
    "placement",
    "preserve_file_names",
    "preview_urls",
    "route",
    "routes",
    "send_metrics",
    "upload_source_maps",
    "usage_model",
    "workers_dev",
    "zone_id",
    "migrations",
];

/// Keys that do something on the platform that is not simulated, and what.
const WITHOUT: [(&str, &str); 6] = [
    ("build", "its command is not run: run it first"),
    ("site", "its files are not served"),
    ("tail_consumers", "no Worker is told of its logs"),
    ("streaming_tail_consumers", "no Worker is told of its logs"),
    ("containers", "no container is started"),
    ("unsafe", "what it binds is not there"),
];

/// The keys that are read.
const READ: [&str; 21] = [
    "alias",
    "analytics_engine_datasets",
    "assets",
    "d1_databases",
    "define",
    "durable_objects",
    "kv_namespaces",
    "main",
    "name",
    "no_bundle",
    "queues",
    "r2_buckets",
    "r2_notifications",
    "ratelimits",
    "rules",
    "secrets",
    "services",
    "triggers",
    "vars",
    "version_metadata",
    "workflows",
];

/// Whether one of the `unsafe` bindings is a rate limit, as wrangler had it before `ratelimits`.
pub(crate) fn is_rate_limit(binding: &Value) -> bool {
    binding.get("type").and_then(Value::as_str) == Some("ratelimit")
}

fn binds_rate_limits_alone(others: &Value) -> bool {
    let Some(others) = others.as_object() else { return false };
    let limits =
        |bindings: &Value| bindings.as_array().is_some_and(|all| all.iter().all(is_rate_limit));
    others.iter().all(|(key, value)| key == "bindings" && limits(value))
}

impl Config {
    /// The bindings that are declared and cannot be simulated: their names, and what they are bindings of.
    pub fn missing(&self) -> Vec<(String, &'static str)> {
        let mut missing = Vec::new();
        for (key, what) in MISSING {
            let Some(declared) = self.others.get(key) else { continue };
            let tables = declared.as_array().cloned().unwrap_or_else(|| vec![declared.clone()]);
            let name = |table: &Value| {
                let name = table.get("binding").or_else(|| table.get("name"))?;
                name.as_str().map(str::to_string)
            };
            missing.extend(tables.iter().filter_map(name).map(|name| (name, what)));
        }
        missing
    }

    /// What its author should know: everything in it that does not do here what it does on the platform.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.noticed.iter().map(|noticed| format!("{}: {noticed}", self.file)).collect();
        notes.extend(self.missing().iter().map(|(name, what)| {
            format!("`{name}` is a binding of {what}, which is not simulated: its calls throw")
        }));
        let unset = self.secrets.required.iter().filter(|name| !self.vars.contains_key(*name));
        notes.extend(unset.map(|name| {
            format!("the secret `{name}` is required and not set: write `{name}=…` into .dev.vars")
        }));
        for key in self.others.keys() {
            let file = &self.file;
            if key == "unsafe" && binds_rate_limits_alone(&self.others[key]) {
                continue;
            }
            if let Some((_, what)) = WITHOUT.iter().find(|(known, _)| known == key) {
                notes.push(format!("{file}: `{key}` is not simulated: {what}"));
            } else if !DEPLOYMENT.contains(&&**key)
                && !MISSING.iter().any(|(known, _)| known == key)
            {
                let known =
                    READ.iter().chain(&DEPLOYMENT).copied().chain(MISSING.map(|(known, _)| known));
                // The whole list would hide the rest of what is said.
                let advice = closest(key, known);
                let meant = advice.split_once('?').map(|(meant, _)| format!("; {meant}?"));
                let meant = meant.unwrap_or_default();
                notes.push(format!("{file}: `{key}` is not understood and changes nothing{meant}"));
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_does_nothing_is_told_unless_it_is_about_deployment() {
        let config = Config::parse(
            "wrangler.json",
            r#"{ "main": "a.js", "compatibility_date": "2026-01-01", "r2_bucket": [], "build": {},
                 "ai": { "binding": "AI" }, "assets": { "directory": "public" } }"#,
        );
        let notes = config.unwrap().notes();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].contains("`AI`") && notes[0].contains("throw"), "{notes:?}");
        assert!(notes[1].contains("`build`"), "{notes:?}");
        assert!(notes[2].contains("`r2_bucket`") && notes[2].contains("r2_buckets"), "{notes:?}");
    }
}
