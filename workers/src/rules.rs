//! Which files are texts or bytes and no programs: wrangler's `rules`.

use serde::Deserialize;

/// What a file is imported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code, or JSON.
    Module,
    Text,
    Data,
    Wasm,
}

/// A rule as the configuration has it.
#[derive(Clone, Debug, Deserialize)]
pub struct Rule {
    r#type: String,
    #[serde(default)]
    globs: Vec<String>,
}

/// How names end, and what such files are; the first that fits counts.
#[derive(Clone, Debug)]
pub struct Rules(Vec<(String, Kind)>);

/// The rules that hold unless others come first.
const USUAL: [(&str, Kind); 5] = [
    (".txt", Kind::Text),
    (".html", Kind::Text),
    (".sql", Kind::Text),
    (".bin", Kind::Data),
    (".wasm", Kind::Wasm),
];

impl Default for Rules {
    fn default() -> Rules {
        Rules(USUAL.map(|(end, kind)| (end.to_string(), kind)).into())
    }
}

impl Rules {
    /// These rules and, behind them, the usual ones. Of a pattern its ending counts, which is what patterns are about.
    pub fn of_config(rules: &[Rule]) -> Rules {
        let own = rules.iter().flat_map(|rule| {
            let kind = match &*rule.r#type {
                "Text" => Kind::Text,
                "Data" => Kind::Data,
                "CompiledWasm" => Kind::Wasm,
                _ => Kind::Module,
            };
            let ends = rule.globs.iter().map(|glob| glob.rsplit('*').next().unwrap_or(glob));
            ends.map(move |end| (end.trim_start_matches('/').to_string(), kind))
        });
        Rules(own.chain(Rules::default().0).collect())
    }

    /// What a file is.
    pub fn of(&self, name: &str) -> Kind {
        let name = name.split('?').next().unwrap_or(name);
        let fits = self.0.iter().find(|(end, _)| name.ends_with(&**end));
        fits.map_or(Kind::Module, |(_, kind)| *kind)
    }

    /// How the names of files end that are no code.
    pub fn endings(&self) -> impl Iterator<Item = &str> {
        let kept = self.0.iter().filter(|(_, kind)| *kind != Kind::Module);
        kept.map(|(end, _)| &**end).filter(|end| end.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_before_the_usual_ones() {
        let rules: Vec<Rule> = serde_json::from_str(
            r#"[{ "type": "Text", "globs": ["**/*.md", "**/*.bin"], "fallthrough": true }]"#,
        )
        .unwrap();
        let rules = Rules::of_config(&rules);
        assert_eq!(rules.of("a/b.md"), Kind::Text);
        assert_eq!(rules.of("a/b.bin"), Kind::Text);
        assert_eq!(rules.of("a/b.sql"), Kind::Text);
        assert_eq!(rules.of("a/b.ts"), Kind::Module);
        assert_eq!(Rules::default().of("b.bin"), Kind::Data);
    }
}
