//! The library, page by page.

use serde_json::Value as Json;
use thunderhead_sim::{Request, SortedMap, SortedSet};

use super::contents::Contents;
use super::facts::{Fact, client_of, facts, is_asked, json};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static COMPLETE: Promise = Promise::always_shared(
    "browsing neither skips nor repeats",
    "who goes through all pages finds everything once that was to be found all the while, nothing twice, and nothing that was never to be found",
    complete,
);

/// A page that was answered, and the pages before it.
#[derive(Clone)]
struct Page {
    /// What was there to be found since the first of them was asked for, all the while and at some time.
    always: SortedSet<String>,
    ever: SortedSet<String>,
    /// What was on them.
    seen: SortedSet<String>,
}

/// What a request for a page asks for: all but the page.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Filter {
    client: Option<&'static str>,
    artifacts: bool,
    generation: Option<String>,
    tag: Option<String>,
}

impl Filter {
    fn read(request: &Request) -> Option<Filter> {
        let artifacts = match request.pathname() {
            "/artifacts" => true,
            "/generations" => false,
            _ => return None,
        };
        let (generation, tag) = (request.query("generation"), request.query("tag"));
        let client = client_of(request);
        (&*request.method == "GET").then_some(Filter { client, artifacts, generation, tag })
    }

    /// What there is to be found now.
    fn found(&self, contents: &Contents<'_>) -> SortedSet<String> {
        let tagged = |ids: &[&str]| {
            let has = |id: &&str| {
                let tags = contents.tags.get(*id);
                self.tag.as_deref().is_none_or(|tag| tags.is_some_and(|tags| tags.contains(tag)))
            };
            ids.iter().any(has)
        };
        let own = |id: &str| contents.clients.get(id).copied() == self.client;
        if !self.artifacts {
            let all = contents.generations.keys().filter(|id| own(id) && tagged(&[id]));
            return all.map(ToString::to_string).collect();
        }
        let of = |of: &str| self.generation.as_deref().is_none_or(|wanted| wanted == of);
        let wanted = |id: &str, generation: &str| own(id) && of(generation);
        let all = contents.artifacts.iter();
        let all = all.filter(|(id, of)| wanted(id, of) && tagged(&[id, of]));
        all.map(|(id, _)| id.to_string()).collect()
    }
}

fn complete(trace: &Reading<'_>) -> Result<(), Finding> {
    // Few runs have pages, and to know what was to be found takes long.
    if !is_asked(trace, |request| Filter::read(request).is_some()) {
        return Ok(());
    }
    let mut contents = Contents::default();
    // The pages that are being looked for, with their filters, and those that were answered, by filter and cursor.
    let mut asked: SortedMap<u32, (Filter, Page)> = SortedMap::new();
    let mut answered: SortedMap<(Filter, String), Page> = SortedMap::new();
    for (event, at, fact) in facts(trace) {
        contents.learn(at, &fact);
        match fact {
            Fact::Library(_) => {
                let open = asked.values_mut().map(|(filter, page)| (&*filter, page));
                let waiting = answered.iter_mut().map(|((filter, _), page)| (filter, page));
                for (filter, page) in open.chain(waiting) {
                    let found = filter.found(&contents);
                    page.always.retain(|id| found.contains(id));
                    page.ever.extend(found);
                }
            }
            Fact::Asked { call, request } => {
                let Some(filter) = Filter::read(request) else { continue };
                let begun = match request.query("cursor") {
                    None => {
                        let found = filter.found(&contents);
                        Some(Page { always: found.clone(), ever: found, seen: SortedSet::new() })
                    }
                    // A cursor that nobody was given begins nothing.
                    Some(cursor) => answered.get(&(filter.clone(), cursor)).cloned(),
                };
                if let Some(page) = begun {
                    asked.entry(call).or_insert((filter, page));
                }
            }
            Fact::Answered { call, response } if response.status == 200 => {
                let Some((filter, mut page)) = asked.remove(&call) else { continue };
                let body = json(&response.body);
                let more = body["cursor"].as_str();
                if let Some(why) = page.add(&body, more.is_none()) {
                    return Err(Finding::at(event, why));
                }
                if let Some(cursor) = more {
                    answered.insert((filter, cursor.into()), page);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl Page {
    /// Goes on with what the next page has; what is wrong with it, if anything is.
    fn add(&mut self, page: &Json, is_last: bool) -> Option<String> {
        for item in page["items"].as_array().into_iter().flatten() {
            let id = item["id"].as_str().unwrap_or_default();
            if !self.ever.contains(id) {
                return Some(format!("{id} is on a page, and was never to be found there"));
            }
            if !self.seen.insert(id.into()) {
                return Some(format!("{id} is on two pages"));
            }
        }
        let mut skipped = self.always.difference(&self.seen);
        skipped.next().filter(|_| is_last).map(|id| format!("{id} is on no page"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::promises::generations::mutants::{Story, gone, row_artifact, row_tag};

    /// Somebody asks for a page and gets these, and a cursor unless that is empty.
    fn page(story: &mut Story, call: u32, query: &str, items: &[&str], cursor: &str) {
        let items: Vec<Json> = items.iter().map(|id| json!({ "id": id })).collect();
        let mut page = json!({ "items": items });
        if !cursor.is_empty() {
            page["cursor"] = cursor.into();
        }
        let path = format!("/artifacts{query}");
        story.asked_by("ann", call, "GET", &path).answered(call, 200, &page);
    }

    fn two() -> Story {
        let mut story = Story::given(&json!({ "count": 3 }));
        story.library(&[row_artifact("a", "g")]).library(&[row_artifact("c", "g")]);
        story
    }

    #[test]
    fn what_is_skipped_repeated_or_made_up_is_rejected() {
        let browsed = |pages: [&[&str]; 2]| {
            let mut story = two();
            page(&mut story, 1, "", pages[0], "x");
            page(&mut story, 2, "?cursor=x", pages[1], "");
            complete(&Reading::of(&story.trace()))
        };
        assert_eq!(browsed([&["c"], &["a"]]), Ok(()));
        assert!(browsed([&["c"], &[]]).is_err());
        assert!(browsed([&["c"], &["c", "a"]]).is_err());
        assert!(browsed([&["c"], &["b", "a"]]).is_err());
    }

    #[test]
    fn what_comes_while_somebody_browses_may_be_found_or_not() {
        let browsed = |last: &[&str]| {
            let mut story = two();
            page(&mut story, 1, "", &["c"], "x");
            story.library(&[row_artifact("b", "g")]);
            page(&mut story, 2, "?cursor=x", last, "");
            complete(&Reading::of(&story.trace()))
        };
        assert_eq!(browsed(&["a"]), Ok(()));
        assert_eq!(browsed(&["b", "a"]), Ok(()));
        assert!(browsed(&["b"]).is_err());
    }

    #[test]
    fn what_loses_its_tag_while_somebody_browses_may_be_found_or_not() {
        let browsed = |last: &[&str], tag: &str| {
            let mut story = two();
            story.library(&[row_tag("t", "a"), row_tag("t", "c")]);
            page(&mut story, 1, "?tag=t", &["c"], "x");
            story.library(&[gone(row_tag(tag, "a"))]);
            page(&mut story, 2, "?tag=t&cursor=x", last, "");
            complete(&Reading::of(&story.trace()))
        };
        assert_eq!(browsed(&["a"], "t"), Ok(()));
        assert_eq!(browsed(&[], "t"), Ok(()));
        assert!(browsed(&[], "u").is_err());
    }

    #[test]
    fn a_filter_keeps_others_out() {
        let mut story = two();
        story.library(&[row_artifact("d", "h")]).library(&[row_tag("t", "h")]);
        page(&mut story, 1, "?generation=g", &["c", "a"], "");
        page(&mut story, 2, "?tag=t", &["d"], "");
        assert_eq!(complete(&Reading::of(&story.trace())), Ok(()));
        page(&mut story, 3, "?generation=h", &["d", "a"], "");
        assert!(complete(&Reading::of(&story.trace())).is_err());
    }
}
