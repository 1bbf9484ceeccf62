//! Slips in the reference of uploads.

use crate::systems::mistake::{Mistake, mistakes};

mistakes! {
    RANDOM_INSTANCE = "random-instance", "each attempt to start a workflow gives it a new id",
        breaks "one workflow per event";
    ACKS_FIRST = "acks-first", "acknowledges a message, then handles it",
        breaks "acknowledged when all is done";
    ACKS_FAILURES = "acks-failures", "acknowledges a message that could not be handled",
        breaks "the latest upload wins";
    DEAD_LETTERS_UNREAD = "dead-letters-unread", "nobody reads the dead-letter queue",
        breaks "every message is handled";
    IGNORES_DELETIONS = "ignores-deletions", "acknowledges a deletion and does nothing",
        breaks "deleted stays deleted";
    KEEPS_DELETED = "keeps-deleted", "the row of an upload that is gone stays",
        breaks "the latest upload wins";
    BELIEVES_EVERY_LOOK = "believes-every-look", "applies an answer of R2 although another was applied since it was asked",
        breaks "no stale overwrite";
    RESULT_MAKES_CURRENT = "result-makes-current", "a label that arrives makes its upload the one that the row describes",
        breaks "no stale overwrite";
    ONE_AGENT = "one-agent", "every notification goes to the agent of one organisation",
        breaks "the latest upload wins";
    SERVES_STRANGERS = "serves-strangers", "who asks is not compared with whose it is",
        breaks "organisations stay apart";
    NEEDS_NO_SESSION = "needs-no-session", "a request without a session is served",
        breaks "organisations stay apart";
    NAMES_ALONE = "names-alone", "the id of an event leaves the organisation out",
        breaks "organisations stay apart";
    LISTS_ANOTHER = "lists-another", "the list of an organisation is that of another",
        breaks "clients see the end";
    TELLS_NO_END = "tells-no-end", "clients are not told that an upload is classified",
        breaks "clients see the end";
    RETRIES_MALFORMED = "retries-malformed", "a message that cannot be read is tried again, and never written down",
        breaks "a malformed message is counted once";
    REJECTS_ATTEMPTS = "rejects-attempts", "a malformed message is written down under its id and the number of the delivery",
        breaks "a malformed message is counted once";
    FORGETS_THE_REPLACED = "forgets-the-replaced", "what was known of an upload is forgotten when another replaces it",
        breaks "statuses only go forward";
    WRITES_EVERY_TIME = "writes-every-time", "a row that describes the upload already is written anew",
        breaks "a duplicate changes nothing";
    STARTS_ANYTHING = "starts-anything", "a row becomes running whatever it was",
        breaks "statuses only go forward";
    SKIPS_RUNNING = "skips-running", "a row that is queued becomes classified at once",
        breaks "statuses only go forward";
    READS_WHATEVER_IS_THERE = "reads-whatever-is-there", "the workflow reads its image by the key alone",
        breaks "a label belongs to its bytes";
    SECOND_LABEL = "second-label", "takes the second label of the model",
        breaks "a label belongs to its bytes";
    LOSES_THE_SCORE = "loses-the-score", "writes the label with a score of 0",
        breaks "a label belongs to its bytes";
    TRACKS_NOTHING = "tracks-nothing", "leaves the tracking table to the SDK, which writes after it creates",
        breaks "no workflow is left untracked";
    TRACKS_THE_RESULT = "tracks-the-result", "the tracking says how the picture fared, and nobody asks how its workflow ended",
        breaks "a workflow is tracked to its end";
    BELIEVES_EXISTS = "believes-exists", "an instance that is said to exist is not asked how it stands",
        breaks "no row is stuck";
    ABANDONS_SILENTLY = "abandons-silently", "a workflow whose bytes are gone ends, and nobody writes that down",
        breaks "no row is stuck";
    NEVER_RESUMES = "never-resumes", "a workflow that ended without its bytes is not restarted when they are back",
        breaks "no row is stuck";
    PAUSES_FOR_GOOD = "pauses-for-good", "a workflow whose bytes are gone is paused, and never resumed",
        breaks "every workflow ends";
    UNWRAPS_LABEL = "unwraps-label", "takes it for granted that the model has a label",
        breaks "the application comes to rest";
    GIVES_UP_ON_THE_MODEL = "gives-up-on-the-model", "an error of the model that would pass is taken for a final one",
        breaks "only a bad picture fails";
    TERMINATES_AND_FORGETS = "terminates-and-forgets", "nobody writes down that the workflow of a deleted upload is terminated",
        breaks "no row is stuck";
    HIDES_THE_REASON = "hides-the-reason", "the list does not say why an upload failed",
        breaks "clients see the end";
    SILENT_DELETION = "silent-deletion", "clients are not told that an upload is deleted",
        breaks "clients see the end";
    TELLS_OF_EVERY_DELETION = "tells-of-every-deletion", "a deletion is told before it is known whether another upload has come since",
        breaks "clients are told the truth";
    CLASSIFIES_IN_ADVANCE = "classifies-in-advance", "a picture is said to be classified before it is loaded",
        breaks "clients are told the truth";
    ANY_ETAG_WILL_DO = "any-etag-will-do", "who has some version of a picture is told that it is the current one",
        breaks "a picture is as R2 holds it";
    ONE_STUB = "one-stub", "the workflow keeps one stub of its agent, which is broken once the agent was reset",
        breaks "no row is stuck";
}
