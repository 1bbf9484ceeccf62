//! Processors in processes of their own, killed at random, on a real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "stores/support/cluster.rs"]
#[allow(dead_code, reason = "the other tests need the rest")]
mod cluster;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use cluster::Cluster;
use serde_json::json;
use thunderhead_stream::postgres::{connect, create_effects, record_effect};
use thunderhead_stream::{Backoff, Error, Message, NewMessage, PostgresStore, Processor, Store};
use tokio_postgres::Client;

const COMMANDS: usize = 10_000;
const WORKFLOWS: usize = 100;
const PROCESSORS: usize = 8;
/// Draws moments and victims. What is going on at those moments is the machine's to choose.
const SEED: u64 = 4;
/// After so long without a command carried out the test fails instead of hanging. All of it takes ten seconds on two
/// busy cores.
const PATIENCE: Duration = Duration::from_secs(120);
/// Tells a process that it is a processor, and where the server is.
const SERVER: &str = "THUNDERHEAD_TEST_SERVER";
/// Tells a processor to stand still between its first effect and the flag, for ever.
const STANDS_STILL: &str = "THUNDERHEAD_TEST_STANDS_STILL";

/// The process that is started by hand oversees; those that it starts run the same test, and find
/// out here that they are processors.
#[test]
fn eight_processors_killed_at_random_lose_no_command_and_apply_none_twice() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match std::env::var_os(SERVER) {
        Some(server) => runtime.block_on(process(server.to_str().unwrap())),
        None => runtime.block_on(oversee()),
    }
}

async fn oversee() {
    let cluster = Cluster::start().await;
    let (streams, effects) = (cluster.create_database().await, cluster.create_database().await);
    assert_eq!((streams.as_str(), effects.as_str()), (STREAMS, EFFECTS));
    let store = PostgresStore::connect(&cluster.config(STREAMS)).await.unwrap();
    let observer = connect(&cluster.config(STREAMS)).await.unwrap();
    let mut hotel = connect(&cluster.config(EFFECTS)).await.unwrap();
    create_effects(&mut hotel).await.unwrap();
    // No constraint: what is applied twice is there twice.
    let tables = "CREATE TABLE applied (message_id TEXT NOT NULL); CREATE TABLE repeated ()";
    hotel.batch_execute(tables).await.unwrap();
    let count = async |sql: &str| hotel.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);

    // One kill falls between an effect and its flag, whatever the others meet.
    append(&store, 0).await;
    let mut processors = Processors(vec![start(&cluster, true)]);
    let mut patience = Instant::now() + PATIENCE;
    while count("SELECT count(*) FROM applied").await == 0 {
        assert!(Instant::now() < patience, "no effect in {PATIENCE:?}");
    }
    processors.kill_and_restart(0, &cluster);
    processors.0.extend((1..PROCESSORS).map(|_| start(&cluster, false)));

    let mut random = Random(SEED);
    let (mut workflows, mut kills, mut processed, mut next) = (1, 1, 0, 0);
    while processed < COMMANDS {
        assert!(Instant::now() < patience, "{processed}, then none in {PATIENCE:?}; {kills} kills");
        // Counted in commands, not in time: a slow machine has as many kills as a fast one, and
        // no process is killed over and over before it has begun.
        if processed >= next {
            processors.kill_and_restart(random.below(PROCESSORS as u64) as usize, &cluster);
            kills += 1;
            next = processed + 1 + random.below(40) as usize;
            if workflows < WORKFLOWS {
                append(&store, workflows).await;
                workflows += 1;
            }
        }
        tokio::time::sleep(Duration::from_micros(random.below(5_000))).await;
        let before = processed;
        processed = workflows * (COMMANDS / WORKFLOWS) - pending(&observer).await;
        if processed > before {
            patience = Instant::now() + PATIENCE;
        }
    }
    drop(processors);

    let applied = count("SELECT count(*) FROM applied").await;
    let different = count("SELECT count(DISTINCT message_id) FROM applied").await;
    let repeated = count("SELECT count(*) FROM repeated").await;
    println!("{kills} kills, {applied} effects, {repeated} of them tried again");
    assert_eq!(different, COMMANDS as i64, "none is lost");
    assert_eq!(applied, COMMANDS as i64, "none is applied twice");
    assert_eq!(store.parked(None, 1).await, Ok(vec![]));
    // Every workflow came with a kill.
    assert!(kills >= WORKFLOWS, "{kills} kills are few");
    assert!(repeated > 0, "the one that was killed between effect and flag was not tried again");
}

/// The databases of the streams and of the handler: two, so that no transaction can span both.
const STREAMS: &str = "test_0";
const EFFECTS: &str = "test_1";

async fn append(store: &PostgresStore, workflow: usize) {
    let commands: Vec<_> = (0..COMMANDS / WORKFLOWS)
        .map(|guest| format!("{workflow}-{guest}"))
        .map(|id| NewMessage::output_command(&id, "CheckOut", json!({ "guest": id })))
        .collect();
    let version = store.append(&format!("group-{workflow}"), 0, &commands, now()).await;
    assert_eq!(version, Ok(commands.len() as i64));
}

async fn pending(streams: &Client) -> usize {
    let sql = "SELECT count(*) FROM workflow_messages WHERE processed = false";
    let count: i64 = streams.query_one(sql, &[]).await.unwrap().get(0);
    usize::try_from(count).unwrap()
}

/// Carries out commands until it is killed.
async fn process(server: &str) {
    let config = |database| format!("{server} dbname={database}").parse().unwrap();
    let store = PostgresStore::connect(&config(STREAMS)).await.unwrap();
    let mut hotel = connect(&config(EFFECTS)).await.unwrap();
    let mut random = Random(u64::from(std::process::id()));
    let stands_still = std::env::var_os(STANDS_STILL).is_some();
    let mut processor = Processor {
        name: format!("processor-{}", std::process::id()),
        lease_ms: 1_000,
        batch: 10,
        backoff: Backoff { first_ms: 10, longest_ms: 100, max_failures: 1_000 },
        max_deaths: 1_000,
        untold: None,
    };
    loop {
        let handler = async |command: &Message| {
            check_out(&mut hotel, command, &mut random).await?;
            if stands_still {
                std::future::pending::<()>().await;
            }
            Ok::<(), String>(())
        };
        match processor.turn(&store, now, handler).await {
            Ok(turn) if turn.claimed > 0 => {}
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Takes effect once. One in fifty fails after all its work, right before it would be for good.
async fn check_out(
    hotel: &mut Client,
    command: &Message,
    random: &mut Random,
) -> Result<(), String> {
    let text = |error: tokio_postgres::Error| error.to_string();
    let id = &command.message_id;
    let transaction = hotel.transaction().await.map_err(text)?;
    let first =
        record_effect(&transaction, id, now()).await.map_err(|error: Error| error.to_string())?;
    let effect = match first {
        true => transaction.execute("INSERT INTO applied VALUES ($1)", &[id]).await,
        false => transaction.execute("INSERT INTO repeated DEFAULT VALUES", &[]).await,
    };
    effect.map_err(text)?;
    if random.below(50) == 0 {
        return Err("the guest has lost the key".to_owned());
    }
    transaction.commit().await.map_err(text)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Processes that are gone with this value.
struct Processors(Vec<Child>);

impl Processors {
    fn kill_and_restart(&mut self, index: usize, cluster: &Cluster) {
        let child = &mut self.0[index];
        assert_eq!(child.try_wait().unwrap(), None, "a processor has ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        *child = start(cluster, false);
    }
}

impl Drop for Processors {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().expect("it is our child");
            child.wait().expect("it is our child");
        }
    }
}

fn start(cluster: &Cluster, stands_still: bool) -> Child {
    let this_test = "eight_processors_killed_at_random_lose_no_command_and_apply_none_twice";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([this_test, "--exact", "--nocapture"]).env(SERVER, cluster.string(STREAMS));
    if stands_still {
        command.env(STANDS_STILL, "");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// Numbers that look random: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
