//! The files of a program: how the name in an `import` becomes a file, and the file a module.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::{package, prelude};

/// Where files are read from. Names are relative to the root and separated by `/`.
#[derive(Clone, Debug)]
pub enum Files {
    /// A folder.
    Folder(PathBuf),
    /// Names and contents.
    Memory(BTreeMap<String, String>),
}

/// What may be left out at the end of a relative import.
const ENDINGS: [&str; 5] = ["", ".js", ".mjs", "/index.js", "/index.mjs"];
/// Files that are imported as text, as wrangler's default rules say.
const TEXTS: [&str; 3] = [".txt", ".html", ".sql"];

impl Files {
    /// The content of a file, if there is such a file.
    pub fn read(&self, name: &str) -> Option<String> {
        match self {
            Files::Folder(root) => std::fs::read_to_string(root.join(name)).ok(),
            Files::Memory(files) => files.get(name).cloned(),
        }
    }

    fn exists(&self, name: &str) -> bool {
        match self {
            Files::Folder(root) => root.join(name).is_file(),
            Files::Memory(files) => files.contains_key(name),
        }
    }

    /// The module that `name` means in the module `base`.
    pub fn resolve(&self, base: &str, name: &str) -> Result<String, String> {
        if prelude::has(name) && (!prelude::is_internal(name) || prelude::has(base)) {
            return Ok(name.into());
        }
        if let Some((scheme, _)) = name.split_once(':') {
            return Err(format!(
                "`{name}` is not simulated: of `{scheme}:` there are {}",
                prelude::list(scheme)
            ));
        }
        if !name.starts_with('.') && !name.starts_with('/') {
            let prefixed = format!("node:{name}");
            if prelude::has(&prefixed) {
                return Ok(prefixed);
            }
            return self.package(base, name);
        }
        let folder = Path::new(base).parent().unwrap_or(Path::new(""));
        let path = plain(&folder.join(name))
            .ok_or_else(|| format!("`{name}` is outside of the folder"))?;
        self.file(&path).ok_or_else(|| format!("there is no file `{path}`"))
    }

    /// The file of a path, whose ending may be left out.
    fn file(&self, path: &str) -> Option<String> {
        ENDINGS.iter().map(|ending| format!("{path}{ending}")).find(|path| self.exists(path))
    }

    /// The file of a package, which lies in the `node_modules` of a folder above the importing module.
    fn package(&self, base: &str, name: &str) -> Result<String, String> {
        let (package, path) = package::split(name);
        for folder in Path::new(base).ancestors().skip(1) {
            let Some(home) = plain(&folder.join(package::FOLDER).join(package)) else { continue };
            let Some(text) = self.read(&format!("{home}/package.json")) else { continue };
            let manifest = serde_json::from_str(&text)
                .map_err(|error| format!("{home}/package.json: {error}"))?;
            let entry = package::entry(&manifest, &path)
                .and_then(|entry| plain(&Path::new(&home).join(entry)));
            let found = entry.and_then(|entry| self.file(&entry));
            return found
                .ok_or_else(|| format!("the package `{package}` has no module for `{name}`"));
        }
        Err(format!("there is no package `{package}` in {}: install it first", package::FOLDER))
    }

    /// The source of a module, as JavaScript.
    pub fn source(&self, name: &str) -> Result<String, String> {
        if let Some(source) = prelude::source(name) {
            return Ok(source.into());
        }
        let text = self.read(name).ok_or_else(|| format!("there is no file `{name}`"))?;
        if name.ends_with(".json") {
            return Ok(format!("export default {text};"));
        }
        if TEXTS.iter().any(|ending| name.ends_with(ending)) {
            return Ok(format!("export default {};", serde_json::Value::from(text)));
        }
        if name.ends_with(".wasm") {
            return Err(format!("`{name}` is WebAssembly, which is not simulated"));
        }
        Ok(text)
    }
}

/// A path without `.` and `..`; none when it leads out of the root.
fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Files {
        Files::Memory(names.iter().map(|name| (name.to_string(), String::new())).collect())
    }

    #[test]
    fn a_relative_name_is_found_beside_its_importer_with_or_without_its_ending() {
        let files = files(&["src/index.js", "src/shop.js", "src/cart/index.js", "lib/tax.mjs"]);
        let resolve = |name: &str| files.resolve("src/index.js", name);
        assert_eq!(resolve("./shop").as_deref(), Ok("src/shop.js"));
        assert_eq!(resolve("./shop.js").as_deref(), Ok("src/shop.js"));
        assert_eq!(resolve("./cart").as_deref(), Ok("src/cart/index.js"));
        assert_eq!(resolve("../lib/tax").as_deref(), Ok("lib/tax.mjs"));
        assert!(resolve("./prices").expect_err("it is not there").contains("src/prices"));
        assert!(resolve("../../etc/passwd").expect_err("it is outside").contains("outside"));
    }

    #[test]
    fn what_the_platform_brings_is_found_and_what_is_lacking_is_named() {
        let files = files(&["index.js"]);
        let resolve = |name: &str| files.resolve("index.js", name);
        assert_eq!(resolve("cloudflare:workers").as_deref(), Ok("cloudflare:workers"));
        assert!(resolve("cloudflare:sockets").expect_err("lacking").contains("cloudflare:workers"));
        assert!(resolve("thunderhead:entry").is_err(), "the inside of the prelude is out of reach");
        assert!(resolve("hono").expect_err("a package").contains("install it first"));
    }

    #[test]
    fn a_package_is_found_in_the_folders_above_and_imports_its_own_files() {
        let manifest = r#"{ "exports": { ".": { "import": "./dist/index.js" } } }"#;
        let files = Files::Memory(BTreeMap::from([
            ("node_modules/hono/package.json".to_string(), manifest.to_string()),
            ("node_modules/hono/dist/index.js".to_string(), String::new()),
            ("node_modules/hono/dist/app.js".to_string(), String::new()),
        ]));
        let found = files.resolve("src/deep/index.js", "hono").expect("it is installed");
        assert_eq!(found, "node_modules/hono/dist/index.js");
        assert_eq!(
            files.resolve(&found, "./app.js").as_deref(),
            Ok("node_modules/hono/dist/app.js")
        );
        assert!(
            files
                .resolve("src/index.js", "hono/gone")
                .expect_err("no such path")
                .contains("hono/gone")
        );
    }

    #[test]
    fn texts_and_json_are_modules_too() {
        let files = Files::Memory(BTreeMap::from([
            ("a.sql".to_string(), "select \"1\"".to_string()),
            ("b.json".to_string(), "{\"n\":1}".to_string()),
        ]));
        assert_eq!(files.source("a.sql").as_deref(), Ok("export default \"select \\\"1\\\"\";"));
        assert_eq!(files.source("b.json").as_deref(), Ok("export default {\"n\":1};"));
        assert!(files.source("c.js").is_err());
    }
}
