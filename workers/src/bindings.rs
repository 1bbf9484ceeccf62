//! What `env` is made of, for the prelude.

use serde_json::{Value, json};

use crate::config::{Config, RateLimit, Service};

/// The compatibility date from which `enhanced_error_serialization` is on.
const ERRORS_ARE_KEPT: &str = "2026-04-21";

impl Config {
    /// The name of the Worker, and what `env` is made of, for the prelude.
    pub fn bindings(&self) -> Value {
        let node = self.compatibility_flags.iter().any(|flag| flag == "nodejs_compat");
        let all = self.all_bindings();
        json!({ "name": self.name, "node": node, "errors": self.keeps_errors(), "all": all })
    }

    /// Whether an error that is thrown in another isolate keeps its name and its properties.
    fn keeps_errors(&self) -> bool {
        let has = |flag: &str| self.compatibility_flags.iter().any(|known| known == flag);
        let is_new = self.compatibility_date.as_deref().is_none_or(|date| date >= ERRORS_ARE_KEPT);
        !has("legacy_error_serialization") && (is_new || has("enhanced_error_serialization"))
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
        let mail = self.send_email.iter();
        let mail = mail.map(|mail| json!({ "kind": "mail", "name": mail.name }));
        analytics.chain(limits).chain(version).chain(mail).collect()
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
                .filter(|object| !object.unbound)
                .map(|object| bound("object", &object.name, object.namespace())),
        );
        all.extend(self.workflows.iter().map(|flow| bound("workflow", &flow.binding, &flow.name)));
        let kv = self.kv_namespaces.iter();
        all.extend(kv.map(|kv| bound("kv", &kv.binding, kv.namespace())));
        all.extend(self.small_bindings());
        all.extend(self.d1_databases.iter().map(|d1| bound("d1", &d1.binding, d1.database())));
        all.extend(self.services.iter().map(|Service { binding, service, entrypoint, props }| {
            json!({ "kind": "service", "name": binding, "to": service, "entrypoint": entrypoint, "props": props })
        }));
        let assets = self.assets.iter().filter_map(|assets| assets.binding.as_ref());
        all.extend(assets.map(|name| bound("service", name, &self.assets_host())));
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
