//! Organisations see only their own uploads, and in the end every row is final and every client up to date.

use thunderhead_sim::{Request, SortedMap, SortedSet};

use super::contents::{Contents, event_id, short};
use super::facts::{Fact, facts};
use super::row::{Upload, tells_of_events};
use crate::history::named;
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static APART: Promise = Promise::always_shared(
    "organisations stay apart",
    "an agent's rows tell of its own organisation's objects alone, and who is not a member is refused, with a session or without",
    apart,
);

pub static TERMINAL: Promise = Promise::eventually_shared(
    "no row is stuck",
    "when all is quiet, every row is classified or failed",
    terminal,
);

pub static UP_TO_DATE: Promise = Promise::eventually_shared(
    "clients see the end",
    "when all is quiet, every client that is connected has fetched the final state, and why what failed did",
    up_to_date,
);

pub static GOOD_IS_CLASSIFIED: Promise = Promise::eventually_shared(
    "only a bad picture fails",
    "when all is quiet, a row is failed only if the model has refused its bytes for good",
    good_is_classified,
);

fn apart(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut strangers = SortedSet::new();
    for (at, fact) in facts(trace) {
        contents.step(&fact);
        match fact {
            Fact::Rows(organisation, changes) => {
                for change in changes.iter().filter(|change| tells_of_events(&change.table)) {
                    let Some(row) = Upload::after(change) else { continue };
                    let key = format!("{organisation}/{}", row.name);
                    if !contents.held(&key).iter().flatten().any(|event| **event == *row.event) {
                        let event = short(row.event);
                        let message = format!("{key} has a row for {event}, which it never held");
                        return Err(Finding::at(at, message));
                    }
                }
            }
            Fact::Asked(call, request) if is_stranger(request) => drop(strangers.insert(call)),
            Fact::Answered(call, response)
                if strangers.contains(&call) && response.status != 403 =>
            {
                return Err(Finding::at(at, format!("a stranger gets {}", response.status)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a request asks for what belongs to an organisation that is not theirs. Who has no session has none.
fn is_stranger(request: &Request) -> bool {
    let (path, session) = request.path.split_once("?as=").unwrap_or((&request.path, ""));
    let path = path.trim_start_matches('/');
    let key = if &*request.method == "GET" { path.strip_prefix("thumbnails/") } else { None };
    let asked = key.unwrap_or(path).split('/').next();
    session.split_once('@').map(|(_, organisation)| organisation) != asked
}

fn terminal(trace: &Reading<'_>) -> Result<(), Finding> {
    let contents = Contents::at_the_end(trace);
    match contents.board.rows().find(|(_, row)| !row.is_final()) {
        None => Ok(()),
        Some((organisation, row)) => {
            let message = format!("{organisation}/{} is {} for ever", row.name, row.status);
            Err(Finding::missing(message).about(named(trace, row.name)))
        }
    }
}

fn good_is_classified(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let mut read = SortedMap::new();
    let mut refused = SortedSet::new();
    for (_, fact) in facts(trace) {
        contents.step(&fact);
        match fact {
            Fact::Read(object, _, body) => {
                read.insert((&*object.key, &*object.etag), body);
            }
            Fact::Refused(body) => {
                refused.insert(body);
            }
            _ => {}
        }
    }
    let is_bad = |event: &str| {
        let of = |(key, etag): &(&str, &str)| event_id(key, etag) == event;
        read.iter().any(|(object, bytes)| refused.contains(bytes) && of(object))
    };
    for (organisation, row) in contents.board.rows().filter(|(_, row)| row.status == "failed") {
        if !is_bad(row.event) {
            let message = format!("{organisation}/{} is failed; no model refused it", row.name);
            return Err(Finding::missing(message));
        }
    }
    Ok(())
}

fn up_to_date(trace: &Reading<'_>) -> Result<(), Finding> {
    let mut contents = Contents::default();
    let (mut connected, mut asked) = (SortedSet::new(), SortedMap::new());
    let mut seen: SortedMap<&str, serde_json::Value> = SortedMap::new();
    for (_, fact) in facts(trace) {
        contents.step(&fact);
        match fact {
            Fact::Connected(organisation) => drop(connected.insert(organisation)),
            Fact::Closed => connected.clear(),
            Fact::Fetches(call, request) => drop(asked.insert(call, request)),
            Fact::Fetched(call, response) => {
                let Some(request) = asked.get(&call) else { continue };
                let path = request.path.split('?').next().unwrap_or_default();
                let list = response.body.read().unwrap_or_default();
                seen.insert(path.trim_start_matches('/'), list);
            }
            _ => {}
        }
    }
    for organisation in connected {
        let list = seen.get(organisation).and_then(|list| list.as_array());
        let fields = ["name", "status", "classificationLabel", "error"];
        let items = list.into_iter().flatten();
        let shown: SortedSet<[Option<&str>; 4]> =
            items.map(|item| fields.map(|key| item[key].as_str())).collect();
        let rows = contents.board.rows().filter(|(of, _)| *of == organisation);
        let there: SortedSet<[Option<&str>; 4]> =
            rows.map(|(_, row)| [Some(row.name), Some(row.status), row.label, row.error]).collect();
        if list.is_none() || shown != there {
            return Err(Finding::missing(format!("a client of {organisation} sees an old list")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::ai;

    use super::*;
    use crate::promises::uploads::mutants::Story;

    #[test]
    fn a_row_of_another_organisation_is_rejected_where_it_happens() {
        let mut one = Story::default();
        one.stored("one", 1).row("one", "queued", None);
        assert_eq!(apart(&Reading::of(&one.trace())), Ok(()));
        let (trace, last) = one.strange_row("one").ended();
        assert_eq!(apart(&Reading::of(&trace)).unwrap_err().event, Some(last));
    }

    #[test]
    fn a_stranger_who_is_served_is_rejected_where_it_happens() {
        let mut asked = Story::default();
        asked.served("/acme?as=ann@acme", 200).served("/acme?as=eve@evil", 403);
        assert_eq!(apart(&Reading::of(&asked.trace())), Ok(()));
        let thumbnail = "/thumbnails/acme/cat.jpg";
        for path in ["/acme/cat.jpg?as=eve@evil", "/acme/cat.jpg", "/acme?as=eve", thumbnail] {
            let (trace, last) = asked.clone().served(path, 200).ended();
            assert_eq!(apart(&Reading::of(&trace)).unwrap_err().event, Some(last), "{path}");
        }
    }

    #[test]
    fn a_row_that_is_stuck_is_rejected() {
        let mut stuck = Story::default();
        stuck.stored("one", 1).row("one", "running", None);
        let error = terminal(&Reading::of(&stuck.trace())).unwrap_err();
        assert_eq!(error.message, "acme/cat.jpg is running for ever");
        assert_eq!(terminal(&Reading::of(&stuck.row("one", "failed", None).trace())), Ok(()));
    }

    #[test]
    fn a_good_picture_that_has_failed_is_rejected() {
        let mut failed = Story::default();
        failed.stored("one", 1).read("one").row("one", "failed", None);
        let error = good_is_classified(&Reading::of(&failed.trace())).unwrap_err();
        assert_eq!(error.message, "acme/cat.jpg is failed; no model refused it");
        let busy = ai::Error::service(ai::transient_errors()[0]);
        assert!(
            good_is_classified(&Reading::of(&failed.not_labelled("one", busy).trace())).is_err()
        );
        let bad = ai::Error::service(0);
        assert_eq!(
            good_is_classified(&Reading::of(&failed.not_labelled("one", bad).trace())),
            Ok(())
        );
    }

    #[test]
    fn a_client_with_an_old_list_is_rejected() {
        let list = r#"[{"name":"cat.jpg","status":"classified","classificationLabel":"CAT"}]"#;
        let mut seen = Story::default();
        seen.row("one", "classified", Some("CAT")).watched("[]");
        assert!(up_to_date(&Reading::of(&seen.trace())).is_err());
        assert_eq!(up_to_date(&Reading::of(&seen.watched(list).trace())), Ok(()));
        seen.failed_row("one", "too small");
        assert!(up_to_date(&Reading::of(&seen.trace())).is_err());
        let unsaid = r#"[{"name":"cat.jpg","status":"failed"}]"#;
        assert!(
            up_to_date(&Reading::of(&seen.watched(unsaid).trace())).is_err(),
            "it does not say why"
        );
        let said = r#"[{"name":"cat.jpg","status":"failed","error":"too small"}]"#;
        assert_eq!(up_to_date(&Reading::of(&seen.clone().watched(said).trace())), Ok(()));
        assert_eq!(
            up_to_date(&Reading::of(&seen.closed().trace())),
            Ok(()),
            "nobody is watching any more"
        );
    }
}
