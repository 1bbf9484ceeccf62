//! The copy of a result: from the provider into the bucket, one part at a time.
//!
//! A worker cannot hold a film in memory, and a stream dies with the object that reads it. So a part is asked for by
//! its range, uploaded, and written down before the next one is asked for. All parts are of one version of the result:
//! the first answer says which, and each later request insists on it.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use thunderhead_sim::r2::{self, Code, HttpMetadata, UploadedPart};
use thunderhead_sim::{Body, Error, MultipartUpload, Request, Response};

use super::generation::Generation;
use super::library;
use super::mistakes;
use super::names::{BUCKET, PART_BYTES, key};
use super::store::{Phase, Task, TaskStatus};

/// How far a copy is that takes more than one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Copy {
    /// The version of the result, and its size.
    pub etag: String,
    pub size: u64,
    /// How many bytes are in the bucket.
    pub copied: u64,
    /// The id of the upload.
    pub upload: String,
    /// What it consists of so far.
    pub parts: Vec<UploadedPart>,
}

/// What the provider says to a request for a part.
enum Answer {
    Part(Part),
    /// The version that was asked for is not there any more.
    Changed,
    /// There is no result.
    Gone,
}

/// Some bytes of a result.
struct Part {
    bytes: Body,
    etag: String,
    /// The size of the whole result.
    size: u64,
    /// Where it was found.
    url: Option<String>,
}

impl Generation {
    /// Takes the next step of a copy.
    pub(super) async fn stream(&self, n: u32, task: &Task) -> Result<bool, Error> {
        match &task.copy {
            None => self.begin(n, task).await,
            Some(copy) if copy.copied < copy.size => self.go_on(n, task, copy).await,
            Some(copy) => self.complete(n, task, copy).await,
        }
    }

    /// Asks for the first part. If it is all there is, it becomes the object; otherwise an upload begins with it.
    async fn begin(&self, n: u32, task: &Task) -> Result<bool, Error> {
        let part = match self.fetch_part(task, 0, None).await? {
            Answer::Part(part) => part,
            Answer::Changed => return Err(changed_meanwhile()),
            Answer::Gone => return self.changed(n, &gone(task)),
        };
        // Written down in the same turn in which the request leaves: from here on there may be
        // something under the key, whatever is heard of it.
        let put = !mistakes::FORGETS_THE_PUT.is_made(&self.env);
        let putting = Task { put, url: part.url, ..task.clone() };
        if mistakes::ROW_BEFORE_BYTES.is_made(&self.env) {
            let of = &self.store.request()?.create;
            library::add_artifacts(&self.env, of, &[Rc::new(task.clone())]).await?;
        }
        if !self.changed(n, &putting)? {
            return Ok(false);
        }
        let bucket = self.env.bucket(BUCKET);
        let content_type = task.content_type.as_deref().map(Into::into);
        let metadata = HttpMetadata { content_type, ..HttpMetadata::default() };
        if part.bytes.len() as u64 == part.size {
            bucket.put(&key(&task.artifact), part.bytes).http_metadata(metadata).execute().await?;
            return self.changed(n, &Task { status: TaskStatus::Stored, ..putting });
        }
        let create = bucket.create_multipart_upload(&key(&task.artifact)).http_metadata(metadata);
        let upload = create.execute().await?.upload_id().to_string();
        let Part { etag, size, bytes, .. } = part;
        let copy = Copy { etag, size, copied: 0, upload, parts: Vec::new() };
        let begun = Task { copy: Some(copy.clone()), ..putting };
        // Even if the generation is over: what is written down is aborted when it is swept.
        if !self.remember(n, &begun)? {
            return Ok(false);
        }
        self.upload(n, &begun, copy, bytes).await
    }

    /// Copies the next part.
    async fn go_on(&self, n: u32, task: &Task, copy: &Copy) -> Result<bool, Error> {
        match self.fetch_part(task, copy.copied, Some(&copy.etag)).await? {
            // Nothing leaves for the bucket once the generation is over.
            Answer::Part(_) if !self.store.is_active()? => Ok(false),
            Answer::Part(part) => {
                let task = Task { url: part.url, ..task.clone() };
                self.upload(n, &task, copy.clone(), part.bytes).await
            }
            Answer::Changed => self.begin_anew(n, task).await,
            // The upload is aborted when the generation is swept.
            Answer::Gone => self.changed(n, &gone(task)),
        }
    }

    /// Uploads a part and writes down that it is there. If that is not heard of, or not written down, the same bytes
    /// are uploaded again under the same number.
    async fn upload(
        &self,
        n: u32,
        task: &Task,
        mut copy: Copy,
        bytes: Body,
    ) -> Result<bool, Error> {
        let number = copy.parts.len() as i64 + 1;
        let number = match mistakes::NUMBERS_OF_OTHERS.is_made(&self.env) {
            true if self.env.life() > 1 => (number - 1).max(1),
            _ => number,
        };
        copy.copied += bytes.len() as u64;
        if mistakes::COUNTS_BEFORE.is_made(&self.env) {
            self.changed(n, &Task { copy: Some(copy.clone()), ..task.clone() })?;
        }
        let part = match self.upload_of(task, &copy).upload_part(number, bytes).await {
            Err(Error::R2(error)) if !error.is_transient() => {
                return self.begin_anew(n, task).await;
            }
            part => part?,
        };
        copy.parts.retain(|other| other.part_number != number);
        copy.parts.push(part);
        self.changed(n, &Task { copy: Some(copy), ..task.clone() })
    }

    /// Makes the parts one object. An upload that is not there has been completed before, if there is an object.
    async fn complete(&self, n: u32, task: &Task, copy: &Copy) -> Result<bool, Error> {
        match self.upload_of(task, copy).complete(copy.parts.clone()).await {
            Ok(_) => {}
            Err(Error::R2(error)) if is_unknown(&error) => {
                if self.env.bucket(BUCKET).head(&key(&task.artifact)).await?.is_none() {
                    return self.begin_anew(n, task).await;
                }
            }
            Err(Error::R2(error)) if !error.is_transient() => {
                return self.begin_anew(n, task).await;
            }
            Err(error) => return Err(error),
        }
        self.changed(n, &Task { status: TaskStatus::Stored, copy: None, ..task.clone() })
    }

    /// Gives an upload up, and has the copy begin again after a pause.
    async fn begin_anew(&self, n: u32, task: &Task) -> Result<bool, Error> {
        self.abort(task).await?;
        self.changed(n, &Task { copy: None, ..task.clone() })?;
        Err(changed_meanwhile())
    }

    /// Aborts the upload of a task, if there is one; to abort it again is no error.
    pub(super) async fn abort(&self, task: &Task) -> Result<(), Error> {
        match &task.copy {
            Some(copy) if !mistakes::NEVER_ABORTS.is_made(&self.env) => {
                self.upload_of(task, copy).abort().await
            }
            _ => Ok(()),
        }
    }

    fn upload_of(&self, task: &Task, copy: &Copy) -> MultipartUpload {
        self.env.bucket(BUCKET).resume_multipart_upload(&key(&task.artifact), &copy.upload)
    }

    /// Keeps a task as it is now, whether or not the generation is still under way; says whether it is.
    fn remember(&self, n: u32, task: &Task) -> Result<bool, Error> {
        if !matches!(self.store.phase()?, None | Some(Phase::Done)) {
            self.store.put_task(n, task)?;
        }
        self.store.is_active()
    }

    /// Asks for a part, of this version if one is given. An address is only good for a while, and the provider gives a
    /// new one on request.
    async fn fetch_part(
        &self,
        task: &Task,
        first: u64,
        etag: Option<&str>,
    ) -> Result<Answer, Error> {
        let longest = self.part_bytes()?;
        let request = |url: &str| {
            let get = Request::new("GET", url, "");
            if mistakes::FETCHES_THE_WHOLE.is_made(&self.env) {
                return get;
            }
            let range = format!("bytes={first}-{}", first + longest - 1);
            let get = get.with_header("range", &range);
            match etag {
                Some(etag) if !mistakes::MIXES_VERSIONS.is_made(&self.env) => {
                    get.with_header("if-match", etag)
                }
                _ => get,
            }
        };
        let mut url = task.url.clone();
        let mut response = self.provider(request(url.as_deref().unwrap_or_default())).await?;
        if mistakes::KEEPS_WHATEVER_COMES.is_made(&self.env) {
            return Ok(Answer::Part(Part::whole(response, url)));
        }
        if response.status == 410 {
            if mistakes::EXPIRED_IS_GONE.is_made(&self.env) {
                return Ok(Answer::Gone);
            }
            url = self.ask(task).await?.url;
            response = self.provider(request(url.as_deref().unwrap_or_default())).await?;
        }
        match response.status {
            206 => {
                let part = Part::read(response, url, (first, longest))?;
                let same = etag.is_none_or(|etag| etag == part.etag)
                    || mistakes::MIXES_VERSIONS.is_made(&self.env);
                Ok(if same { Answer::Part(part) } else { Answer::Changed })
            }
            // A provider that does not know ranges answers with everything.
            200 if etag.is_none() && response.body.len() as u64 <= longest
                || mistakes::FETCHES_THE_WHOLE.is_made(&self.env) =>
            {
                Ok(Answer::Part(Part::whole(response, url)))
            }
            412 => Ok(Answer::Changed),
            404 => Ok(Answer::Gone),
            status => Err(Error::app(format!("the provider answered {status}"))),
        }
    }

    /// How long a part is, at most.
    fn part_bytes(&self) -> Result<u64, Error> {
        let set = self.env.var(PART_BYTES)?;
        let bytes = set.parse().ok().filter(|bytes| *bytes > 0);
        bytes
            .ok_or_else(|| Error::app(format!("`{PART_BYTES}` is `{set}`, and no number of bytes")))
    }
}

impl Part {
    fn whole(response: Response, url: Option<String>) -> Part {
        let etag = response.headers.get("etag").unwrap_or_default().into();
        Part { etag, size: response.body.len() as u64, bytes: response.body, url }
    }

    /// Reads an answer with a range, which has to begin and to end where it was asked to: all parts of an upload but
    /// the last are of one size.
    fn read(response: Response, url: Option<String>, asked: (u64, u64)) -> Result<Part, Error> {
        let range = response.headers.get("content-range").unwrap_or_default();
        let etag = response.headers.get("etag").unwrap_or_default();
        let length = response.body.len() as u64;
        match size_of(range, asked, length) {
            Some(size) if !etag.is_empty() => {
                Ok(Part { etag: etag.into(), size, bytes: response.body, url })
            }
            Some(_) => Err(Error::app("the provider does not say which version a part is of")),
            None => Err(Error::app(format!(
                "the provider answered with `{range}` and {length} bytes to a request for {} from {} on",
                asked.1, asked.0
            ))),
        }
    }
}

/// The size of a result of which `bytes FIRST-LAST/SIZE` is the range that was asked for, with so many bytes; none if
/// it is another.
fn size_of(range: &str, (first, longest): (u64, u64), length: u64) -> Option<u64> {
    let (range, size) = range.strip_prefix("bytes ")?.split_once('/')?;
    let (from, last) = range.split_once('-')?;
    let (from, last): (u64, u64) = (from.parse().ok()?, last.parse().ok()?);
    let size: u64 = size.parse().ok()?;
    let wanted = longest.min(size.checked_sub(first)?);
    let right = from == first && last.checked_sub(from)? + 1 == wanted && length == wanted;
    right.then_some(size)
}

/// Whether R2 does not know an upload, or not any more.
fn is_unknown(error: &r2::Error) -> bool {
    error.code().and_then(Code::from_number) == Some(Code::NoSuchUpload)
}

fn changed_meanwhile() -> Error {
    Error::app("the result is copied anew, because it or its upload has changed")
}

fn gone(task: &Task) -> Task {
    let error = Some("the provider has not kept the result".into());
    Task { status: TaskStatus::Failed, error, ..task.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_tells_the_size_if_it_is_the_one_that_was_asked_for() {
        assert_eq!(size_of("bytes 0-63/150", (0, 64), 64), Some(150));
        assert_eq!(size_of("bytes 128-149/150", (128, 64), 22), Some(150));
        for (range, first, length) in [
            ("bytes 0-63/150", 64, 64),
            ("bytes 0-63/150", 0, 63),
            ("bytes 0-31/150", 0, 32),
            ("bytes 0-149/150", 0, 150),
            ("bytes 160-170/150", 160, 11),
            ("bytes 9-0/150", 9, 1),
            ("bytes 0-63/*", 0, 64),
            ("bytes */150", 0, 64),
            ("0-63/150", 0, 64),
            ("", 0, 0),
        ] {
            assert_eq!(size_of(range, (first, 64), length), None, "{range}");
        }
    }

    #[test]
    fn a_part_without_a_version_is_refused() {
        let part = Response::new(206, "abc").with_header("content-range", "bytes 0-2/5");
        assert!(Part::read(part.clone(), None, (0, 3)).is_err());
        let part = Part::read(part.with_header("etag", "\"v1\""), None, (0, 3));
        assert_eq!(part.map(|part| (part.etag, part.size)), Ok(("\"v1\"".into(), 5)));
    }
}
