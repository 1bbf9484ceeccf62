//! An object of a bucket as the answer to a `GET`: its bytes or a range of them, with an ETag and preconditions.

use thunderhead_sim::r2::{self, Code, Conditional, Object, Range};
use thunderhead_sim::{Bucket, Error, ObjectBody, Request, Response};

use super::json;

/// The headers of a request that are preconditions.
const PRECONDITIONS: [&str; 4] =
    ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// Answers a `GET` of an object: 200, 206 or 304, and 404, 412 or 416. ETag and bytes are of one version, because R2
/// gives both in one answer.
pub async fn object_response(
    bucket: &Bucket,
    key: &str,
    request: &Request,
) -> Result<Response, Error> {
    let stated = PRECONDITIONS.iter().filter_map(|name| Some((*name, request.headers.get(name)?)));
    let stated: Vec<(&str, &str)> = stated.collect();
    let condition = match Conditional::from_headers(&stated) {
        Ok(condition) => condition,
        Err(error) => return Ok(json::error(400, &error)),
    };
    let range = request.headers.get("range").and_then(range);
    let found = match get(bucket, key, &condition, range).await {
        // R2 does not say how long the object is whose range it refuses.
        Err(Error::R2(error)) if is_invalid_range(&error) => {
            let object = bucket.head(key).await?;
            return Ok(object.map_or_else(|| not_found(key), |object| unsatisfiable(&object)));
        }
        found => found?,
    };
    let Some(mut found) = found else { return Ok(not_found(key)) };
    let same = request.headers.get("if-range").is_none_or(|etag| etag == found.object.http_etag());
    if found.body.is_some() && !same {
        // The part that the client has is of another version: it gets all of this one.
        match get(bucket, key, &condition, None).await? {
            Some(whole) => found = whole,
            None => return Ok(not_found(key)),
        }
    }
    let response = match (found.body, found.range) {
        (None, _) => Response::new(failed(&condition, &found.object), ""),
        // The last bytes of nothing.
        (Some(_), Some(part)) if range.is_some() && same && part.length == 0 => {
            return Ok(unsatisfiable(&found.object));
        }
        (Some(body), Some(part)) if range.is_some() && same => {
            let (first, size) = (part.offset, found.object.size);
            let last = part.offset + part.length - 1;
            let part = format!("bytes {first}-{last}/{size}");
            Response::new(206, body).with_header("content-range", &part)
        }
        (Some(body), _) => Response::new(200, body),
    };
    Ok(described(response, &found.object))
}

async fn get(
    bucket: &Bucket,
    key: &str,
    condition: &Conditional,
    range: Option<(Option<i64>, Option<i64>)>,
) -> Result<Option<ObjectBody>, Error> {
    let get = bucket.get(key).only_if(condition.clone());
    match range {
        None => get.execute().await,
        Some((Some(first), last)) => {
            let length = last.map(|last| (last - first).saturating_add(1));
            let range = Range::Bytes { offset: Some(first), length, suffix: None };
            get.range(range).execute().await
        }
        Some((None, suffix)) => get.range(Range::suffix(suffix.unwrap_or(0))).execute().await,
    }
}

/// The status for a precondition that does not hold: 412 if the client wanted this version or none.
fn failed(condition: &Conditional, object: &Object) -> u16 {
    let unless =
        Conditional { etag_does_not_match: None, uploaded_after: None, ..condition.clone() };
    if unless.holds(Some(object)) { 304 } else { 412 }
}

fn described(response: Response, object: &Object) -> Response {
    let content_type = object.http_metadata.content_type.as_deref();
    response
        .with_header("etag", &object.http_etag())
        .with_header("accept-ranges", "bytes")
        .with_header("content-type", content_type.unwrap_or("application/octet-stream"))
}

fn is_invalid_range(error: &r2::Error) -> bool {
    error.code().and_then(Code::from_number) == Some(Code::InvalidRange)
}

fn unsatisfiable(object: &Object) -> Response {
    let why = format!("the object has {} bytes", object.size);
    json::error(416, &why).with_header("content-range", &format!("bytes */{}", object.size))
}

fn not_found(key: &str) -> Response {
    json::error(404, &format!("there is no `{key}`"))
}

/// The first and the last byte of one range, or how many of the last. What is no such range is passed over, as HTTP
/// allows, and so are several ranges at once.
fn range(header: &str) -> Option<(Option<i64>, Option<i64>)> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true if text.is_empty() => Some(None),
        true => text.parse().ok().map(Some),
        false => None,
    };
    match (number(first.trim())?, number(last.trim())?) {
        (None, None) => None,
        (Some(first), Some(last)) if last < first => None,
        range => Some(range),
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_range_has_a_first_byte_a_last_one_or_both() {
        assert_eq!(range("bytes=2-5"), Some((Some(2), Some(5))));
        assert_eq!(range("bytes=2-"), Some((Some(2), None)));
        assert_eq!(range("bytes=-5"), Some((None, Some(5))));
    }

    #[test]
    fn what_is_no_range_is_passed_over() {
        let bad = ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "lines=1-2"];
        let more = ["bytes=0-1,4-5", "bytes=+1-2", "bytes=99999999999999999999-"];
        for header in bad.into_iter().chain(more) {
            assert_eq!(range(header), None, "{header}");
        }
    }
}
