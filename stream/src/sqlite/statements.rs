//! The statements on SQLite, one for each operation of a store, for whatever runs them. Parameters
//! are numbered; the comment on each statement names them in order. Every one is atomic by itself.

/// The columns of a message as [`super::Record`] lists them; times in milliseconds.
macro_rules! columns {
    () => {
        "m.workflow_id, m.position, m.kind, m.direction, m.message_id, m.message_type, \
         m.message_data, m.message_metadata, m.processed, \
         CAST(round(unixepoch(m.created_at, 'subsec') * 1000) AS INTEGER) AS created_at, \
         CAST(round(unixepoch(m.processed_at, 'subsec') * 1000) AS INTEGER) AS processed_at"
    };
}

/// The condition of the index of pending commands, in its own words: SQLite matches them as text.
macro_rules! pending {
    () => {
        "m.kind = 'Command' AND m.direction = 'Output' AND m.processed = 0"
    };
}

/// Workflow, expected version, batch ([`crate::batch::encode`]), now. Adds all of the batch or
/// nothing; never fails for a version or an id.
pub const APPEND: &str = "
INSERT INTO workflow_messages (workflow_id, position, kind, direction, message_id, message_type,
    message_data, message_metadata, processed, created_at)
SELECT ?1, ?2 + entry.key + 1, entry.value ->> 'kind', entry.value ->> 'direction',
    entry.value ->> 'id', entry.value ->> 'type', entry.value ->> 'data',
    entry.value ->> 'metadata',
    CASE WHEN entry.value ->> 'kind' = 'Command' AND entry.value ->> 'direction' = 'Output'
        THEN 0 END,
    strftime('%Y-%m-%d %H:%M:%f', ?4 / 1000.0, 'unixepoch')
FROM json_each(?3) AS entry
WHERE ?2 = (SELECT coalesce(max(position), 0) FROM workflow_messages WHERE workflow_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM json_each(?3) AS entry
        JOIN workflow_messages AS m ON m.message_id = entry.value ->> 'id')
ORDER BY entry.key";

/// Batch. Where its messages are: message id, workflow, position. For [`crate::batch::resolve`].
pub const FOUND: &str = "
SELECT m.message_id, m.workflow_id, m.position FROM json_each(?1) AS entry
JOIN workflow_messages AS m ON m.message_id = entry.value ->> 'id'";

/// Workflow. How long its stream is. For [`crate::batch::resolve`].
pub const STREAM_VERSION: &str =
    "SELECT coalesce(max(position), 0) AS version FROM workflow_messages WHERE workflow_id = ?1";

/// Workflow, first position. Messages.
pub const READ_STREAM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_messages AS m WHERE m.workflow_id = ?1 AND m.position >= ?2
ORDER BY m.position"
);

/// Workflow and position to begin behind (an empty text and 0 for the beginning), limit. Messages.
pub const PENDING_OF_ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_messages AS m WHERE ",
    pending!(),
    " AND (m.workflow_id, m.position) > (?1, ?2) ORDER BY m.workflow_id, m.position LIMIT ?3"
);

/// Workflow, position to begin behind, limit. Messages.
pub const PENDING_OF_ONE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_messages AS m WHERE ",
    pending!(),
    " AND m.workflow_id = ?1 AND m.position > ?2 ORDER BY m.position LIMIT ?3"
);

/// A column of the message that a delivery is about, where only the delivery can be named.
macro_rules! of_message {
    ($column:literal) => {
        concat!(
            "(SELECT ",
            $column,
            " FROM workflow_messages AS m WHERE m.workflow_id = command_deliveries.workflow_id \
             AND m.position = command_deliveries.position)"
        )
    };
}

/// Processor, now, end of the lease, limit. Leases commands, in no order: messages, and then
/// attempt, failures, vanished and deaths. A lease that nobody has ended has vanished.
pub const CLAIM: &str = concat!(
    "UPDATE command_deliveries SET leased_by = ?1, due_ms = ?3, attempts = attempts + 1,
    vanished = vanished + (leased_by IS NOT NULL), deaths = deaths + begun, begun = 0
WHERE rowid IN (SELECT rowid FROM command_deliveries
    WHERE parked_ms IS NULL AND due_ms <= ?2 ORDER BY due_ms, workflow_id, position LIMIT ?4)
RETURNING workflow_id, position, 'Command' AS kind, 'Output' AS direction, ",
    of_message!("m.message_id"),
    " AS message_id, ",
    of_message!("m.message_type"),
    " AS message_type, ",
    of_message!("m.message_data"),
    " AS message_data, ",
    of_message!("m.message_metadata"),
    " AS message_metadata, 0 AS processed, ",
    of_message!("CAST(round(unixepoch(m.created_at, 'subsec') * 1000) AS INTEGER)"),
    " AS created_at, NULL AS processed_at, attempts, failures, vanished, deaths"
);

/// Workflow, position, processor, attempt. Returns a row if the lease was still held.
pub const BEGIN: &str = "
UPDATE command_deliveries SET begun = 1
WHERE workflow_id = ?1 AND position = ?2 AND leased_by = ?3 AND attempts = ?4
RETURNING position";

/// Workflow, position, attempt. Returns a row if it was claimed so often.
pub const CAME_BACK: &str = "
UPDATE command_deliveries SET vanished = 0, deaths = 0
WHERE workflow_id = ?1 AND position = ?2 AND attempts >= ?3
RETURNING position";

/// Workflow, position, now. Returns a row if it set the flag.
pub const MARK_PROCESSED: &str = "
UPDATE workflow_messages
SET processed = 1, processed_at = strftime('%Y-%m-%d %H:%M:%f', ?3 / 1000.0, 'unixepoch')
WHERE workflow_id = ?1 AND position = ?2 AND processed = 0
RETURNING processed";

/// Workflow, position. Returns a row if it cleared the flag.
pub const MARK_UNPROCESSED: &str = "
UPDATE workflow_messages SET processed = 0, processed_at = NULL
WHERE workflow_id = ?1 AND position = ?2 AND processed = 1
RETURNING processed";

/// Workflow, position, processor, attempt, error, next moment, whether to park then (0 or 1).
/// Returns a row if the lease was still held.
pub const RECORD_FAILURE: &str = "
UPDATE command_deliveries
SET leased_by = NULL, failures = failures + 1, error = ?5, due_ms = ?6,
    parked_ms = CASE WHEN ?7 THEN ?6 END, vanished = 0, begun = 0, deaths = 0
WHERE workflow_id = ?1 AND position = ?2 AND leased_by = ?3 AND attempts = ?4
RETURNING position";

/// Workflow, position, processor, attempt, now. Returns a row if the lease was still held.
pub const RELEASE: &str = "
UPDATE command_deliveries SET leased_by = NULL, begun = 0, due_ms = ?5
WHERE workflow_id = ?1 AND position = ?2 AND leased_by = ?3 AND attempts = ?4
RETURNING position";

/// Workflow and position to begin behind, limit. Messages, and then attempts, failures, error and
/// the moment of parking.
pub const PARKED: &str = concat!(
    "SELECT ",
    columns!(),
    ", d.attempts, d.failures, d.error, d.parked_ms
FROM command_deliveries AS d
JOIN workflow_messages AS m ON m.workflow_id = d.workflow_id AND m.position = d.position
WHERE d.parked_ms IS NOT NULL AND (d.workflow_id, d.position) > (?1, ?2)
ORDER BY d.workflow_id, d.position LIMIT ?3"
);

/// Workflow, position, now. Returns a row if it was parked.
pub const UNPARK: &str = "
UPDATE command_deliveries SET parked_ms = NULL, failures = 0, due_ms = ?3
WHERE workflow_id = ?1 AND position = ?2 AND parked_ms IS NOT NULL
RETURNING position";

/// Message id, now. Returns a row if the effect is not there yet; to be followed by the effect in
/// the same transaction.
pub const RECORD_EFFECT: &str = "
INSERT INTO command_effects (message_id, applied_ms) VALUES (?1, ?2)
ON CONFLICT (message_id) DO NOTHING
RETURNING message_id";
