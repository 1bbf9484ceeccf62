//! What a client says on a WebSocket, as the body of a request with the method `WEBSOCKET`: messages with a line `===`
//! between them, in the format that editors know.
//!
//! | line | means |
//! |---|---|
//! | `===` | the next message follows at once |
//! | `=== wait-for-server` | the client waits for a message before it goes on |
//! | `=== after 3s` | the client waits that long |
//! | `=== binary 00ff` | the client sends these bytes |
//! | `=== close 4000 bye` | the client closes, with this code and reason |
//! | `=== stay` | the client never closes |
//!
//! A client that has nothing more to say listens for five seconds and closes.

use std::fmt;
use std::time::Duration;

use crate::protocol::frame::Frame;
use crate::protocol::http::Request;
use crate::scenario::script::words::{duration, duration_text};

/// The method of a request that opens a WebSocket.
pub const WEBSOCKET: &str = "WEBSOCKET";

/// A client that was not answered on so many connections, none of which was lost, waits no longer. So does one that has
/// read so many bodies without an end.
pub const CONNECTIONS_MOST: usize = 4;
/// How long a client listens when it has nothing more to say.
const LISTENS: Duration = Duration::from_secs(5);
/// The code of a client that has no reason to close.
const NORMAL: u16 = 1000;

/// One thing that a client does on a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It sends a frame. A close is the last step.
    Send(Frame),
    /// It waits for a message that came after what it sent last.
    Hear,
    /// It waits.
    Wait(Duration),
    /// It does nothing any more, and does not close.
    Stay,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationError {
    /// Which line, counting from 0.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for ConversationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Everything that a client does on a WebSocket, its close included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its steps. The last one closes or stays.
    pub steps: Vec<Step>,
}

impl Conversation {
    /// What a client says when a request is answered with a WebSocket; none if it does not ask for one.
    pub fn of(request: &Request) -> Option<Result<Conversation, ConversationError>> {
        let says = request.body.text().unwrap_or_default();
        (request.method == WEBSOCKET).then(|| Conversation::parse(says))
    }

    /// Reads the body of a request.
    pub fn parse(text: &str) -> Result<Conversation, ConversationError> {
        let mut steps = Vec::new();
        let mut message: Vec<&str> = Vec::new();
        for (line, said) in text.lines().enumerate() {
            let Some(told) = said.strip_prefix("===") else {
                message.push(said);
                continue;
            };
            if matches!(steps.last(), Some(Step::Stay | Step::Send(Frame::Close { .. }))) {
                return Err(ConversationError { line, why: "nothing follows a close".into() });
            }
            say(&mut message, &mut steps);
            steps.extend(step(told.trim()).map_err(|why| ConversationError { line, why })?);
        }
        say(&mut message, &mut steps);
        if !matches!(steps.last(), Some(Step::Stay | Step::Send(Frame::Close { .. }))) {
            if !matches!(steps.last(), Some(Step::Wait(_))) {
                steps.push(Step::Wait(LISTENS));
            }
            steps.push(Step::Send(Frame::close(NORMAL, "")));
        }
        Ok(Conversation { steps })
    }
}

/// What [`Conversation::parse`] reads.
impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            match step {
                Step::Send(Frame::Close { code, reason }) => {
                    write!(f, "\n=== close {code} {reason}")?;
                }
                Step::Send(Frame::Text(body)) => {
                    write!(f, "\n===\n{}", body.text().unwrap_or_default())?;
                }
                Step::Send(Frame::Binary(body)) => {
                    f.write_str("\n=== binary ")?;
                    body.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                }
                // Frames of bodies are not part of a conversation.
                Step::Send(_) => {}
                Step::Hear => f.write_str("\n=== wait-for-server")?,
                Step::Wait(time) => write!(f, "\n=== after {}", duration_text(*time))?,
                Step::Stay => f.write_str("\n=== stay")?,
            }
        }
        Ok(())
    }
}

/// Adds the message that was read, if there is one.
fn say(lines: &mut Vec<&str>, steps: &mut Vec<Step>) {
    let message = lines.join("\n");
    lines.clear();
    if !message.trim().is_empty() {
        steps.push(Step::Send(Frame::text(message.trim_matches('\n'))));
    }
}

/// What a line says behind its `===`.
fn step(told: &str) -> Result<Option<Step>, String> {
    let (word, rest) = told.split_once(' ').unwrap_or((told, ""));
    match word {
        "" => Ok(None),
        "wait-for-server" => Ok(Some(Step::Hear)),
        "after" => duration(rest.trim()).map(|time| Some(Step::Wait(time))),
        "stay" => Ok(Some(Step::Stay)),
        "binary" => {
            let bytes = bytes(rest).ok_or_else(|| {
                format!("`{}` are no bytes; write two hexadecimal digits for each", rest.trim())
            })?;
            Ok(Some(Step::Send(Frame::Binary(bytes.into()))))
        }
        "close" => {
            let (code, reason) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            let code = if code.is_empty() { Ok(NORMAL) } else { code.parse() };
            let code = code.map_err(|_| format!("`{rest}` does not begin with a code"))?;
            Ok(Some(Step::Send(Frame::close(code, reason))))
        }
        _ => Err(format!(
            "`=== {told}` means nothing; write `===`, `=== wait-for-server`, `=== after 3s`, \
             `=== binary 00ff`, `=== close` or `=== stay`"
        )),
    }
}

/// Bytes that are written with two digits each, with or without spaces between them.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stand_between_lines_and_the_client_closes_in_the_end() {
        let text = "{\"a\":\n1}\n===\n\ntwo\n=== wait-for-server\n=== after 15s\nthree\n";
        let steps = Conversation::parse(text).unwrap().steps;
        let expected = [
            Step::Send(Frame::text("{\"a\":\n1}")),
            Step::Send(Frame::text("two")),
            Step::Hear,
            Step::Wait(Duration::from_secs(15)),
            Step::Send(Frame::text("three")),
            Step::Wait(LISTENS),
            Step::Send(Frame::close(NORMAL, "")),
        ];
        assert_eq!(steps, expected);
        let binary = Conversation::parse("=== binary 00 fF").unwrap().steps;
        assert_eq!(binary[0], Step::Send(Frame::Binary(vec![0, 255].into())));
        let none = Conversation::parse("").unwrap().steps;
        assert_eq!(none, [Step::Wait(LISTENS), Step::Send(Frame::close(NORMAL, ""))]);
    }

    #[test]
    fn what_is_written_reads_as_it_was() {
        for text in
            ["a\n===\nb\n=== after 3s\n=== close 4000 see you", "=== stay", "x", "=== binary 00 fF"]
        {
            let read = Conversation::parse(text).unwrap();
            assert_eq!(Conversation::parse(&read.to_string()), Ok(read), "{text}");
        }
    }

    #[test]
    fn a_line_that_means_nothing_is_told_with_its_number() {
        let wrong = |text| Conversation::parse(text).unwrap_err();
        assert_eq!(wrong("a\n=== soon").line, 1);
        assert!(wrong("=== after ever").why.contains("not a duration"));
        assert!(wrong("=== binary 0x").why.contains("no bytes"));
        assert!(wrong("=== close now").why.contains("code"));
        assert_eq!(wrong("=== close\n===\nmore").why, "nothing follows a close");
    }
}
