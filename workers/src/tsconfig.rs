//! `paths` in `tsconfig.json`: other names for the files of a program.

use std::path::Path;

use serde_json::Value;

use crate::files::{Files, plain};
use crate::jsonc;

/// Names with at most one star, and the paths that they stand for.
#[derive(Clone, Debug, Default)]
pub struct Paths(Vec<(String, Vec<String>)>);

/// The name of the file.
const NAME: &str = "tsconfig.json";

impl Paths {
    /// Those of the file at the root; none when there is no such file.
    pub fn read(files: &Files) -> Result<Paths, String> {
        let Some(text) = files.read(NAME) else { return Ok(Paths::default()) };
        let config: Value = serde_json::from_str(&jsonc::plain(&text))
            .map_err(|error| format!("{NAME}: {error}"))?;
        let options = &config["compilerOptions"];
        let base = options["baseUrl"].as_str();
        let mut paths = Vec::new();
        for (name, targets) in options["paths"].as_object().into_iter().flatten() {
            let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
            let within = |target| plain(&Path::new(base.unwrap_or(".")).join(target));
            paths.push((name.clone(), targets.filter_map(within).collect()));
        }
        if let Some(base) = base.and_then(|base| plain(&Path::new(base).join("*"))) {
            paths.push(("*".into(), vec![base]));
        }
        Ok(Paths(paths))
    }

    /// The paths that a name may stand for.
    pub fn targets(&self, name: &str) -> Vec<String> {
        let fitting =
            self.0.iter().filter_map(|(pattern, targets)| match pattern.split_once('*') {
                None => (pattern == name).then(|| targets.clone()),
                Some((before, after)) => {
                    let rest = name.strip_prefix(before)?.strip_suffix(after)?;
                    Some(targets.iter().map(|target| target.replace('*', rest)).collect())
                }
            });
        fitting.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::SortedMap;

    use super::*;

    #[test]
    fn a_star_stands_for_the_rest_of_the_name() {
        let config = r#"{ // of the compiler
            "compilerOptions": { "paths": { "@/*": ["./src/*"], "config": ["./src/config/prod.ts"] }, },
        }"#;
        let files = Files::Memory(SortedMap::from([(NAME.to_string(), config.to_string())]));
        let paths = Paths::read(&files).unwrap();
        assert_eq!(paths.targets("@/db/orders"), ["src/db/orders"]);
        assert_eq!(paths.targets("config"), ["src/config/prod.ts"]);
        assert!(paths.targets("hono").is_empty());
        assert!(Paths::read(&Files::Memory(SortedMap::new())).unwrap().targets("@/x").is_empty());
    }
}
