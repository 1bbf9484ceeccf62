//! Where the plan's rows are: in the object's own storage, or in one database for all objects.

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{D1Database, Env, Error, ObjectStorage};

use crate::systems::comparisons::envpair::{COMPARISONS, INDEXES, PROBES};

/// The binding of the plan's database.
pub const ENVPAIR_DB: &str = "ENVPAIR_DB";

/// One of the two.
#[derive(Clone, Debug)]
pub enum Db {
    Own(ObjectStorage),
    Shared(D1Database),
}

impl Db {
    /// The object's own, with its tables.
    pub fn own(storage: &ObjectStorage) -> Db {
        for statement in [COMPARISONS, PROBES].into_iter().chain(INDEXES) {
            storage.exec(statement, &[]).expect("the schema is correct");
        }
        Db::Own(storage.clone())
    }

    /// Executes a statement; its rows.
    pub async fn run(&self, sql: &str, bindings: Vec<Value>) -> Result<Vec<Vec<Value>>, Error> {
        match self {
            Db::Own(storage) => Ok(storage.exec(sql, &bindings)?.raw().collect()),
            Db::Shared(database) => database.prepare(sql).bind(bindings).raw().await,
        }
    }
}

/// Applies the schema, and does not give up.
pub async fn migrate(env: Env) {
    for statement in [COMPARISONS, PROBES].into_iter().chain(INDEXES) {
        while env.d1(ENVPAIR_DB).prepare(statement).run().await.is_err() {
            env.sleep(std::time::Duration::from_secs(1)).await;
        }
    }
}
