//! Named environments: `[env.staging]` beside the keys at the top.

use serde_json::{Map, Value};
use thunderhead_sim::closest;

/// Keys that an environment does not inherit, as wrangler has it: what is bound, and what depends on it.
const OWN: [&str; 32] = [
    "ai",
    "analytics_engine_datasets",
    "browser",
    "cloudchamber",
    "containers",
    "d1_databases",
    "define",
    "dispatch_namespaces",
    "durable_objects",
    "hyperdrive",
    "images",
    "kv_namespaces",
    "logfwdr",
    "media",
    "mtls_certificates",
    "pipelines",
    "queues",
    "r2_buckets",
    "r2_notifications",
    "ratelimits",
    "secrets_store_secrets",
    "send_email",
    "services",
    "tail_consumers",
    "unsafe",
    "unsafe_hello_world",
    "vars",
    "vectorize",
    "version_metadata",
    "vpc_services",
    "worker_loaders",
    "workflows",
];

/// The configuration of an environment.
#[derive(Debug)]
pub struct Selected {
    /// As if it stood at the top.
    pub config: Value,
    /// What its author may have overlooked.
    pub noticed: Vec<String>,
}

/// The configuration of the environment of that name.
pub fn select(whole: &Value, name: &str) -> Result<Selected, String> {
    let none = Map::new();
    let top = whole.as_object().unwrap_or(&none);
    let environments = top.get("env").and_then(Value::as_object).unwrap_or(&none);
    let Some(own) = environments.get(name).and_then(Value::as_object) else {
        let known = environments.keys().map(String::as_str);
        return Err(match environments.is_empty() {
            true => format!("there is no environment `{name}`: there is no `env`"),
            false => format!("there is no environment `{name}`; {}", closest(name, known)),
        });
    };
    let mut config = own.clone();
    let mut noticed = Vec::new();
    for (key, value) in top {
        if key == "env" || own.contains_key(key) {
            continue;
        }
        if OWN.contains(&&**key) {
            noticed.push(format!(
                "`{key}` is not inherited by `env.{name}`, which has none: the Worker runs without"
            ));
        } else {
            config.insert(key.clone(), value.clone());
        }
    }
    if !own.contains_key("name")
        && let Some(worker) = top.get("name").and_then(Value::as_str)
    {
        config.insert("name".into(), format!("{worker}-{name}").into());
    }
    Ok(Selected { config: Value::Object(config), noticed })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_environment_inherits_the_program_and_not_the_bindings() {
        let whole = json!({
            "name": "shop", "main": "a.js", "vars": { "A": 1 }, "r2_buckets": [], "triggers": { "crons": [] },
            "env": { "staging": { "vars": { "A": 2 } } },
        });
        let Selected { config, noticed } = select(&whole, "staging").unwrap();
        let expected = json!({ "name": "shop-staging", "main": "a.js", "vars": { "A": 2 }, "triggers": { "crons": [] } });
        assert_eq!(config, expected);
        assert_eq!(noticed.len(), 1);
        assert!(noticed[0].contains("`r2_buckets`"), "{noticed:?}");
    }

    #[test]
    fn an_unknown_environment_is_told_with_the_known_ones() {
        let whole = json!({ "env": { "staging": {}, "production": {} } });
        assert!(select(&whole, "stagin").unwrap_err().contains("staging"));
        assert!(select(&json!({}), "staging").unwrap_err().contains("no `env`"));
    }
}
