//! The page with the list of all failures.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use thunderhead_sim::Escaped;

use super::FILES_MAX;
use super::entry::{Entry, Failure};
use crate::report;

/// Of one failure, so many faults are listed.
const FAULTS_MAX: usize = 3;

const STYLE: &str = include_str!("list.css");
const SCRIPT: &str = include_str!("list.js");

/// The list of what is in a directory of so many files.
pub fn page(dir: &Path, entries: &[(PathBuf, Entry)], files: usize) -> String {
    let failures = entries.iter().filter(|(_, entry)| matches!(entry, Entry::Failure(_))).count();
    let (title, count) = (Escaped(dir.display()), report::count(failures, "failure", "failures"));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{count} in {title}</title>\n<style>\n{STYLE}</style>\n<header><h1>{count} in {title}</h1>\n\
         <input type=\"search\" placeholder=\"only those with…\" aria-label=\"only those with\"></header>\n<main>\n"
    );
    let mut unshown = String::new();
    let mut group = None;
    for (path, entry) in entries {
        match entry {
            Entry::Failure(failure) => {
                let of = (&failure.system, &failure.variant);
                if group != Some(of) {
                    let (system, variant) = (Escaped(of.0), Escaped(of.1));
                    let _ = writeln!(text, "<h2>{system} <span>{variant}</span></h2>");
                    group = Some(of);
                }
                one(path, failure, &mut text);
            }
            Entry::Unshown(why) => {
                let (name, why) = (Escaped(name(path)), Escaped(why));
                let _ = writeln!(unshown, "<li><strong>{name}</strong> {why}</li>");
            }
        }
    }
    if !unshown.is_empty() {
        let _ = writeln!(text, "<h2>Cannot be shown</h2>\n<ul>\n{unshown}</ul>");
    }
    if files > FILES_MAX {
        let _ = writeln!(text, "<p>{} more files are not listed.</p>", files - FILES_MAX);
    }
    text + &format!("</main>\n<script>\n{SCRIPT}</script>\n</html>\n")
}

fn one(path: &Path, failure: &Failure, text: &mut String) {
    let Failure { promise, message, system, variant, faults, events, misfit } = failure;
    let shown =
        faults.iter().take(FAULTS_MAX).map(|fault| format!("<span>{}</span>", Escaped(fault)));
    let mut shown: String = shown.collect();
    match faults.len().saturating_sub(FAULTS_MAX) {
        _ if faults.is_empty() => shown += "no fault is needed",
        0 => {}
        more => shown += &format!("and {more} more"),
    }
    let misfit = misfit.as_ref().map_or(String::new(), |misfit| {
        format!("<p class=\"misfit\">It no longer fits the code: {}</p>", Escaped(misfit))
    });
    let _ = writeln!(
        text,
        "<a class=\"failure\" href=\"{}\" title=\"{}\"><strong>{}</strong><p>{}</p>{misfit}\
         <p class=\"faults\">{}</p><p class=\"of\">{} {} · {}</p></a>",
        address(path),
        Escaped(name(path)),
        Escaped(promise),
        Escaped(message),
        shown,
        Escaped(system),
        Escaped(variant),
        report::count(*events, "event", "events"),
    );
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Where the page of a file is. Every byte of its name that could mean anything else is written as its number.
pub fn address(path: &Path) -> String {
    let mut address = String::from("/file/");
    for byte in path.file_name().unwrap_or_default().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => {
                address.push(char::from(*byte))
            }
            // A dot alone would be a step in the path, if it were not among other letters.
            b'.' if address.len() > "/file/".len() => address.push('.'),
            byte => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_an_address_or_in_a_page() {
        assert_eq!(address(Path::new("found/a-b_1.toml")), "/file/a-b_1.toml");
        assert_eq!(address(Path::new("x/\"><b>é.toml")), "/file/%22%3E%3Cb%3E%C3%A9.toml");
        let why = Entry::Unshown("<i>no</i>".into());
        let page = page(Path::new("<dir>"), &[(PathBuf::from("<script>x.toml"), why)], 1);
        assert!(
            page.contains("<li><strong>&lt;script&gt;x.toml</strong> &lt;i&gt;no&lt;/i&gt;</li>"),
            "{page}"
        );
        assert!(page.contains("<h1>0 failures in &lt;dir&gt;</h1>"), "{page}");
    }
}
