//! What things are called: the resources of the deployment, keys of objects, and the two ids that are
//! derived from an object's bytes.

use sha2::{Digest, Sha256};
use thunderhead_sim::hex;

/// The bucket that holds the pictures.
pub const BUCKET: &str = "images";
/// The queue that hears of every change of the bucket.
pub const QUEUE: &str = "uploads";
/// Where messages go that failed too often.
pub const DEAD_LETTERS: &str = "uploads-dead";
/// The queue of workflows that are to be asked how they have ended.
pub const WATCH: &str = "uploads-watch";
/// The agents, one for each organisation.
pub const AGENT: &str = "ORGANIZATION";
/// What operators look at.
pub const OPERATOR: &str = "OPERATOR";
/// The workflow that classifies.
pub const WORKFLOW: &str = "OrganizationWorkflow";

/// `organisation/name`, as keys of the bucket are spelled. A name may contain slashes.
pub fn key(organisation: &str, name: &str) -> String {
    format!("{organisation}/{name}")
}

/// The organisation and the name in a key, if it has both.
pub fn parse_key(key: &str) -> Option<(&str, &str)> {
    key.split_once('/').filter(|(organisation, name)| !organisation.is_empty() && !name.is_empty())
}

/// One upload, as far as its bytes tell uploads apart: the same bytes under the same key are the same
/// event, however often they are uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadEvent {
    /// `sha256("key:eTag")`.
    pub id: String,
    /// The ETag of the bytes.
    pub e_tag: String,
}

impl UploadEvent {
    /// The upload of these bytes under this key.
    pub fn new(key: &str, e_tag: &str) -> UploadEvent {
        let id = hex(&Sha256::digest(format!("{key}:{e_tag}")));
        UploadEvent { id, e_tag: e_tag.into() }
    }
}

/// The instance that classifies an event.
pub fn workflow_id(event_id: &str) -> String {
    format!("imgcls_{event_id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_by_the_hash_of_key_and_etag() {
        let event = UploadEvent::new("acme/cat.jpg", "5d41402abc4b2a76b9719d911017c592");
        // sha256sum of `acme/cat.jpg:5d41402abc4b2a76b9719d911017c592`.
        assert_eq!(event.id, "d96145074bd0fb5744e7c278139f6e59210e7937860c1bb2c73c09cc1298883a");
        assert_eq!(workflow_id("ab"), "imgcls_ab");
    }

    #[test]
    fn a_key_has_an_organisation_and_a_name() {
        assert_eq!(parse_key("acme/a/b.jpg"), Some(("acme", "a/b.jpg")));
        for bad in ["", "acme", "acme/", "/cat.jpg"] {
            assert_eq!(parse_key(bad), None, "{bad}");
        }
    }
}
