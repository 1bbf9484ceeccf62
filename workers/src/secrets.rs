//! Secrets of a Worker that runs on its author's machine: `.dev.vars`, or else `.env`.

use std::path::Path;

use serde_json::Value;

/// The names and values for an environment, the later ones being those that count.
pub fn read(folder: &Path, environment: Option<&str>) -> Vec<(String, Value)> {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let of =
        |name: &str| environment.and_then(|environment| text(&format!("{name}.{environment}")));
    // Those of the environment take the place of the general ones, and both that of `.env`.
    if let Some(text) = of(".dev.vars").or_else(|| text(".dev.vars")) {
        return parse(&text).collect();
    }
    let local = environment.and_then(|name| text(&format!(".env.{name}.local")));
    let files = [text(".env"), of(".env"), text(".env.local"), local];
    files.iter().flatten().flat_map(|text| parse(text)).collect()
}

/// The lines of such a file: names and values, which may be quoted.
fn parse(text: &str) -> impl Iterator<Item = (String, Value)> + '_ {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim().trim_start_matches("export ").trim();
        let value = value.trim();
        let bare = ['"', '\'', '`']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        Some((name.to_string(), bare.unwrap_or(value).into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_may_be_quoted() {
        let read: Vec<_> = parse("# keys\nTOKEN=\"a=b\"\n\nexport USER = ann\nnonsense").collect();
        assert_eq!(read, [("TOKEN".to_string(), "a=b".into()), ("USER".to_string(), "ann".into())]);
    }
}
