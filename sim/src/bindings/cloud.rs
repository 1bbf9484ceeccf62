//! Mounting a system before a run: its buckets, queues, databases, workers, workflows and clients.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use crate::bindings::durable_object::{DurableObject, ObjectState};
use crate::bindings::step::Step;
use crate::engine::env::Env;
use crate::engine::host::{Construct, Host, ObjectClass};
use crate::engine::ids::HostId;
use crate::engine::services::Service;
use crate::engine::task::Work;
use crate::engine::workers::Serve;
use crate::engine::world::World;
use crate::protocol::http::{Request, Response};
use crate::protocol::outcome::Error;
use crate::protocol::trace::EventKind;
use crate::services::ai::{Ai, Classifier};
use crate::services::d1;
use crate::services::queue::{self, ConsumerConfig, MessageBatch, QueueConfig};
use crate::services::r2::{self, BucketConfig};
use crate::services::workflow::{self, WorkflowConfig, WorkflowEvent};
use crate::values::body::Body;
use crate::values::time::Time;

/// A cloud under construction. A mistake in the wiring of a system panics with what is wrong, because it
/// is the author's and not part of a run.
pub struct Cloud<'a> {
    pub(crate) world: &'a Rc<World>,
}

impl Cloud<'_> {
    /// From here on, buckets, queues and workflows answer as the local emulator does where that differs from
    /// production, whatever the options of each say.
    pub fn emulate(&mut self) {
        self.world.state().services.emulated = true;
    }

    /// A run ends when so many alarms have gone off with nothing else left to happen. Otherwise an alarm that its
    /// handler always sets again goes on until the steps of the run are used up, which *the application comes to rest*
    /// forbids.
    pub fn rest_after_alarms(&mut self, most: u32) {
        self.world.state().repeats.most = Some(most);
    }

    /// Creates a bucket.
    pub fn bucket(&mut self, name: &str, mut config: BucketConfig) {
        let services = &mut self.world.state().services;
        if services.emulated {
            config.options = r2::Options::miniflare();
        }
        let created = services.r2.create_bucket(name, config);
        created.unwrap_or_else(|error| panic!("bucket `{name}`: {error}"));
    }

    /// Creates a queue.
    pub fn queue(&mut self, name: &str, mut config: QueueConfig) {
        let services = &mut self.world.state().services;
        if services.emulated {
            config.options = queue::Options::miniflare();
        }
        let created = services.queues.create(name, config);
        created.unwrap_or_else(|error| panic!("queue `{name}`: {error}"));
    }

    /// Adds a worker: a host that serves requests and consumes batches, can crash, and restarts with an empty
    /// memory. Work that an invocation has spawned ends with it, unless [`Env::wait_until`] keeps it.
    pub fn worker(&mut self, name: &str) -> Worker<'_> {
        self.machine(name).slot(|host| host.ends_spawned = true)
    }

    /// Adds a host outside the platform, such as a browser: like a worker it serves requests and can crash,
    /// but work that it has spawned goes on until then.
    pub fn machine(&mut self, name: &str) -> Worker<'_> {
        let mut state = self.world.state();
        assert!(state.hosts.named(name).is_none(), "there are two hosts called `{name}`");
        let host = state.add_host(name, true);
        drop(state);
        Worker { world: self.world, host }
    }

    /// Answers pictures with `classifier` instead of by their content alone. Its name is that of
    /// [`Run::model`](crate::Run::model): two of the same name must give the same answers.
    pub fn ai(&mut self, name: &str, classifier: Classifier) {
        self.world.state().services.ai = Ai::new(name, classifier);
    }

    /// Binds a class of durable objects to a name.
    pub fn durable_object<T: DurableObject>(&mut self, name: &str) {
        self.durable_object_with(name, T::new);
    }

    /// Binds a class of durable objects to a name; `make` constructs each object in memory, in place of
    /// [`DurableObject::new`]. What differs between two variants of a class is what their closures capture.
    ///
    /// ```
    /// use thunderhead_sim::{Body, Cloud, DurableObject, Error, ObjectState};
    ///
    /// struct Greeter {
    ///     ctx: ObjectState,
    ///     greeting: String,
    /// }
    ///
    /// impl DurableObject for Greeter {
    ///     async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
    ///         Ok(Body::from(format!("{}, {}", self.greeting, self.ctx.id())))
    ///     }
    /// }
    ///
    /// fn mount(cloud: &mut Cloud, greeting: &str) {
    ///     let greeting = greeting.to_string();
    ///     cloud.durable_object_with("GREETER", move |ctx, _env| Greeter { ctx, greeting: greeting.clone() });
    /// }
    /// ```
    pub fn durable_object_with<T: DurableObject>(
        &mut self,
        name: &str,
        make: impl Fn(ObjectState, Env) -> T + 'static,
    ) {
        self.try_durable_object_with(name, move |ctx, env| Ok(make(ctx, env)));
    }

    /// Like [`Cloud::durable_object_with`], for a constructor that may fail: the object is reset, those who
    /// called it get the error, and the next call constructs it anew.
    pub fn try_durable_object_with<T: DurableObject>(
        &mut self,
        name: &str,
        make: impl Fn(ObjectState, Env) -> Result<T, Error> + 'static,
    ) {
        let construct: Construct = Rc::new(move |env, id, storage| {
            let ctx = ObjectState { env: env.clone(), id, storage };
            Ok(Rc::new(make(ctx, env)?))
        });
        let class = Rc::new(ObjectClass { construct, alarms: T::ALARM });
        let before = self.world.state().hosts.classes.insert(name.into(), class);
        assert!(before.is_none(), "there are two classes bound to `{name}`");
    }

    /// Sets a variable, which the application reads with `Env::var`.
    pub fn var(&mut self, name: &str, value: &str) {
        let free = self.world.state().variables.set(name, value);
        assert!(free, "there are two variables or secrets called `{name}`");
    }

    /// The value of a variable, if it is set by now.
    pub fn var_if_set(&self, name: &str) -> Option<Arc<str>> {
        self.world.state().variables.get(name)
    }

    /// Sets a secret, which the application reads with `Env::secret`.
    pub fn secret(&mut self, name: &str, value: &str) {
        let free = self.world.state().variables.set_secret(name, value);
        assert!(free, "there are two variables or secrets called `{name}`");
    }

    /// Creates a database.
    pub fn d1(&mut self, name: &str) {
        let created = self.world.state().services.d1.create_database(name);
        created.unwrap_or_else(|error| panic!("database `{name}`: {error}"));
    }

    /// Creates a namespace of KV.
    pub fn kv(&mut self, name: &str) {
        let mut state = self.world.state();
        let created = state.services.kv.create_namespace(name);
        created.unwrap_or_else(|error| panic!("namespace `{name}`: {error}"));
        if state.services.kv_host.is_none() {
            assert!(state.hosts.named("kv").is_none(), "a worker cannot be called `kv`");
            state.services.kv_host = Some(state.add_host("kv", false));
        }
    }

    /// Applies a migration to a database before the run begins, as a deployment does. Rows that it inserts
    /// are in the trace. Tables that are created while the database has no rows are cached for the other
    /// runs on the thread.
    ///
    /// ```
    /// use thunderhead_sim::{Response, Scenario, ClientRequest, Source, Tape, Time, simulate};
    ///
    /// let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    /// let scenario = Scenario { requests, ..Scenario::default() };
    /// let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| {
    ///     cloud.d1("pets");
    ///     cloud.migrate("pets", &["create table cats (name text)"]);
    ///     cloud.worker("web").fetch(|env, _request| async move {
    ///         let cats = env.d1("pets").prepare("select * from cats").raw().await?;
    ///         Ok(Response::new(200, format!("{} cats", cats.len())))
    ///     });
    /// });
    /// assert!(run.unwrap().trace.to_string().contains(r#"200 "0 cats""#));
    /// ```
    pub fn migrate(&mut self, database: &str, migration: &[&str]) {
        let mut state = self.world.state();
        for sql in migration {
            let op = d1::Op::run(database, d1::Statement::new(*sql));
            let applied = state.services.d1.apply(Time::ZERO, &op);
            applied.reply.unwrap_or_else(|error| panic!("migration of `{database}`: {error}"));
            if !applied.changes.is_empty() {
                let changes = applied.changes.into();
                state.record(Service::D1.host(), EventKind::Rows { changes });
            }
        }
    }

    /// Binds a workflow to a name.
    pub fn workflow<F>(
        &mut self,
        name: &str,
        mut config: WorkflowConfig,
        body: impl Fn(Env, WorkflowEvent, Step) -> F + 'static,
    ) where
        F: Future<Output = Result<Body, Error>> + 'static,
    {
        let mut state = self.world.state();
        if state.services.emulated {
            config.options = workflow::Options::miniflare();
        }
        let defined = state.services.workflows.define(name, config);
        defined.unwrap_or_else(|error| panic!("workflow `{name}`: {error}"));
        let body = Rc::new(body);
        let body = Rc::new(move |env: Env, engine| -> Work<()> {
            let (body, step) = (body.clone(), Step::new(env.clone(), engine));
            Box::pin(async move {
                // The service refuses an engine that a later one has replaced.
                let Ok(event) = step.begin().await else { return };
                let result = body(env, event, step.clone()).await;
                step.finish(result).await;
            })
        });
        state.hosts.workflow_bodies.insert(name.into(), body);
    }

    /// Adds a client: a host outside the cloud that never crashes and does `work` from the start.
    pub fn client<F>(&mut self, name: &str, work: impl FnOnce(Env) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        let host = self.client_host(name);
        let work = work(Env::new(self.world.clone(), host));
        self.world.spawn(host, None, Box::pin(work));
    }

    pub(crate) fn client_host(&mut self, name: &str) -> HostId {
        let mut state = self.world.state();
        state.hosts.named(name).unwrap_or_else(|| state.add_host(name, false))
    }
}

impl std::fmt::Debug for Cloud<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.world.state().hosts.iter()).finish()
    }
}

/// A worker under construction.
pub struct Worker<'a> {
    world: &'a Rc<World>,
    host: HostId,
}

impl Worker<'_> {
    /// Serves requests with `handler`.
    pub fn fetch<F>(self, handler: impl Fn(Env, Request) -> F + 'static) -> Self
    where
        F: Future<Output = Result<Response, Error>> + 'static,
    {
        let handler = Rc::new(handler);
        self.slot(|host| {
            host.fetch = Some(Rc::new(move |env, call| Serve::boxed(handler.clone(), env, call)));
        })
    }

    /// Consumes queues with `handler`, which tells them apart by [`MessageBatch::queue`].
    pub fn queue<F>(
        self,
        queues: &[(&str, ConsumerConfig)],
        handler: impl Fn(Env, MessageBatch) -> F + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        for (name, config) in queues {
            let mut state = self.world.state();
            let set = state.services.queues.set_consumer(name, config.clone());
            set.unwrap_or_else(|error| panic!("consumer of `{name}`: {error}"));
            let id = state.services.queues.queue_id(name).expect("it has just been configured");
            state.queueing.set_consumer(id, self.host);
        }
        let handler = Rc::new(handler);
        self.slot(|host| {
            host.queue = Some(Rc::new(move |env, batch, call| {
                let handler = handler.clone();
                Box::pin(async move {
                    let outcome = handler(env.clone(), batch.clone()).await;
                    env.consumed(call, &batch, outcome).await;
                })
            }));
        })
    }

    /// Does `work` each time the worker starts.
    pub fn boot<F>(self, work: impl Fn(Env) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        self.slot(|host| host.boot = Some(Rc::new(move |env| Box::pin(work(env)))))
    }

    /// Makes it a host that no fault crashes.
    pub(crate) fn never_crashes(self) -> Self {
        self.slot(|host| host.can_crash = false)
    }

    fn slot(self, set: impl FnOnce(&mut Host)) -> Self {
        set(&mut self.world.state().hosts[self.host]);
        self
    }
}

impl std::fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.world.state().host(self.host).fmt(f)
    }
}
