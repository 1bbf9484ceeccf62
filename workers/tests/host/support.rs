//! A Worker in a text, played in the calm.

use std::sync::Arc;

use thunderhead_props::history::{exchanges, streamed};
use thunderhead_sim::{
    ClientRequest, End, EventKind, Reply, Response, Run, Scenario, SortedMap, Source, Tape, Time,
    simulate,
};
use thunderhead_workers::{App, Config, Files};

/// A Worker of one module.
pub fn load(config: &str, source: &str) -> Result<Arc<App>, String> {
    let files = Files::Memory(SortedMap::from([("index.js".to_string(), source.to_string())]));
    let config =
        Config::parse("wrangler.json", &format!("{{ \"main\": \"index.js\", {config} }}"))?;
    App::new(config, files).map(Arc::new)
}

/// Requests in the calm, a minute apart.
pub fn play(app: &Arc<App>, requests: &[(&str, &str, &str)]) -> Run {
    let requests = requests.iter().enumerate().map(|(at, (method, path, body))| {
        ClientRequest::new(Time::from_ms(60_000 * at as u64), method, path, *body)
    });
    let scenario = Scenario { requests: requests.collect(), ..Scenario::default() };
    simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| app.mount(cloud)).unwrap()
}

/// What the client was answered: status and body, or the error.
pub fn answers(run: &Run) -> Vec<String> {
    let is_client = |actor: &str| actor.split(' ').next() == Some("client");
    let returns = run.trace.events().iter().filter(|event| is_client(run.trace.actor(event)));
    let outcomes = returns.filter_map(|event| match event.kind {
        EventKind::Return { call, outcome } => Some((call, run.trace.outcome(outcome))),
        _ => None,
    });
    let body = |call: u32, response: &Response| {
        let exchange = exchanges(&run.trace).find(|exchange| exchange.call == call);
        let streamed = exchange.and_then(|exchange| streamed(&run.trace, &exchange));
        streamed.map_or(response.body.clone(), |body| body.before(usize::MAX))
    };
    let said = outcomes.map(|(call, outcome)| match outcome {
        Ok(Reply::Fetch(response)) => {
            format!("{} {}", response.status, body(call, response).text().unwrap_or("(bytes)"))
        }
        Ok(other) => other.to_string(),
        Err(error) => format!("error: {error}"),
    });
    said.collect()
}

/// The answer to one request of a Worker whose `fetch` has this body.
pub fn fetch(config: &str, body: &str) -> String {
    let source = format!("export default {{ async fetch(request, env, ctx) {{ {body} }} }};");
    let app = load(config, &source).unwrap_or_else(|why| panic!("{why}"));
    let run = play(&app, &[("POST", "/a?b=c", "hello")]);
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    answers(&run).pop().unwrap_or_else(|| panic!("no answer\n{}", run.trace))
}

/// The value of an expression, as JSON.
pub fn value(expression: &str) -> String {
    let said = fetch("\"name\": \"web\"", &format!("return Response.json(await ({expression}));"));
    said.strip_prefix("200 ").unwrap_or_else(|| panic!("{said}")).to_string()
}

/// Every expression has this value, as JSON.
pub fn values(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(value(expression), *expected, "{expression}");
    }
}
