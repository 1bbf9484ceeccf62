//! The map that a bundler writes: which line of which file a place in the bundle comes from.

use std::path::Path;

use serde::Deserialize;

use crate::files::plain;

/// Places in a bundle and where they come from.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<String>,
    /// By line of the bundle, the columns at which something begins, with the file, the line and the column of that.
    lines: Vec<Vec<Mapping>>,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    column: i64,
    file: i64,
    from_line: i64,
    from_column: i64,
}

#[derive(Deserialize)]
struct Written {
    sources: Vec<String>,
    mappings: String,
}

impl SourceMap {
    /// Reads the map of a bundle in the folder `base`; files below `root` are named relative to that.
    pub fn parse(json: &str, base: &Path, root: &Path) -> Result<SourceMap, String> {
        let written: Written = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let named = |source: &String| {
            // Both folders are named from the root of the file system on.
            let path = match source.strip_prefix('/') {
                Some(whole) => Path::new(whole).to_path_buf(),
                None => base.join(source),
            };
            let file = plain(&path).unwrap_or_else(|| source.clone());
            let below = Path::new(&file).strip_prefix(root).ok().and_then(Path::to_str);
            below.map(str::to_string).unwrap_or(file)
        };
        let mut map =
            SourceMap { files: written.sources.iter().map(named).collect(), lines: Vec::new() };
        let (mut file, mut from_line, mut from_column) = (0, 0, 0);
        for line in written.mappings.split(';') {
            let mut column = 0;
            let mut mappings = Vec::new();
            for segment in line.split(',').filter(|segment| !segment.is_empty()) {
                let numbers = numbers(segment).ok_or("its `mappings` are not understood")?;
                column += numbers.first().copied().unwrap_or(0);
                if let [_, files, lines, columns, ..] = numbers[..] {
                    (file, from_line, from_column) =
                        (file + files, from_line + lines, from_column + columns);
                    mappings.push(Mapping { column, file, from_line, from_column });
                }
            }
            map.lines.push(mappings);
        }
        Ok(map)
    }

    /// Where a place of the bundle comes from, as `file:line:column`; lines and columns count from 1.
    pub fn origin(&self, line: usize, column: usize) -> Option<String> {
        let mappings = self.lines.get(line.checked_sub(1)?)?;
        let column = i64::try_from(column).ok()? - 1;
        let found = mappings.iter().rev().find(|one| one.column <= column).or(mappings.first())?;
        let file = self.files.get(usize::try_from(found.file).ok()?)?;
        Some(format!("{file}:{}:{}", found.from_line + 1, found.from_column + 1))
    }
}

/// The numbers of a segment: digits of five bits, the lowest first, with the sign in the lowest bit.
fn numbers(segment: &str) -> Option<Vec<i64>> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0i64, 0);
    for letter in segment.chars() {
        let digit = i64::try_from(DIGITS.find(letter)?).ok()?;
        if shift > 50 {
            return None;
        }
        number |= (digit & 31) << shift;
        if digit & 32 != 0 {
            shift += 5;
            continue;
        }
        numbers.push(if number & 1 == 1 { -(number >> 1) } else { number >> 1 });
        (number, shift) = (0, 0);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_signed_and_of_any_length() {
        assert_eq!(numbers("AAgBC"), Some(vec![0, 0, 16, 1]));
        assert_eq!(numbers("D"), Some(vec![-1]));
        assert_eq!(numbers("?"), None);
    }

    #[test]
    fn a_place_is_that_of_the_last_mapping_before_it() {
        let json =
            r#"{ "sources": ["../src/a.ts", "../src/b.ts"], "mappings": ";AAAA,IACE;ACAF" }"#;
        let map = SourceMap::parse(json, Path::new("app/out"), Path::new("app")).unwrap();
        assert_eq!(map.origin(1, 1), None, "the line is the bundler's own");
        assert_eq!(map.origin(2, 3).as_deref(), Some("src/a.ts:1:1"));
        assert_eq!(map.origin(2, 9).as_deref(), Some("src/a.ts:2:3"));
        assert_eq!(map.origin(3, 1).as_deref(), Some("src/b.ts:2:1"));
        assert_eq!(map.origin(9, 1), None);
    }
}
