//! What the upload relay promises: see `RELAY`.

use thunderhead_sim::{SortedMap, SortedSet, Trace};

use crate::history::{contents, stored};
use crate::platform::DELIVERED_TWICE;
use crate::promise::{Finding, Promise};

/// An upload to `photos` gets one receipt in `receipts`, which names its version.
pub const RELAY: &[&Promise] =
    &[&EVERY_UPLOAD, &ONE_RECEIPT, &NEVER_BACK, &RENEWED, &DELIVERED_TWICE];

static EVERY_UPLOAD: Promise = Promise::eventually(
    "every upload has its receipt",
    "when all is quiet, each photo has a receipt that names the version R2 now holds",
    every_upload,
);

static ONE_RECEIPT: Promise = Promise::always(
    "one receipt per upload",
    "no version is written down twice, however often its message comes",
    one_receipt,
);

static NEVER_BACK: Promise = Promise::always(
    "receipts never go back",
    "the receipt of a newer version is never replaced by that of an older one",
    never_back,
);

static RENEWED: Promise = Promise::sometimes(
    "a receipt is renewed",
    "some photo is uploaded again and its receipt follows",
    renewed,
);

fn every_upload(trace: &Trace) -> Result<(), Finding> {
    let kept = contents(trace);
    for photo in kept.of("photos") {
        let (key, short) = (photo.key(), &photo.version()[..8]);
        match kept.get("receipts", key) {
            Some(receipt) if receipt.text() == photo.version() => {}
            Some(_) => {
                let message = format!("{key} is at version {short}, its receipt is not");
                return Err(Finding::missing(message).about([photo.event]));
            }
            None => {
                let message = format!("{key} has no receipt for {short}");
                return Err(Finding::missing(message).about([photo.event]));
            }
        }
    }
    Ok(())
}

fn one_receipt(trace: &Trace) -> Result<(), Finding> {
    let mut seen = SortedSet::new();
    for put in stored(trace).filter(|put| put.bucket == "receipts") {
        if !seen.insert((put.key(), put.text())) {
            let message = format!("{} {} was written down before", put.key(), &put.text()[..8]);
            return Err(Finding::at(put.event, message));
        }
    }
    Ok(())
}

fn never_back(trace: &Trace) -> Result<(), Finding> {
    let mut age = SortedMap::new();
    let mut latest: SortedMap<&str, usize> = SortedMap::new();
    for put in stored(trace) {
        match put.bucket {
            "photos" => drop(age.insert((put.key(), put.version()), put.event)),
            "receipts" => {
                let Some(uploaded) = age.get(&(put.key(), put.text())).copied() else {
                    let message = format!("{} has a receipt for no upload of it", put.key());
                    return Err(Finding::at(put.event, message));
                };
                let before = latest.insert(put.key(), uploaded);
                if before.is_some_and(|before| before > uploaded) {
                    let message = format!("{} went back to {}", put.key(), &put.text()[..8]);
                    return Err(Finding::at(put.event, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn renewed(trace: &Trace) -> bool {
    let mut seen = SortedSet::new();
    stored(trace).any(|put| put.bucket == "receipts" && !seen.insert(put.key()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::History;

    const V1: &str = "11111111aaaaaaaa";
    const V2: &str = "22222222bbbbbbbb";

    /// Two uploads of one photo and the receipts in the given order.
    fn receipts(versions: &[&str]) -> Trace {
        let mut history = History::default();
        history.stored("photos", "cat", "one", V1).stored("photos", "cat", "two", V2);
        for version in versions {
            history.stored("receipts", "cat", version, "r");
        }
        history.trace()
    }

    #[test]
    fn an_upload_without_its_receipt_is_rejected() {
        assert_eq!(every_upload(&receipts(&[V1, V2])), Ok(()));
        let error = every_upload(&receipts(&[])).unwrap_err();
        assert_eq!(error.message, "cat has no receipt for 22222222");
    }

    #[test]
    fn a_receipt_for_an_older_version_is_rejected() {
        assert!(every_upload(&receipts(&[V1])).is_err());
    }

    #[test]
    fn a_version_written_down_twice_is_rejected_where_it_happens() {
        assert_eq!(one_receipt(&receipts(&[V1, V2])), Ok(()));
        assert_eq!(one_receipt(&receipts(&[V1, V2, V2])).unwrap_err().event, Some(4));
    }

    #[test]
    fn a_receipt_that_goes_back_is_rejected_where_it_happens() {
        assert_eq!(never_back(&receipts(&[V1, V2])), Ok(()));
        assert_eq!(never_back(&receipts(&[V2, V1])).unwrap_err().event, Some(3));
    }

    #[test]
    fn a_receipt_for_nothing_is_rejected() {
        let error = never_back(&receipts(&["33333333"])).unwrap_err();
        assert_eq!(error.message, "cat has a receipt for no upload of it");
    }

    #[test]
    fn a_renewed_receipt_is_seen() {
        assert!(!renewed(&receipts(&[V1])));
        assert!(renewed(&receipts(&[V1, V2])));
    }
}
