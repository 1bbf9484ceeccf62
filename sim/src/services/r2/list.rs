//! Listing a bucket, a page at a time.

use std::ops::Bound;
use std::sync::Arc;

use super::bucket::Stored;
use super::limits::{MAX_LIST_KEYS, MAX_LIST_KEYS_WITH_METADATA};
use super::{Code, HttpMetadata, Include, ListOptions, Listing, Object};
use crate::values::hex::{hex, unhex};
use crate::values::sorted_map::SortedMap;

/// The page of `objects` that `options` ask for.
pub(super) fn page(
    objects: &SortedMap<Arc<str>, Stored>,
    options: &ListOptions,
) -> Result<Listing, Code> {
    let limit = limit(options)?;
    let mut page = Listing::default();
    let Some(after) = start(options) else { return Ok(page) };
    let prefix = options.prefix.as_deref().unwrap_or("");
    let lower = match after.as_deref() {
        Some(key) if key >= prefix => Bound::Excluded(key),
        _ => Bound::Included(prefix),
    };
    let mut last: &str = "";
    for (key, stored) in objects.range::<str, _>((lower, Bound::Unbounded)) {
        if !key.starts_with(prefix) {
            break;
        }
        let shared = shared_prefix(key, prefix.len(), options.delimiter.as_deref());
        if shared.is_some() && shared == page.delimited_prefixes.last().map(|text| &**text) {
            last = key;
            continue;
        }
        if page.objects.len() + page.delimited_prefixes.len() == limit {
            page.truncated = true;
            page.cursor = Some(Arc::from(hex(last.as_bytes())));
            break;
        }
        match shared {
            Some(shared) => page.delimited_prefixes.push(Arc::from(shared)),
            None => page.objects.push(show(&stored.object, &options.include)),
        }
        last = key;
    }
    Ok(page)
}

fn limit(options: &ListOptions) -> Result<usize, Code> {
    let asked = options.limit.map_or(MAX_LIST_KEYS, |limit| limit as usize);
    if !(1..=MAX_LIST_KEYS).contains(&asked) {
        return Err(Code::InvalidMaxKeys);
    }
    let with_metadata = !options.include.is_empty();
    Ok(if with_metadata { asked.min(MAX_LIST_KEYS_WITH_METADATA) } else { asked })
}

/// The key after which the page begins, if any; `None` when the cursor is not one of ours, which
/// is no error but matches nothing.
fn start(options: &ListOptions) -> Option<Option<Arc<str>>> {
    let cursor = match options.cursor.as_deref() {
        None | Some("") => None,
        Some(text) => Some(Arc::from(String::from_utf8(unhex(text)?).ok()?)),
    };
    Some(cursor.max(options.start_after.clone()))
}

/// The key up to and including the first delimiter after the prefix.
fn shared_prefix<'a>(key: &'a str, prefix: usize, delimiter: Option<&str>) -> Option<&'a str> {
    let delimiter = delimiter.filter(|text| !text.is_empty())?;
    let at = key[prefix..].find(delimiter)?;
    Some(&key[..prefix + at + delimiter.len()])
}

/// The object as a listing shows it: without the metadata that was not asked for.
fn show(object: &Arc<Object>, include: &[Include]) -> Arc<Object> {
    let hide_http = !include.contains(&Include::HttpMetadata)
        && object.http_metadata != HttpMetadata::default();
    let hide_custom =
        !include.contains(&Include::CustomMetadata) && !object.custom_metadata.is_empty();
    if !hide_http && !hide_custom {
        return object.clone();
    }
    let mut shown = Object::clone(object);
    if hide_http {
        shown.http_metadata = HttpMetadata::default();
    }
    if hide_custom {
        shown.custom_metadata.clear();
    }
    Arc::new(shown)
}
