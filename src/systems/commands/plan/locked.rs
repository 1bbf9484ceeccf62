//! The plan's advisory locks. The database has none, so they are kept by an object that stands for the
//! server of one that does: in its memory, and by session.

use std::cell::RefCell;

use serde::Deserialize;
use serde_json::json;
use thunderhead_sim::{Body, DurableObject, Env, Error, ObjectState, SortedMap, StableHasher};
use thunderhead_stream::{Message, Store};

use crate::systems::commands::guests::CheckOutError;
use crate::systems::commands::names::LOCKS;
use crate::systems::commands::processor::{BATCH, SOON, execute, now};
use crate::systems::commands::store::D1Store;

/// A server that keeps locks for as long as the session that took them lasts, and itself.
pub struct LockServer {
    env: Env,
    memory: RefCell<Memory>,
}

#[derive(Default)]
struct Memory {
    /// The session of each client.
    sessions: SortedMap<String, String>,
    /// Who holds which lock.
    locks: SortedMap<u64, String>,
}

#[derive(Deserialize)]
struct Ask {
    session: String,
    lock: u64,
}

impl DurableObject for LockServer {
    const ALARM: bool = false;

    fn new(_: ObjectState, env: Env) -> LockServer {
        LockServer { env, memory: RefCell::default() }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        let args = args.text().unwrap_or_default();
        let mut memory = self.memory.borrow_mut();
        if method == "connect" {
            // A client that comes anew is one whose session before has ended.
            let session = self.env.unique();
            let before = memory.sessions.insert(args.into(), session.clone());
            memory.locks.retain(|_, holder| Some(&*holder) != before.as_ref());
            return Ok(session.into());
        }
        let Ask { session, lock } =
            serde_json::from_str(args).map_err(|error| Error::app(error.to_string()))?;
        if !memory.sessions.values().any(|known| *known == session) {
            return Err(Error::app("there is no such session"));
        }
        if method == "unlock" {
            memory.locks.retain(|id, holder| (*id, &**holder) != (lock, &session));
            return Ok(Body::empty());
        }
        let holder = memory.locks.entry(lock).or_insert_with(|| session.clone());
        Ok(Body::from(if *holder == session { "t" } else { "f" }))
    }
}

/// A processor's connection to the lock server.
pub struct Session<'a> {
    env: &'a Env,
    client: &'a str,
    /// What `HashCode.Combine` mixes in: drawn anew by every process.
    process: String,
    session: Option<String>,
}

impl<'a> Session<'a> {
    /// A connection that is made when it is needed.
    pub fn new(env: &'a Env, client: &'a str) -> Session<'a> {
        Session { env, client, process: env.unique(), session: None }
    }

    /// Connects, however long it takes. A host that comes back does so whether it is to work or not: the
    /// server hears of its death then, and lets go of its locks.
    pub async fn open(&mut self) {
        while self.connect().await.is_err() {
            self.env.sleep(SOON).await;
        }
    }

    /// One turn: locks each command, executes it, marks it, and unlocks it even when executing failed.
    pub async fn turn(&mut self, stable: bool, done: &mut usize) -> Result<(), CheckOutError> {
        let store = D1Store::new(self.env);
        for command in store.pending_commands(None, None, BATCH).await? {
            let lock = self.lock_id(&command, stable);
            if self.ask("lock", lock).await?.text() != Some("t") {
                continue;
            }
            let executed = self.execute(&store, &command).await;
            self.ask("unlock", lock).await?;
            executed?;
            *done += 1;
        }
        Ok(())
    }

    async fn execute(&self, store: &D1Store, command: &Message) -> Result<(), CheckOutError> {
        execute(self.env, command).await?;
        store.mark_command_processed(&command.key(), now(self.env)).await?;
        Ok(())
    }

    fn lock_id(&self, command: &Message, stable: bool) -> u64 {
        let process = if stable { "" } else { &self.process };
        StableHasher::of(&(process, &command.workflow_id, command.position))
    }

    async fn connect(&mut self) -> Result<String, Error> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let server = self.env.durable_object(LOCKS).get_by_name("server");
        let session = server.rpc("connect", self.client).await?;
        Ok(self.session.insert(session.text().unwrap_or_default().into()).clone())
    }

    async fn ask(&mut self, method: &str, lock: u64) -> Result<Body, Error> {
        let args = json!({ "session": self.connect().await?, "lock": lock }).to_string();
        let server = self.env.durable_object(LOCKS).get_by_name("server");
        let answer = server.rpc(method, args).await;
        if answer.is_err() {
            self.session = None;
        }
        answer
    }
}
