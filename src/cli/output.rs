//! What the program prints. It arrives whole, or the exit code says that it did not.

use std::borrow::Cow;
use std::io::{self, Write};

use thunderhead_sim::{printable_json, printable_lines};

/// The exit code when something could not be written, whatever it said.
pub const UNWRITTEN: u8 = 4;

/// The colours of `report`, which are the only escapes that a line may have.
const COLOURS: [&str; 3] = ["[32m", "[31m", "[0m"];

/// Prints on standard output, and returns the exit code: the one given, or that of what could not be written.
/// A closed pipe means that the reader has seen enough, which is no failure.
pub fn print(text: &str, code: u8) -> u8 {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Err(error) => {
            say(&format!("error: the answer could not be printed: {error}"));
            UNWRITTEN
        }
    }
}

/// Says something on standard error. When that cannot be written either, there is nobody left to tell.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text));
}

/// A text as it is printed: only our own line breaks and colours are left as they are.
pub fn text(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().map_or(Cow::Borrowed(""), printable_lines).into_owned();
    for part in parts {
        out += if COLOURS.iter().any(|colour| part.starts_with(colour)) {
            "\u{1b}"
        } else {
            "\\u{1b}"
        };
        out += &printable_lines(part);
    }
    out
}

/// A JSON document as it is printed.
pub fn json(document: &serde_json::Value) -> String {
    printable_json(&format!("{document:#}\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colours_stay_and_every_other_escape_goes() {
        assert_eq!(text("\u{1b}[31mBROKEN\u{1b}[0m a\n"), "\u{1b}[31mBROKEN\u{1b}[0m a\n");
        assert_eq!(text("a\u{1b}[2J\u{7}\r\n\u{1b}"), "a\\u{1b}[2J\\u{7}\\r\n\\u{1b}");
    }
}
