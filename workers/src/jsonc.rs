//! JSON with comments and trailing commas, as `wrangler.jsonc` is written.

/// Plain JSON of JSON with comments. What is left out becomes spaces, so that lines and columns of errors stay true.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // Where the last comma was written, if nothing but space has followed.
    let mut comma = None;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                out.push(c);
                string(&mut out, &mut rest);
                comma = None;
            }
            ('/', Some('/')) => {
                out.push(' ');
                while let Some(c) = rest.next_if(|c| *c != '\n') {
                    blank(&mut out, c);
                }
            }
            ('/', Some('*')) => {
                out.push(' ');
                let mut before = ' ';
                for c in rest.by_ref() {
                    blank(&mut out, c);
                    if before == '*' && c == '/' && out.len() > 1 {
                        break;
                    }
                    before = c;
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(c);
            }
            (']' | '}', _) => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            (c, _) => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}

fn string(out: &mut String, rest: &mut std::iter::Peekable<std::str::Chars>) {
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '\\' => out.extend(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn blank(out: &mut String, c: char) {
    out.push(if c == '\n' { '\n' } else { ' ' });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> serde_json::Value {
        serde_json::from_str(&plain(text)).unwrap()
    }

    #[test]
    fn comments_and_trailing_commas_are_left_out_and_strings_are_not_touched() {
        let text = "// one\n{ \"a\": [1, 2, /* three, */ ], \"b\": \"// no, \\\" ,}\", /* end */ }";
        assert_eq!(read(text), serde_json::json!({ "a": [1, 2], "b": "// no, \" ,}" }));
    }

    #[test]
    fn the_line_of_a_mistake_is_that_of_the_file() {
        let error = serde_json::from_str::<serde_json::Value>(&plain("/* a\n b */\n{ \"a\": }"))
            .unwrap_err();
        assert_eq!(error.line(), 3);
    }
}
