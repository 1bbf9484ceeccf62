//! What the provider has made, as it hands it out: whole, or a range of it, with an ETag that names its version.

use thunderhead_sim::{Body, Request, Response, StableHasher};

use super::wire::TaskType;

/// A film has so many bytes at least, and by chance so many more; a picture has a few.
const FILM_LEAST: u64 = 72;
const FILM_MORE: u64 = 80;

/// A picture or a film.
#[derive(Clone, Debug)]
pub struct Made {
    task_type: TaskType,
    /// What sets it apart from others.
    hash: u64,
    /// How often it was made; each time with other bytes.
    version: u32,
    bytes: Body,
}

impl Made {
    /// The first version of what a job makes.
    pub fn new(id: &str, model: &str, task_type: TaskType) -> Made {
        let hash = StableHasher::of(&(id, model));
        Made { task_type, hash, version: 1, bytes: bytes(task_type, hash, 1) }
    }

    pub fn content_type(&self) -> &'static str {
        content_type(self.task_type)
    }

    /// It is made again, and is something else than before.
    pub fn change(&mut self) {
        self.version += 1;
        self.bytes = bytes(self.task_type, self.hash, self.version);
    }

    /// Whether these bytes are all of it.
    pub fn is_all(&self, bytes: &Body) -> bool {
        self.bytes.len() == bytes.len()
    }

    /// Answers a request for it: 200, 206, 412 or 416.
    pub fn respond(&self, request: &Request) -> Response {
        let (etag, size) =
            (format!("\"{:08x}-{}\"", self.hash as u32, self.version), self.bytes.len());
        if request.headers.get("if-match").is_some_and(|wanted| wanted != etag) {
            return Response::new(412, "");
        }
        let response = match request.headers.get("range").and_then(range) {
            None => Response::new(200, self.bytes.clone()),
            Some((first, _)) if first >= size => {
                return Response::new(416, "")
                    .with_header("content-range", &format!("bytes */{size}"));
            }
            Some((first, last)) => {
                let last = last.min(size - 1);
                let part = Body::from(self.bytes.bytes()[first..=last].to_vec());
                let range = format!("bytes {first}-{last}/{size}");
                Response::new(206, part).with_header("content-range", &range)
            }
        };
        response.with_header("etag", &etag)
    }
}

fn content_type(task_type: TaskType) -> &'static str {
    match task_type {
        TaskType::Image => "image/jpeg",
        TaskType::Video => "video/mp4",
    }
}

/// No two versions have the same bytes in the same place, and no two places of one.
fn bytes(task_type: TaskType, hash: u64, version: u32) -> Body {
    let mut text = format!("{} {hash:016x}", content_type(task_type));
    if task_type == TaskType::Video {
        let length = (FILM_LEAST + hash % FILM_MORE) as usize;
        let mut frame = 0;
        while text.len() < length {
            frame += 1;
            text.push_str(&format!(" {version}.{frame:02}"));
        }
        text.truncate(length);
    }
    Body::from(text)
}

/// The first and the last byte of `bytes=FIRST-LAST`; anything else asks for everything.
fn range(header: &str) -> Option<(usize, usize)> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn film() -> Made {
        Made::new("a-1", "video-1", TaskType::Video)
    }

    fn ask(made: &Made, headers: &[(&str, &str)]) -> Response {
        let get = Request::new("GET", "/", "");
        made.respond(&headers.iter().fold(get, |get, (name, value)| get.with_header(name, value)))
    }

    #[test]
    fn ranges_of_one_version_make_the_whole() {
        let film = film();
        let whole = ask(&film, &[]);
        let etag = whole.headers.get("etag").unwrap_or_default();
        let mut bytes = Vec::new();
        for range in ["bytes=0-29", "bytes=30-59", "bytes=60-999"] {
            let part = ask(&film, &[("range", range), ("if-match", etag)]);
            assert_eq!((part.status, part.headers.get("etag")), (206, Some(etag)));
            bytes.extend_from_slice(part.body.bytes());
        }
        assert_eq!((whole.status, Body::from(bytes)), (200, whole.body));
    }

    #[test]
    fn a_range_behind_the_end_is_refused_and_tells_the_size() {
        let film = film();
        let size = ask(&film, &[]).body.len();
        let refused = ask(&film, &[("range", "bytes=9000-9001")]);
        let told = format!("bytes */{size}");
        assert_eq!((refused.status, refused.headers.get("content-range")), (416, Some(&*told)));
    }

    #[test]
    fn another_version_has_other_bytes_in_every_part_and_is_not_the_old_one() {
        let (old, mut new) = (film(), film());
        new.change();
        let (was, is) = (ask(&old, &[]), ask(&new, &[]));
        assert_eq!(was.body.len(), is.body.len());
        for range in ["bytes=0-40", "bytes=41-71"] {
            let part = |film: &Made| ask(film, &[("range", range)]).body;
            assert_ne!(part(&old), part(&new), "{range}");
        }
        let etag = was.headers.get("etag").unwrap_or_default();
        assert_eq!(ask(&new, &[("if-match", etag)]).status, 412);
    }
}
