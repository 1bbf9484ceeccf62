//! A program, compiled: its modules and those of the prelude as bytecode, from which isolates boot on any thread.
#![allow(unsafe_code, reason = "bytecode is loaded unchecked")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{CaughtError, Context, Ctx, Error, Module, Object, Runtime, Value};
use thunderhead_sim::{SortedMap, SortedSet};

use crate::prelude;
use crate::source_map::SourceMap;
use crate::sources::Sources;

/// The name of the module that Rust calls into.
pub const ENTRY: &str = "thunderhead:entry";

/// The modules of a program and of the prelude.
#[derive(Debug, Default)]
pub struct Code {
    modules: SortedMap<String, Box<[u8]>>,
    /// The parts of the prelude of which its text has a word.
    named: SortedSet<&'static str>,
    /// What the names in imports mean: by the importing module and the name.
    names: SortedMap<(String, String), String>,
    main: String,
    /// The JSON from which the prelude makes `env`.
    bindings: String,
    /// Where the lines of the main module come from, if it is a bundle.
    map: Option<SourceMap>,
}

impl Code {
    /// Compiles the module called `main` and all that it imports. With a map, places in it are told as those that it
    /// comes from.
    pub fn compile(
        sources: Sources,
        main: &str,
        map: Option<SourceMap>,
        bindings: String,
    ) -> Result<Code, String> {
        let code = Code { main: main.into(), bindings, map, ..Code::default() };
        let code = Rc::new(RefCell::new(code));
        let wrong = Rc::new(RefCell::new(None));
        let later = Rc::default();
        let compiler = Compiler { sources, code: code.clone(), wrong: wrong.clone(), later };
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_loader(compiler.clone(), compiler.clone());
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| {
            let compile = |name: &str| compiler.clone().load(&ctx, name, None).map(drop);
            let parts = prelude::PARTS.iter().map(|(part, _)| prelude::part(part));
            parts
                .chain([ENTRY.into(), main.into()])
                .try_for_each(|name| compile(&name))
                .map_err(|error| code.borrow().describe(&ctx, error))
                .map_err(|said| wrong.take().unwrap_or(said))?;
            // What cannot be imported later is told when the program comes to it, if it ever does.
            let next = || compiler.later.borrow_mut().pop();
            while let Some((base, name)) = next() {
                let found = compiler.clone().resolve(&ctx, &base, &name, None).ok();
                let found = found.filter(|found| !code.borrow().modules.contains_key(found));
                if found.is_some_and(|found| compiler.clone().load(&ctx, &found, None).is_err()) {
                    drop(ctx.catch());
                }
            }
            Ok::<_, String>(())
        })?;
        Ok(code.take())
    }

    /// The name of the main module.
    pub fn main(&self) -> &str {
        &self.main
    }

    /// The JSON from which the prelude makes `env`.
    pub fn bindings(&self) -> &str {
        &self.bindings
    }

    /// Whether the program imports it, or the prelude does on its behalf.
    pub fn has_module(&self, name: &str) -> bool {
        self.modules.contains_key(name)
    }

    /// A module of it, for a context whose runtime has its loader.
    pub fn module<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let bytes = self.modules.get(name).ok_or_else(|| Error::new_loading(name))?;
        // SAFETY: the bytes were written by this build of QuickJS, in `Compiler::load`.
        unsafe { Module::load(ctx.clone(), bytes) }
    }

    /// A part of the prelude as the object of its exports. It is loaded if it is not there yet.
    pub fn part<'js>(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Object<'js>> {
        let (module, evaluated) = self.module(ctx, &prelude::part(name))?.eval()?;
        // No part awaits anything, so it is evaluated by now or has thrown.
        evaluated.result::<Value>().transpose()?;
        module.namespace()?.get("part")
    }

    /// The parts of the prelude that are loaded while the program boots.
    pub fn named(&self) -> Vec<&'static str> {
        self.named.iter().copied().collect()
    }

    /// An error in words: where it was thrown, its name and its message.
    pub fn describe(&self, ctx: &Ctx<'_>, error: Error) -> String {
        match CaughtError::from_error(ctx, error) {
            CaughtError::Exception(exception) => {
                let name = exception.get::<_, String>("name").unwrap_or_else(|_| "Error".into());
                let message = exception.message().unwrap_or_default();
                let stack = exception.stack().unwrap_or_default();
                match self.place(&stack, &message) {
                    Some(place) => format!("{place}: {name}: {message}"),
                    None => format!("{name}: {message}"),
                }
            }
            CaughtError::Value(value) => format!("{value:?} was thrown"),
            CaughtError::Error(error) => error.to_string(),
        }
    }

    /// The innermost place of a stack that is its author's own, as `file:line:column`; if there is none, that of a
    /// package. The message, with which a stack begins, may look like places itself.
    pub fn place(&self, stack: &str, message: &str) -> Option<String> {
        let stack = stack.find(message).map_or(stack, |at| &stack[at + message.len()..]);
        let places: Vec<String> = places(stack).map(|place| self.origin(place)).collect();
        let own = places.iter().position(|place| !place.contains("node_modules/"));
        places.into_iter().nth(own.unwrap_or(0))
    }

    /// Where a place of the program comes from.
    fn origin(&self, place: &str) -> String {
        let mut parts = place.rsplitn(3, ':');
        let mut number = || parts.next()?.parse::<usize>().ok();
        let (column, line) = (number(), number());
        let origin = match (&self.map, line, column, parts.next()) {
            (Some(map), Some(line), Some(column), Some(file)) if file == self.main => {
                map.origin(line, column)
            }
            _ => None,
        };
        origin.unwrap_or_else(|| place.into())
    }
}

/// The places of a stack that are in the program and not in the prelude, the innermost first.
fn places(stack: &str) -> impl Iterator<Item = &str> {
    let places = stack.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("at ")?;
        Some(line.rsplit_once('(').map_or(line, |(_, place)| place.trim_end_matches(')')))
    });
    places.filter(|place| {
        !place.contains("thunderhead:") && !place.starts_with("native") && place.contains(':')
    })
}

/// The names in `import("…")`.
fn imported_later(source: &str) -> impl Iterator<Item = String> {
    source.split("import(").skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
        let (name, _) = rest[1..].split_once(quote)?;
        (!name.contains(['\n', '$'])).then(|| name.to_string())
    })
}

/// Compiles modules when they are imported, and keeps their bytecode.
#[derive(Clone)]
struct Compiler {
    sources: Sources,
    code: Rc<RefCell<Code>>,
    /// What went wrong first, with its place; the engine's own words do not tell it.
    wrong: Rc<RefCell<Option<String>>>,
    /// What is imported while the program runs: the importing module and the name.
    later: Rc<RefCell<Vec<(String, String)>>>,
}

impl Resolver for Compiler {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let found = self.sources.resolve(base, name);
        let found = found.map_err(|why| {
            let place = self.sources.importing(base, name);
            self.wrong
                .borrow_mut()
                .get_or_insert(format!("{place}: `{name}` cannot be imported: {why}"));
            Error::new_resolving_message(base, name, why)
        })?;
        let key = (base.to_string(), name.to_string());
        self.code.borrow_mut().names.insert(key, found.clone());
        Ok(found)
    }
}

impl Loader for Compiler {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let source = self.sources.source(name).map_err(|why| {
            self.wrong.borrow_mut().get_or_insert(why.clone());
            Error::new_loading_message(name, why)
        })?;
        let later = imported_later(&source).map(|later| (name.to_string(), later));
        self.later.borrow_mut().extend(later);
        let is_prelude = prelude::has(name);
        if !is_prelude {
            let words = |(_, words): &&(_, &[&str])| words.iter().any(|word| source.contains(word));
            let named = prelude::PARTS.iter().filter(words).map(|(part, _)| *part);
            self.code.borrow_mut().named.extend(named);
        }
        let module = Module::declare(ctx.clone(), name, source)?;
        // A function of the prelude says `[native code]` when it is asked for its text, as those of the platform do. An
        // image of the heap is smaller without the texts.
        let options = WriteOptions { strip_source: is_prelude, ..WriteOptions::default() };
        let bytes = module.write(options)?.into();
        self.code.borrow_mut().modules.insert(name.into(), bytes);
        Ok(module)
    }
}

/// Loads modules from bytecode, in an isolate that boots.
#[derive(Clone)]
pub struct Booter(pub Arc<Code>);

impl Resolver for Booter {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let found = self.0.names.get(&(base.to_string(), name.to_string())).cloned();
        let why =
            "a name is found only if it is written out in an import, and only if it is simulated";
        found.ok_or_else(|| Error::new_resolving_message(base, name, why))
    }
}

impl Loader for Booter {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        self.0.module(ctx, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::rules::Rules;

    fn compile(files: &[(&str, &str)]) -> Result<Code, String> {
        let main = files[0].0;
        let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        let sources = Sources::new(Files::Memory(files), Rules::default())?;
        Code::compile(sources, main, None, "[]".into())
    }

    #[test]
    fn a_mistake_in_the_syntax_is_told_with_file_line_and_column() {
        let said = compile(&[("index.js", "import './b.js';"), ("b.js", "let a = 1;\nlet = 2 2;")]);
        let said = said.expect_err("it is no JavaScript");
        assert!(said.starts_with("b.js:2:") && said.contains("SyntaxError"), "{said}");
    }

    #[test]
    fn an_import_that_leads_nowhere_is_told_with_both_names() {
        let said = compile(&[("index.js", "\nimport { a } from './gone.js';")]).expect_err("gone");
        assert!(said.starts_with("index.js:2: `./gone.js`"), "{said}");
    }

    #[test]
    fn the_place_of_a_stack_is_the_innermost_one_of_the_program() {
        let stack = "    at op (thunderhead:operation:5:3)\n    at put (src/a.js:7:9)\n    at src/b.js:1:1\n";
        let code = Code::default();
        assert_eq!(code.place(stack, "").as_deref(), Some("src/a.js:7:9"));
        assert_eq!(code.place("    at native\n", ""), None);
        let stack = "    at dispatch (node_modules/hono/app.js:1:1)\n    at src/b.js:2:3\n";
        assert_eq!(code.place(stack, "").as_deref(), Some("src/b.js:2:3"));
        let message = "it failed\n    at inner (src/c.js:4:5)";
        let stack = format!("Error: {message}\n    at src/b.js:2:3");
        assert_eq!(code.place(&stack, message).as_deref(), Some("src/b.js:2:3"));
    }

    #[test]
    fn the_place_of_a_bundle_is_that_of_the_file_it_comes_from() {
        let json = r#"{ "sources": ["src/a.ts"], "mappings": ";AAEA" }"#;
        let map = SourceMap::parse(json, std::path::Path::new(""), std::path::Path::new(""));
        let code = Code { main: "index.js".into(), map: map.ok(), ..Code::default() };
        assert_eq!(code.place("    at f (index.js:2:1)", "").as_deref(), Some("src/a.ts:3:1"));
        assert_eq!(code.place("    at f (other.js:2:1)", "").as_deref(), Some("other.js:2:1"));
    }
}
