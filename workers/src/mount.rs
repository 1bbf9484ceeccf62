//! A Worker on a cloud. Its handlers for requests, queues and cron triggers are hosts of their own with fates of their
//! own, as isolates of a Worker are; so is every object and every instance of a workflow.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use thunderhead_sim::queue::QueueConfig;
use thunderhead_sim::r2::{BucketConfig, Rule};
use thunderhead_sim::workflow::{WorkflowConfig, WorkflowEvent};
use thunderhead_sim::{Body, Cloud, Env, Error, MessageBatch, Request, Response, Step};

use crate::app::App;
use crate::failure::Thrown;
use crate::invocation::{Call, Invocation, Returned, Unawaited};
use crate::isolate::Isolate;
use crate::object::WorkerObject;

/// The address of a Worker for requests that name no host: that of `wrangler dev`.
const ADDRESS: &str = "localhost:8787";

impl App {
    /// Adds the Worker and all that it is bound to.
    pub fn mount(self: &Arc<App>, cloud: &mut Cloud) {
        self.services(cloud);
        for binding in &self.config().durable_objects.bindings {
            let (app, class) = (self.clone(), binding.class_name.clone());
            if self.has_alarm(&class) {
                let make =
                    move |state, env| WorkerObject::<true>::construct(&app, &class, state, env);
                cloud.durable_object_with(&binding.name, make);
            } else {
                let make =
                    move |state, env| WorkerObject::<false>::construct(&app, &class, state, env);
                cloud.durable_object_with(&binding.name, make);
            }
        }
        for workflow in &self.config().workflows {
            let (app, class, name) =
                (self.clone(), workflow.class_name.clone(), workflow.name.clone());
            let body = move |env, event, step| {
                run(app.clone(), class.clone(), name.clone(), env, event, step)
            };
            cloud.workflow(&workflow.name, WorkflowConfig::default(), body);
        }
        if self.handles("fetch") {
            let lives = Lives::new(self);
            cloud.worker(self.name()).fetch(move |env, request| serve(lives.clone(), env, request));
        }
        let consumers = &self.config().queues.consumers;
        if !consumers.is_empty() {
            let lives = Lives::new(self);
            let queues: Vec<_> = consumers.iter().map(|one| (&*one.queue, one.config())).collect();
            let consumer = cloud.worker(&self.consumer());
            consumer.queue(&queues, move |env, batch| consume(lives.clone(), env, batch));
        }
        if self.handles("scheduled") {
            let lives = Lives::new(self);
            let cron = cloud.worker(&self.cron());
            cron.fetch(move |env, request| tick(lives.clone(), env, request));
        }
    }

    /// The name of the host that consumes its queues.
    pub fn consumer(&self) -> String {
        format!("{}-queue", self.name())
    }

    /// The name of the host that its cron triggers call: with a request whose path is the trigger.
    pub fn cron(&self) -> String {
        format!("{}-scheduled", self.name())
    }

    /// Buckets, queues and databases.
    fn services(&self, cloud: &mut Cloud) {
        let config = self.config();
        let mut queues: BTreeMap<&str, u64> = BTreeMap::new();
        for consumer in &config.queues.consumers {
            queues.insert(&consumer.queue, 0);
            queues.extend(consumer.dead_letter_queue.iter().map(|queue| (&**queue, 0)));
        }
        queues.extend(config.r2_notifications.iter().map(|told| (&*told.queue, 0)));
        for producer in &config.queues.producers {
            queues.insert(&producer.queue, producer.delivery_delay);
        }
        for (queue, delay) in queues {
            let delivery_delay = Duration::from_secs(delay);
            cloud.queue(queue, QueueConfig { delivery_delay, ..QueueConfig::default() });
        }
        let buckets: BTreeMap<&str, ()> =
            config.r2_buckets.iter().map(|r2| (r2.bucket(), ())).collect();
        for bucket in buckets.into_keys() {
            let told = config.r2_notifications.iter().filter(|told| told.bucket == bucket);
            let rules = told.map(|told| Rule {
                prefix: told.prefix.as_deref().map(Into::into),
                suffix: told.suffix.as_deref().map(Into::into),
                ..Rule::new(&told.queue, told.events.clone())
            });
            cloud
                .bucket(bucket, BucketConfig { rules: rules.collect(), ..BucketConfig::default() });
        }
        let databases: BTreeMap<&str, ()> =
            config.d1_databases.iter().map(|d1| (d1.database(), ())).collect();
        for database in databases.into_keys() {
            cloud.d1(database);
            let migrations = config.d1_migrations.get(database).into_iter().flatten();
            cloud.migrate(database, &migrations.map(String::as_str).collect::<Vec<_>>());
        }
    }
}

/// The isolate of a host's present life.
#[derive(Clone)]
struct Lives {
    app: Arc<App>,
    present: Rc<RefCell<Option<Life>>>,
}

/// The number of a life, and its isolate.
type Life = (u32, Rc<Isolate>);

impl Lives {
    fn new(app: &Arc<App>) -> Lives {
        Lives { app: app.clone(), present: Rc::default() }
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
        let isolate = self.app.isolate().map_err(Thrown::new)?;
        *present = Some((env.life(), isolate.clone()));
        Ok(isolate)
    }

    async fn call(&self, env: &Env, call: Call) -> Result<Returned, Thrown> {
        Invocation::new(self.isolate(env)?, env.clone(), call, Unawaited::Cancelled).await
    }
}

#[derive(Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

async fn serve(lives: Lives, env: Env, request: Request) -> Result<Response, Error> {
    let host = request.headers.get("host").unwrap_or(ADDRESS);
    let headers: Vec<(&str, &str)> = request.headers.iter().collect();
    let url = format!("http://{host}{}", request.path);
    let json = json!({ "url": url, "method": &*request.method, "headers": headers }).to_string();
    let call = Call { kind: "fetch", json, bytes: request.body.clone() };
    let returned = lives.call(&env, call).await.map_err(|thrown| thrown.uncaught(&env))?;
    // The answer does not wait for it, and its failure is logged.
    returned.background.into_iter().for_each(|background| drop(env.spawn(background)));
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
    let json = json!({ "queue": batch.queue(), "messages": messages, "metrics": batch.metrics() })
        .to_string();
    let isolate = lives.isolate(&env).map_err(|thrown| thrown.uncaught(&env))?;
    let call = Call { kind: "queue", json, bytes: Body::empty() };
    let invocation = Invocation::new(isolate.clone(), env.clone(), call, Unawaited::Cancelled);
    isolate.host().batches.borrow_mut().insert(invocation.id(), batch);
    let returned = invocation.await.map_err(|thrown| thrown.uncaught(&env))?;
    // The result of a batch waits for `waitUntil`, and fails with it.
    returned.background.into_iter().for_each(|background| env.wait_until(background));
    Ok(())
}

async fn tick(lives: Lives, env: Env, request: Request) -> Result<Response, Error> {
    let cron = request.path.trim_start_matches('/').replace('+', " ");
    let call =
        Call { kind: "scheduled", json: json!({ "cron": cron }).to_string(), bytes: Body::empty() };
    let returned = lives.call(&env, call).await.map_err(|thrown| thrown.uncaught(&env))?;
    returned.background.into_iter().for_each(|background| env.wait_until(background));
    Ok(Response::new(200, ""))
}

async fn run(
    app: Arc<App>,
    class: String,
    name: String,
    env: Env,
    event: WorkflowEvent,
    step: Step,
) -> Result<Body, Error> {
    let isolate = app.isolate().map_err(|why| Thrown::new(why).uncaught(&env))?;
    let step = isolate.host().steps.add(step);
    let (payload, timestamp, id) =
        (event.payload.text(), event.timestamp.unix_ms(), event.instance_id);
    let json = json!({ "className": class, "name": name, "id": id, "timestamp": timestamp, "payload": payload, "step": step });
    let call = Call { kind: "workflow", json: json.to_string(), bytes: Body::empty() };
    let returned = Invocation::new(isolate, env, call, Unawaited::GoOn).await;
    Ok(Body::from(returned.map_err(|thrown| thrown.of_step())?.json))
}
