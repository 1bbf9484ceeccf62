//! The statements on PostgreSQL, one for each operation of a store. The comment on each names its
//! parameters in order. Where `now` is NULL the server's clock says what it is.

/// The columns of a message as `Record` lists them.
macro_rules! columns {
    () => {
        "m.workflow_id, m.position, \
         CASE m.kind WHEN 'C' THEN 'Command' ELSE 'Event' END, \
         CASE m.direction WHEN 'I' THEN 'Input' ELSE 'Output' END, \
         m.message_id, m.message_type, m.message_data::text, m.message_metadata::text, \
         m.processed::int::bigint, (extract(epoch FROM m.created_at) * 1000)::bigint, \
         (extract(epoch FROM m.processed_at) * 1000)::bigint"
    };
}

/// A parameter that is a moment in milliseconds, or now. The time of the statement does not change
/// within it, so an index can be searched for it.
macro_rules! now {
    ($parameter:literal) => {
        concat!(
            "coalesce(",
            $parameter,
            "::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)"
        )
    };
}

/// A moment in milliseconds, as a column of messages holds it.
macro_rules! timestamp {
    ($moment:expr) => {
        concat!("(TIMESTAMPTZ 'epoch' + ", $moment, " * INTERVAL '1 millisecond')")
    };
}

/// The condition of the index of pending commands.
macro_rules! pending {
    () => {
        "m.kind = 'C' AND m.direction = 'O' AND m.processed = false"
    };
}

/// Workflow, expected version, batch, now. Adds all of the batch, or nothing when the version is
/// another; fails when one of the ids, or one of the positions, has been taken at the same time.
pub const APPEND: &str = concat!(
    "INSERT INTO workflow_messages (workflow_id, position, kind, direction, message_id, message_type,
    message_data, message_metadata, processed, created_at)
SELECT $1, $2 + entry.number, left(entry.value ->> 'kind', 1),
    left(entry.value ->> 'direction', 1), entry.value ->> 'id', entry.value ->> 'type',
    (entry.value ->> 'data')::jsonb, (entry.value ->> 'metadata')::jsonb,
    CASE WHEN entry.value ->> 'kind' = 'Command' AND entry.value ->> 'direction' = 'Output'
        THEN false END,
    ",
    timestamp!(now!("$4")),
    " FROM jsonb_array_elements($3::text::jsonb) WITH ORDINALITY AS entry (value, number)
WHERE $2::bigint =
    (SELECT coalesce(max(position), 0) FROM workflow_messages WHERE workflow_id = $1)"
);

/// Workflow, ids. How long the stream is, and where the messages are: version, and then message
/// id, workflow and position, which are all absent where none was found. One statement, because
/// both have to be of one moment.
pub const FOUND: &str = "
SELECT stream.version, m.message_id, m.workflow_id, m.position
FROM (SELECT coalesce(max(position), 0) AS version FROM workflow_messages WHERE workflow_id = $1)
    AS stream
LEFT JOIN workflow_messages AS m ON m.message_id = ANY ($2)";

/// Workflow, first position. Messages.
pub const READ_STREAM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_messages AS m WHERE m.workflow_id = $1 AND m.position >= $2
ORDER BY m.position"
);

/// Workflow and position to begin behind, limit. Messages.
pub const PENDING_OF_ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_messages AS m WHERE ",
    pending!(),
    " AND (m.workflow_id, m.position) > ($1, $2) ORDER BY m.workflow_id, m.position LIMIT $3"
);

/// Workflow, position to begin behind, limit. Messages.
pub const PENDING_OF_ONE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_messages AS m WHERE ",
    pending!(),
    " AND m.workflow_id = $1 AND m.position > $2 ORDER BY m.position LIMIT $3"
);

/// Processor, now, length of the lease, limit. Leases commands that nobody else is about to lease
/// or to mark: messages, and then end of the lease, attempt, failures, vanished and deaths. A lease
/// that nobody has ended has vanished.
pub const CLAIM: &str = concat!(
    "WITH due AS MATERIALIZED (
    SELECT workflow_id, position FROM command_deliveries
    WHERE parked_ms IS NULL AND due_ms <= ",
    now!("$2"),
    " ORDER BY due_ms, workflow_id, position LIMIT $4
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE command_deliveries AS d
    SET leased_by = $1, due_ms = ",
    now!("$2"),
    " + $3, attempts = attempts + 1, vanished = vanished + (leased_by IS NOT NULL)::int,
        deaths = deaths + begun::int, begun = false
    FROM due WHERE d.workflow_id = due.workflow_id AND d.position = due.position
    RETURNING d.workflow_id, d.position, d.due_ms, d.attempts, d.failures, d.vanished,
        d.deaths
) SELECT ",
    columns!(),
    ", leased.due_ms, leased.attempts, leased.failures, leased.vanished, leased.deaths FROM leased
JOIN workflow_messages AS m ON m.workflow_id = leased.workflow_id AND m.position = leased.position"
);

/// Workflow, position, processor, attempt. Returns a row if the lease was still held.
pub const BEGIN: &str = "
UPDATE command_deliveries SET begun = true
WHERE workflow_id = $1 AND position = $2 AND leased_by = $3 AND attempts = $4
RETURNING position";

/// Workflow, position, attempt. Returns a row if it was claimed so often.
pub const CAME_BACK: &str = "
UPDATE command_deliveries SET vanished = 0, deaths = 0
WHERE workflow_id = $1 AND position = $2 AND attempts >= $3
RETURNING position";

/// Workflow, position, now. Returns a row if it set the flag.
pub const MARK_PROCESSED: &str = concat!(
    "UPDATE workflow_messages SET processed = true, processed_at = ",
    timestamp!(now!("$3")),
    " WHERE workflow_id = $1 AND position = $2 AND processed = false RETURNING processed"
);

/// Workflow, position. Returns a row if it cleared the flag.
pub const MARK_UNPROCESSED: &str = "
UPDATE workflow_messages SET processed = false, processed_at = NULL
WHERE workflow_id = $1 AND position = $2 AND processed = true
RETURNING processed";

/// Workflow, position, processor, attempt, error, now, pause, whether to park. Returns a row if the
/// lease was still held.
pub const RECORD_FAILURE: &str = concat!(
    "UPDATE command_deliveries SET leased_by = NULL, vanished = 0, begun = false, deaths = 0,
    failures = failures + 1, error = $5, due_ms = ",
    now!("$6"),
    " + $7, parked_ms = CASE WHEN $8 THEN ",
    now!("$6"),
    " END WHERE workflow_id = $1 AND position = $2 AND leased_by = $3 AND attempts = $4
RETURNING position"
);

/// Workflow, position, processor, attempt, now. Returns a row if the lease was still held.
pub const RELEASE: &str = concat!(
    "UPDATE command_deliveries SET leased_by = NULL, begun = false, due_ms = ",
    now!("$5"),
    " WHERE workflow_id = $1 AND position = $2 AND leased_by = $3 AND attempts = $4
RETURNING position"
);

/// Workflow and position to begin behind, limit. Messages, and then attempts, failures, error and
/// the moment of parking.
pub const PARKED: &str = concat!(
    "SELECT ",
    columns!(),
    ", d.attempts, d.failures, d.error, d.parked_ms
FROM command_deliveries AS d
JOIN workflow_messages AS m ON m.workflow_id = d.workflow_id AND m.position = d.position
WHERE d.parked_ms IS NOT NULL AND (d.workflow_id, d.position) > ($1, $2)
ORDER BY d.workflow_id, d.position LIMIT $3"
);

/// Workflow, position, now. Returns a row if it was parked.
pub const UNPARK: &str = concat!(
    "UPDATE command_deliveries SET parked_ms = NULL, failures = 0, due_ms = ",
    now!("$3"),
    " WHERE workflow_id = $1 AND position = $2 AND parked_ms IS NOT NULL RETURNING position"
);

/// Message id, now. Returns a row if the effect is not there yet. Waits for another transaction
/// that is about to bring it, so that never two of them do.
pub const RECORD_EFFECT: &str = "
INSERT INTO command_effects (message_id, applied_ms) VALUES ($1, $2)
ON CONFLICT (message_id) DO NOTHING
RETURNING message_id";
