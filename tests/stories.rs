//! Every failure that a script shows is told shortly, the stories that were read are pinned, and a story has what led
//! to the failure and nothing else.

mod support;

use support::{files, root};
use thunderhead::catalogue::Catalogue;
use thunderhead::history::History;
use thunderhead::playable::Playable;
use thunderhead::systems;
use thunderhead_sim::{
    Event, EventKind, Fault, Op, Outcome, OutcomeId, Page, Reply, Request, Response, Script, Time,
    Trace, r2,
};

/// Shows the story of every script in which a promise is broken: its name, how many lines what led to it has, how many
/// of them are faults, and all of it.
fn each(mut show: impl FnMut(&str, usize, usize, &str)) {
    let known = systems::all();
    let known = Catalogue::new(&known).expect("the names are clear");
    for path in files(&root().join("scenarios")) {
        let text = std::fs::read_to_string(&path).expect("a file of the project");
        if !text.contains("\"violates ") {
            continue;
        }
        let file = Script::parse(&path.display().to_string(), &text);
        let playable = file.and_then(|file| Playable::new(file, known));
        let playable = playable.unwrap_or_else(|error| panic!("{error}"));
        let played = playable.play().expect("it fits");
        let history = History::new(&playable, &played);
        let story = history.plainest().expect("it violates").story(&played.run.trace);
        let strikes = |line: &&str| line.contains("  FAULT  ") || line.contains("  CRASH  ");
        let (lines, faults) =
            (story.text.lines().count(), story.text.lines().filter(strikes).count());
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        show(name, lines, faults, &history.story());
    }
}

#[test]
fn a_failure_is_told_in_25_lines_with_at_most_three_faults_on_a_terminal() {
    let mut count = 0;
    each(|name, lines, faults, story| {
        assert!((1..=25).contains(&lines), "{name}: {lines} lines\n{story}");
        assert!(faults <= 3, "{name}: {faults} faults\n{story}");
        let wide = story.lines().find(|line| line.chars().count() > 120);
        assert_eq!(wide, None, "{name}");
        assert!(
            story.lines().any(|line| line.starts_with('>')),
            "{name} points at nothing\n{story}"
        );
        count += 1;
    });
    assert!(count >= 58, "only {count} stories");
}

#[test]
fn these_stories_were_read_and_say_what_went_wrong() {
    let read = [
        "commands-plan-execute-race",
        "commands-plan-mark-dies",
        "generations-plan-webhook-twice",
        "uploads-plan-duplicate-after-classification",
    ];
    let mut seen = Vec::new();
    each(|name, _, _, story| {
        if read.contains(&name) {
            seen.push(name.to_string());
            insta::with_settings!({
                prepend_module_to_snapshot => false,
                omit_expression => true,
                snapshot_path => "stories"
            }, {
                insta::assert_snapshot!(name, story);
            });
        }
    });
    assert_eq!(seen, read);
}

/// A client, a worker and a bucket.
#[derive(Default)]
struct Told {
    trace: Trace,
    calls: u32,
}

impl Told {
    fn event(&mut self, at: u64, actor: &str, kind: EventKind) -> usize {
        let actor = self.trace.actor_named(actor);
        self.trace.push(Event { at: Time::from_ms(at), actor, kind });
        self.trace.events().len() - 1
    }

    fn asks(&mut self, at: u64, actor: &str, op: Op) -> u32 {
        let call = self.calls;
        self.calls += 1;
        self.trace.set_op(call, op);
        self.event(at, actor, EventKind::Call { call });
        call
    }

    /// The client asks the worker, which begins.
    fn request(&mut self, at: u64, path: &str) -> u32 {
        let request = Request::new("PUT", path, "");
        let call = self.asks(at, "client", Op::Fetch { to: "web".into(), request });
        self.event(at, "web", EventKind::Begin { call });
        call
    }

    fn keep(&mut self, outcome: Outcome) -> OutcomeId {
        self.trace.keep(outcome)
    }

    /// The worker puts an object, which takes effect; the index of that.
    fn puts(&mut self, at: u64, key: &str) -> usize {
        let call = self.asks(at, "web", Op::R2(r2::Op::put("photos", key, "x")));
        let outcome = self.keep(Ok(Reply::Done));
        let effect = self.event(at, "r2", EventKind::Effect { call, outcome });
        self.event(at, "web", EventKind::Return { call, outcome });
        effect
    }

    fn ends(&mut self, at: u64, call: u32) {
        let outcome = self.keep(Ok(Reply::Fetch(Response::new(200, ""))));
        self.event(at, "web", EventKind::End { call, outcome });
        self.event(at, "client", EventKind::Return { call, outcome });
    }
}

fn lines(trace: &Trace, broken: &[usize], about: &[usize]) -> Vec<String> {
    let story = trace.story(broken, about);
    assert!(story.text.lines().count() <= 25, "{}", story.text);
    story.text.lines().map(ToString::to_string).collect()
}

#[test]
fn only_what_wrote_the_same_thing_and_who_asked_for_it_is_told() {
    let mut told = Told::default();
    for (at, key) in [(1, "cat"), (2, "dog"), (3, "cow")] {
        let call = told.request(at, &format!("/{key}"));
        told.puts(at, key);
        told.ends(at, call);
    }
    let call = told.request(9, "/cat");
    let broken = told.puts(9, "cat");
    told.ends(9, call);
    let lines = lines(&told.trace, &[broken], &[]);
    let has = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!((has("PUT /cat"), has("put photos/cat"), lines.len()), (2, 2, 4), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with('>')).count(), 1, "{lines:?}");
}

#[test]
fn the_calls_of_two_invocations_at_once_are_told_apart() {
    let mut told = Told::default();
    let (one, two) = (told.request(1, "/one"), told.request(1, "/two"));
    // In the order in which they began, each puts its own.
    let first = told.puts(1, "1");
    let second = told.puts(1, "2");
    told.ends(2, one);
    told.ends(2, two);
    for (broken, asked, other) in [(first, "/one", "/two"), (second, "/two", "/one")] {
        let lines = lines(&told.trace, &[broken], &[]).join("\n");
        assert!(lines.contains(asked) && !lines.contains(other), "{lines}");
    }
}

#[test]
fn a_fault_is_told_in_words_with_what_came_of_it() {
    let mut told = Told::default();
    let call = told.request(1, "/cat");
    let put = told.asks(1, "web", Op::R2(r2::Op::put("photos", "cat", "x")));
    let fault = EventKind::Fault { call: Some(put), fault: Fault::Duplicate, by: None };
    told.event(1, "web", fault);
    let outcome = told.keep(Ok(Reply::Done));
    told.event(2, "r2", EventKind::Effect { call: put, outcome });
    let again = told.event(906_002, "r2", EventKind::Effect { call: put, outcome });
    told.ends(906_003, call);
    let story = told.trace.story(&[again], &[]);
    let words = "r2.put photos/cat (#1) happens twice; the second copy comes 906 s later";
    assert_eq!(story.faults, [(3, words.to_string())]);
    assert!(story.text.contains(words), "{}", story.text);
}

#[test]
fn what_is_missing_is_told_forward_and_a_host_that_dies_is_in_it() {
    let mut told = Told::default();
    told.request(1, "/cat");
    let stored = told.puts(1, "cat");
    told.event(2, "web", EventKind::Crash { fault: Fault::Crash, call: None });
    told.event(7, "web", EventKind::Boot { life: 2 });
    told.request(9, "/dog");
    let lines = lines(&told.trace, &[], &[stored]).join("\n");
    assert!(lines.contains("CRASH  web dies; it is back at 0.007s"), "{lines}");
    assert!(lines.contains("PUT /cat"), "{lines}");
}

#[test]
fn of_many_causes_as_many_are_told_as_fit_and_how_many_are_not() {
    let mut told = Told::default();
    let keys: Vec<String> = (0..60).map(|n| format!("cat{}", n * n)).collect();
    for (at, key) in (1..).zip(&keys) {
        let call = told.request(at, &format!("/{key}"));
        told.puts(at, key);
        told.ends(at, call);
    }
    told.request(99, "/all");
    let keys = keys.iter().map(|key| key.as_str().into()).collect();
    let delete = r2::Op::Delete { bucket: "photos".into(), keys };
    let call = told.asks(99, "web", Op::R2(delete));
    let outcome = told.keep(Ok(Reply::Done));
    let broken = told.event(99, "r2", EventKind::Effect { call, outcome });
    let lines = lines(&told.trace, &[broken], &[]);
    assert_eq!(lines.len(), 25, "{lines:?}");
    assert!(lines[24].ends_with(" more lines of what led to it"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with('>')), "{lines:?}");
}

#[test]
fn what_comes_again_and_again_is_told_once() {
    let mut told = Told::default();
    let call = told.request(0, "/cat");
    let mut broken = 0;
    for at in 0..400 {
        broken = told.puts(at, "cat");
    }
    told.ends(999, call);
    let lines = lines(&told.trace, &[broken], &[]);
    assert!(lines.iter().any(|line| line.contains(" more times, until ")), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("put photos/cat")).count(), 2, "{lines:?}");
}

#[test]
fn the_page_shows_the_story_first_with_the_offending_line_marked() {
    let mut told = Told::default();
    for (at, key) in [(1, "dog"), (2, "cat")] {
        let call = told.request(at, &format!("/{key}"));
        told.puts(at, key);
        told.ends(at, call);
    }
    let call = told.request(9, "/cat");
    let broken = told.puts(9, "cat");
    told.ends(9, call);
    let story = told.trace.story(&[broken], &[]);
    let promises = [("always <one>".to_string(), "two & three".to_string())];
    let page = Page { title: "a story", broken: &promises, story: Some(&story), ..Page::default() };
    let page = told.trace.to_page(&page);
    let top = "<p class=\"wrong\"><strong>always &lt;one&gt;</strong> two &amp; three</p>";
    assert!(page.contains(top), "{page}");
    assert_eq!(page.matches(" told broken\"").count(), 1);
    assert_eq!(page.matches(" told\"").count() + 1, story.events.len());
    assert!(
        page.contains(&format!("<li id=\"{}\" class=\"kept told broken\"", broken + 1)),
        "{page}"
    );
    assert!(page.contains("id=\"all\""));
    assert!(
        !told.trace.to_html("a story").contains("id=\"all\""),
        "nothing is folded without a story"
    );
}
