//! Processors in processes of their own on a real server, over TLS, with clocks that differ: they are killed, their
//! connections are cut, and workflows are deleted under them, all at random.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../stores/support/cluster.rs"]
#[allow(dead_code, reason = "the other tests need the rest")]
mod cluster;
mod processor;
mod random;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cluster::{Cluster, Listens};
use processor::{Part, now};
use random::Random;
use serde_json::json;
use thunderhead_stream::postgres::{connect, create_effects};
use thunderhead_stream::{NewMessage, PostgresStore, Store};
use tokio_postgres::Client;

/// How many commands are carried out, unless the variable says otherwise.
const COMMANDS: usize = 4_000;
const COMMANDS_VARIABLE: &str = "THUNDERHEAD_TEST_COMMANDS";
/// How many commands a workflow has.
const LENGTH: usize = 100;
const PROCESSORS: usize = 8;
/// How far the clocks of the first and the last processor are apart, in milliseconds.
const APART: i64 = 60_000;
/// Draws moments and victims. What is going on at those moments is the machine's to choose.
const SEED: u64 = 4;
/// After so long without a command carried out the test fails instead of hanging. All of it takes fifteen seconds on
/// two busy cores.
const PATIENCE: Duration = Duration::from_secs(120);

/// The process that is started by hand oversees; those that it starts run the same test, and find
/// out here that they are processors.
#[test]
fn eight_processors_killed_and_cut_off_at_random_lose_no_command_and_apply_none_twice() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match Part::told() {
        Some(part) => runtime.block_on(part.play()),
        None => runtime.block_on(oversee()),
    }
}

async fn oversee() {
    let commands = match std::env::var(COMMANDS_VARIABLE) {
        Ok(number) => number.parse().expect("a number of commands"),
        Err(_) => COMMANDS,
    };
    let cluster = Cluster::listening(Listens::Tls).await;
    let world = World::new(&cluster).await;
    // One kill falls between an effect and its flag, whatever the others meet.
    world.append("group-0").await;
    let mut processors = Processors { world: world.addresses.clone(), running: Vec::new() };
    processors.start(true);
    let mut patience = Instant::now() + PATIENCE;
    while world.count("SELECT count(*) FROM applied").await == 0 {
        assert!(Instant::now() < patience, "no effect in {PATIENCE:?}");
    }
    processors.kill_and_restart(0);
    (1..PROCESSORS).for_each(|_| processors.start(false));

    let mut random = Random(SEED);
    let (mut workflows, mut kills, mut cuts, mut deleted) = (1, 1, 0, 0);
    let (mut processed, mut next) = (0, 0);
    while processed < commands {
        assert!(Instant::now() < patience, "{processed}, then none in {PATIENCE:?}; {kills} kills");
        // Counted in commands, not in time: a slow machine has as many kills as a fast one, and
        // no process is killed over and over before it has begun.
        if processed >= next {
            processors.kill_and_restart(random.below(PROCESSORS as u64) as usize);
            kills += 1;
            cuts += world.cut(&mut random).await;
            next = processed + 1 + random.below(40) as usize;
            if workflows * LENGTH < commands {
                world.append(&format!("group-{workflows}")).await;
                world.append(&format!("doomed-{workflows}")).await;
                workflows += 1;
            }
        }
        tokio::time::sleep(Duration::from_micros(random.below(5_000))).await;
        deleted += world.delete_begun().await;
        let before = processed;
        processed = workflows * LENGTH - world.pending().await;
        if processed > before {
            patience = Instant::now() + PATIENCE;
        }
    }
    drop(processors);
    world.delete("workflow_id LIKE 'doomed-%'").await;
    println!(
        "{kills} kills, {cuts} connections cut, {deleted} pending commands deleted under their processors"
    );
    // Every workflow came with a kill.
    assert!(kills >= workflows, "{kills} kills are few");
    assert!(cuts > 0, "no connection was cut");
    assert!(deleted > 0, "no workflow was deleted while it was being carried out");
    world.judge(commands).await;
}

/// The two databases, and the connections of the one who oversees: they are not cut.
struct World {
    addresses: Addresses,
    store: PostgresStore,
    streams: Client,
    effects: Client,
}

/// How to reach the databases.
#[derive(Clone)]
struct Addresses {
    streams: String,
    effects: String,
}

impl World {
    async fn new(cluster: &Cluster) -> World {
        let tls = format!("sslmode=verify-full sslrootcert={}", cluster.authority().display());
        let address = async || cluster.string_of_port(&cluster.create_database().await, &tls);
        let addresses = Addresses { streams: address().await, effects: address().await };
        let store = PostgresStore::connect(&addresses.streams.parse().unwrap()).await.unwrap();
        let streams = connect(&addresses.streams.parse().unwrap()).await.unwrap();
        let mut effects = connect(&addresses.effects.parse().unwrap()).await.unwrap();
        create_effects(&mut effects).await.unwrap();
        // No constraint: what is applied twice is there twice.
        let tables = "CREATE TABLE applied (message_id TEXT NOT NULL); CREATE TABLE repeated ()";
        effects.batch_execute(tables).await.unwrap();
        World { addresses, store, streams, effects }
    }

    async fn count(&self, sql: &str) -> i64 {
        self.effects.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Appends a workflow that is not there.
    async fn append(&self, workflow: &str) {
        let ids = (0..LENGTH).map(|guest| format!("{workflow}-{guest}"));
        let commands: Vec<_> = ids
            .map(|id| NewMessage::output_command(&id, "CheckOut", json!({ "guest": id })))
            .collect();
        let version = self.store.append(workflow, 0, &commands, now()).await;
        assert_eq!(version, Ok(LENGTH as i64));
    }

    /// Deletes the workflows to be deleted of which something was carried out, and says how many of their
    /// commands were pending: some of them are being carried out now.
    async fn delete_begun(&self) -> usize {
        let begun = "workflow_id IN (SELECT workflow_id FROM workflow_messages
            WHERE workflow_id LIKE 'doomed-%' AND processed)";
        self.delete(begun).await
    }

    /// Deletes messages, and says how many of them were pending.
    async fn delete(&self, which: &str) -> usize {
        let sql = format!("DELETE FROM workflow_messages WHERE {which} RETURNING processed");
        let rows = self.streams.query(&sql, &[]).await.unwrap();
        rows.iter().filter(|row| !row.get::<_, bool>(0)).count()
    }

    /// How many commands are pending of workflows that are not deleted.
    async fn pending(&self) -> usize {
        let sql = "SELECT count(*) FROM workflow_messages
            WHERE processed = false AND workflow_id LIKE 'group-%'";
        let count: i64 = self.streams.query_one(sql, &[]).await.unwrap().get(0);
        usize::try_from(count).unwrap()
    }

    /// Cuts one connection of a processor, and says whether there was one.
    async fn cut(&self, random: &mut Random) -> usize {
        let sql =
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'processor' ORDER BY pid";
        let victims = self.streams.query(sql, &[]).await.unwrap();
        if victims.is_empty() {
            return 0;
        }
        let victim: i32 = victims[random.below(victims.len() as u64) as usize].get(0);
        let cut = self.streams.query_one("SELECT pg_terminate_backend($1)", &[&victim]).await;
        usize::from(cut.unwrap().get::<_, bool>(0))
    }

    /// Compares what took effect with what was asked for.
    async fn judge(&self, commands: usize) {
        let lasting =
            "SELECT count(DISTINCT message_id) FROM applied WHERE message_id LIKE 'group-%'";
        assert_eq!(self.count(lasting).await, commands as i64, "none is lost");
        let twice = "SELECT count(*) - count(DISTINCT message_id) FROM applied";
        assert_eq!(
            self.count(twice).await,
            0,
            "none is applied twice, not even of a deleted workflow"
        );
        assert_eq!(
            self.store.parked(None, 1).await,
            Ok(vec![]),
            "none was tried in vain ten times"
        );
        let left = self.streams.query_one("SELECT count(*) FROM command_deliveries", &[]).await;
        assert_eq!(left.unwrap().get::<_, i64>(0), 0, "nothing is known of commands that are gone");
        let repeated = self.count("SELECT count(*) FROM repeated").await;
        println!("{commands} commands of {LENGTH} a workflow, {repeated} effects tried again");
        assert!(
            repeated > 0,
            "the one that was killed between effect and flag was not tried again"
        );
    }
}

/// Processes that are gone with this value.
struct Processors {
    world: Addresses,
    running: Vec<Child>,
}

impl Processors {
    fn start(&mut self, stands_still: bool) {
        let child = self.started(self.running.len(), stands_still);
        self.running.push(child);
    }

    fn kill_and_restart(&mut self, index: usize) {
        let child = &mut self.running[index];
        assert_eq!(child.try_wait().unwrap(), None, "a processor has ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        self.running[index] = self.started(index, false);
    }

    fn started(&self, index: usize, stands_still: bool) -> Child {
        let named = |address: &str| format!("{address} application_name=processor");
        let part = Part {
            streams: named(&self.world.streams),
            effects: named(&self.world.effects),
            ahead: APART * index as i64 / (PROCESSORS as i64 - 1) - APART / 2,
            stands_still,
        };
        let this_test =
            "eight_processors_killed_and_cut_off_at_random_lose_no_command_and_apply_none_twice";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([this_test, "--exact", "--nocapture"]);
        part.tell(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }
}

impl Drop for Processors {
    fn drop(&mut self) {
        for child in &mut self.running {
            child.kill().expect("it is our child");
            child.wait().expect("it is our child");
        }
    }
}
