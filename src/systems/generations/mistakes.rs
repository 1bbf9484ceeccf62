//! Slips in the reference of generations.

use crate::systems::mistake::{Mistake, mistakes};

mistakes! {
    HAS_A_DAY = "has-a-day", "a generation may take a day, whatever its client says",
        breaks "every request ends";
    NOBODY_WATCHES = "nobody-watches", "no message in the queue looks after a generation, only its alarm",
        breaks nothing;
    STOPS_WATCHING = "stops-watching", "the message that looks after a generation is acknowledged when its object does not answer",
        breaks nothing;
    COUNTS_WHAT_WAS_ASKED = "counts-what-was-asked", "writes down as many artifacts as were asked for",
        breaks "a generation counts its artifacts";
    SHOWS_LATECOMERS = "shows-latecomers", "an artifact that arrives when its generation is over is added",
        breaks "final is final";
    SWEEPS_EVERYTHING = "sweeps-everything", "deletes the bytes of artifacts that are in the library too",
        breaks "final is final";
    ONE_TAG = "one-tag", "writes the first tag alone",
        breaks "tags are as asked";
    ALL_AT_ONCE = "all-at-once", "adds all artifacts that are stored in one transaction",
        breaks "artifacts come one by one";
    ROW_BEFORE_BYTES = "row-before-bytes", "adds an artifact before its bytes are in the bucket",
        breaks "an artifact has its bytes";
    KEEPS_WHATEVER_COMES = "keeps-whatever-comes", "stores the provider's answer without a look at its status",
        breaks "an artifact has its bytes";
    MIXES_VERSIONS = "mixes-versions", "a part is asked for without the version that the others are of",
        breaks "an artifact has its bytes";
    COUNTS_BEFORE = "counts-before", "a part is counted before it is uploaded",
        breaks "an artifact has its bytes";
    NUMBERS_OF_OTHERS = "numbers-of-others", "an object that was restarted uploads a part under the number of the one before",
        breaks "an artifact has its bytes";
    FETCHES_THE_WHOLE = "fetches-the-whole", "a result is fetched as one body, however long it is",
        breaks "an artifact comes in parts";
    NEVER_ABORTS = "never-aborts", "an upload that is given up is not aborted",
        breaks "no upload is left open";
    NEVER_SWEEPS = "never-sweeps", "leaves what came too late for the library in the bucket",
        breaks "nothing is left over";
    SWEEPS_AT_ONCE = "sweeps-at-once", "sweeps while a request to the bucket may still be on its way",
        breaks "nothing is left over";
    FORGETS_THE_PUT = "forgets-the-put", "does not write down that something may be in the bucket",
        breaks "nothing is left over";
    JOBS_WITHOUT_A_NAME = "jobs-without-a-name", "every request for a job gives it a new name",
        breaks "nothing is paid for twice";
    TRIES_FOR_EVER = "tries-for-ever", "a job that failed is followed by another, however many there were",
        breaks nothing;
    EXPIRED_IS_GONE = "expired-is-gone", "a result whose address has expired is given up",
        breaks "what was paid for is kept";
    ARTIFACTS_BY_NUMBER = "artifacts-by-number", "an artifact is named by its model and its number",
        breaks "generations are apart";
    CLAIMS_ANEW = "claims-anew", "a key that has an id is given another",
        breaks "one generation per key";
    ASKS_THE_LIBRARY_ALONE = "asks-the-library-alone", "what is not in the library yet is not known",
        breaks "an id that was given is known";
    SETTLED_IS_UNKNOWN = "settled-is-unknown", "what is settled and not yet in the library is not known",
        breaks "an id that was given is known";
    SWEEPING_IS_ACTIVE = "sweeping-is-active", "a generation is called active until the bucket is swept",
        breaks "status only goes forward";
    EVERY_WEBHOOK_IS_WELCOME = "every-webhook-is-welcome", "a webhook for a generation that is over or unknown is answered with 200",
        breaks "a stray webhook changes nothing";
    BELIEVES_EVERYBODY = "believes-everybody", "the signature of a webhook is not looked at",
        breaks "a forged webhook is refused";
    NEVER_TOO_OLD = "never-too-old", "a webhook that was signed long ago is heard again",
        breaks "a forged webhook is refused";
    WRITES_AT_BIRTH = "writes-at-birth", "an object stores something when it is constructed, for any request",
        breaks "a stray webhook changes nothing";
    READY_BEFORE_ITS_ROW = "ready-before-its-row", "tells of an artifact before the library has it",
        breaks "progress is true";
    TELLS_THE_END_EARLY = "tells-the-end-early", "tells of the end before the library has it",
        breaks "progress is true";
    ALARM_READS_THE_REQUEST = "alarm-reads-the-request", "the alarm begins with the request, which an object that is done has forgotten",
        breaks "no alarm is dropped for good";
    UNREADABLE_END = "unreadable-end", "an object that is done writes that down in words that it cannot read",
        breaks "no object refuses every call";
    HEARS_EVERYTHING_AGAIN = "hears-everything-again", "a report on a job whose end is known counts again",
        breaks "no upload is left open";
    BUSY_IS_FINAL = "busy-is-final", "a provider that is busy is taken for one that refuses",
        breaks "every artifact is tried";
    NEVER_MODIFIED = "never-modified", "a client that has any bytes is told that they are the artifact's",
        breaks "an artifact is served as it is";
    SWAPS_SIDES = "swaps-sides", "the width of an artifact is written as its height",
        breaks "figures are the provider's";
    ONE_PRICE = "one-price", "every artifact of a generation is taken to cost as much as the dearest",
        breaks "figures are the provider's";
    REPLACES_IN_TWO = "replaces-in-two", "removes the tags of an artifact, and then sets those that replace them",
        breaks "tags of an artifact are as set";
    REPLACING_ADDS = "replacing-adds", "tags that replace others are added to them",
        breaks "tags of an artifact are as set";
    PAGES_BY_OFFSET = "pages-by-offset", "a page begins behind as many rows as were seen",
        breaks "browsing neither skips nor repeats";
    CURSOR_TOO_FAR = "cursor-too-far", "the cursor of a page is the first row that is not on it",
        breaks "browsing neither skips nor repeats";
    NEEDS_NO_KEY = "needs-no-key", "a request without a key is taken for one of the first client",
        breaks "a client sees its own alone";
    SHOWS_OTHERS = "shows-others", "what is asked for by its id is shown to every client",
        breaks "a client sees its own alone";
    LISTS_EVERYBODY = "lists-everybody", "pages have what all clients have",
        breaks "a client sees its own alone";
    KEYS_IN_COMMON = "keys-in-common", "a request that another client has made under the same key is taken for this one",
        breaks "a client sees its own alone";
    ONE_BILL = "one-bill", "a client is told what all clients have spent",
        breaks "a client pays for its own alone";
}
