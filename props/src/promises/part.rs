//! A part of an object as the answer to a request for a range.

use thunderhead_sim::{Body, Response};

/// What is wrong with an answer that has one range of an object of that size, and with those bytes if they are known.
pub fn wrong_part(response: &Response, size: u64, bytes: Option<&Body>) -> Option<String> {
    let range = response.headers.get("content-range").unwrap_or_default();
    let parts = range.strip_prefix("bytes ").and_then(|range| range.split_once('/'));
    let numbers = parts.and_then(|(range, of)| {
        let (first, last) = range.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?, of.parse().ok()?))
    });
    let Some((first, last, of)): Option<(u64, u64, u64)> = numbers else {
        return Some(format!("`{range}` is no range"));
    };
    if of != size || last >= size || first > last {
        return Some(format!("{range} of {size} bytes"));
    }
    let expected = bytes.map(|bytes| &bytes.bytes()[first as usize..=last as usize]);
    let same = expected.is_none_or(|expected| *expected == *response.body.bytes());
    let all = response.body.len() as u64 == last - first + 1;
    (!same || !all).then(|| format!("these are not the bytes {range}"))
}
