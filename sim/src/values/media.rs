//! What bytes that are no text are: the kind of a picture, its pixels and its size, for a reader of a history.

/// A short description of bytes: `PNG 64×64, 1.2 kB`, or their number when no kind is recognised.
pub(crate) fn describe(bytes: &[u8]) -> String {
    let size = size(bytes.len());
    match kind(bytes) {
        Some((kind, Some((width, height)))) => format!("{kind} {width}×{height}, {size}"),
        Some((kind, None)) => format!("{kind}, {size}"),
        None => size,
    }
}

/// `1 byte`, `120 bytes`, `1.2 kB`, `3.4 MB`.
fn size(bytes: usize) -> String {
    let tenths = |unit: usize| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        1 => "1 byte".into(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        _ => format!("{} MB", tenths(1_000_000)),
    }
}

type Pixels = Option<(u32, u32)>;

/// The kind that the first bytes claim, and the pixels when the header has them.
fn kind(bytes: &[u8]) -> Option<(&'static str, Pixels)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let little =
        |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(("PNG", big(16).zip(big(20)))),
        [b'G', b'I', b'F', b'8', ..] => Some(("GIF", little(6).zip(little(8)))),
        [0xff, 0xd8, 0xff, ..] => Some(("JPEG", jpeg_pixels(bytes))),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(("WebP", None)),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(("MP4", None)),
        [0x1f, 0x8b, ..] => Some(("gzip", None)),
        _ => None,
    }
}

/// Walks the segments of a JPEG to its frame header.
fn jpeg_pixels(bytes: &[u8]) -> Pixels {
    let mut at = 2;
    loop {
        let [0xff, marker, high, low] = bytes.get(at..at + 4)? else { return None };
        let frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if frame {
            let [_, h1, h0, w1, w0] = bytes.get(at + 4..at + 9)? else { return None };
            let side = |high: &u8, low: &u8| u32::from(u16::from_be_bytes([*high, *low]));
            return Some((side(w1, w0), side(h1, h0)));
        }
        at += 2 + usize::from(u16::from_be_bytes([*high, *low]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_told_by_its_kind_its_pixels_and_its_size() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x20".to_vec();
        png.resize(1_250, 0);
        assert_eq!(describe(&png), "PNG 64×32, 1.2 kB");
        assert_eq!(describe(b"GIF89a\x02\0\x03\0"), "GIF 2×3, 10 bytes");
        let jpeg = b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08\0\x10\0\x20\x03";
        assert_eq!(describe(jpeg), "JPEG 32×16, 18 bytes");
    }

    #[test]
    fn a_header_that_is_cut_off_says_no_more_than_it_has() {
        assert_eq!(describe(b"\x89PNG"), "PNG, 4 bytes");
        assert_eq!(describe(b"\xff\xd8\xff\xe0\xff\xff"), "JPEG, 6 bytes");
        assert_eq!(describe(&[0xfe]), "1 byte");
        assert_eq!(describe(&[0; 2_500_000]), "2.5 MB");
    }
}
