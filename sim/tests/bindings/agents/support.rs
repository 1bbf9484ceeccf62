//! An agent for tests, its workflow and its client.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use serde_json::json;
use thunderhead_sim::agents::{self, Agent, AgentWorkflow, Report, RunWorkflowOptions};
use thunderhead_sim::workflow::WorkflowConfig;
use thunderhead_sim::*;

/// What the platform says of an id that it still knows.
pub const ALREADY_EXISTS: &str = "(instance.already_exists) Instance already exists";

/// An agent that does what the tests ask of it, and logs when its hooks run.
pub struct Board {
    ctx: ObjectState,
    env: Env,
    agent: Agent,
}

impl Board {
    async fn run(&self, id: &str) -> Result<Body, Error> {
        let (workflow, id) = id.split_once('/').unwrap_or(("W", id));
        let id = (!id.is_empty()).then(|| id.into());
        let metadata = Some(json!({"owner": "alice"}));
        let options = RunWorkflowOptions { id, metadata, ..Default::default() };
        self.agent.run_workflow(workflow, json!({"n": 1}), options).await.map(Body::from)
    }

    fn row(&self, id: &str) -> Result<Body, Error> {
        let Some(info) = self.agent.get_workflow(id)? else { return Ok(Body::from("no row")) };
        let error = info.error.map(|error| format!(" ({error})")).unwrap_or_default();
        let ended = if info.completed_at.is_some() { " ended" } else { "" };
        Ok(Body::from(format!("{}{ended}{error}", info.status)))
    }

    /// The hooks: they run whatever became of the row, and can be told to fail once.
    fn hook(&self, callback: &agents::Callback) -> Result<Body, Error> {
        let id = &callback.workflow_id;
        let said = match &callback.report {
            Report::Progress { progress } => format!("progress {progress}"),
            Report::Complete { result } => format!("complete {result}"),
            Report::Error { error } => format!("error {error}"),
            Report::Event { event } => format!("event {event}"),
        };
        self.env.log(format!("hook {id} {said}, row {}", self.row(id)?.text().unwrap()));
        match self.ctx.storage().delete("fail")? {
            true => Err(Error::app("the hook failed")),
            false => Ok(Body::empty()),
        }
    }
}

impl DurableObject for Board {
    fn new(ctx: ObjectState, env: Env) -> Board {
        let agent = Agent::new(ctx.clone(), env.clone());
        Board { ctx, env, agent }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let text = args.text().unwrap_or("");
        let done = |()| Body::empty();
        match method {
            agents::CALLBACK => self.hook(&self.agent.on_callback(&args)?),
            agents::UPDATE_STATE => self.agent.on_update_state(&args).map(done),
            agents::BROADCAST => {
                self.agent.on_broadcast(&args);
                Ok(Body::empty())
            }
            "run" => self.run(text).await,
            "run with" => {
                let options = RunWorkflowOptions { id: Some("a".into()), ..Default::default() };
                let params = serde_json::from_str(text).unwrap();
                self.agent.run_workflow("W", params, options).await.map(Body::from)
            }
            "row" => self.row(text),
            "info" => Ok(Body::from(format!("{:?}", self.agent.get_workflow(text)?.unwrap()))),
            "status" => {
                let status = self.agent.get_workflow_status("W", text).await?;
                Ok(Body::from(status.status.to_string()))
            }
            "terminate" => self.agent.terminate_workflow(text).await.map(done),
            "pause" => self.agent.pause_workflow(text).await.map(done),
            "resume" => self.agent.resume_workflow(text).await.map(done),
            "restart" => self.agent.restart_workflow(text).await.map(done),
            "forget" => Ok(Body::from(self.agent.delete_workflow(text)?.to_string())),
            "state" => Ok(Body::from(format!("{:?}", self.agent.state()?.map(|s| s.to_string())))),
            "fail" => self.ctx.storage().put("fail", "1").map(done),
            "reset" => self.ctx.abort(Some("reset")).await,
            "sql" => {
                let mut rows = self.ctx.storage().exec(text, &[])?;
                let columns = rows.column_names().join(" ");
                let rows: Vec<_> = rows.raw().map(|row| format!("{row:?}")).collect();
                Ok(Body::from(format!("{columns}: {}", rows.join(" "))))
            }
            _ => Err(Error::app(format!("no method {method}"))),
        }
    }
}

/// What goes wrong in a run, and what is chosen in it.
#[derive(Default)]
pub struct Weather {
    rules: Vec<ScriptedFault>,
    tape: &'static [&'static str],
}

impl Weather {
    pub fn rule(rule: ScriptedFault) -> Weather {
        Weather { rules: vec![rule], ..Weather::default() }
    }

    pub fn tape(tape: &'static [&'static str]) -> Weather {
        Weather { tape, ..Weather::default() }
    }
}

/// The first answer to such a call comes after five seconds.
pub fn late_reply(call: &str) -> Weather {
    let by = Some(Duration::from_secs(5));
    Weather::rule(ScriptedFault { by, ..ScriptedFault::once(Fault::LateReply, call) })
}

/// Runs a workflow `W` and a client beside the agent `BOARD:b`.
pub fn play<B, C>(
    weather: Weather,
    body: impl Fn(AgentWorkflow) -> B + Copy + 'static,
    client: impl Fn(Env) -> C,
) -> Run
where
    B: Future<Output = Result<Body, Error>> + 'static,
    C: Future<Output = ()> + 'static,
{
    let Weather { rules, tape } = weather;
    let scenario = Scenario { faults: rules, ..Scenario::default() };
    let tape = Tape(tape.iter().map(|choice| choice.parse().unwrap()).collect());
    let run = simulate(&scenario, &Source::Tape(tape), &|cloud| {
        cloud.durable_object::<Board>("BOARD");
        cloud.workflow("W", WorkflowConfig::default(), move |env, event, step| {
            AgentWorkflow::wrap(env, event, step, body)
        });
        cloud.client("client", &client);
    })
    .unwrap();
    assert_eq!(run.end, End::Quiet, "{}", run.trace);
    run
}

/// What was logged.
pub fn log(run: &Run) -> Vec<String> {
    let said = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    said.collect()
}

/// Calls the agent through a new stub.
pub async fn ask(env: &Env, method: &str, args: &str) -> String {
    match env.durable_object("BOARD").get_by_name("b").rpc(method, args).await {
        Ok(body) => body.text().unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

/// Asks and logs the answer.
pub async fn say(env: &Env, method: &str, args: &str) {
    let answer = ask(env, method, args).await;
    env.log(format!("{method}: {answer}"));
}

pub async fn seconds(env: &Env, seconds: u64) {
    env.sleep(Duration::from_secs(seconds)).await;
}

/// Completes as it should be done.
pub async fn complete(workflow: AgentWorkflow) -> Result<Body, Error> {
    workflow.report_complete(json!("done")).await?;
    Ok(Body::from("1"))
}

/// Waits until it is told to complete.
pub async fn complete_when_told(workflow: AgentWorkflow) -> Result<Body, Error> {
    workflow.step().wait_for_event("told", "go", None).await?;
    complete(workflow).await
}

/// Sends the event that the workflow waits for.
pub async fn go(env: &Env, id: &str) {
    let instance = env.workflow("W").get(id).await.unwrap();
    instance.send_event("go", "1").await.unwrap();
}

/// A workflow that fails.
pub async fn throw(_: AgentWorkflow) -> Result<Body, Error> {
    Err(Error::app("boom"))
}

/// Runs `a`; what the row and the platform say of its end.
pub async fn end_of_a(env: Env) {
    say(&env, "run", "a").await;
    seconds(&env, 60).await;
    say(&env, "row", "a").await;
    let status = env.workflow("W").get("a").await.unwrap().status().await.unwrap();
    env.log(format!("{} {}", status.status, status.error.unwrap()));
}

/// Connects to the agent and logs what it sends.
pub async fn listen(env: &Env) {
    let socket = env.durable_object("BOARD").get_by_name("b").connect().await.unwrap();
    let inner = env.clone();
    env.spawn(async move {
        while let Some(message) = socket.recv().await {
            inner.log(message.text().unwrap());
        }
    });
}
