//! A Worker, ready to be mounted: its configuration, its program and what that exports.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use thunderhead_props::quietly;
use thunderhead_sim::{Scenario, Source, Tape, simulate};

use crate::code::Code;
use crate::config::Config;
use crate::files::Files;
use crate::isolate::Isolate;

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
const RESERVED: [&str; 8] = ["ai", "client", "cloud", "d1", "kv", "queues", "r2", "workflows"];

impl App {
    /// The Worker in a folder. The error says what keeps it from running.
    pub fn load(folder: &Path) -> Result<App, String> {
        let (config, _) = Config::read(folder)?;
        let shown = folder.display();
        App::new(config, Files::Folder(folder.into())).map_err(|why| format!("{shown}: {why}"))
    }

    /// A Worker of this configuration, whose files are read from `files`.
    pub fn new(mut config: Config, files: Files) -> Result<App, String> {
        if RESERVED.contains(&&*config.name) {
            config.name.push_str("-worker");
        }
        if files.read(&config.main).is_none() {
            return Err(format!(
                "there is no file `{}`, which the configuration calls `main`",
                config.main
            ));
        }
        if config.main.ends_with(".ts") || config.main.ends_with(".tsx") {
            return Err(format!(
                "`{}` is TypeScript, which is not read yet: bundle it first, for example with `npx wrangler deploy \
                 --dry-run --outdir dist`, and point `main` at the bundle",
                config.main
            ));
        }
        let code = Arc::new(Code::compile(files, &config.main, config.bindings().to_string())?);
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
        for object in &self.config.durable_objects.bindings {
            if let Some(script) =
                object.script_name.as_ref().filter(|script| **script != self.config.name)
            {
                return Err(format!(
                    "`{}` is a class of the Worker `{script}`, and only one Worker is simulated",
                    object.name
                ));
            }
            self.class(&object.name, &object.class_name)?;
        }
        for workflow in &self.config.workflows {
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
                "{main}: the default export has no handler: none of `fetch`, `queue` and `scheduled`"
            ));
        }
        Ok(())
    }

    fn class(&self, binding: &str, name: &str) -> Result<&Class, String> {
        let classes = &self.exports.classes;
        classes.iter().find(|class| class.name == name).ok_or_else(|| {
            let known: Vec<&str> = classes.iter().map(|class| &*class.name).collect();
            let main = &self.config.main;
            format!(
                "`{binding}` is bound to the class `{name}`, which {main} does not export: {}",
                thunderhead_sim::closest(name, known)
            )
        })
    }
}
