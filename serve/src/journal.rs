//! What writes, on a thread of its own: one transaction for what has come in meanwhile, and then the answers may leave.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use thunderhead_sim::{Changes, Error, Response};
use tokio::sync::mpsc::Receiver;
use tokio::sync::{oneshot, watch};

use crate::metrics::Metrics;
use crate::{Commits, Halt, When};

/// What a request is answered.
pub type Answer = Result<Response, Error>;

/// What one tick leaves: changes that belong together, and answers that depend on them.
pub struct Batch {
    pub changes: Changes,
    pub answers: Vec<(oneshot::Sender<Answer>, Answer)>,
}

/// How it is written.
pub struct Journal<'a> {
    pub db: &'a mut Connection,
    pub commits: Commits,
    pub metrics: &'a Metrics,
    /// Where a test wants it to stand still.
    pub halt: Option<Halt>,
    /// Counts the commits, for those who wait for a change.
    pub changed: &'a watch::Sender<u64>,
    /// How long a simulated disk takes, before and after.
    pub disk: fn() -> [Duration; 2],
}

impl Journal<'_> {
    /// Writes batches until there are no more.
    pub async fn run(mut self, mut batches: Receiver<Batch>) -> rusqlite::Result<()> {
        while let Some(first) = batches.recv().await {
            let mut group = vec![first];
            while self.commits == Commits::Together
                && let Ok(next) = batches.try_recv()
            {
                group.push(next);
            }
            self.halt(When::Before, &group);
            if group.iter().any(|batch| !batch.changes.is_empty()) {
                let [before, after] = (self.disk)();
                wait(before).await;
                self.write(&group)?;
                wait(after).await;
            }
            self.halt(When::After, &group);
            group.iter_mut().for_each(Batch::release);
        }
        Ok(())
    }

    /// Stands still for good if this is the place.
    fn halt(&self, when: When, group: &[Batch]) {
        let Some(halt) = self.halt.filter(|halt| halt.when == when) else { return };
        let mut rows = group.iter().flat_map(|batch| &batch.changes.rows);
        if rows.any(|row| row.kind == halt.kind) {
            (halt.told)();
            loop {
                std::thread::park();
            }
        }
    }

    fn write(&mut self, group: &[Batch]) -> rusqlite::Result<()> {
        let started = Instant::now();
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut rows = 0;
        for batch in group {
            rows += put(&transaction, &batch.changes)?;
        }
        transaction.commit()?;
        self.metrics.commits.fetch_add(1, Relaxed);
        self.metrics.rows.fetch_add(rows, Relaxed);
        let took = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.metrics.commit_microseconds.fetch_add(took, Relaxed);
        self.changed.send_modify(|commits| *commits += 1);
        Ok(())
    }
}

/// A real disk is not waited for here, and its thread has no timers.
async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

impl Batch {
    /// Lets the answers leave. A client that has gone away is not there to hear one.
    pub fn release(&mut self) {
        for (client, answer) in self.answers.drain(..) {
            drop(client.send(answer));
        }
    }
}

/// Writes the changes of one tick. Returns how many rows that were.
fn put(transaction: &Transaction<'_>, changes: &Changes) -> rusqlite::Result<u64> {
    let mut replace = transaction.prepare_cached(
        "insert into row(kind, key, value, body) values (?1, ?2, ?3, ?4) \
         on conflict (kind, key) do update set value = excluded.value, body = excluded.body",
    )?;
    let mut delete = transaction.prepare_cached("delete from row where kind = ?1 and key = ?2")?;
    for row in &changes.rows {
        match &row.value {
            Some(value) => {
                replace.execute((
                    row.kind,
                    &row.key,
                    value,
                    row.body.as_ref().map(|body| body.bytes()),
                ))?;
            }
            None => drop(delete.execute((row.kind, &row.key))?),
        }
    }
    let mut append = transaction.prepare_cached("insert into turn(log, did) values (?, ?)")?;
    for turn in &changes.turns {
        append.execute((&turn.log, &turn.did))?;
    }
    if !changes.history.is_empty() {
        let mut tell = transaction.prepare_cached("insert into history(lines) values (?)")?;
        tell.execute([&changes.history])?;
    }
    Ok((changes.rows.len() + changes.turns.len()) as u64)
}
