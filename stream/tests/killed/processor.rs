//! One of the processes that are killed: it carries out commands for as long as it lives.

use std::time::{Duration, SystemTime};

use thunderhead_stream::postgres::{Settings, connect, record_effect};
use thunderhead_stream::{Backoff, Error, Failure, Message, PostgresStore, Processor};
use tokio_postgres::Client;

use crate::random::Random;

/// How one process is told what it is.
pub struct Part {
    /// How to reach the streams.
    pub streams: String,
    /// How to reach the handler's database: another one, so that no transaction can span both.
    pub effects: String,
    /// How far its clock is ahead, in milliseconds.
    pub ahead: i64,
    /// Whether it stands still for ever between its first effect and the flag.
    pub stands_still: bool,
}

const STREAMS: &str = "THUNDERHEAD_TEST_STREAMS";
const EFFECTS: &str = "THUNDERHEAD_TEST_EFFECTS";
const AHEAD: &str = "THUNDERHEAD_TEST_AHEAD";
const STANDS_STILL: &str = "THUNDERHEAD_TEST_STANDS_STILL";

impl Part {
    /// Tells a process that is about to be started.
    pub fn tell(&self, command: &mut std::process::Command) {
        command.env(STREAMS, &self.streams).env(EFFECTS, &self.effects);
        command.env(AHEAD, self.ahead.to_string());
        if self.stands_still {
            command.env(STANDS_STILL, "");
        }
    }

    /// What this process was told; nothing if it was started by hand.
    pub fn told() -> Option<Part> {
        let variable = |name| std::env::var(name).ok();
        Some(Part {
            streams: variable(STREAMS)?,
            effects: variable(EFFECTS)?,
            ahead: variable(AHEAD)?.parse().unwrap(),
            stands_still: variable(STANDS_STILL).is_some(),
        })
    }

    /// The time by the clock of this process.
    fn now(&self) -> i64 {
        now() + self.ahead
    }

    /// Carries out commands until it is killed.
    pub async fn play(&self) {
        let (streams, effects): (Settings, Settings) =
            (self.streams.parse().unwrap(), self.effects.parse().unwrap());
        let store = persistently(async || PostgresStore::connect(&streams).await).await;
        let mut hotel = persistently(async || connect(&effects).await).await;
        let mut random = Random(u64::from(std::process::id()));
        let mut processor = Processor {
            name: format!("processor-{}", std::process::id()),
            lease_ms: 1_000,
            batch: 10,
            backoff: Backoff { first_ms: 10, longest_ms: 100, max_failures: 10 },
            max_deaths: 10,
            untold: None,
        };
        loop {
            let handler = async |command: &Message| {
                if hotel.is_closed() {
                    hotel = persistently(async || connect(&effects).await).await;
                }
                self.check_out(&mut hotel, command, &mut random).await?;
                if self.stands_still {
                    std::future::pending::<()>().await;
                }
                Ok::<(), Failure>(())
            };
            match processor.turn(&store, || self.now(), handler).await {
                Ok(turn) if turn.claimed > 0 => {}
                // A connection that was cut is made anew by the next turn.
                Ok(_) | Err(Error::Unavailable(_)) => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Takes effect once. One in fifty fails after all its work, right before it would be for good.
    async fn check_out(
        &self,
        hotel: &mut Client,
        command: &Message,
        random: &mut Random,
    ) -> Result<(), Failure> {
        // A database that is cut off is not the command's fault.
        let passing = |error: tokio_postgres::Error| Failure::passing(error.to_string());
        let id = &command.message_id;
        let transaction = hotel.transaction().await.map_err(passing)?;
        let first = record_effect(&transaction, id, self.now())
            .await
            .map_err(|error| Failure::passing(error.to_string()))?;
        let effect = match first {
            true => transaction.execute("INSERT INTO applied VALUES ($1)", &[id]).await,
            false => transaction.execute("INSERT INTO repeated DEFAULT VALUES", &[]).await,
        };
        effect.map_err(passing)?;
        if random.below(50) == 0 {
            return Err(Failure::from("the guest has lost the key".to_owned()));
        }
        transaction.commit().await.map_err(passing)
    }
}

/// Tries until there is a connection: it may be cut while it is being made.
async fn persistently<T>(connect: impl AsyncFn() -> Result<T, Error>) -> T {
    loop {
        match connect().await {
            Ok(connected) => return connected,
            Err(Error::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The time of the machine.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
