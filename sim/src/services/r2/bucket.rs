//! One bucket: its objects, its unfinished uploads and the rules of what it tells to whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checksum::{Checksums, md5};
use super::ids::Ids;
use super::limits::{
    MAX_DELETE_KEYS, MAX_KEY_BYTES, MAX_METADATA_BYTES, MAX_REQUEST_BYTES,
    MINIFLARE_METADATA_BYTES, SAME_KEY_INTERVAL,
};
use super::multipart::Uploads;
use super::object::metadata_bytes;
use super::{
    ACCOUNT, Action, BucketConfig, ByteRange, Code, CopySource, Date, Error, GetOptions,
    HttpMetadata, ListOptions, Method, MultipartOptions, Notification, NotificationObject, Notify,
    Object, PutOptions, Reply, StorageClass, UploadedPart, list,
};
use crate::values::backing_store::BackingStore;
use crate::values::body::Body;
use crate::values::hex::hex;
use crate::values::sorted_map::SortedMap;
use crate::values::time::Time;

#[derive(Debug)]
pub(super) struct Bucket {
    name: Arc<str>,
    account: Arc<str>,
    config: BucketConfig,
    pub(super) objects: SortedMap<Arc<str>, Stored>,
    pub(super) uploads: Uploads,
    /// Persisted only where the limit on writes of one key is enforced.
    last_write: SortedMap<Arc<str>, Time>,
}

#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) object: Arc<Object>,
    pub(super) bytes: Bytes,
}

/// Where the bytes of an object are.
#[derive(Clone, Debug)]
pub(super) enum Bytes {
    Here(Body),
    /// On the way to a file, and in memory until they are there.
    Leaving {
        body: Body,
        file: u64,
    },
    Away {
        file: u64,
    },
}

impl Stored {
    /// The bytes; none when they cannot be read, or are not as many as there were.
    pub(super) fn body(&self, backing_store: Option<&dyn BackingStore>) -> Option<Body> {
        match &self.bytes {
            Bytes::Here(body) | Bytes::Leaving { body, .. } => Some(body.clone()),
            Bytes::Away { file } => {
                backing_store?.body(*file).filter(|body| body.len() as u64 == self.object.size)
            }
        }
    }
}

/// What one operation has at hand besides the bucket, and what it leaves to be sent.
pub(super) struct Turn<'a> {
    pub(super) now: Time,
    pub(super) ids: &'a mut Ids,
    pub(super) backing_store: Option<&'a dyn BackingStore>,
    pub(super) notifications: Vec<Notify>,
}

/// What is stored with the bytes of a new object.
struct Metadata<'a> {
    http: &'a HttpMetadata,
    custom: &'a BTreeMap<Arc<str>, Arc<str>>,
    storage_class: Option<StorageClass>,
}

impl Bucket {
    pub(super) fn new(name: &str, config: BucketConfig) -> Bucket {
        Bucket {
            name: Arc::from(name),
            account: Arc::from(ACCOUNT),
            config,
            objects: SortedMap::new(),
            uploads: Uploads::default(),
            last_write: SortedMap::new(),
        }
    }

    pub(super) fn current(&self, key: &str) -> Option<&Stored> {
        self.objects.get(key)
    }

    pub(super) fn head(&self, key: &str) -> Result<Reply, Error> {
        check_key(Method::Head, key)?;
        let found = self.current(key);
        Ok(found.map_or(Reply::NotFound, |stored| Reply::Object(stored.object.clone())))
    }

    pub(super) fn get(
        &self,
        turn: &Turn<'_>,
        key: &str,
        options: &GetOptions,
    ) -> Result<Reply, Error> {
        check_key(Method::Get, key)?;
        let Some(stored) = self.current(key) else { return Ok(Reply::NotFound) };
        let object = stored.object.clone();
        if options.only_if.as_ref().is_some_and(|condition| !condition.holds(Some(&object))) {
            return Ok(Reply::PreconditionFailed(Some(object)));
        }
        let range = match &options.range {
            None => object.range(),
            Some(range) => {
                range.resolve(object.size).ok_or(Error::service(Method::Get, Code::InvalidRange))?
            }
        };
        let body = stored.body(turn.backing_store);
        let body = body.ok_or(Error::service(Method::Get, Code::InternalError))?;
        Ok(Reply::ObjectBody { body: slice(&body, range), range, object })
    }

    pub(super) fn put(
        &mut self,
        turn: &mut Turn<'_>,
        key: &Arc<str>,
        body: &Body,
        options: &PutOptions,
    ) -> Result<Reply, Error> {
        check_key(Method::Put, key)?;
        self.check_rate(turn.now, Method::Put, key)?;
        check_size(Method::Put, body.len() as u64)?;
        self.check_metadata(Method::Put, &options.custom_metadata)?;
        let etag = Arc::from(hex(&md5(body)));
        let checksums = Checksums::verify(body, &etag, &options.checksums)?;
        let current = self.objects.get(key).map(|stored| &*stored.object);
        if options.only_if.as_ref().is_some_and(|condition| !condition.holds(current)) {
            return Ok(Reply::PreconditionFailed(None));
        }
        let metadata = Metadata {
            http: &options.http_metadata,
            custom: &options.custom_metadata,
            storage_class: options.storage_class,
        };
        let object = self.object(turn, key, body, etag, checksums, &metadata);
        Ok(self.store(turn, Action::PutObject, object, body.clone(), None))
    }

    /// Stores a copy of `source` under `key`.
    pub(super) fn copy(
        &mut self,
        turn: &mut Turn<'_>,
        key: &Arc<str>,
        source: &Stored,
        copy_source: CopySource,
    ) -> Result<Reply, Error> {
        check_key(Method::Copy, key)?;
        self.check_rate(turn.now, Method::Copy, key)?;
        let object = &source.object;
        let body = source.body(turn.backing_store);
        let body = body.ok_or(Error::service(Method::Copy, Code::InternalError))?;
        // A copy is written in one piece, whatever the original was made of.
        let etag: Arc<str> = Arc::from(hex(&md5(&body)));
        let checksums = Checksums { md5: Some(etag.clone()), ..object.checksums.clone() };
        let metadata = Metadata {
            http: &object.http_metadata,
            custom: &object.custom_metadata,
            storage_class: object.storage_class,
        };
        let object = self.object(turn, key, &body, etag, checksums, &metadata);
        Ok(self.store(turn, Action::CopyObject, object, body, Some(copy_source)))
    }

    pub(super) fn delete(
        &mut self,
        turn: &mut Turn<'_>,
        keys: &[Arc<str>],
    ) -> Result<Reply, Error> {
        if keys.is_empty() || keys.len() > MAX_DELETE_KEYS {
            return Err(Error::service(Method::Delete, Code::InvalidKeyCount));
        }
        for key in keys {
            check_key(Method::Delete, key)?;
            self.check_rate(turn.now, Method::Delete, key)?;
        }
        for key in keys {
            let existed = self.remove(turn, key);
            if existed || self.config.options.event_for_missing_delete {
                self.notify(turn, Action::DeleteObject, key, None, None);
            }
        }
        Ok(Reply::Deleted)
    }

    pub(super) fn lifecycle_delete(&mut self, turn: &mut Turn<'_>, key: &Arc<str>) -> Reply {
        if self.objects.remove(key).is_some() {
            self.notify(turn, Action::LifecycleDeletion, key, None, None);
        }
        Reply::Deleted
    }

    pub(super) fn list(&self, options: &ListOptions) -> Result<Reply, Error> {
        list::page(&self.objects, options)
            .map(Reply::Listing)
            .map_err(|code| Error::service(Method::List, code))
    }

    pub(super) fn create_multipart_upload(
        &mut self,
        turn: &mut Turn<'_>,
        key: &Arc<str>,
        options: &Arc<MultipartOptions>,
    ) -> Result<Reply, Error> {
        check_key(Method::CreateMultipartUpload, key)?;
        self.check_metadata(Method::CreateMultipartUpload, &options.custom_metadata)?;
        let upload_id = self.uploads.create(turn.now, turn.ids, key, options);
        Ok(Reply::MultipartUpload { key: key.clone(), upload_id })
    }

    pub(super) fn upload_part(
        &mut self,
        turn: &mut Turn<'_>,
        (key, upload_id): (&str, &str),
        part_number: i64,
        body: &Body,
    ) -> Result<Reply, Error> {
        check_key(Method::UploadPart, key)?;
        check_size(Method::UploadPart, body.len() as u64)?;
        let (upload, part) = ((key, upload_id), (part_number, body));
        let etag = self
            .uploads
            .upload_part(turn.now, turn.ids, &self.config.options, upload, part)
            .map_err(|code| Error::service(Method::UploadPart, code))?;
        Ok(Reply::UploadedPart(UploadedPart { part_number, etag }))
    }

    pub(super) fn complete_multipart_upload(
        &mut self,
        turn: &mut Turn<'_>,
        key: &Arc<str>,
        upload_id: &str,
        parts: &[UploadedPart],
    ) -> Result<Reply, Error> {
        const METHOD: Method = Method::CompleteMultipartUpload;
        check_key(METHOD, key)?;
        self.check_rate(turn.now, METHOD, key)?;
        let assembled = self
            .uploads
            .complete(turn.now, &self.config.options, (key, upload_id), parts)
            .map_err(|code| Error::service(METHOD, code))?;
        let metadata = Metadata {
            http: &assembled.options.http_metadata,
            custom: &assembled.options.custom_metadata,
            storage_class: assembled.options.storage_class,
        };
        let (body, etag, none) = (assembled.body, assembled.etag, Checksums::default());
        let object = self.object(turn, key, &body, etag, none, &metadata);
        Ok(self.store(turn, Action::CompleteMultipartUpload, object, body, None))
    }

    pub(super) fn abort_multipart_upload(
        &mut self,
        now: Time,
        key: &str,
        upload_id: &str,
    ) -> Result<Reply, Error> {
        check_key(Method::AbortMultipartUpload, key)?;
        self.uploads
            .abort(now, key, upload_id)
            .map(|()| Reply::Aborted)
            .map_err(|code| Error::service(Method::AbortMultipartUpload, code))
    }

    /// A new version of the object at `key`.
    fn object(
        &self,
        turn: &mut Turn<'_>,
        key: &Arc<str>,
        body: &Body,
        etag: Arc<str>,
        checksums: Checksums,
        metadata: &Metadata<'_>,
    ) -> Object {
        let storage_class = metadata.storage_class.unwrap_or_default();
        let hidden = self.config.options.miniflare_storage_class;
        Object {
            key: key.clone(),
            version: turn.ids.version(),
            size: body.len() as u64,
            etag,
            uploaded: turn.now,
            checksums,
            http_metadata: metadata.http.clone(),
            custom_metadata: metadata.custom.clone(),
            storage_class: (!hidden).then_some(storage_class),
        }
    }

    fn store(
        &mut self,
        turn: &mut Turn<'_>,
        action: Action,
        object: Object,
        body: Body,
        copy_source: Option<CopySource>,
    ) -> Reply {
        let object = Arc::new(object);
        self.note_write(turn.now, &object.key);
        self.notify(turn, action, &object.key, Some(&object), copy_source);
        let stored = Stored { object: object.clone(), bytes: Bytes::Here(body) };
        self.objects.insert(object.key.clone(), stored);
        Reply::Stored(object)
    }

    fn remove(&mut self, turn: &Turn<'_>, key: &Arc<str>) -> bool {
        let existed = self.objects.remove(key).is_some();
        if existed {
            self.note_write(turn.now, key);
        }
        existed
    }

    /// Tells each queue that a rule names; a message is made only where a rule matches.
    fn notify(
        &self,
        turn: &mut Turn<'_>,
        action: Action,
        key: &Arc<str>,
        created: Option<&Object>,
        copy_source: Option<CopySource>,
    ) {
        let event_type = action.event_type();
        for rule in self.config.rules.iter().filter(|rule| rule.matches(event_type, key)) {
            let event = Notification {
                account: self.account.clone(),
                action,
                bucket: self.name.clone(),
                object: NotificationObject {
                    key: key.clone(),
                    size: created.map(|object| object.size),
                    e_tag: created.map(|object| object.etag.clone()),
                },
                event_time: Date::from(turn.now),
                copy_source: copy_source.clone(),
            };
            turn.notifications.push(Notify { queue: rule.queue.clone(), event });
        }
    }

    fn note_write(&mut self, now: Time, key: &Arc<str>) {
        if self.config.options.strict_same_key_rate {
            self.last_write.insert(key.clone(), now);
        }
    }

    fn check_rate(&self, now: Time, method: Method, key: &str) -> Result<(), Error> {
        match self.last_write.get(key) {
            Some(last) if now - *last < SAME_KEY_INTERVAL => {
                Err(Error::service(method, Code::TooManyRequests))
            }
            _ => Ok(()),
        }
    }

    fn check_metadata(
        &self,
        method: Method,
        custom: &BTreeMap<Arc<str>, Arc<str>>,
    ) -> Result<(), Error> {
        let miniflare = self.config.options.miniflare_metadata_limit;
        let most = if miniflare { MINIFLARE_METADATA_BYTES } else { MAX_METADATA_BYTES };
        refuse_if(metadata_bytes(custom) > most, method, Code::MetadataTooLarge)
    }
}

fn slice(body: &Body, range: ByteRange) -> Body {
    if range == ByteRange::whole(body.len() as u64) {
        return body.clone();
    }
    body.part(range.offset as usize, range.length as usize)
}

fn check_key(method: Method, key: &str) -> Result<(), Error> {
    refuse_if(key.len() > MAX_KEY_BYTES, method, Code::InvalidObjectName)
}

fn check_size(method: Method, size: u64) -> Result<(), Error> {
    refuse_if(size > MAX_REQUEST_BYTES, method, Code::EntityTooLarge)
}

fn refuse_if(refused: bool, method: Method, code: Code) -> Result<(), Error> {
    if refused { Err(Error::service(method, code)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_carries_at_most_five_gibibytes_less_five_mebibytes() {
        assert_eq!(check_size(Method::Put, 5_363_466_240), Ok(()));
        let error = check_size(Method::Put, 5_363_466_241).unwrap_err();
        assert_eq!(error.code(), Some(100_100));
    }
}
