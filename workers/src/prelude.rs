//! The part of the runtime that is written in JavaScript.

/// The modules, by the name under which they are imported.
const MODULES: &[(&str, &str)] = &[
    ("thunderhead:natives", include_str!("../prelude/natives.js")),
    ("thunderhead:dom_exception", include_str!("../prelude/dom_exception.js")),
    ("thunderhead:operation", include_str!("../prelude/operation.js")),
    ("thunderhead:rpc", include_str!("../prelude/rpc.js")),
    ("thunderhead:service", include_str!("../prelude/service.js")),
    ("thunderhead:clone", include_str!("../prelude/clone.js")),
    ("thunderhead:events", include_str!("../prelude/events.js")),
    ("thunderhead:text", include_str!("../prelude/text.js")),
    ("thunderhead:url", include_str!("../prelude/url.js")),
    ("thunderhead:url_pattern", include_str!("../prelude/url_pattern.js")),
    ("thunderhead:multipart", include_str!("../prelude/multipart.js")),
    ("thunderhead:missing", include_str!("../prelude/missing.js")),
    ("thunderhead:web_socket", include_str!("../prelude/web_socket.js")),
    ("thunderhead:streams", include_str!("../prelude/streams.js")),
    ("thunderhead:http", include_str!("../prelude/http.js")),
    ("thunderhead:time", include_str!("../prelude/time.js")),
    ("thunderhead:crypto", include_str!("../prelude/crypto.js")),
    ("thunderhead:console", include_str!("../prelude/console.js")),
    ("thunderhead:r2", include_str!("../prelude/r2.js")),
    ("thunderhead:queue", include_str!("../prelude/queue.js")),
    ("thunderhead:d1", include_str!("../prelude/d1.js")),
    ("thunderhead:kv", include_str!("../prelude/kv.js")),
    ("thunderhead:small_bindings", include_str!("../prelude/small_bindings.js")),
    ("thunderhead:workflow", include_str!("../prelude/workflow.js")),
    ("thunderhead:object", include_str!("../prelude/object.js")),
    ("thunderhead:storage", include_str!("../prelude/storage.js")),
    ("thunderhead:bindings", include_str!("../prelude/bindings.js")),
    ("thunderhead:storm", include_str!("../prelude/storm.js")),
    ("thunderhead:entry", include_str!("../prelude/entry.js")),
    ("node:async_hooks", include_str!("../prelude/node/async_hooks.js")),
    ("node:buffer", include_str!("../prelude/node/buffer.js")),
    ("node:crypto", include_str!("../prelude/node/crypto.js")),
    ("node:events", include_str!("../prelude/node/events.js")),
    ("node:util", include_str!("../prelude/node/util.js")),
    ("node:path", include_str!("../prelude/node/path.js")),
    ("node:assert", include_str!("../prelude/node/assert.js")),
    ("node:os", include_str!("../prelude/node/os.js")),
    ("node:process", include_str!("../prelude/node/process.js")),
    ("node:url", include_str!("../prelude/node/url.js")),
    ("node:diagnostics_channel", include_str!("../prelude/node/diagnostics_channel.js")),
    ("node:timers/promises", include_str!("../prelude/node/timers_promises.js")),
    ("thunderhead", include_str!("../prelude/thunderhead.js")),
    ("cloudflare:email", include_str!("../prelude/cloudflare_email.js")),
    ("cloudflare:workers", include_str!("../prelude/cloudflare_workers.js")),
    ("cloudflare:workflows", include_str!("../prelude/cloudflare_workflows.js")),
];

/// The source of a module of the prelude.
pub fn source(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// Whether there is such a module.
pub fn has(name: &str) -> bool {
    source(name).is_some()
}

/// Whether a module is for the prelude alone.
pub fn is_internal(name: &str) -> bool {
    name.starts_with("thunderhead:")
}

/// The names of the modules of a scheme that a program may import.
pub fn list(scheme: &str) -> String {
    let known = MODULES.iter().map(|(name, _)| *name).filter(|name| !is_internal(name));
    let known = known.filter(|name| name.split_once(':').is_some_and(|(of, _)| of == scheme));
    let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    if known.is_empty() { "none".into() } else { known.join(", ") }
}
