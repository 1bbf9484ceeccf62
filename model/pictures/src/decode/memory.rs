//! How much memory a picture takes while it is decoded, told by its header.
//!
//! Decoders do not count all they allocate against the limit they are given: a progressive JPEG keeps two bytes
//! for each coefficient of each component, a WebP keeps planes or a canvas.

use image::{ColorType, ImageFormat};

/// The most bytes that are held for each pixel, from the first allocation to the flat RGB picture.
pub(super) fn bytes_per_pixel(format: ImageFormat, color: ColorType, content: &[u8]) -> u64 {
    let decoded = u64::from(color.bytes_per_pixel());
    let decoding = decoded + beside_the_output(format, color, content);
    // What is not eight bits a channel yet is copied, and what is transparent is copied once more.
    let flattening = match color {
        ColorType::Rgb8 => decoded,
        ColorType::Rgba8 => decoded + 3,
        _ if color.has_alpha() => (decoded + 4).max(4 + 3),
        _ => decoded + 3,
    };
    decoding.max(flattening)
}

/// What the decoder of a format holds for each pixel beside its output.
fn beside_the_output(format: ImageFormat, color: ColorType, content: &[u8]) -> u64 {
    match format {
        ImageFormat::Jpeg => 2 * JpegFrame::of(content).components,
        // A canvas and a frame of four bytes each, and what the frame takes to decode.
        ImageFormat::WebP if webp_is_animated(content) => 15,
        // Planes in half the resolution, and the transparency as a picture of its own.
        ImageFormat::WebP if color.has_alpha() => 7,
        ImageFormat::WebP => 5,
        // The first frame is decoded beside the canvas.
        ImageFormat::Gif => 8,
        _ => 1,
    }
}

/// What the header of a JPEG tells about its frame.
struct JpegFrame {
    components: u64,
    /// How many rows of pixels are decoded at a time.
    rows: u64,
}

impl JpegFrame {
    /// The most that there can be: four components, each with four rows of blocks.
    const LARGEST: JpegFrame = JpegFrame { components: 4, rows: 4 * 8 };

    /// The largest there can be if no frame is found.
    fn of(content: &[u8]) -> JpegFrame {
        let mut rest = content.get(2..).unwrap_or_default();
        loop {
            match rest {
                [0xff, 0xff, ..] => rest = &rest[1..],
                // Every start of a frame but the markers among them that are tables.
                [0xff, 0xc0..=0xcf, _, _, _, _, _, _, _, components, each @ ..]
                    if !matches!(rest[1], 0xc4 | 0xc8 | 0xcc) =>
                {
                    // Three bytes a component: its name, its samples across and down, its table.
                    let described = each.chunks_exact(3).take(usize::from(*components));
                    let down = described.map(|component| u64::from(component[1] & 0x0f)).max();
                    return JpegFrame {
                        components: u64::from(*components).clamp(1, Self::LARGEST.components),
                        rows: 8 * down.unwrap_or(4).clamp(1, 4),
                    };
                }
                [0xff, _, high, low, ..] => {
                    let length = usize::from(u16::from_be_bytes([*high, *low]));
                    rest = rest.get(2 + length..).unwrap_or_default();
                }
                [_, ..] => rest = &rest[1..],
                [] => return Self::LARGEST,
            }
        }
    }
}

/// What the decoder of a format holds for the rows that it decodes at a time. It matters for pictures that
/// are wide and low: a JPEG of one row is decoded as if it had a whole row of blocks.
pub(super) fn row_bytes(format: ImageFormat, width: u32, content: &[u8]) -> u64 {
    match format {
        ImageFormat::Jpeg => {
            let frame = JpegFrame::of(content);
            // Two bytes for each coefficient of the rows, and up to three times as much for what is scaled up.
            8 * u64::from(width) * frame.rows * frame.components
        }
        _ => 0,
    }
}

/// Whether the extended header of a WebP says that it moves.
fn webp_is_animated(content: &[u8]) -> bool {
    const ANIMATION: u8 = 0x02;
    content.get(12..16) == Some(b"VP8X")
        && content.get(20).is_some_and(|flags| flags & ANIMATION != 0)
}

/// How many pixels the first frame of a GIF says it has. It may be larger than the canvas that the
/// header tells of, and the decoder makes room for all of it. 0 when there is no frame to be found.
pub(super) fn gif_frame_pixels(content: &[u8]) -> u64 {
    const EXTENSION: u8 = 0x21;
    const FRAME: u8 = 0x2c;
    let Some(packed) = content.get(10) else { return 0 };
    let palette = if packed & 0x80 == 0 { 0 } else { 3 << ((packed & 7) + 1) };
    let mut at = 13 + palette;
    loop {
        match content.get(at..) {
            Some([FRAME, _, _, _, _, w0, w1, h0, h1, ..]) => {
                let side = |low: u8, high: u8| u64::from(u16::from_le_bytes([low, high]));
                return side(*w0, *w1) * side(*h0, *h1);
            }
            Some([EXTENSION, _, ..]) => at += 2,
            _ => return 0,
        }
        // The pieces of an extension, each with its length before it; an empty one ends it.
        while let Some(length) = content.get(at) {
            at += 1 + usize::from(*length);
            if *length == 0 {
                break;
            }
        }
    }
}
