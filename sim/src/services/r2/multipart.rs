//! Uploads in parts, from their beginning to the object or the bin.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checksum::{md5, multipart_etag};
use super::ids::Ids;
use super::limits::{MAX_OBJECT_BYTES, MIN_PART_BYTES, UPLOAD_LIFETIME};
use super::{Code, MultipartOptions, Options, UploadedPart};
use crate::values::body::Body;
use crate::values::hex::hex;
use crate::values::sorted_map::SortedMap;
use crate::values::sorted_set::SortedSet;
use crate::values::time::Time;

/// The uploads of one bucket, by id.
///
/// A finished upload is remembered without its parts, because aborting it is no error while
/// aborting one that never was is.
#[derive(Debug, Default)]
pub(super) struct Uploads(SortedMap<Arc<str>, Upload>);

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Upload {
    key: Arc<str>,
    created: Time,
    options: Arc<MultipartOptions>,
    parts: SortedMap<i64, Part>,
    finished: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    etag: Arc<str>,
    md5: [u8; 16],
    body: Body,
}

impl Part {
    fn size(&self) -> u64 {
        self.body.len() as u64
    }
}

/// What a completed upload amounts to.
pub(super) struct Assembled {
    pub(super) etag: Arc<str>,
    pub(super) body: Body,
    pub(super) options: Arc<MultipartOptions>,
}

impl Uploads {
    pub(super) fn get(&self, id: &str) -> Option<&Upload> {
        self.0.get(id)
    }

    pub(super) fn insert(&mut self, id: &str, upload: Upload) {
        self.0.insert(id.into(), upload);
    }

    pub(super) fn create(
        &mut self,
        now: Time,
        ids: &mut Ids,
        key: &Arc<str>,
        options: &Arc<MultipartOptions>,
    ) -> Arc<str> {
        let id = ids.opaque();
        let (key, options) = (key.clone(), options.clone());
        let upload =
            Upload { key, created: now, options, parts: SortedMap::new(), finished: false };
        self.0.insert(id.clone(), upload);
        id
    }

    pub(super) fn upload_part(
        &mut self,
        now: Time,
        ids: &mut Ids,
        options: &Options,
        (key, id): (&str, &str),
        (number, body): (i64, &Body),
    ) -> Result<Arc<str>, Code> {
        let upload = self.find(now, key, id).filter(|upload| !upload.finished);
        let upload = upload.ok_or(Code::NoSuchUpload)?;
        let md5 = md5(body);
        let etag = if options.miniflare_part_etags { ids.opaque() } else { Arc::from(hex(&md5)) };
        upload.parts.insert(number, Part { etag: etag.clone(), md5, body: body.clone() });
        Ok(etag)
    }

    pub(super) fn complete(
        &mut self,
        now: Time,
        options: &Options,
        (key, id): (&str, &str),
        named: &[UploadedPart],
    ) -> Result<Assembled, Code> {
        let least = options.min_part_bytes.unwrap_or(MIN_PART_BYTES);
        let upload = self.find(now, key, id).ok_or(Code::InternalError)?;
        if upload.finished {
            return Err(Code::NoSuchUpload);
        }
        let parts = upload.select(named, least)?;
        let hashes: Vec<_> = parts.iter().map(|part| part.md5).collect();
        let body = match parts.as_slice() {
            [only] => only.body.clone(),
            several => {
                let bytes: Vec<&[u8]> = several.iter().map(|part| part.body.bytes()).collect();
                Body::from(bytes.concat())
            }
        };
        let options = upload.options.clone();
        upload.finish();
        Ok(Assembled { etag: multipart_etag(&hashes), body, options })
    }

    pub(super) fn abort(&mut self, now: Time, key: &str, id: &str) -> Result<(), Code> {
        self.find(now, key, id).ok_or(Code::InternalError)?.finish();
        Ok(())
    }

    /// The upload of this id and key; one that has outlived its time is finished by this look.
    fn find(&mut self, now: Time, key: &str, id: &str) -> Option<&mut Upload> {
        let upload = self.0.get_mut(id).filter(|upload| &*upload.key == key)?;
        if now - upload.created >= UPLOAD_LIFETIME {
            upload.finish();
        }
        Some(upload)
    }
}

impl Upload {
    fn finish(&mut self) {
        self.finished = true;
        self.parts.clear();
    }

    /// The named parts in the order of their numbers. The platform looks at sizes twice, first in
    /// the caller's order, which decides between two error codes.
    fn select(&self, named: &[UploadedPart], least: u64) -> Result<Vec<&Part>, Code> {
        let numbers: SortedSet<i64> = named.iter().map(|part| part.part_number).collect();
        if numbers.len() < named.len() {
            return Err(Code::InternalError);
        }
        let mut parts = Vec::with_capacity(named.len());
        for UploadedPart { part_number, etag } in named {
            let part = self.parts.get(part_number).filter(|part| part.etag == *etag);
            parts.push((*part_number, part.ok_or(Code::InvalidPart)?));
        }
        let small = |(_, part): &(i64, &Part)| part.size() < least;
        if parts.split_last().is_some_and(|(_, others)| others.iter().any(small)) {
            return Err(Code::EntityTooSmall);
        }
        parts.sort_by_key(|(number, _)| *number);
        let sizes: Vec<u64> = parts.iter().map(|(_, part)| part.size()).collect();
        check_sizes(&sizes, least)?;
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }
}

/// All parts but the last are of one size, none too small, and the last is no larger.
fn check_sizes(sizes: &[u64], least: u64) -> Result<(), Code> {
    if let Some((last, others)) = sizes.split_last()
        && let Some(first) = others.first()
    {
        let even = others.iter().all(|size| size == first);
        if !even || *first < least || last > first {
            return Err(Code::BadUpload);
        }
    }
    let total = sizes.iter().sum::<u64>();
    if total > MAX_OBJECT_BYTES { Err(Code::EntityTooLarge) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_judged_as_the_platform_judges_them() {
        const M: u64 = MIN_PART_BYTES;
        let check_sizes = |sizes: &[u64]| check_sizes(sizes, M);
        assert_eq!(check_sizes(&[]), Ok(()));
        assert_eq!(check_sizes(&[1]), Ok(()));
        assert_eq!(check_sizes(&[M, M, 1]), Ok(()));
        assert_eq!(check_sizes(&[M, M]), Ok(()));
        assert_eq!(check_sizes(&[M - 1, 1]), Err(Code::BadUpload));
        assert_eq!(check_sizes(&[M, M + 1]), Err(Code::BadUpload));
        assert_eq!(check_sizes(&[M, M + 1, 1]), Err(Code::BadUpload));
        assert_eq!(check_sizes(&[1 << 30; 5115]), Ok(()));
        assert_eq!(check_sizes(&[1 << 30; 5116]), Err(Code::EntityTooLarge));
    }
}
