//! The page of each system, and how its routes learn who asks.

/// What a browser is shown, and what the routes are told.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The page at `/`.
    pub page: &'static str,
    /// The parameter of the query in which the routes expect the session; none when they do not ask.
    pub session: Option<&'static str>,
    /// The namespace of the agents that clients talk to at `/agents/organization/ORG`.
    pub agent: Option<&'static str>,
    /// Whether the page can show what happened to one of its things.
    pub tells: bool,
    /// Requests to begin with, as JSON, for the page that has no other.
    pub examples: &'static str,
}

const CONSOLE: &str = include_str!("../pages/console.html");

/// The site of the system of that name. One that is not known here has a page from which to send any request.
pub fn of(system: &str) -> Site {
    let console =
        |examples| Site { page: CONSOLE, session: None, agent: None, tells: false, examples };
    match system {
        "uploads" => Site {
            page: include_str!("../pages/uploads.html"),
            session: Some("as"),
            agent: Some("ORGANIZATION"),
            tells: true,
            examples: "[]",
        },
        "relay" => console(include_str!("../pages/relay.json")),
        "generations" => console(include_str!("../pages/generations.json")),
        "comparisons" => console(include_str!("../pages/comparisons.json")),
        "commands" => console(include_str!("../pages/commands.json")),
        _ => console("[]"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_of_every_page_are_requests() {
        for system in ["uploads", "relay", "generations", "comparisons", "commands", "other"] {
            let examples: serde_json::Value =
                serde_json::from_str(super::of(system).examples).unwrap();
            for example in examples.as_array().unwrap() {
                let text = |name: &str| {
                    example[name].as_str().unwrap_or_else(|| panic!("{system}: {example}"))
                };
                assert!(
                    text("path").starts_with('/')
                        && !text("method").is_empty()
                        && !text("about").is_empty()
                );
            }
        }
    }
}
