//! The colour profile of a PNG, which is not used and can be a bomb.

use std::borrow::Cow;

/// The signature that a PNG begins with.
const SIGNATURE_BYTES: usize = 8;
/// A chunk has its length and its kind before its data, and a checksum after it.
const LENGTH_AND_KIND: usize = 8;
const CHECKSUM: usize = 4;

/// The file without its colour profiles. The decoder would unpack a profile whatever its size: one of a few
/// megabytes can take more than a gigabyte.
pub(super) fn without(png: &[u8]) -> Cow<'_, [u8]> {
    let mut kept: Option<Vec<u8>> = None;
    let mut at = SIGNATURE_BYTES;
    while let Some((kind, end)) = chunk(png, at) {
        match (kind, &mut kept) {
            // Profiles stand before the pixels; the decoder refuses one that does not.
            (b"IDAT", _) => break,
            (b"iCCP", None) => kept = Some(png[..at].to_vec()),
            (b"iCCP", Some(_)) | (_, None) => {}
            (_, Some(kept)) => kept.extend_from_slice(&png[at..end]),
        }
        at = end;
    }
    match kept {
        None => Cow::Borrowed(png),
        Some(mut kept) => {
            kept.extend_from_slice(&png[at..]);
            Cow::Owned(kept)
        }
    }
}

/// The kind of the chunk at a place, and where it ends; nothing when it is cut off.
fn chunk(png: &[u8], at: usize) -> Option<(&[u8; 4], usize)> {
    let (length, rest) = png.get(at..)?.split_first_chunk::<4>()?;
    let kind = rest.first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let end = at.checked_add(LENGTH_AND_KIND + CHECKSUM)?.checked_add(length)?;
    (end <= png.len()).then_some((kind, end))
}
