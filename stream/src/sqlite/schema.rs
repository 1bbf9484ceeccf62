//! The schema on SQLite, and on anything that is SQLite inside.

use crate::migration::Migration;

/// Where the applied migrations are recorded; this statement comes before all of them.
pub const CREATE_VERSIONS: &str = "
CREATE TABLE IF NOT EXISTS stream_migrations (
    version INTEGER NOT NULL PRIMARY KEY,
    name    TEXT    NOT NULL
)";

/// The number of the last migration that has been applied, or 0.
pub const VERSION: &str = "SELECT coalesce(max(version), 0) FROM stream_migrations";

/// Notes that a migration has been applied: its version, its name.
pub const RECORD_VERSION: &str = "INSERT INTO stream_migrations (version, name) VALUES (?1, ?2)";

/// All migrations, in order.
pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "messages", statements: MESSAGES },
    Migration { version: 2, name: "deliveries", statements: DELIVERIES },
    Migration { version: 3, name: "deaths", statements: DEATHS },
    Migration { version: 4, name: "attempts", statements: ATTEMPTS },
];

/// The messages. Times are text with milliseconds, in UTC.
///
/// Pending commands are read in order and page by page, so their index is in that order:
/// (workflow_id, position). An index on (workflow_id, processed) would hold the same rows, all of
/// them with `processed = 0`, and each page would have to sort every pending command. It is partial,
/// so that history costs it nothing.
const MESSAGES: &[&str] = &[
    "CREATE TABLE workflow_messages (
    workflow_id      TEXT    NOT NULL,
    position         INTEGER NOT NULL CHECK (position > 0),
    kind             TEXT    NOT NULL CHECK (kind IN ('Command', 'Event')),
    direction        TEXT    NOT NULL CHECK (direction IN ('Input', 'Output')),
    message_id       TEXT    NOT NULL,
    message_type     TEXT    NOT NULL,
    message_data     TEXT    NOT NULL,
    message_metadata TEXT    NOT NULL,
    processed        INTEGER CHECK (processed IN (0, 1)),
    created_at       TEXT    NOT NULL DEFAULT (datetime('now')),
    processed_at     TEXT,
    PRIMARY KEY (workflow_id, position),
    CHECK ((kind = 'Command' AND direction = 'Output') = (processed IS NOT NULL))
)",
    "CREATE UNIQUE INDEX idx_message_ids ON workflow_messages (message_id)",
    "CREATE INDEX idx_pending_commands ON workflow_messages (workflow_id, position)
    WHERE kind = 'Command' AND direction = 'Output' AND processed = 0",
];

/// What is known about carrying out a command: there is a row for each pending command and for no
/// other. Triggers keep it so, whoever sets the flag and by whatever statement.
///
/// A command is due from `due_ms` on; a lease and a back-off both move that moment ahead. Parked
/// commands are not in the index that claims read, so any number of them is skipped at no cost.
const DELIVERIES: &[&str] = &[
    "CREATE TABLE command_deliveries (
    workflow_id TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    failures    INTEGER NOT NULL DEFAULT 0,
    leased_by   TEXT,
    error       TEXT,
    parked_ms   INTEGER,
    PRIMARY KEY (workflow_id, position)
)",
    "CREATE INDEX idx_due_commands ON command_deliveries (due_ms, workflow_id, position)
    WHERE parked_ms IS NULL",
    "CREATE INDEX idx_parked_commands ON command_deliveries (workflow_id, position)
    WHERE parked_ms IS NOT NULL",
    "INSERT INTO command_deliveries (workflow_id, position, due_ms)
SELECT workflow_id, position, CAST(round(unixepoch(created_at, 'subsec') * 1000) AS INTEGER)
FROM workflow_messages WHERE processed = 0",
    "CREATE TRIGGER command_appended AFTER INSERT ON workflow_messages WHEN NEW.processed = 0
BEGIN
    INSERT INTO command_deliveries (workflow_id, position, due_ms)
    VALUES (NEW.workflow_id, NEW.position,
            CAST(round(unixepoch(NEW.created_at, 'subsec') * 1000) AS INTEGER));
END",
    "CREATE TRIGGER command_processed AFTER UPDATE OF processed ON workflow_messages
WHEN OLD.processed = 0 AND NEW.processed = 1
BEGIN
    DELETE FROM command_deliveries
    WHERE workflow_id = NEW.workflow_id AND position = NEW.position;
END",
    "CREATE TRIGGER command_unprocessed AFTER UPDATE OF processed ON workflow_messages
WHEN OLD.processed = 1 AND NEW.processed = 0
BEGIN
    INSERT INTO command_deliveries (workflow_id, position, due_ms)
    VALUES (NEW.workflow_id, NEW.position,
            CAST(round(unixepoch(NEW.created_at, 'subsec') * 1000) AS INTEGER));
END",
];

/// What tells a command that kills its processor from one whose processors die of something else: how many
/// claims in a row vanished, whether the present one has begun, and how many of those that vanished had.
///
/// A trigger deletes with a message what is known about carrying it out. A row without its message would be claimed
/// in vain, and would be in the way of a new message in its place.
const DEATHS: &[&str] = &[
    "ALTER TABLE command_deliveries ADD COLUMN vanished INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE command_deliveries ADD COLUMN begun INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE command_deliveries ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0",
    "DELETE FROM command_deliveries WHERE NOT EXISTS (SELECT 1 FROM workflow_messages AS m
    WHERE m.workflow_id = command_deliveries.workflow_id
        AND m.position = command_deliveries.position)",
    "CREATE TRIGGER command_deleted AFTER DELETE ON workflow_messages WHEN OLD.processed = 0
BEGIN
    DELETE FROM command_deliveries
    WHERE workflow_id = OLD.workflow_id AND position = OLD.position;
END",
];

/// A command that was marked keeps the number of its last claim. If the flag is taken back, claims are counted on from
/// there: a claim from before must not be taken for one of after.
const ATTEMPTS: &[&str] = &[
    "ALTER TABLE workflow_messages ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    "DROP TRIGGER command_processed",
    "CREATE TRIGGER command_processed AFTER UPDATE OF processed ON workflow_messages
WHEN OLD.processed = 0 AND NEW.processed = 1
BEGIN
    UPDATE workflow_messages SET attempts = d.attempts FROM command_deliveries AS d
    WHERE d.workflow_id = NEW.workflow_id AND d.position = NEW.position AND d.attempts > 0
        AND workflow_messages.workflow_id = NEW.workflow_id
        AND workflow_messages.position = NEW.position;
    DELETE FROM command_deliveries
    WHERE workflow_id = NEW.workflow_id AND position = NEW.position;
END",
    "DROP TRIGGER command_unprocessed",
    "CREATE TRIGGER command_unprocessed AFTER UPDATE OF processed ON workflow_messages
WHEN OLD.processed = 1 AND NEW.processed = 0
BEGIN
    INSERT INTO command_deliveries (workflow_id, position, due_ms, attempts)
    VALUES (NEW.workflow_id, NEW.position,
            CAST(round(unixepoch(NEW.created_at, 'subsec') * 1000) AS INTEGER), NEW.attempts);
END",
];

/// What a handler's database needs: the commands whose effect it holds.
pub const CREATE_EFFECTS: &str = "
CREATE TABLE IF NOT EXISTS command_effects (
    message_id TEXT    NOT NULL PRIMARY KEY,
    applied_ms INTEGER NOT NULL
)";
