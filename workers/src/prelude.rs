//! The part of the runtime that is written in JavaScript.

use std::borrow::Cow;

/// The modules, by the name under which they are imported.
const MODULES: &[(&str, &str)] = &[
    ("thunderhead:stack", include_str!("../prelude/stack.js")),
    ("thunderhead:heap", include_str!("../prelude/heap.js")),
    ("thunderhead:natives", include_str!("../prelude/natives.js")),
    ("thunderhead:dom_exception", include_str!("../prelude/dom_exception.js")),
    ("thunderhead:operation", include_str!("../prelude/operation.js")),
    ("thunderhead:rpc", include_str!("../prelude/rpc.js")),
    ("thunderhead:service", include_str!("../prelude/service.js")),
    ("thunderhead:service_worker", include_str!("../prelude/service_worker.js")),
    ("thunderhead:clone", include_str!("../prelude/clone.js")),
    ("thunderhead:events", include_str!("../prelude/events.js")),
    ("thunderhead:text", include_str!("../prelude/text.js")),
    ("thunderhead:url", include_str!("../prelude/url.js")),
    ("thunderhead:url_pattern", include_str!("../prelude/url_pattern.js")),
    ("thunderhead:multipart", include_str!("../prelude/multipart.js")),
    ("thunderhead:absent", include_str!("../prelude/absent.js")),
    ("thunderhead:missing", include_str!("../prelude/missing.js")),
    ("thunderhead:locale", include_str!("../prelude/locale.js")),
    ("thunderhead:number_format", include_str!("../prelude/number_format.js")),
    ("thunderhead:date_time_format", include_str!("../prelude/date_time_format.js")),
    ("thunderhead:collator", include_str!("../prelude/collator.js")),
    ("thunderhead:intl", include_str!("../prelude/intl.js")),
    ("thunderhead:web_socket", include_str!("../prelude/web_socket.js")),
    ("thunderhead:readable_stream", include_str!("../prelude/readable_stream.js")),
    ("thunderhead:streams", include_str!("../prelude/streams.js")),
    ("thunderhead:streamed", include_str!("../prelude/streamed.js")),
    ("thunderhead:data_url", include_str!("../prelude/data_url.js")),
    ("thunderhead:status", include_str!("../prelude/status.js")),
    ("thunderhead:headers", include_str!("../prelude/headers.js")),
    ("thunderhead:form_data", include_str!("../prelude/form_data.js")),
    ("thunderhead:http", include_str!("../prelude/http.js")),
    ("thunderhead:selector", include_str!("../prelude/selector.js")),
    ("thunderhead:html", include_str!("../prelude/html.js")),
    ("thunderhead:html_rewriter", include_str!("../prelude/html_rewriter.js")),
    ("thunderhead:time", include_str!("../prelude/time.js")),
    ("thunderhead:curve", include_str!("../prelude/curve.js")),
    ("thunderhead:x25519", include_str!("../prelude/x25519.js")),
    ("thunderhead:der", include_str!("../prelude/der.js")),
    ("thunderhead:rsa_keys", include_str!("../prelude/rsa_keys.js")),
    ("thunderhead:rsa", include_str!("../prelude/rsa.js")),
    ("thunderhead:key_pair", include_str!("../prelude/key_pair.js")),
    ("thunderhead:usages", include_str!("../prelude/usages.js")),
    ("thunderhead:crypto", include_str!("../prelude/crypto.js")),
    ("thunderhead:console", include_str!("../prelude/console.js")),
    ("thunderhead:r2", include_str!("../prelude/r2.js")),
    ("thunderhead:queue", include_str!("../prelude/queue.js")),
    ("thunderhead:d1", include_str!("../prelude/d1.js")),
    ("thunderhead:kv", include_str!("../prelude/kv.js")),
    ("thunderhead:email", include_str!("../prelude/email.js")),
    ("thunderhead:small_bindings", include_str!("../prelude/small_bindings.js")),
    ("thunderhead:workflow", include_str!("../prelude/workflow.js")),
    ("thunderhead:object", include_str!("../prelude/object.js")),
    ("thunderhead:storage", include_str!("../prelude/storage.js")),
    ("thunderhead:bindings", include_str!("../prelude/bindings.js")),
    ("thunderhead:storm", include_str!("../prelude/storm.js")),
    ("thunderhead:globals", include_str!("../prelude/globals.js")),
    ("thunderhead:timeout", include_str!("../prelude/timeout.js")),
    ("thunderhead:localized", include_str!("../prelude/localized.js")),
    ("thunderhead:part", include_str!("../prelude/part.js")),
    ("thunderhead:entry", include_str!("../prelude/entry.js")),
    ("thunderhead:key_object", include_str!("../prelude/key_object.js")),
    ("thunderhead:types", include_str!("../prelude/types.js")),
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
    ("node:console", include_str!("../prelude/node/console.js")),
    ("node:perf_hooks", include_str!("../prelude/node/perf_hooks.js")),
    ("node:querystring", include_str!("../prelude/node/querystring.js")),
    ("node:stream", include_str!("../prelude/node/stream.js")),
    ("node:stream/web", include_str!("../prelude/node/stream_web.js")),
    ("node:string_decoder", include_str!("../prelude/node/string_decoder.js")),
    ("node:util/types", include_str!("../prelude/node/util_types.js")),
    ("node:timers", include_str!("../prelude/node/timers.js")),
    ("node:zlib", include_str!("../prelude/node/zlib.js")),
    ("node:timers/promises", include_str!("../prelude/node/timers_promises.js")),
    ("thunderhead", include_str!("../prelude/thunderhead.js")),
    ("cloudflare:email", include_str!("../prelude/cloudflare_email.js")),
    ("cloudflare:workers", include_str!("../prelude/cloudflare_workers.js")),
    ("cloudflare:workflows", include_str!("../prelude/cloudflare_workflows.js")),
];

/// Modules under another name.
const ALIASES: [(&str, &str); 3] = [
    ("node:assert/strict", "node:assert"),
    ("node:path/posix", "node:path"),
    ("node:sys", "node:util"),
];

/// Parts of the runtime that most programs never use, and words without which no program uses them. A part is loaded
/// while a program boots that has one of its words, and by any other when it is asked for: the heap is smaller without.
pub const PARTS: &[(&str, &[&str])] = &[
    ("node:buffer", &["Buffer"]),
    ("node:process", &["process"]),
    ("thunderhead:d1", &[]),
    ("thunderhead:email", &["email"]),
    ("thunderhead:html_rewriter", &["HTMLRewriter"]),
    ("thunderhead:intl", &["Intl", "toLocale", "localeCompare"]),
    ("thunderhead:key_pair", &["Ed25519", "X25519", "ECD", "RSA"]),
    ("thunderhead:kv", &[]),
    ("thunderhead:r2", &[]),
    ("thunderhead:storm", &["thunderhead"]),
    ("thunderhead:url_pattern", &["URLPattern"]),
    ("thunderhead:workflow", &[]),
];
/// What the name of a module begins with that exports a part as `part`.
const PART: &str = "thunderhead:part ";

/// The name of the module that exports a part. It is one and the same module for whoever else imports it.
pub fn part(name: &str) -> String {
    format!("{PART}{name}")
}

/// What modules export that is not simulated: in each line one of them, and names. Packages import them for what only
/// other runtimes do, so an import is no mistake, and a use is told. A name with a number is just that.
const ABSENT: &str = include_str!("../prelude/node/absent.txt");

/// The source of a module of the prelude.
pub fn source(name: &str) -> Option<Cow<'static, str>> {
    if let Some((_, source)) = MODULES.iter().find(|(known, _)| *known == name) {
        return Some(match exported(name) {
            None => Cow::Borrowed(source),
            Some((names, exports)) => Cow::Owned(format!(
                "{source}\nimport {{ complete as __complete }} from \"thunderhead:absent\"; \
                 import __whole from \"{name}\"; \
                 const __all = __complete(\"{name}\", __whole, {names:?}); {exports}"
            )),
        });
    }
    if let Some((_, meant)) = ALIASES.iter().find(|(known, _)| *known == name) {
        return Some(Cow::Owned(format!(
            "export * from \"{meant}\"; export {{ default }} from \"{meant}\";"
        )));
    }
    if let Some(part) = name.strip_prefix(PART) {
        return Some(Cow::Owned(format!("import * as part from \"{part}\"; export {{ part }};")));
    }
    let (names, exports) = exported(name)?;
    Some(Cow::Owned(format!(
        "import {{ moduleOf }} from \"thunderhead:absent\"; \
         const __all = moduleOf(\"{name}\", {names:?}); {exports}export default __all;"
    )))
}

/// The names of a module that are not simulated, and the text that exports them from an object `__all`.
fn exported(module: &str) -> Option<(Vec<&'static str>, String)> {
    let names: Vec<&str> = absent(module).collect();
    let plain = names.iter().map(|name| name.split(['=', '.']).next().unwrap_or(name));
    // A name such as `get` or `constants` may not be free at the top of a module.
    let exports = plain
        .map(|name| format!("const __{name} = __all.{name}; export {{ __{name} as {name} }}; "))
        .collect();
    (!names.is_empty()).then_some((names, exports))
}

/// Whether there is such a module.
pub fn has(name: &str) -> bool {
    MODULES.iter().any(|(known, _)| *known == name)
        || ALIASES.iter().any(|(known, _)| *known == name)
        || name.starts_with(PART)
        || absent(name).next().is_some()
}

/// What a module exports that is not simulated, as `ABSENT` has it.
fn absent(module: &str) -> impl Iterator<Item = &'static str> {
    let lines = ABSENT.lines().filter_map(move |line| line.strip_prefix(module)?.strip_prefix(' '));
    lines.flat_map(|names| names.split(' '))
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

#[cfg(test)]
mod tests {
    use thunderhead_sim::{ClientRequest, Scenario, SortedMap, Source, Tape, Time, simulate};

    use super::PARTS;
    use crate::app::App;
    use crate::config::Config;
    use crate::files::Files;

    fn app(bindings: &str, source: &str) -> std::sync::Arc<App> {
        let files = SortedMap::from([("index.js".to_string(), source.to_string())]);
        let config = format!("{{ \"main\": \"index.js\", {bindings} }}");
        let config = Config::parse("wrangler.json", &config).unwrap_or_else(|why| panic!("{why}"));
        App::new(config, Files::Memory(files)).unwrap_or_else(|why| panic!("{why}")).into()
    }

    /// How large the heap is when that program has booted.
    fn booted(bindings: &str, source: &str) -> usize {
        let isolate = app(bindings, source).isolate();
        isolate.unwrap_or_else(|why| panic!("{why}")).image_size()
    }

    const PLAIN: &str = "export default { fetch: () => new Response() };";
    /// No part takes less.
    const SOME: usize = 4_000;

    #[test]
    fn a_part_is_there_from_the_beginning_only_if_the_program_has_a_word_for_it_or_a_binding() {
        let plain = booted("", PLAIN);
        for word in PARTS.iter().flat_map(|(_, words)| *words) {
            let with = booted("", &format!("{PLAIN} // {word}"));
            assert!(with > plain + SOME, "{word}: {with} bytes, and {plain} without");
        }
        let bindings = [
            r#""r2_buckets": [{ "binding": "A", "bucket_name": "photos" }]"#,
            r#""kv_namespaces": [{ "binding": "A", "id": "a" }]"#,
            r#""d1_databases": [{ "binding": "A", "database_name": "a", "database_id": "a" }]"#,
            r#""send_email": [{ "name": "A" }]"#,
        ];
        for binding in bindings {
            let with = booted(binding, PLAIN);
            assert!(with > plain + SOME, "{binding}: {with} bytes, and {plain} without");
        }
    }

    #[test]
    fn a_part_that_the_program_has_no_word_for_comes_when_it_is_asked_for() {
        let source = "export default { fetch: () => \
                      new Response(new globalThis['URL' + 'Pattern']({ pathname: '/a' }).pathname) };";
        assert!(booted("", source) < booted("", PLAIN) + SOME);
        let app = app("", source);
        let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
        let scenario = Scenario { requests, ..Scenario::default() };
        let mount = |cloud: &mut thunderhead_sim::Cloud| app.mount(cloud);
        let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount);
        let told = run.map(|run| run.trace.to_string()).unwrap_or_else(|why| panic!("{why}"));
        assert!(told.lines().any(|line| line.ends_with(r#""/a""#)), "{told}");
    }
}
