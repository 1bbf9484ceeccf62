//! Slips in the reference of comparisons.

use crate::systems::mistake::{Mistake, mistakes};

mistakes! {
    KEEPS_ONE_MORE = "keeps-one-more", "a pair keeps one comparison more than it was told",
        breaks "a pair keeps its newest";
    KEEPS_EVERYTHING = "keeps-everything", "nothing makes way for a new comparison",
        breaks "a pair keeps its newest";
    EVICTS_BY_TIME = "evicts-by-time", "what goes is decided by the time at which comparisons began",
        breaks "a pair keeps its newest";
    PROBES_TWICE = "probes-twice", "a probe has an id of its own, and no constraint keeps a second one away",
        breaks "one probe per side";
    SAVES_ONE_SIDE = "saves-one-side", "the probe of the right side is not saved",
        breaks "one probe per side";
    LAST_PROBE_STAYS = "last-probe-stays", "a probe that is saved again replaces the first",
        breaks "a retried step changes nothing";
    BEGINS_AGAIN = "begins-again", "a comparison that is asked for again begins again",
        breaks "a comparison ends once";
    ROW_FIRST = "row-first", "the row is written before the workflow is created",
        breaks "none runs for ever";
    RESULT_ASTRAY = "result-astray", "the result is saved under the key of the pair",
        breaks "none runs for ever";
    PROBES_ONCE = "probes-once", "a site that does not answer once is taken for one that is not there",
        breaks "the storm leaves no trace";
    EVERY_ATTEMPT_IS_NEW = "every-attempt-is-new", "the asker's name for a request is ignored",
        breaks "one comparison per request";
    EVICTED_COMES_BACK = "evicted-comes-back", "a request that is late brings back a comparison that was evicted",
        breaks "one comparison per request";
    FORGETS_EVICTIONS = "forgets-evictions", "nobody remembers that a comparison was evicted",
        breaks "one comparison per request";
    EVERYTHING_RUNS = "everything-runs", "a comparison that there never was is said to run",
        breaks "answers are true";
    JOINS_URLS = "joins-urls", "the key of a pair is made of both URLs without a mark between them",
        breaks "pairs are apart";
    EITHER_WAY_ROUND = "either-way-round", "a pair and its reverse share a key",
        breaks "pairs are apart";
    COMPARES_WITH_ITSELF = "compares-with-itself", "the right side is compared with itself",
        breaks "the diff follows from the envelopes";
    SWAPS_SIDES = "swaps-sides", "left and right are swapped in the diff",
        breaks "the diff follows from the envelopes";
    PROBES_OUTSIDE_A_STEP = "probes-outside-a-step", "a workflow that goes on after a crash probes again, and compares what it sees then",
        breaks "the diff follows from the envelopes";
    FOLLOWS_ANYWHERE = "follows-anywhere", "where a redirect leads is not checked",
        breaks "no probe goes to a forbidden address";
    CHECKS_NAMES_ONLY = "checks-names-only", "the address that a name resolves to is not checked",
        breaks "no probe goes to a forbidden address";
    RESOLVES_TWICE = "resolves-twice", "the address is checked, and the connection resolves the name again",
        breaks "no probe goes to a forbidden address";
    FOLLOWS_FOR_EVER = "follows-for-ever", "redirects are followed without a limit",
        breaks "a probe follows few redirects";
    STAMPS_IN_SECONDS = "stamps-in-seconds", "the time of a result is in seconds, and all others are in milliseconds",
        breaks "times are true";
    NEEDS_NO_TOKEN = "needs-no-token", "settings are changed for anybody",
        breaks "settings are changed by operators";
    ANY_TOKEN_WILL_DO = "any-token-will-do", "settings are changed for every member, operator or not",
        breaks "settings are changed by operators";
    HISTORY_BY_TIME = "history-by-time", "the history is in the order of the times at which comparisons began",
        breaks "history is newest first";
    KEEPS_ONE_STUB = "keeps-one-stub", "the workflow keeps one stub of its object, which is broken once the object was reset",
        breaks "no workflow fails unheard";
}
