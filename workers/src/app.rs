//! A Worker, ready to be mounted: its configuration, its program and what that exports.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use thunderhead_props::quietly;
use thunderhead_sim::{Scenario, SortedMap, Source, Tape, simulate};

use crate::code::Code;
use crate::config::Config;
use crate::esbuild::{self, Bundle};
use crate::files::Files;
use crate::isolate::Isolate;
use crate::rules::Rules;
use crate::source_map::SourceMap;
use crate::sources::Sources;

/// A Worker that can be mounted any number of times, on any thread.
#[derive(Clone, Debug)]
pub struct App {
    config: Config,
    code: Arc<Code>,
    exports: Exports,
}

/// What the main module exports, as the prelude describes it.
#[derive(Clone, Debug, Deserialize)]
struct Exports {
    handlers: Vec<String>,
    classes: Vec<Class>,
}

/// A class that is exported.
#[derive(Clone, Debug, Deserialize)]
struct Class {
    name: String,
    /// Whether it has an `alarm` method.
    alarm: bool,
    /// Whether it has a `run` method.
    run: bool,
}

/// The names of the simulator's own actors, which no Worker can have.
const RESERVED: [&str; 9] =
    ["ai", "client", "cloud", "d1", "internet", "kv", "queues", "r2", "workflows"];

impl App {
    /// The Worker in a folder, in one of its environments if one is named. The error says what keeps it from running.
    pub fn load(folder: &Path, environment: Option<&str>) -> Result<App, String> {
        App::of_config(folder, Config::read(folder, environment)?)
    }

    /// The Worker in a folder, whose configuration was read.
    pub(crate) fn of_config(folder: &Path, config: Config) -> Result<App, String> {
        let told = |why| format!("{}: {why}", folder.display());
        App::of(config, |config| program(folder, config)).map_err(told)
    }

    /// A Worker of this configuration, whose files are read from `files`.
    pub fn new(config: Config, files: Files) -> Result<App, String> {
        App::of(config, |config| {
            present(config, &files)?;
            compiled(config, files, &config.main, None)
        })
    }

    fn of(
        mut config: Config,
        program: impl FnOnce(&Config) -> Result<Code, String>,
    ) -> Result<App, String> {
        if RESERVED.contains(&&*config.name) {
            config.name.push_str("-worker");
        }
        let code = Arc::new(program(&config)?);
        let described = Isolate::new(&code)?.describe()?;
        let exports: Exports =
            serde_json::from_str(&described).map_err(|error| error.to_string())?;
        let app = Arc::new(App { config, code, exports });
        app.check()?;
        app.try_mount()?;
        Ok(Arc::unwrap_or_clone(app))
    }

    /// Mounts it on a cloud on which nothing happens: names that the platform does not allow panic there, because in a
    /// system in Rust they are a mistake of its author.
    fn try_mount(self: &Arc<App>) -> Result<(), String> {
        let mounted = || {
            let source = Source::Tape(Tape::benign());
            simulate(&Scenario::default(), &source, &|cloud| self.mount(cloud)).map(drop)
        };
        match quietly(|| catch_unwind(AssertUnwindSafe(mounted))) {
            Ok(played) => played.map_err(|error| error.to_string()),
            Err(panic) => match panic.downcast::<String>() {
                Ok(said) => Err(*said),
                Err(panic) => resume_unwind(panic),
            },
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The name of the host that serves its requests.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// An isolate with the program in it.
    pub(crate) fn isolate(&self) -> Result<std::rc::Rc<Isolate>, String> {
        Isolate::new(&self.code)
    }

    /// Whether it has a handler of that name.
    pub fn handles(&self, handler: &str) -> bool {
        self.exports.handlers.iter().any(|known| known == handler)
    }

    /// Whether objects of a class handle alarms.
    pub(crate) fn has_alarm(&self, class: &str) -> bool {
        self.exports.classes.iter().any(|known| known.name == class && known.alarm)
    }

    /// Refuses what the configuration names and the program does not have.
    fn check(&self) -> Result<(), String> {
        let main = &self.config.main;
        for object in self.config.own_objects() {
            self.class(&object.name, &object.class_name)?;
        }
        for workflow in self.config.own_workflows() {
            let class = self.class(&workflow.binding, &workflow.class_name)?;
            if !class.run {
                return Err(format!(
                    "{main}: the class `{}` of a workflow has no method `run`",
                    class.name
                ));
            }
        }
        if !self.config.queues.consumers.is_empty() && !self.handles("queue") {
            return Err(format!(
                "{main}: the Worker consumes a queue, and its default export has no `queue` handler"
            ));
        }
        if self.exports.handlers.is_empty() {
            return Err(format!(
                "{main}: the default export has no handler: none of `fetch`, `queue`, `scheduled` and `email`"
            ));
        }
        Ok(())
    }

    fn class(&self, binding: &str, name: &str) -> Result<&Class, String> {
        let classes = &self.exports.classes;
        classes.iter().find(|class| class.name == name).ok_or_else(|| {
            let known: Vec<&str> = classes.iter().map(|class| &*class.name).collect();
            let main = &self.config.main;
            let advice = match known.is_empty() {
                true => "it exports no class at all".into(),
                false => thunderhead_sim::closest(name, known),
            };
            format!(
                "`{binding}` is bound to the class `{name}`, which {main} does not export: {advice}"
            )
        })
    }
}

/// The program of a Worker that has files and no code: it is asked only where there is no file.
const FILES_ALONE: &str = "export default { fetch: () => new Response(null, { status: 404 }) };";

/// Refuses a configuration whose main module is not there.
fn present(config: &Config, files: &Files) -> Result<(), String> {
    match files.exists(&config.main) {
        true => Ok(()),
        false => {
            Err(format!("there is no file `{}`, which the configuration calls `main`", config.main))
        }
    }
}

/// The program of a folder. It is bundled by the esbuild that is installed there, as wrangler does; without one its
/// modules are read as they are.
pub fn program(folder: &Path, config: &Config) -> Result<Code, String> {
    if config.main.is_empty() {
        let files = SortedMap::from([("index.js".to_string(), FILES_ALONE.to_string())]);
        return compiled(config, Files::Memory(files), "index.js", None);
    }
    let files = Files::Folder(folder.into());
    present(config, &files)?;
    match esbuild::installed(folder).filter(|_| !config.no_bundle) {
        Some(esbuild) => {
            let bundle = Bundle::of(&esbuild, folder, config)?;
            compiled(config, bundle.files(), bundle.main(), Some(bundle.map()))
        }
        None => compiled(config, files, &config.main, None),
    }
}

fn compiled(
    config: &Config,
    files: Files,
    main: &str,
    map: Option<SourceMap>,
) -> Result<Code, String> {
    let sources = Sources::new(files, Rules::of_config(&config.rules))?;
    Code::compile(sources, main, map, config.bindings().to_string())
}
