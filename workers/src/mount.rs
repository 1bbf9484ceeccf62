//! A Worker on a cloud. Its handlers for requests, queues, cron triggers and mail are hosts of their own with fates of
//! their own, as isolates of a Worker are; so is every object and every instance of a workflow.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_sim::queue::QueueConfig;
use thunderhead_sim::r2::{self, BucketConfig, Rule};
use thunderhead_sim::workflow::WorkflowEvent;
use thunderhead_sim::{
    Body, Cloud, Env, Error, MessageBatch, Request, Response, SortedMap, SortedSet, Step, WEBSOCKET,
};

use crate::app::App;
use crate::cron::{DUE, trigger};
use crate::email;
use crate::failure::Thrown;
use crate::home::Home;
use crate::invocation::{Call, Invocation, Returned, Unawaited};
use crate::isolate::Isolate;
use crate::object::WorkerObject;
use crate::platform::{Isolates, Platform};

/// The address of a Worker for requests that name no host: that of `wrangler dev`.
const ADDRESS: &str = "localhost:8787";

/// How many alarms go off when nothing else is left to happen. A Worker may sweep every hour for ever; what it does
/// with so many alarms is enough to judge it by.
const MOST_ALARMS: u32 = 100;

/// What a client sends with the request that opens a WebSocket.
const HANDSHAKE: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("sec-websocket-key", "dGh1bmRlcmhlYWQgcGxheXM="),
    ("sec-websocket-version", "13"),
    ("upgrade", "websocket"),
];

/// The header by which the prelude knows a request that comes through a service binding.
const ENTRYPOINT: &str = "thunderhead-entrypoint";

impl App {
    /// Adds the Worker and all that it is bound to.
    pub fn mount(self: &Arc<App>, cloud: &mut Cloud) {
        mount(std::slice::from_ref(self), cloud);
    }

    /// Adds it as the runtime of a developer's machine would run it: services answer as the local emulator does, and
    /// one isolate has the handlers, the objects and the workflows. Only in the calm is that any use: whatever
    /// crashes, the isolate lives on.
    pub fn mount_locally(self: &Arc<App>, cloud: &mut Cloud) {
        let platform = Platform::Local(Rc::default());
        services(std::slice::from_ref(self), &platform, cloud);
        self.mount_on(&platform, cloud);
    }

    fn mount_on(self: &Arc<App>, platform: &Platform, cloud: &mut Cloud) {
        for binding in self.config().own_objects() {
            let (isolates, class) = (self.isolates(platform), binding.clone());
            let sqlite = self.config().has_sqlite(&class.class_name);
            if self.has_alarm(&class.class_name) {
                let make = move |state, env| {
                    WorkerObject::<true>::construct(&isolates, &class, sqlite, state, env)
                };
                cloud.durable_object_with(binding.namespace(), make);
            } else {
                let make = move |state, env| {
                    WorkerObject::<false>::construct(&isolates, &class, sqlite, state, env)
                };
                cloud.durable_object_with(binding.namespace(), make);
            }
        }
        for workflow in self.config().own_workflows() {
            let (isolates, class, name) =
                (self.isolates(platform), workflow.class_name.clone(), workflow.name.clone());
            let body = move |env, event, step| {
                run(isolates.clone(), class.clone(), name.clone(), env, event, step)
            };
            let config = workflow.config(platform.is_local());
            cloud.workflow(&workflow.name, config, body);
        }
        if self.handles("fetch") {
            let lives = Lives::of_worker(self.isolates(platform), self.name());
            let files = self.config().files.clone();
            cloud.worker(self.name()).fetch(move |env, request| {
                let file = files.before(&request);
                let lives = lives.clone();
                async move {
                    match file {
                        Some(file) => Ok(file),
                        None => serve(lives, env, request).await,
                    }
                }
            });
        }
        if self.config().files.directory().is_some() {
            let files = self.config().files.clone();
            cloud.outside(&self.config().assets_host(), move |_, request| {
                // A call of the binding is a request with the name of the method.
                let response = match &*request.method {
                    "RPC" => Err(Error::no_method(request.path.trim_start_matches('/'))),
                    _ => Ok(files.answer(&request)),
                };
                async move { response }
            });
        }
        let consumers = &self.config().queues.consumers;
        if !consumers.is_empty() {
            let lives = Lives::new(self.isolates(platform));
            let queues: Vec<_> = consumers
                .iter()
                .map(|one| (&*one.queue, one.config(platform.is_local())))
                .collect();
            let consumer = cloud.worker(&self.consumer());
            consumer.queue(&queues, move |env, batch| consume(lives.clone(), env, batch));
        }
        if self.handles("scheduled") {
            let lives = Lives::new(self.isolates(platform));
            let cron = cloud.worker(&self.cron());
            cron.fetch(move |env, request| tick(lives.clone(), env, request));
        }
        if self.handles("email") {
            let lives = Lives::new(self.isolates(platform));
            let mail = cloud.worker(&self.mail());
            mail.fetch(move |env, request| deliver(lives.clone(), env, request));
        }
    }

    fn isolates(self: &Arc<App>, platform: &Platform) -> Isolates {
        Isolates::new(self.clone(), platform)
    }

    /// The name of the host that consumes its queues.
    pub fn consumer(&self) -> String {
        format!("{}-queue", self.name())
    }

    /// The name of the host that puts messages from outside into its queues.
    pub fn sender(&self) -> String {
        format!("{}-sender", self.name())
    }

    /// The name of the host that its cron triggers call: with a request whose path is the trigger.
    pub fn cron(&self) -> String {
        format!("{}-scheduled", self.name())
    }

    /// The name of the host that its mail is sent to.
    pub fn mail(&self) -> String {
        format!("{}-email", self.name())
    }
}

/// Adds several Workers, which may be bound to each other and share what they are bound to.
pub fn mount(apps: &[Arc<App>], cloud: &mut Cloud) {
    cloud.rest_after_alarms(MOST_ALARMS);
    services(apps, &Platform::Production, cloud);
    apps.iter().for_each(|app| app.mount_on(&Platform::Production, cloud));
}

/// Buckets, queues and databases, each once.
fn services(apps: &[Arc<App>], platform: &Platform, cloud: &mut Cloud) {
    let local = platform.is_local();
    let configs = || apps.iter().map(|app| app.config());
    let mut queues: SortedMap<&str, u64> = SortedMap::new();
    for consumer in configs().flat_map(|config| &config.queues.consumers) {
        queues.insert(&consumer.queue, 0);
        queues.extend(consumer.dead_letter_queue.iter().map(|queue| (&**queue, 0)));
    }
    let told = configs().flat_map(|config| &config.r2_notifications);
    queues.extend(told.map(|told| (&*told.queue, 0)));
    for producer in configs().flat_map(|config| &config.queues.producers) {
        queues.insert(&producer.queue, producer.delivery_delay);
    }
    for (queue, delay) in queues {
        let delivery_delay = Duration::from_secs(delay);
        let config = if local { QueueConfig::miniflare() } else { QueueConfig::default() };
        cloud.queue(queue, QueueConfig { delivery_delay, ..config });
    }
    let buckets: SortedSet<&str> =
        configs().flat_map(|config| &config.r2_buckets).map(|r2| r2.bucket()).collect();
    for bucket in buckets {
        let told = configs().flat_map(|config| &config.r2_notifications);
        let rules = told.filter(|told| told.bucket == bucket).map(|told| Rule {
            prefix: told.prefix.as_deref().map(Into::into),
            suffix: told.suffix.as_deref().map(Into::into),
            ..Rule::new(&told.queue, told.events.clone())
        });
        let options = r2::Options {
            miniflare_part_etags: local,
            miniflare_storage_class: local,
            ..r2::Options::default()
        };
        cloud.bucket(bucket, BucketConfig { rules: rules.collect(), options });
    }
    databases(apps, cloud);
    let namespaces: SortedSet<&str> =
        configs().flat_map(|config| &config.kv_namespaces).map(|kv| kv.namespace()).collect();
    namespaces.into_iter().for_each(|namespace| cloud.kv(namespace));
}

fn databases(apps: &[Arc<App>], cloud: &mut Cloud) {
    let mut databases: SortedMap<&str, Vec<&str>> = SortedMap::new();
    for config in apps.iter().map(|app| app.config()) {
        for database in config.d1_databases.iter().map(|d1| d1.database()) {
            let migrations = config.d1_migrations.get(database).into_iter().flatten();
            let migrations: Vec<&str> = migrations.map(String::as_str).collect();
            // Each of several Workers may have the same files.
            let known = databases.entry(database).or_default();
            if known.is_empty() {
                *known = migrations;
            }
        }
    }
    for (database, migrations) in databases {
        cloud.d1(database);
        cloud.migrate(database, &migrations);
    }
}

/// The isolate of a host's present life.
#[derive(Clone)]
struct Lives {
    isolates: Isolates,
    /// Where others find what its JavaScript keeps for them.
    home: Rc<Home>,
    present: Rc<RefCell<Option<Life>>>,
}

/// The number of a life, and its isolate.
type Life = (u32, Rc<Isolate>);

impl Lives {
    /// Of the host that serves requests others can ask for more, by its name.
    fn of_worker(isolates: Isolates, name: &str) -> Lives {
        let home = isolates.home(json!({ "kind": "worker", "name": name }).to_string());
        Lives { home, ..Lives::new(isolates) }
    }

    fn new(isolates: Isolates) -> Lives {
        Lives { isolates, home: Rc::default(), present: Rc::default() }
    }

    /// The isolate of this life. One that was ended by a limit is replaced.
    fn isolate(&self, env: &Env) -> Result<Rc<Isolate>, Thrown> {
        let mut present = self.present.borrow_mut();
        if let Some((life, isolate)) = &*present
            && *life == env.life()
            && isolate.host().condemned().is_none()
        {
            return Ok(isolate.clone());
        }
        let isolate = self.isolates.get().map_err(Thrown::new)?;
        *present = Some((env.life(), isolate.clone()));
        Ok(isolate)
    }

    async fn call(&self, env: &Env, call: Call) -> Result<Returned, Thrown> {
        let (isolate, env) = (self.isolate(env)?, env.clone());
        Invocation::new(isolate, env, &self.home, call, Unawaited::Cancelled).await
    }
}

#[derive(Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

async fn serve(lives: Lives, env: Env, request: Request) -> Result<Response, Error> {
    let host = request.headers.get("host").unwrap_or(ADDRESS);
    let mut headers: Vec<(&str, &str)> = request.headers.iter().collect();
    let scheme = if request.is_encrypted() { "https" } else { "http" };
    let url = format!("{scheme}://{host}{}", request.path);
    let (mut method, mut bytes) = (&*request.method, request.body.clone());
    // What a client wants to say on a WebSocket is not part of the request that opens it.
    if method == WEBSOCKET {
        headers.extend(HANDSHAKE);
        (method, bytes) = ("GET", Body::empty());
    }
    let json = json!({ "url": url, "method": method, "headers": headers });
    let call = Call { bytes, ..Call::new("fetch", &json) };
    // Only another Worker is told the details of what was thrown.
    let inside = request.headers.get(ENTRYPOINT).is_some();
    let returned = lives.call(&env, call).await.map_err(|thrown| match thrown.uncaught(&env) {
        _ if inside => Error::app(thrown.text()),
        error => error,
    })?;
    // The answer does not wait for it. Its failure has been logged.
    if let Some(background) = returned.background {
        match returned.open {
            true => env.keep_open(async move { drop(background.await) }),
            false => env.wait_until(async move { background.await.or(Ok(())) }),
        }
    }
    let head: Head =
        serde_json::from_str(&returned.json).map_err(|error| Error::app(error.to_string()))?;
    let mut response = Response::new(head.status, returned.bytes.unwrap_or(Body::empty()));
    response.headers = head.headers.into_iter().collect();
    Ok(response)
}

async fn consume(lives: Lives, env: Env, batch: MessageBatch) -> Result<(), Error> {
    let messages: Vec<Value> = batch.messages().iter().map(|message| {
        let (id, timestamp) = (message.id().to_string(), message.timestamp().unix_ms());
        json!({ "id": id, "timestamp": timestamp, "attempts": message.attempts(), "body": message.body() })
    }).collect();
    let json = json!({ "queue": batch.queue(), "messages": messages, "metrics": batch.metrics() });
    let isolate = lives.isolate(&env).map_err(|thrown| thrown.uncaught(&env))?;
    let call = Call::new("queue", &json);
    let (isolated, invoked) = (isolate.clone(), env.clone());
    let invocation = Invocation::new(isolated, invoked, &lives.home, call, Unawaited::Cancelled);
    isolate.host().batches.borrow_mut().insert(invocation.id(), batch);
    let returned = invocation.await.map_err(|thrown| thrown.uncaught(&env))?;
    // The result of a batch waits for `waitUntil`, and fails with it.
    returned.background.into_iter().for_each(|background| env.wait_until(background));
    Ok(())
}

async fn tick(lives: Lives, env: Env, request: Request) -> Result<Response, Error> {
    let cron = trigger(&request.path);
    let due = request.headers.get(DUE).and_then(|due| due.parse::<u64>().ok());
    let due = due.unwrap_or_else(|| env.now().unix_ms());
    let call = Call::new("scheduled", &json!({ "cron": cron, "scheduledTime": due }));
    let returned = lives.call(&env, call).await.map_err(|thrown| thrown.uncaught(&env))?;
    // The event is over when `waitUntil` is, and fails with it.
    if let Some(background) = returned.background {
        background.await?;
    }
    Ok(Response::new(200, ""))
}

async fn deliver(lives: Lives, env: Env, request: Request) -> Result<Response, Error> {
    let returned = lives.call(&env, email::call(&request)).await;
    let returned = returned.map_err(|thrown| thrown.uncaught(&env))?;
    // The sender does not wait for it. Its failure has been logged.
    if let Some(background) = returned.background {
        env.wait_until(async move { background.await.or(Ok(())) });
    }
    email::answer(&returned.json)
}

async fn run(
    isolates: Isolates,
    class: String,
    name: String,
    env: Env,
    event: WorkflowEvent,
    step: Step,
) -> Result<Body, Error> {
    let isolate = isolates.get().map_err(|why| Thrown::new(why).uncaught(&env))?;
    let step = isolate.host().steps.add(step);
    let (payload, timestamp, id) =
        (event.payload.text(), event.timestamp.unix_ms(), event.instance_id);
    let json = json!({ "className": class, "name": name, "id": id, "timestamp": timestamp, "payload": payload, "step": step });
    let call = Call::new("workflow", &json);
    let returned = Invocation::new(isolate, env, &Rc::default(), call, Unawaited::GoOn).await;
    Ok(Body::from(returned.map_err(|thrown| thrown.of_step())?.json))
}
