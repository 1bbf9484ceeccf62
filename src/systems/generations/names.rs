//! What things are called: bindings, keys, hosts.

/// The class of the objects that own a request while it is under way.
pub const GENERATION: &str = "GENERATION";
/// The database: finished generations, their artifacts and tags.
pub const LIBRARY: &str = "LIBRARY";
/// The bucket that has the artifacts.
pub const BUCKET: &str = "media";
/// The queue whose messages look after generations.
pub const WATCH: &str = "watch";
/// Where a message goes that could not be handled for a long time.
pub const WATCH_LATER: &str = "watch-later";
/// The worker that serves requests.
pub const WEB: &str = "web";
/// The provider of pictures and films.
pub const PROVIDER: &str = "provider";

/// The variable that says how many bytes of an artifact are copied at a time. A deployment has 5 MiB or more, which is
/// the least that R2 takes; here films are short, and so are their parts and the least that the bucket takes.
pub const PART_BYTES: &str = "PART_BYTES";
pub const PART_BYTES_VALUE: u64 = 64;

/// Where an artifact is in the bucket.
pub fn key(artifact: &str) -> String {
    format!("artifacts/{artifact}")
}
