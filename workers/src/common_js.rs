//! Modules in the older style of Node, `module.exports` and `require`, made modules of the language. What a bundler
//! finds out by reading a program is guessed here from its text: names in `require` are literals, and exports are
//! assigned one by one or as one plain object.

use std::fmt::Write;

use thunderhead_sim::SortedSet;

/// Whether a text is such a module: it speaks of `exports` or `require`, and has no `import` and no `export`.
pub fn is(text: &str) -> bool {
    let begins = |line: &str, word: &str| {
        line.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '{', '*', '"', '\'']))
    };
    let modern =
        |line: &str| begins(line.trim_start(), "import") || begins(line.trim_start(), "export");
    let old = ["module.exports", "exports.", "(exports", "require("];
    // Files that were made small have everything in one line.
    let small =
        ["export{", "export default", ";export ", "}export ", "import{", ";import ", "import.meta"];
    old.iter().any(|word| text.contains(word))
        && !text.lines().any(modern)
        && !small.iter().any(|word| text.contains(word))
}

/// The module of the language, in which every line is where it was. What is not there is not imported: to require it
/// throws, which packages expect of what they can do without.
pub fn module(text: &str, is_there: impl Fn(&str) -> bool) -> String {
    let text = text.replace("process.env.NODE_ENV", "\"production\"");
    let (mut before, mut table) = (String::new(), String::new());
    for (at, name) in required(&text).iter().filter(|name| is_there(name)).enumerate() {
        let name = serde_json::Value::from(&**name);
        let _ = write!(before, "import * as __{at} from {name}; ");
        let _ = write!(table, "{name}: __{at}, ");
    }
    let mut behind = String::new();
    for (at, name) in exported(&text).iter().enumerate() {
        let _ =
            write!(behind, "const __e{at} = __m.exports.{name}; export {{ __e{at} as {name} }}; ");
    }
    format!(
        "{before}const __m = {{ exports: {{}} }}, __r = {{ {table}}}; \
         const __q = (name) => {{ const found = __r[name]; \
         if (!found) throw Object.assign(new Error(`Cannot find module '${{name}}'`), {{ code: 'MODULE_NOT_FOUND' }}); return found.__commonJs ?? found; }}; \
         (function (module, exports, require) {{ {text}\n}}).call(__m.exports, __m, __m.exports, __q); \
         export default __m.exports?.__esModule ? __m.exports.default : __m.exports; \
         export const __commonJs = __m.exports; {behind}"
    )
}

/// The names in `require("…")`.
fn required(text: &str) -> SortedSet<String> {
    let calls = text.split("require(").skip(1);
    let names = calls.filter_map(|rest| {
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let (name, behind) = rest[1..].split_once(quote)?;
        (behind.trim_start().starts_with(')') && !name.contains('\n')).then(|| name.to_string())
    });
    names.collect()
}

/// The names that are exported one by one, or in an object without anything between its braces but names.
fn exported(text: &str) -> SortedSet<String> {
    let mut names = SortedSet::new();
    for rest in text.split("exports.").skip(1) {
        let name = word(rest);
        let behind = rest[name.len()..].trim_start();
        if behind.starts_with('=') && !behind.starts_with("==") {
            names.insert(name.to_string());
        }
    }
    for rest in text.split("defineProperty(exports, ").skip(1) {
        names.insert(word(rest.trim_start_matches(['"', '\''])).to_string());
    }
    let whole = text.split("module.exports").skip(1).filter_map(|rest| {
        let (inside, _) =
            rest.trim_start().strip_prefix('=')?.trim_start().strip_prefix('{')?.split_once('}')?;
        Some(inside)
    });
    for part in whole.flat_map(|inside| inside.split(',')) {
        names.insert(word(part.trim()).to_string());
    }
    // Words of the language cannot be names of variables, and `default` has its own export.
    names.retain(|name| !name.is_empty() && !RESERVED.contains(&&**name));
    names
}

const RESERVED: [&str; 3] = ["default", "__esModule", "__commonJs"];

/// The name at the beginning of a text.
fn word(text: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let end = text.find(|c| !plain(c)).unwrap_or(text.len());
    let word = &text[..end];
    if word.starts_with(|c: char| c.is_ascii_digit()) { "" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_module_is_seen_in_its_text() {
        assert!(is("module.exports = 1;"));
        assert!(is("'use strict';\nexports.a = () => import('x');"));
        assert!(!is("import { a } from 'b';\nmodule.exports = 1;"));
        assert!(!is("export const a = require;"));
        assert!(!is("const a = 1;"));
        assert!(!is("var e={};e.exports.a=1;export{e as default};"));
    }

    #[test]
    fn names_are_those_that_are_assigned() {
        let names = |text: &str| exported(text).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(
            names("exports.a = exports.b = 1; if (exports.c == 2) exports.default = 3;"),
            "a b"
        );
        assert_eq!(names("module.exports = { one, two: 2, };"), "one two");
        assert_eq!(names("Object.defineProperty(exports, \"x\", { enumerable: true });"), "x");
        assert_eq!(names("Object.defineProperty(exports, '__esModule', { value: true });"), "");
        let required = required(
            "const a = require('./a'), b = require(\"b\"); require(name); require('x' + y)",
        );
        assert_eq!(required.into_iter().collect::<Vec<_>>(), ["./a", "b"]);
    }
}
