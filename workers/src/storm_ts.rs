//! `storm.ts`: what its author promises, a workload that is drawn, and hosts outside, in their own language.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_props::{Check, Finding, Promise};
use thunderhead_sim::{Error, Request, Response, Rng, Time, Trace};

use crate::app;
use crate::code::Code;
use crate::config::Config;
use crate::email::EMAIL;
use crate::isolate::Isolate;
use crate::message::QUEUE;
use crate::storm_http::Event;
use crate::view;

/// The names of the file, in the order in which they are looked for.
const NAMES: [&str; 3] = ["storm.ts", "storm.mjs", "storm.js"];
/// A promise is shown so many moments at once: more would take much memory.
const AT_ONCE: usize = 50;
/// The moods of a host outside, as they are drawn.
pub const MOODS: [&str; 4] = ["fine", "slow", "failing", "limited"];

/// The program of the file, and what it describes.
#[derive(Clone, Debug)]
pub struct StormTs {
    file: &'static str,
    code: Arc<Code>,
    described: Described,
}

#[derive(Clone, Debug, Deserialize)]
struct Described {
    workload: bool,
    promises: Vec<Named>,
    outside: Vec<String>,
    ignore: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Named {
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Always,
    Eventually,
    Sometimes,
}

/// A request as the workload writes it down.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Sent {
    at: u64,
    pub method: String,
    pub path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Sent {
    /// What happens. The path of a cron trigger is the trigger.
    pub fn event(&self) -> Event {
        match &*self.method {
            "SCHEDULED" => Event::Scheduled(self.path.clone()),
            EMAIL => Event::Email(self.request()),
            QUEUE => Event::Message(self.request()),
            _ => Event::Request(self.request()),
        }
    }

    /// When it is sent.
    pub fn at(&self) -> Time {
        Time::from_ms(self.at)
    }

    /// What is sent.
    pub fn request(&self) -> Request {
        let mut request = Request::new(&self.method, &self.path, &*self.body);
        request.headers = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        request
    }
}

/// Where the promise that a finding is about first did not hold.
#[derive(Deserialize)]
struct Broken {
    at: usize,
    message: String,
}

#[derive(Deserialize)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl StormTs {
    /// Reads the file in a folder, if there is one.
    pub fn load(folder: &Path) -> Result<Option<StormTs>, String> {
        let Some(file) = StormTs::name_in(folder) else { return Ok(None) };
        let config = Config::of_module(file);
        let told = |why| format!("{}: {why}", folder.display());
        StormTs::of(file, app::program(folder, &config).map_err(told)?).map_err(told).map(Some)
    }

    /// The name of such a file in a folder, if there is one.
    pub fn name_in(folder: &Path) -> Option<&'static str> {
        NAMES.into_iter().find(|name| folder.join(name).is_file())
    }

    pub(crate) fn of(file: &'static str, code: Code) -> Result<StormTs, String> {
        let code = Arc::new(code);
        let described: Described = parsed(&asked(&code, "describe", &Value::Null)?)?;
        let storm = StormTs { file, code, described };
        if storm.described.workload {
            // What is wrong with it is told now and not in the middle of a search.
            storm.drawn(&mut Rng::new(0)).map_err(|why| format!("the workload: {why}"))?;
        }
        Ok(storm)
    }

    /// The name of the file.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// Whether it has a workload.
    pub fn has_workload(&self) -> bool {
        self.described.workload
    }

    /// What it ignores: columns, and promises by their names.
    pub fn ignored(&self) -> &[String] {
        &self.described.ignore
    }

    /// The requests of one run.
    pub fn drawn(&self, rng: &mut Rng) -> Result<Vec<Sent>, String> {
        let seed = u32::try_from(rng.bits() >> 32).unwrap_or_default();
        parsed(&asked(&self.code, "workload", &json!({ "seed": seed }))?)
    }

    /// Its promises.
    pub fn promises(&self) -> Vec<Promise> {
        let promises = self.described.promises.iter().map(|Named { kind, name }| {
            let (code, asked_for) = (self.code.clone(), name.clone());
            let check = match kind {
                Kind::Always => Check::always(move |trace| {
                    let mut moments = view::moments(trace);
                    moments.push(trace.events().len());
                    judged(&code, "always", &asked_for, trace, &moments)
                }),
                Kind::Eventually => Check::eventually(move |trace| {
                    judged(&code, "eventually", &asked_for, trace, &[trace.events().len()])
                }),
                Kind::Sometimes => Check::sometimes(move |trace| {
                    let view = view::before(trace, trace.events().len());
                    let seen = asked(&code, "seen", &json!({ "name": asked_for, "view": view }));
                    seen.is_ok_and(|seen| seen == "true")
                }),
            };
            Promise::made(name.clone(), format!("as {} says", self.file), check)
        });
        promises.collect()
    }

    /// Whether it answers for a host outside.
    pub fn answers_for(&self, host: &str) -> bool {
        self.described.outside.iter().any(|known| known == host || known == "*")
    }

    /// The hosts outside of one run. They keep what they remember until it ends.
    pub fn hosts(&self) -> Hosts {
        Hosts { code: self.code.clone(), isolate: Rc::default() }
    }
}

/// The hosts outside of one run.
#[derive(Clone)]
pub struct Hosts {
    code: Arc<Code>,
    isolate: Rc<RefCell<Option<Rc<Isolate>>>>,
}

impl Hosts {
    /// What one of them answers in a mood. What its handler throws is told to the Worker, as if the host had said it.
    pub fn answer(&self, request: &Request, mood: usize) -> Result<Response, Error> {
        let mut isolate = self.isolate.borrow_mut();
        let isolate = match &*isolate {
            Some(isolate) => isolate.clone(),
            None => isolate.insert(Isolate::new(&self.code).map_err(Error::app)?).clone(),
        };
        let headers: Vec<(&str, &str)> = request.headers.iter().collect();
        let host = request.headers.get("host").unwrap_or_default();
        let question = json!({
            "url": format!("https://{host}{}", request.path),
            "method": request.method,
            "headers": headers,
            "body": String::from_utf8_lossy(request.body.bytes()),
            "mood": MOODS[mood.min(MOODS.len() - 1)],
        });
        let answer = isolate.ask("outside", &question.to_string()).and_then(|text| parsed(&text));
        let Answer { status, headers, body } = answer.map_err(Error::app)?;
        let mut response = Response::new(status, body);
        response.headers = headers.into_iter().collect();
        Ok(response)
    }
}

/// Each question finds the program as it was when it had booted.
fn asked(code: &Arc<Code>, kind: &str, question: &Value) -> Result<String, String> {
    Isolate::new(code)?.ask(kind, &question.to_string())
}

fn parsed<T: for<'de> Deserialize<'de>>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn judged(
    code: &Arc<Code>,
    kind: &str,
    name: &str,
    trace: &Trace,
    moments: &[usize],
) -> Result<(), Finding> {
    // A moment is just behind its event; the last one has no event.
    let end = trace.events().len();
    for moments in moments.chunks(AT_ONCE) {
        let views: Vec<Value> =
            moments.iter().map(|at| view::before(trace, (at + 1).min(end))).collect();
        let question = json!({ "kind": kind, "name": name, "moments": views });
        let answer = asked(code, "judge", &question).and_then(|text| parsed(&text));
        let broken: Option<Broken> = answer.map_err(Finding::missing)?;
        let Some(Broken { at, message }) = broken else { continue };
        return Err(match moments.get(at).filter(|at| **at < end) {
            Some(event) => Finding::at(*event, message),
            None => Finding::missing(message),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::SortedMap;

    use super::*;
    use crate::email;
    use crate::files::Files;
    use crate::message;
    use crate::rules::Rules;
    use crate::sources::Sources;

    fn storm(source: &str) -> Result<StormTs, String> {
        let files = SortedMap::from([("storm.js".to_string(), source.to_string())]);
        let sources = Sources::new(Files::Memory(files), Rules::default())?;
        let bindings = Config::of_module("storm.js").bindings().to_string();
        StormTs::of("storm.js", Code::compile(sources, "storm.js", None, bindings)?)
    }

    fn said(source: &str) -> String {
        storm(source).expect_err("it cannot be played")
    }

    #[test]
    fn a_workload_depends_on_the_seed_and_on_nothing_else() {
        let storm = storm(
            "import { storm } from 'thunderhead';
             export default storm({
               async workload({ rng, client }) {
                 client.put(`/${rng.pick(['a', 'b'])}`, { n: rng.int(1, 1000000) });
                 await client.sleep('3s');
                 client.scheduled('* * * * *');
                 client.email({ from: 'ann@a.example', to: 'bob@b.example', headers: { Subject: 'tea' }, text: 'hi' });
                 client.queue('orders', { id: 1 });
                 client.queue('orders', 'tea');
                 client.afterwards();
                 client.get('/', undefined, { headers: { 'x-y': 1 } });
               },
             });",
        );
        let storm = storm.unwrap();
        let drawn = |seed| storm.drawn(&mut Rng::new(seed)).unwrap();
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let sent = drawn(7);
        let times: Vec<u64> = sent.iter().map(|sent| sent.at).collect();
        assert_eq!(times, [0, 3_000, 3_000, 3_000, 3_000, 7_203_000]);
        assert_eq!(sent[1].event(), Event::Scheduled("* * * * *".into()));
        let mut headers = thunderhead_sim::Headers::default();
        headers.append("subject", "tea");
        let mail = email::request("ann@a.example bob@b.example", headers, "hi", 3).unwrap();
        let Event::Email(sent_mail) = sent[2].event() else { panic!("{sent:?}") };
        assert_eq!((&sent_mail.path, &sent_mail.body), (&mail.path, &mail.body));
        let sorted = |request: &Request| {
            request
                .headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect::<thunderhead_sim::SortedSet<_>>()
        };
        assert_eq!(sorted(&sent_mail), sorted(&mail), "both files write the same message");
        let mut text = thunderhead_sim::Headers::default();
        text.append("content-type", "text/plain");
        let order = message::request("orders", thunderhead_sim::Headers::default(), "{\"id\":1}");
        assert_eq!(sent[3].event(), Event::Message(order.unwrap()));
        let tea = message::request("orders", text, "tea");
        assert_eq!(sent[4].event(), Event::Message(tea.unwrap()));
        let put = sent[0].request();
        assert_eq!(put.headers.get("content-type"), Some("application/json"));
        assert!(put.body.text().unwrap().starts_with("{\"n\":"), "{put}");
    }

    #[test]
    fn what_cannot_be_played_is_told_with_its_place_when_it_is_read() {
        let unknown = said("export default { promises: {} };");
        assert!(unknown.contains("there is no `promises`"), "{unknown}");
        let thrown =
            said("export default {\n  workload({ client }) {\n    client.gett('/');\n  },\n};");
        assert!(thrown.contains("storm.js:3:") && thrown.contains("TypeError"), "{thrown}");
        let endless = said("export default { workload() { for (;;); } };");
        assert!(endless.contains("exceeded CPU time limit"), "{endless}");
        let waits = said("export default { workload: () => new Promise(() => {}) };");
        assert!(waits.contains("never comes"), "{waits}");
        let silent = said("export default { workload() {} };");
        assert!(silent.contains("sends nothing"), "{silent}");
        assert!(said("export default { always: { a: 1 } };").contains("\"a\" is no function"));
    }

    #[test]
    fn a_host_outside_knows_its_mood_and_remembers_until_the_run_ends() {
        let storm = storm(
            "let asked = 0;
             export default { outside: { 'api.example.com': async (request, mood) =>
               new Response(`${++asked} ${mood} ${request.method} ${await request.text()}`, { status: 201 }) } };",
        );
        let storm = storm.unwrap();
        assert!(storm.answers_for("api.example.com") && !storm.answers_for("example.com"));
        let request = Request::new("POST", "/", "tea").with_header("host", "api.example.com");
        for _ in 0..2 {
            let hosts = storm.hosts();
            for (mood, expected) in [(0, "1 fine POST tea"), (3, "2 limited POST tea")] {
                let response = hosts.answer(&request, mood).unwrap();
                assert_eq!((response.status, response.body.text()), (201, Some(expected)));
            }
        }
    }

    #[test]
    fn a_promise_that_throws_is_broken_and_says_where() {
        let storm = storm(
            "export default {\n eventually: {\n  a: ({ requests }) => requests[0].status } };",
        );
        let promises = storm.unwrap().promises();
        let Check::Eventually(check) = &promises[0].check else { panic!("{:?}", promises[0]) };
        let finding = check.of(&Trace::default()).unwrap_err();
        assert!(finding.message.contains("storm.js:3:"), "{}", finding.message);
    }
}
