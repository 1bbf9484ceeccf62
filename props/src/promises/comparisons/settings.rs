//! Settings are changed by those who may.

use serde_json::Value as Json;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Request, SortedMap, SortedSet, Trace};

use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};

pub static BY_OPERATORS: Promise = Promise::always(
    "settings are changed by operators",
    "a pair keeps another number of comparisons only because an operator asked for that number; anybody else is told 401 without a known token, and 403 with one",
    by_operators,
);

/// The headers of those whom every deployment knows.
const OPERATOR: &str = "Bearer a-token-of-operators";
const MEMBER: &str = "Bearer a-token-of-members";

fn by_operators(trace: &Trace) -> Result<(), Finding> {
    let mut allowed = SortedSet::new();
    let mut asked = SortedMap::new();
    for (at, fact) in facts(trace) {
        match fact {
            Fact::Asked { call, request } if is_setting(request) => {
                let header = request.headers.get("authorization").unwrap_or_default();
                if header == OPERATOR {
                    let body: Json = request.body.read().unwrap_or_default();
                    allowed.extend(body["keep"].as_u64().map(|keep| keep.to_string()));
                }
                asked.insert(call, header);
            }
            Fact::Rows { store, changes } => {
                let keeps = changes.iter().filter(|change| {
                    &*change.table == "_cf_KV"
                        && change.key.first().and_then(Value::as_str) == Some("keep")
                });
                for change in keeps {
                    let keep = change.value_after("value").and_then(Value::as_str);
                    let keep = keep.unwrap_or_default();
                    if !allowed.contains(keep) {
                        let message =
                            format!("{store} keeps {keep}, for which no operator has asked");
                        return Err(Finding::at(at, message));
                    }
                }
            }
            Fact::Answered { call, response } => {
                let Some(header) = asked.get(&call) else { continue };
                let expected = match *header {
                    OPERATOR => continue,
                    MEMBER => 403,
                    _ => 401,
                };
                if response.status != expected {
                    let status = response.status;
                    let message = format!("somebody else than an operator is told {status}");
                    return Err(Finding::at(at, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_setting(request: &Request) -> bool {
    &*request.method == "PUT" && request.pathname() == "/keep"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::comparisons::mutants::Story;

    #[test]
    fn what_an_operator_asks_for_may_change() {
        let mut story = Story::default();
        story.set_keep(0, OPERATOR, 2).keep(2).told(0, 204, "");
        story.set_keep(1, MEMBER, 3).told(1, 403, "").set_keep(2, "", 3).told(2, 401, "");
        assert_eq!(by_operators(&story.trace()), Ok(()));
    }

    #[test]
    fn a_change_for_which_no_operator_has_asked_is_rejected() {
        for header in [MEMBER, "", "Bearer guessed"] {
            let mut story = Story::default();
            story.set_keep(0, header, 2).keep(2);
            let message = "ENVPAIR_DO:k keeps 2, for which no operator has asked";
            assert_eq!(by_operators(&story.trace()), Err(Finding::at(1, message)), "{header}");
        }
        let mut story = Story::default();
        story.set_keep(0, OPERATOR, 3).keep(2);
        assert!(by_operators(&story.trace()).is_err(), "another number");
    }

    #[test]
    fn a_stranger_who_is_told_anything_but_401_or_403_is_rejected() {
        for (header, status) in [(MEMBER, 204), (MEMBER, 401), ("", 204), ("", 403), ("x", 400)] {
            let mut story = Story::default();
            story.set_keep(0, header, 2).told(0, status, "");
            let message = format!("somebody else than an operator is told {status}");
            assert_eq!(by_operators(&story.trace()), Err(Finding::at(1, message)));
        }
    }
}
