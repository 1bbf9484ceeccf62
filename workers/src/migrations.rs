//! Migrations of D1: the statements of the files in `migrations_dir`, in the order of the numbers that their names
//! begin with, as `wrangler d1 migrations apply` runs them.

use std::path::Path;

use thunderhead_sim::SortedMap;

use crate::config::Config;

/// The folder when the configuration names none.
const USUAL: &str = "migrations";

/// The statements for each database.
pub fn read(folder: &Path, config: &Config) -> Result<SortedMap<String, Vec<String>>, String> {
    let mut all = SortedMap::new();
    for database in &config.d1_databases {
        let named = database.migrations_dir.as_deref();
        let home = folder.join(named.unwrap_or(USUAL));
        let entries = match std::fs::read_dir(&home) {
            Ok(entries) => entries,
            Err(_) if named.is_none() => continue,
            Err(error) => {
                return Err(format!("{}: {error}, which is `migrations_dir`", home.display()));
            }
        };
        let mut files: Vec<_> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "sql"));
        files.sort_by_key(|path| (number(path), path.clone()));
        let mut statements = Vec::new();
        for path in files {
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            statements.extend(split(&text));
        }
        all.insert(database.database().to_string(), statements);
    }
    Ok(all)
}

/// The number that the name of a file begins with. Files without one come last.
fn number(path: &Path) -> u64 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    name[..digits].parse().unwrap_or(u64::MAX)
}

/// The statements of a text, without comments. Those of a trigger stay together.
fn split(text: &str) -> Vec<String> {
    let (mut statements, mut statement) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let token = match first {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '\'' | '"' | '`' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            '[' => rest.find(']').map_or(rest.len(), |end| end + 1),
            other => other.len_utf8(),
        };
        let (token, others) = rest.split_at(token);
        rest = others;
        match token {
            ";" if !is_within_trigger(&statement) => {
                statements.push(std::mem::take(&mut statement));
            }
            comment if comment.starts_with("--") || comment.starts_with("/*") => {
                statement.push(' ')
            }
            other => statement.push_str(other),
        }
    }
    statements.push(statement);
    let trimmed = statements.iter().map(|statement| statement.trim().to_string());
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

/// Whether this is the beginning of a trigger whose `end` has not come.
fn is_within_trigger(statement: &str) -> bool {
    let words = statement.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let count = |wanted: &[&str]| words.iter().filter(|word| wanted.contains(&&***word)).count();
    let creates = words.first().is_some_and(|word| word == "create");
    creates
        && words.iter().take(4).any(|word| word == "trigger")
        && count(&["begin", "case"]) > count(&["end"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_semicolons_that_end_a_statement() {
        let text = "-- tables; all of them\nCREATE TABLE a (n TEXT DEFAULT 'x;y'); /* ; */\nINSERT INTO a VALUES ('it''s');\n";
        let expected = ["CREATE TABLE a (n TEXT DEFAULT 'x;y')", "INSERT INTO a VALUES ('it''s')"];
        assert_eq!(split(text), expected);
    }

    #[test]
    fn files_come_in_the_order_of_their_numbers() {
        let names = ["seed.sql", "10_c.sql", "2_b.sql", "0001_a.sql", "2_a.sql"];
        let mut files: Vec<&Path> = names.map(Path::new).to_vec();
        files.sort_by_key(|path| (number(path), path.to_path_buf()));
        let ordered = ["0001_a.sql", "2_a.sql", "2_b.sql", "10_c.sql", "seed.sql"];
        assert_eq!(files, ordered.map(Path::new));
    }

    #[test]
    fn a_trigger_is_one_statement() {
        let text = "create trigger t after insert on a begin update a set n = case when 1 then 2 end; delete from b; end; select 1;";
        let split = split(text);
        assert_eq!(split.len(), 2, "{split:?}");
        assert!(split[0].ends_with("end"));
    }
}
