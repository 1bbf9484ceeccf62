//! The bundler that wrangler brings: where it is installed, it makes one module of the program, as wrangler does.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use thunderhead_sim::SortedSet;

use crate::config::Config;
use crate::files::Files;
use crate::rules::Rules;
use crate::source_map::SourceMap;

/// A bundle in a folder of its own, which is removed with it.
#[derive(Debug)]
pub struct Bundle {
    folder: PathBuf,
    main: String,
    map: SourceMap,
}

/// Modules of Node that the platform has. The bundler leaves them alone; whether they are simulated is told later.
const NODE: [&str; 33] = [
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "console",
    "crypto",
    "diagnostics_channel",
    "dns",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "stream",
    "string_decoder",
    "timers",
    "tls",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "worker_threads",
    "zlib",
];

/// The esbuild that is installed for a folder, or for one above it.
pub fn installed(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let mut found = folder.ancestors().map(|above| above.join("node_modules/.bin/esbuild"));
    found.find(|path| path.is_file())
}

impl Bundle {
    /// Bundles the main module of a folder.
    pub fn of(esbuild: &Path, folder: &Path, config: &Config) -> Result<Bundle, String> {
        static BUNDLES: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), BUNDLES.fetch_add(1, Ordering::Relaxed));
        let out = std::env::temp_dir().join(format!("thunderhead-bundle-{process}-{number}"));
        let name = Path::new(&config.main).file_stem().and_then(|name| name.to_str());
        let main = format!("{}.js", name.unwrap_or("index"));
        let bundle = Bundle { folder: out, main, map: SourceMap::default() };
        let mut command = Command::new(esbuild);
        command.current_dir(folder).args(bundle.arguments(config));
        let done = command.output().map_err(|error| format!("{}: {error}", esbuild.display()))?;
        if !done.status.success() {
            return Err(told(&String::from_utf8_lossy(&done.stderr)));
        }
        bundle.import_required()?;
        bundle.mapped(folder)
    }

    /// Packages in the older style of Node require modules of the platform, which a bundle of ES modules cannot. As
    /// wrangler does, they are imported. All of it is in the first line, so that the map still fits.
    fn import_required(&self) -> Result<(), String> {
        let path = self.folder.join(&self.main);
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(told)?;
        let names: SortedSet<&str> = text
            .split("__require(\"")
            .skip(1)
            .filter_map(|rest| rest.split_once("\")").map(|(name, _)| name))
            .filter(|name| NODE.contains(&name.strip_prefix("node:").unwrap_or(name)))
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let (mut imports, mut table) = (String::new(), String::new());
        for (at, name) in names.iter().enumerate() {
            let _ = write!(imports, "import * as __required{at} from \"{name}\"; ");
            let _ = write!(table, "\"{name}\": __required{at}, ");
        }
        let require = "var require = (name) => { const found = __required[name]; \
             if (!found) throw new Error(`Cannot find module '${name}'`); return found.default ?? found; };";
        let text = format!("{imports}const __required = {{ {table}}}; {require} {text}");
        std::fs::write(&path, text).map_err(told)
    }

    /// As wrangler calls it. Files that are texts or bytes are copied, for the rules to be applied to.
    fn arguments(&self, config: &Config) -> Vec<String> {
        let mut arguments: Vec<String> = [
            &*config.main,
            "--bundle",
            "--format=esm",
            "--platform=browser",
            "--conditions=workerd,worker,browser",
            "--target=es2022",
            "--keep-names",
            "--loader:.js=jsx",
            "--loader:.mjs=jsx",
            "--loader:.cjs=jsx",
            "--sourcemap=external",
            "--sources-content=false",
            "--define:process.env.NODE_ENV=\"production\"",
            "--external:cloudflare:*",
            "--external:node:*",
            "--external:thunderhead",
            "--entry-names=[name]",
            "--asset-names=[name]-[hash]",
            "--color=false",
            "--log-level=error",
        ]
        .map(String::from)
        .into();
        arguments.push(format!("--outdir={}", self.folder.display()));
        arguments.extend(NODE.map(|module| format!("--external:{module}")));
        let rules = Rules::of_config(&config.rules);
        arguments.extend(rules.endings().map(|end| format!("--loader:{end}=copy")));
        arguments.extend(config.alias.iter().map(|(name, path)| format!("--alias:{name}={path}")));
        arguments
            .extend(config.define.iter().map(|(name, text)| format!("--define:{name}={text}")));
        arguments.extend(config.tsconfig.iter().map(|path| format!("--tsconfig={path}")));
        arguments
    }

    /// Reads the map, whose files are named relative to the bundle.
    fn mapped(mut self, folder: &Path) -> Result<Bundle, String> {
        let map = self.folder.join(format!("{}.map", self.main));
        let read = std::fs::read_to_string(&map).map_err(|error| error.to_string());
        let parse = |text: String| {
            SourceMap::parse(&text, &without_root(&self.folder), &without_root(folder))
        };
        self.map = read.and_then(parse).map_err(|why| format!("{}: {why}", map.display()))?;
        Ok(self)
    }

    /// The files of the bundle, as long as it is kept.
    pub fn files(&self) -> Files {
        Files::Folder(self.folder.clone())
    }

    /// The name of its main module.
    pub fn main(&self) -> &str {
        &self.main
    }

    /// Where its lines come from.
    pub fn map(&self) -> SourceMap {
        self.map.clone()
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A folder as a path below the root of the file system.
fn without_root(folder: &Path) -> PathBuf {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.into());
    real.strip_prefix("/").map(Path::to_path_buf).unwrap_or(real)
}

/// What esbuild says, with the place first: it writes the message, an empty line and the place.
fn told(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let message =
        lines.iter().find_map(|line| line.split_once("[ERROR] ").map(|(_, message)| message));
    let place = lines.iter().find(|line| line.ends_with(':') && line.matches(':').count() == 3);
    match (message, place) {
        (Some(message), Some(place)) => format!("{place} {message}"),
        (Some(message), None) => message.into(),
        _ => format!("esbuild fails: {}", said.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_mistake_comes_first() {
        let said = "✘ [ERROR] Could not resolve \"./gone\"\n\n    src/index.ts:2:20:\n      2 │ import x from \"./gone\"\n";
        assert_eq!(told(said), "src/index.ts:2:20: Could not resolve \"./gone\"");
        assert_eq!(told("✘ [ERROR] no\n"), "no");
        assert_eq!(told("killed"), "esbuild fails: killed");
    }
}
