//! The schema on PostgreSQL.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::{failed, get};
use crate::error::Error;
use crate::migration::{self, Migration};

/// Keeps two that start at the same time from migrating at the same time; held until the end of the
/// transaction. The number means nothing but has to be the same everywhere.
pub const LOCK: &str = "SELECT pg_advisory_xact_lock(7383225640011)";

/// Where the applied migrations are recorded; this statement comes before all of them.
pub const CREATE_VERSIONS: &str = "
CREATE TABLE IF NOT EXISTS stream_migrations (
    version BIGINT NOT NULL PRIMARY KEY,
    name    TEXT   NOT NULL
)";

/// The number of the last migration that has been applied, or 0.
pub const VERSION: &str = "SELECT coalesce(max(version), 0) FROM stream_migrations";

/// Notes that a migration has been applied: its version, its name.
pub const RECORD_VERSION: &str = "INSERT INTO stream_migrations (version, name) VALUES ($1, $2)";

/// All migrations, in order.
pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "messages", statements: MESSAGES },
    Migration { version: 2, name: "deliveries", statements: DELIVERIES },
    Migration { version: 3, name: "deaths", statements: DEATHS },
    Migration { version: 4, name: "attempts", statements: ATTEMPTS },
];

/// Brings a database up to date, or refuses one that is newer.
pub(super) async fn migrate(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(LOCK).await.map_err(failed)?;
    transaction.batch_execute(CREATE_VERSIONS).await.map_err(failed)?;
    let version = get(&transaction.query_typed_one(VERSION, &[]).await.map_err(failed)?, 0)?;
    for migration in migration::missing(MIGRATIONS, version)? {
        for statement in migration.statements {
            transaction.batch_execute(statement).await.map_err(failed)?;
        }
        transaction
            .execute_typed(
                RECORD_VERSION,
                &[(&migration.version, Type::INT8), (&migration.name, Type::TEXT)],
            )
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

/// Refuses a database that is newer.
pub(super) async fn check(client: &Client) -> Result<(), Error> {
    let version = get(&client.query_typed_one(VERSION, &[]).await.map_err(failed)?, 0)?;
    migration::missing(MIGRATIONS, version).map(drop)
}

/// The messages. Ids are compared by their bytes, as SQLite and Rust do, not by the language of the
/// database.
///
/// Pending commands are read in order and page by page, so their index is in that order:
/// (workflow_id, position). An index on (workflow_id, processed) would hold the same rows, all of
/// them with `processed = false`, and each page would have to sort every pending command. It is
/// partial, so that history costs it nothing.
const MESSAGES: &[&str] = &[
    r#"CREATE TABLE workflow_messages (
    workflow_id      TEXT COLLATE "C" NOT NULL,
    position         BIGINT           NOT NULL CHECK (position > 0),
    kind             CHAR(1)          NOT NULL CHECK (kind IN ('C', 'E')),
    direction        CHAR(1)          NOT NULL CHECK (direction IN ('I', 'O')),
    message_id       TEXT COLLATE "C" NOT NULL,
    message_type     TEXT             NOT NULL,
    message_data     JSONB            NOT NULL,
    message_metadata JSONB            NOT NULL,
    processed        BOOLEAN,
    created_at       TIMESTAMPTZ      NOT NULL DEFAULT now(),
    processed_at     TIMESTAMPTZ,
    PRIMARY KEY (workflow_id, position),
    CHECK ((kind = 'C' AND direction = 'O') = (processed IS NOT NULL))
)"#,
    "CREATE UNIQUE INDEX idx_message_ids ON workflow_messages (message_id)",
    "CREATE INDEX idx_pending_commands ON workflow_messages (workflow_id, position)
    WHERE kind = 'C' AND direction = 'O' AND processed = false",
];

/// What is known about carrying out a command: there is a row for each pending command and for no
/// other. Triggers keep it so, whoever sets the flag and by whatever statement.
///
/// A command is due from `due_ms` on; a lease and a back-off both move that moment ahead. Parked
/// commands are not in the index that claims read, so any number of them is skipped at no cost.
///
/// Every command leaves two dead rows here. The table is vacuumed after a thousand of them, not
/// after a fifth of its size, which would be long in coming when there is a backlog.
const DELIVERIES: &[&str] = &[
    r#"CREATE TABLE command_deliveries (
    workflow_id TEXT COLLATE "C" NOT NULL,
    position    BIGINT           NOT NULL,
    due_ms      BIGINT           NOT NULL,
    attempts    BIGINT           NOT NULL DEFAULT 0,
    failures    BIGINT           NOT NULL DEFAULT 0,
    leased_by   TEXT,
    error       TEXT,
    parked_ms   BIGINT,
    PRIMARY KEY (workflow_id, position)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)"#,
    "CREATE INDEX idx_due_commands ON command_deliveries (due_ms, workflow_id, position)
    WHERE parked_ms IS NULL",
    "CREATE INDEX idx_parked_commands ON command_deliveries (workflow_id, position)
    WHERE parked_ms IS NOT NULL",
    "INSERT INTO command_deliveries (workflow_id, position, due_ms)
SELECT workflow_id, position, (extract(epoch FROM created_at) * 1000)::bigint
FROM workflow_messages WHERE processed = false",
    "CREATE FUNCTION command_appended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO command_deliveries (workflow_id, position, due_ms)
    SELECT workflow_id, position, (extract(epoch FROM created_at) * 1000)::bigint
    FROM added WHERE processed = false;
    RETURN NULL;
END $$",
    "CREATE TRIGGER command_appended AFTER INSERT ON workflow_messages
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION command_appended()",
    "CREATE FUNCTION command_processed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.processed THEN
        DELETE FROM command_deliveries
        WHERE workflow_id = NEW.workflow_id AND position = NEW.position;
    ELSE
        INSERT INTO command_deliveries (workflow_id, position, due_ms) VALUES
        (NEW.workflow_id, NEW.position, (extract(epoch FROM NEW.created_at) * 1000)::bigint);
    END IF;
    RETURN NULL;
END $$",
    "CREATE TRIGGER command_processed AFTER UPDATE OF processed ON workflow_messages
    FOR EACH ROW WHEN (OLD.processed <> NEW.processed) EXECUTE FUNCTION command_processed()",
];

/// What tells a command that kills its processor from one whose processors die of something else: how many
/// claims in a row vanished, whether the present one has begun, and how many of those that vanished had.
///
/// A trigger deletes with a message what is known about carrying it out. A row without its message would be claimed
/// in vain, and would be in the way of a new message in its place.
const DEATHS: &[&str] = &[
    "ALTER TABLE command_deliveries
    ADD COLUMN vanished BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN begun BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN deaths BIGINT NOT NULL DEFAULT 0",
    "DELETE FROM command_deliveries AS d WHERE NOT EXISTS (SELECT 1 FROM workflow_messages AS m
    WHERE m.workflow_id = d.workflow_id AND m.position = d.position)",
    "CREATE FUNCTION command_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM command_deliveries AS d USING removed AS m
    WHERE d.workflow_id = m.workflow_id AND d.position = m.position AND m.processed = false;
    RETURN NULL;
END $$",
    "CREATE TRIGGER command_deleted AFTER DELETE ON workflow_messages
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION command_deleted()",
    "CREATE FUNCTION commands_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM command_deliveries;
    RETURN NULL;
END $$",
    "CREATE TRIGGER commands_truncated AFTER TRUNCATE ON workflow_messages
    FOR EACH STATEMENT EXECUTE FUNCTION commands_truncated()",
];

/// A command that was marked keeps the number of its last claim. If the flag is taken back, claims are counted on from
/// there: a claim from before must not be taken for one of after. The trigger comes before the update, so that the
/// number is written with the flag and not in one more version of the row.
const ATTEMPTS: &[&str] = &[
    "ALTER TABLE workflow_messages ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0",
    "DROP TRIGGER command_processed ON workflow_messages",
    "CREATE OR REPLACE FUNCTION command_processed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.processed THEN
        DELETE FROM command_deliveries AS d
        WHERE d.workflow_id = NEW.workflow_id AND d.position = NEW.position
        RETURNING d.attempts INTO NEW.attempts;
        NEW.attempts := coalesce(NEW.attempts, OLD.attempts);
    ELSE
        INSERT INTO command_deliveries (workflow_id, position, due_ms, attempts) VALUES
        (NEW.workflow_id, NEW.position, (extract(epoch FROM NEW.created_at) * 1000)::bigint, NEW.attempts);
    END IF;
    RETURN NEW;
END $$",
    "CREATE TRIGGER command_processed BEFORE UPDATE OF processed ON workflow_messages
    FOR EACH ROW WHEN (OLD.processed <> NEW.processed) EXECUTE FUNCTION command_processed()",
];

/// What a handler's database needs: the commands whose effect it holds.
pub const CREATE_EFFECTS: &str = r#"
CREATE TABLE IF NOT EXISTS command_effects (
    message_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    applied_ms BIGINT           NOT NULL
)"#;
