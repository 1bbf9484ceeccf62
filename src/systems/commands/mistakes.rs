//! Slips in the reference of commands.

use crate::systems::mistake::{Mistake, mistakes};

mistakes! {
    NO_INDEX = "no-index", "nothing keeps a second check-out of a command away",
        breaks "no command takes effect twice";
    MARKS_FIRST = "marks-first", "marks a command before it is carried out",
        breaks "no command is lost";
    UNMARKS_FAILURES = "unmarks-failures", "takes the mark of a command back when an attempt has failed",
        breaks "a flag is set once";
    SKIPS_A_POSITION = "skips-a-position", "appends one position further on than the end of the stream",
        breaks "positions are dense";
    STATE_APART = "state-apart", "the state is written in another transaction than the messages",
        breaks "live state is rebuilt state";
    STATE_BEFORE = "state-before", "the state that is written is the one before the messages",
        breaks "live state is rebuilt state";
    ONE_MORE_PENDING = "one-more-pending", "a question for pending commands is answered with one more than asked for",
        breaks "the pending query is exact";
    PENDING_FROM_THERE = "pending-from-there", "pending commands begin with the place behind which they were asked for",
        breaks "the pending query is exact";
    PARKS_SOON = "parks-soon", "a command that fails twice is set aside, whatever was to blame",
        breaks "only poison is set aside";
    STOPS_WHEN_DONE = "stops-when-done", "a processor that has had something to do goes home, whatever has failed",
        breaks "poison holds up nobody";
    GOES_HOME = "goes-home", "a processor that has had nothing to do for twenty minutes goes home",
        breaks "no command is lost";
    NEVER_PARKS = "never-parks", "a command that fails is tried for ever",
        breaks "the application comes to rest";
    TELLS_FIRST = "tells-first", "the workflow is told that a guest has left before the command is carried out",
        breaks "an outcome is told as it was";
    EVERYBODY_LEFT = "everybody-left", "a guest who may not leave is said to have left",
        breaks "an outcome is told as it was";
    TELLS_IF_IT_CAN = "tells-if-it-can", "an outcome that could not be appended is forgotten",
        breaks "the workflow hears of every outcome";
    CONFLICT_IS_SUCCESS = "conflict-is-success", "a message that finds another in its place counts as appended",
        breaks "the workflow hears of every outcome";
    SILENT_BEHIND_POISON = "silent-behind-poison", "behind a command that cannot be carried out no outcome is told",
        breaks "the workflow hears of every outcome";
    LEAVES_LATER = "leaves-later", "the check-out is written first, and that the guest has left afterwards",
        breaks "a stay ends once";
    LEAVES_ANY_STAY = "leaves-any-stay", "a check-out that is repeated ends the stay that the guest has begun since",
        breaks "a stay ends once";
    STALE_FAILURES_COUNT = "stale-failures-count", "a failure is recorded for the processor that holds the command now",
        breaks nothing;
    NO_LEASE = "no-lease", "a command that is claimed is free again after a millisecond",
        breaks "the application comes to rest";
}
