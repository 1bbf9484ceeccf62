//! A program, compiled: its modules and those of the prelude as bytecode, from which isolates boot on any thread.
#![allow(unsafe_code, reason = "bytecode is loaded unchecked")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{CaughtError, Context, Ctx, Error, Module, Runtime};

use crate::files::Files;

/// The name of the module that Rust calls into.
pub const ENTRY: &str = "thunderhead:entry";

/// The modules of a program and of the prelude.
#[derive(Debug, Default)]
pub struct Code {
    modules: BTreeMap<String, Box<[u8]>>,
    /// What the names in imports mean: by the importing module and the name.
    names: BTreeMap<(String, String), String>,
    main: String,
    /// The JSON from which the prelude makes `env`.
    bindings: String,
}

impl Code {
    /// Compiles the module called `main` and all that it imports.
    pub fn compile(files: Files, main: &str, bindings: String) -> Result<Code, String> {
        let code = Rc::new(RefCell::new(Code { main: main.into(), bindings, ..Code::default() }));
        let compiler = Compiler { files, code: code.clone() };
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_loader(compiler.clone(), compiler.clone());
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| {
            let mut compile = |name: &str| compiler.clone().load(&ctx, name, None).map(drop);
            [ENTRY, main]
                .into_iter()
                .try_for_each(&mut compile)
                .map_err(|error| describe(&ctx, error))
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
}

/// An error in words: where it was thrown, its name and its message.
pub fn describe(ctx: &Ctx<'_>, error: Error) -> String {
    match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => {
            let name = exception.get::<_, String>("name").unwrap_or_else(|_| "Error".into());
            let message = exception.message().unwrap_or_default();
            let stack = exception.stack().unwrap_or_default();
            match place(&stack) {
                Some(place) => format!("{place}: {name}: {message}"),
                None => format!("{name}: {message}"),
            }
        }
        CaughtError::Value(value) => format!("{value:?} was thrown"),
        CaughtError::Error(error) => error.to_string(),
    }
}

/// The innermost place of a stack that is in the program and not in the prelude, as `file:line:column`.
pub fn place(stack: &str) -> Option<&str> {
    let places = stack.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("at ")?;
        Some(line.rsplit_once('(').map_or(line, |(_, place)| place.trim_end_matches(')')))
    });
    let own = |place: &&str| {
        !place.contains("thunderhead:") && !place.starts_with("native") && place.contains(':')
    };
    places.into_iter().find(own)
}

/// Compiles modules when they are imported, and keeps their bytecode.
#[derive(Clone)]
struct Compiler {
    files: Files,
    code: Rc<RefCell<Code>>,
}

impl Resolver for Compiler {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let found = self.files.resolve(base, name);
        let found = found.map_err(|why| Error::new_resolving_message(base, name, why))?;
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
        let source =
            self.files.source(name).map_err(|why| Error::new_loading_message(name, why))?;
        let module = Module::declare(ctx.clone(), name, source)?;
        let bytes = module.write(WriteOptions::default())?.into();
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
        let why = "only names that are written in an import are bundled";
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

    fn compile(files: &[(&str, &str)]) -> Result<Code, String> {
        let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        Code::compile(Files::Memory(files), "index.js", "[]".into())
    }

    #[test]
    fn a_mistake_in_the_syntax_is_told_with_file_line_and_column() {
        let said = compile(&[("index.js", "import './b.js';"), ("b.js", "let a = 1;\nlet = 2 2;")]);
        let said = said.expect_err("it is no JavaScript");
        assert!(said.starts_with("b.js:2:") && said.contains("SyntaxError"), "{said}");
    }

    #[test]
    fn an_import_that_leads_nowhere_is_told_with_both_names() {
        let said = compile(&[("index.js", "import { a } from './gone.js';")]).expect_err("gone");
        assert!(said.contains("index.js") && said.contains("gone.js"), "{said}");
    }

    #[test]
    fn the_place_of_a_stack_is_the_innermost_one_of_the_program() {
        let stack = "    at op (thunderhead:operation:5:3)\n    at put (src/a.js:7:9)\n    at src/b.js:1:1\n";
        assert_eq!(place(stack), Some("src/a.js:7:9"));
        assert_eq!(place("    at native\n"), None);
    }
}
