//! Packages in `node_modules`: which file a bare name in an `import` means.

use serde_json::Value;

/// The conditions of `exports` that hold for a Worker, those first that are made for one.
const CONDITIONS: [&str; 7] =
    ["workerd", "worker", "browser", "import", "module", "default", "require"];
/// Where packages lie.
pub const FOLDER: &str = "node_modules";

/// The package that a name belongs to, and the path within it as `exports` writes it.
pub fn split(name: &str) -> (&str, String) {
    let parts = if name.starts_with('@') { 2 } else { 1 };
    let end = name.match_indices('/').nth(parts - 1).map_or(name.len(), |(at, _)| at);
    (&name[..end], format!(".{}", &name[end..]))
}

/// The file of a package for a path within it, by its `package.json`, relative to the package.
pub fn entry(manifest: &Value, path: &str) -> Option<String> {
    if let Some(exports) = manifest.get("exports") {
        return exported(exports, path);
    }
    if path != "." {
        return Some(path.into());
    }
    // A module of the language says by itself what it exports, so it is preferred to a file for browsers.
    let mains = ["module", "browser", "main"];
    let main = mains.into_iter().find_map(|key| manifest.get(key)?.as_str()).unwrap_or("index.js");
    // A table has other files for some of the package.
    let instead = manifest.get("browser").and_then(Value::as_object).and_then(|table| {
        let is_main = |file: &str| bare(file) == bare(main);
        table.iter().find_map(|(file, instead)| instead.as_str().filter(|_| is_main(file)))
    });
    Some(instead.unwrap_or(main).into())
}

/// The path of a file without what may be left out of it.
fn bare(file: &str) -> &str {
    let file = file.strip_prefix("./").unwrap_or(file);
    file.strip_suffix(".js").unwrap_or(file)
}

fn exported(exports: &Value, path: &str) -> Option<String> {
    let Some(table) =
        exports.as_object().filter(|table| table.keys().any(|key| key.starts_with('.')))
    else {
        return if path == "." { chosen(exports, "") } else { None };
    };
    if let Some(target) = table.get(path) {
        return chosen(target, "");
    }
    // Of several patterns the longest counts.
    let fitting = table.iter().filter_map(|(pattern, target)| {
        let (before, after) = pattern.split_once('*')?;
        let rest = path.strip_prefix(before)?.strip_suffix(after)?;
        Some((before.len(), rest, target))
    });
    let (_, rest, target) = fitting.max_by_key(|(length, ..)| *length)?;
    chosen(target, rest)
}

/// The file of the first condition that holds, with `rest` in place of its star.
fn chosen(target: &Value, rest: &str) -> Option<String> {
    match target {
        Value::String(file) => Some(file.replace('*', rest)),
        Value::Array(targets) => targets.iter().find_map(|target| chosen(target, rest)),
        Value::Object(table) => {
            CONDITIONS.into_iter().find_map(|condition| chosen(table.get(condition)?, rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_a_package_and_a_path_within_it() {
        assert_eq!(split("hono"), ("hono", ".".into()));
        assert_eq!(split("hono/cookie/x"), ("hono", "./cookie/x".into()));
        assert_eq!(split("@scope/name"), ("@scope/name", ".".into()));
        assert_eq!(split("@scope/name/sub"), ("@scope/name", "./sub".into()));
    }

    #[test]
    fn exports_are_chosen_by_condition_and_by_the_longest_pattern() {
        let manifest = json!({ "main": "old.js", "exports": {
            ".": { "types": "t.d.ts", "import": { "types": "t.d.ts", "default": "./new.js" }, "require": "./new.cjs" },
            "./x/*": "./dist/x/*.js",
            "./*": { "workerd": "./worker/*.js", "default": "./dist/*.js" },
        } });
        assert_eq!(entry(&manifest, ".").as_deref(), Some("./new.js"));
        assert_eq!(entry(&manifest, "./x/y").as_deref(), Some("./dist/x/y.js"));
        assert_eq!(entry(&manifest, "./z").as_deref(), Some("./worker/z.js"));
        assert_eq!(entry(&json!({ "exports": "./only.js" }), "./other"), None);
    }

    #[test]
    fn without_exports_the_module_counts_before_the_main_file() {
        assert_eq!(
            entry(&json!({ "main": "a.js", "module": "b.js" }), ".").as_deref(),
            Some("b.js")
        );
        let browser = json!({ "main": "a.js", "browser": "c.js" });
        assert_eq!(entry(&browser, ".").as_deref(), Some("c.js"));
        let table = json!({ "main": "./a", "browser": { "fs": false, "./a.js": "./c.js" } });
        assert_eq!(entry(&table, ".").as_deref(), Some("./c.js"));
        assert_eq!(entry(&json!({}), ".").as_deref(), Some("index.js"));
        assert_eq!(entry(&json!({}), "./sub").as_deref(), Some("./sub"));
    }
}
