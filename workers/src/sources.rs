//! The modules of a program: how the name in an `import` becomes a file, and the file JavaScript.

use std::path::Path;

use crate::files::{Files, plain};
use crate::rules::{Kind, Rules};
use crate::tsconfig::Paths;
use crate::{common_js, package, prelude};

/// The files of a program, and how they become modules.
#[derive(Clone, Debug)]
pub struct Sources {
    files: Files,
    rules: Rules,
    /// Other names for files, from the configuration of TypeScript.
    paths: Paths,
}

/// What may be left out at the end of an import, in the order in which bundlers look for it.
const ENDINGS: [&str; 14] = [
    "",
    ".ts",
    ".tsx",
    ".mts",
    ".js",
    ".mjs",
    ".cjs",
    ".json",
    "/index.ts",
    "/index.tsx",
    "/index.mts",
    "/index.js",
    "/index.mjs",
    "/index.cjs",
];
/// In TypeScript an import names the file that the compiler would write.
const WRITTEN: [(&str, &str); 3] = [(".js", ".ts"), (".js", ".tsx"), (".mjs", ".mts")];

impl Sources {
    /// The modules of these files.
    pub fn new(files: Files, rules: Rules) -> Result<Sources, String> {
        let paths = Paths::read(&files)?;
        Ok(Sources { files, rules, paths })
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
            if let Some(found) = self.paths.targets(name).iter().find_map(|path| self.file(path)) {
                return Ok(found);
            }
            return self.package(base, name);
        }
        let folder = Path::new(base).parent().unwrap_or(Path::new(""));
        let path = plain(&folder.join(name)).ok_or_else(|| format!("`{name}` is no path"))?;
        self.file(&path).ok_or_else(|| format!("there is no file `{path}`"))
    }

    /// The file of a path, whose ending may be left out or be that of the compiled file.
    fn file(&self, path: &str) -> Option<String> {
        let written = WRITTEN
            .iter()
            .filter_map(|(from, to)| path.strip_suffix(from).map(|stem| format!("{stem}{to}")));
        let endings = ENDINGS.iter().map(|ending| format!("{path}{ending}"));
        endings.chain(written).find(|path| self.files.exists(path))
    }

    /// The file of a package, which lies in the `node_modules` of a folder above the importing module.
    fn package(&self, base: &str, name: &str) -> Result<String, String> {
        let (package, path) = package::split(name);
        let within = Path::new(base).ancestors().skip(1).map(Path::to_path_buf);
        let above = (1..=self.files.depth()).map(|up| Path::new(&"../".repeat(up)).to_path_buf());
        for folder in within.chain(above) {
            let Some(home) = plain(&folder.join(package::FOLDER).join(package)) else { continue };
            let Some(text) = self.files.read(&format!("{home}/package.json")) else { continue };
            let manifest = serde_json::from_str(&text)
                .map_err(|error| format!("{home}/package.json: {error}"))?;
            let entry = package::entry(&manifest, &path)
                .and_then(|entry| plain(&Path::new(&home).join(entry)));
            let found = entry.and_then(|entry| self.file(&entry));
            return found
                .map(|found| self.files.real(found))
                .ok_or_else(|| format!("the package `{package}` has no module for `{name}`"));
        }
        Err(format!("there is no package `{package}` in {}: install it first", package::FOLDER))
    }

    /// The source of a module, as JavaScript.
    pub fn source(&self, name: &str) -> Result<String, String> {
        if let Some(source) = prelude::source(name) {
            return Ok(source.into_owned());
        }
        let gone = || format!("there is no file `{name}`");
        match self.rules.of(name) {
            Kind::Data => Ok(data(&self.files.bytes(name).ok_or_else(gone)?)),
            Kind::Wasm => Err(format!("{name}: it is WebAssembly, which is not simulated")),
            Kind::Text => {
                let text = self.files.read(name).ok_or_else(gone)?;
                Ok(format!("export default {};", serde_json::Value::from(text)))
            }
            Kind::Module => {
                let text = self.files.read(name).ok_or_else(gone)?;
                match Path::new(name).extension().and_then(|end| end.to_str()) {
                    Some("json") => Ok(format!("export default {text};")),
                    Some(end @ ("ts" | "mts" | "tsx")) => javascript(name, &text, end == "tsx"),
                    Some("js" | "mjs") => {
                        lowered(name, text).map(|text| self.of_either_style(name, text))
                    }
                    _ => Ok(self.of_either_style(name, text)),
                }
            }
        }
    }

    /// A module of the language, which the text is or is made.
    fn of_either_style(&self, name: &str, text: String) -> String {
        if !common_js::is(&text) {
            return text;
        }
        common_js::module(&text, |required| self.resolve(name, required).is_ok())
    }

    /// Where a module imports a name, as `file:line`.
    pub fn importing(&self, base: &str, name: &str) -> String {
        let text = self.files.read(base).unwrap_or_default();
        let quoted = [format!("\"{name}\""), format!("'{name}'")];
        let line = text.lines().position(|line| quoted.iter().any(|name| line.contains(name)));
        line.map_or(base.into(), |line| format!("{base}:{}", line + 1))
    }
}

/// The JavaScript of a file in TypeScript, in which every line is where it was.
#[cfg(feature = "typescript")]
fn javascript(name: &str, text: &str, tsx: bool) -> Result<String, String> {
    thunderhead_typescript::strip(text, tsx).map_err(|error| format!("{name}:{error}"))
}

#[cfg(not(feature = "typescript"))]
fn javascript(name: &str, _text: &str, _tsx: bool) -> Result<String, String> {
    Err(format!(
        "{name}: it is TypeScript, which this build does not read: install esbuild beside the Worker, or build with the \
         feature `typescript`"
    ))
}

/// The JavaScript without its `using`, which the engine does not read. Other files are left as they are.
#[cfg(feature = "typescript")]
fn lowered(name: &str, text: String) -> Result<String, String> {
    let lowered = thunderhead_typescript::lower_using(&text);
    lowered.map(|found| found.unwrap_or(text)).map_err(|error| format!("{name}:{error}"))
}

#[cfg(not(feature = "typescript"))]
fn lowered(_name: &str, text: String) -> Result<String, String> {
    Ok(text)
}

/// A module whose default export is an `ArrayBuffer` with these bytes.
fn data(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "const digits = \"{digits}\", bytes = new Uint8Array(digits.length / 2); \
         for (let at = 0; at < bytes.length; at++) bytes[at] = parseInt(digits.slice(2 * at, 2 * at + 2), 16); \
         export default bytes.buffer;"
    )
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::SortedMap;

    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        Sources::new(Files::Memory(SortedMap::from_iter(files)), Rules::default())
            .expect("it is well")
    }

    fn files(names: &[&str]) -> Sources {
        sources(&names.iter().map(|name| (*name, "")).collect::<Vec<_>>())
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
        assert!(
            resolve("../../etc/passwd").expect_err("it is not there").contains("../etc/passwd")
        );
    }

    #[test]
    fn what_the_platform_brings_is_found_and_what_is_lacking_is_named() {
        let files = files(&["index.js"]);
        let resolve = |name: &str| files.resolve("index.js", name);
        assert_eq!(resolve("cloudflare:workers").as_deref(), Ok("cloudflare:workers"));
        assert!(resolve("cloudflare:gone").expect_err("lacking").contains("cloudflare:workers"));
        assert!(resolve("thunderhead:entry").is_err(), "the inside of the prelude is out of reach");
        assert!(resolve("hono").expect_err("a package").contains("install it first"));
    }

    #[test]
    fn a_package_is_found_in_the_folders_above_and_imports_its_own_files() {
        let manifest = r#"{ "exports": { ".": { "import": "./dist/index.js" } } }"#;
        let files = sources(&[
            ("node_modules/hono/package.json", manifest),
            ("node_modules/hono/dist/index.js", ""),
            ("node_modules/hono/dist/app.js", ""),
        ]);
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
        let files = sources(&[("a.sql", "select \"1\""), ("b.json", "{\"n\":1}")]);
        assert_eq!(files.source("a.sql").as_deref(), Ok("export default \"select \\\"1\\\"\";"));
        assert_eq!(files.source("b.json").as_deref(), Ok("export default {\"n\":1};"));
        assert!(files.source("c.js").is_err());
    }

    #[test]
    fn in_typescript_an_import_may_name_the_file_that_would_be_written() {
        let files = files(&[
            "src/index.ts",
            "src/shop.ts",
            "src/cart/index.ts",
            "src/both.ts",
            "src/both.js",
        ]);
        let resolve = |name: &str| files.resolve("src/index.ts", name);
        assert_eq!(resolve("./shop").as_deref(), Ok("src/shop.ts"));
        assert_eq!(resolve("./shop.js").as_deref(), Ok("src/shop.ts"));
        assert_eq!(resolve("./cart").as_deref(), Ok("src/cart/index.ts"));
        assert_eq!(resolve("./both.js").as_deref(), Ok("src/both.js"));
    }

    #[test]
    fn a_file_of_bytes_is_a_buffer() {
        let files = sources(&[("a.bin", "hi")]);
        assert!(files.source("a.bin").expect("it is there").contains("\"6869\""));
    }
}
