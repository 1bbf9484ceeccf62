//! Turns untrusted bytes into pixels, or into a typed error, within a memory limit.

mod memory;
mod profile;

use std::io::Cursor;

use image::error::ImageError as Refusal;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, RgbImage};

use crate::error::ImageError;

/// How large an image may be; checked against its header, before its pixels are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Width times height.
    pub pixels: u64,
    /// The most memory that decoding may hold at any moment, in bytes, beside the content itself.
    pub memory: u64,
}

impl Default for Limits {
    /// Fifty megapixels in half a gigabyte: any photograph, no bomb. Animations, and the rare pictures with four
    /// deep channels, hold more for each pixel and reach the limit of memory first.
    fn default() -> Limits {
        Limits { pixels: 50_000_000, memory: 500_000_000 }
    }
}

/// Decoded pixels as they lie in the file, with the turn that makes them upright.
#[derive(Debug)]
pub struct Picture {
    /// Eight bits for each of red, green and blue.
    pub pixels: RgbImage,
    /// How they have to be turned.
    pub orientation: Orientation,
}

impl Picture {
    /// Width and height as stored, before turning.
    pub fn dimensions(&self) -> (u32, u32) {
        self.pixels.dimensions()
    }
}

/// Decodes JPEG, PNG, WebP, GIF (its first frame) or BMP, told apart by content.
pub fn decode(content: &[u8], limits: Limits) -> Result<Picture, ImageError> {
    if content.is_empty() {
        return Err(ImageError::Empty);
    }
    let format = image::guess_format(content).map_err(|_| ImageError::UnknownFormat)?;
    if !FORMATS.contains(&format) {
        return Err(ImageError::UnknownFormat);
    }
    let broken = |reason: String| ImageError::Broken { format: name(format).to_owned(), reason };
    if format == ImageFormat::Jpeg && !jpeg_is_whole(content) {
        // The decoder would fill the missing part with grey and say nothing.
        return Err(broken("it ends before its end marker".to_owned()));
    }
    let refused = |refusal: Refusal| match refusal {
        Refusal::Limits(limit) => ImageError::TooLarge { detail: limit.to_string() },
        other => broken(other.to_string()),
    };
    let content = match format {
        ImageFormat::Png => profile::without(content),
        _ => content.into(),
    };
    let content = content.as_ref();
    let mut reader = ImageReader::with_format(Cursor::new(content), format);
    let mut allowed = image::Limits::default();
    allowed.max_alloc = Some(limits.memory);
    reader.limits(allowed);
    let mut decoder = reader.into_decoder().map_err(refused)?;
    check_size(&decoder, format, content, limits)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let image = DynamicImage::from_decoder(decoder).map_err(refused)?;
    Ok(Picture { pixels: flatten(image), orientation })
}

const FORMATS: [ImageFormat; 5] =
    [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif, ImageFormat::Bmp];

fn name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Png => "PNG",
        ImageFormat::WebP => "WebP",
        ImageFormat::Gif => "GIF",
        _ => "BMP",
    }
}

/// Refuses what the header already shows to be too much.
fn check_size(
    decoder: &impl ImageDecoder,
    format: ImageFormat,
    content: &[u8],
    limits: Limits,
) -> Result<(), ImageError> {
    let (width, height) = decoder.dimensions();
    let shown = u64::from(width) * u64::from(height);
    if shown == 0 {
        let reason = format!("it measures {width} by {height} pixels");
        return Err(ImageError::Broken { format: name(format).to_owned(), reason });
    }
    let pixels = match format {
        ImageFormat::Gif => shown.max(memory::gif_frame_pixels(content)),
        _ => shown,
    };
    if pixels > limits.pixels {
        let detail = format!("{pixels} pixels, the limit is {} pixels", limits.pixels);
        return Err(ImageError::TooLarge { detail });
    }
    let visited = pixels.saturating_mul(scans(format, content));
    if visited > limits.pixels.saturating_mul(FULL_SCANS) {
        let detail = format!("its {pixels} pixels are visited by {} scans", scans(format, content));
        return Err(ImageError::TooLarge { detail });
    }
    let needed = pixels * memory::bytes_per_pixel(format, decoder.color_type(), content)
        + memory::row_bytes(format, width, content);
    if needed > limits.memory {
        let detail = format!("decoding takes {needed} bytes, the limit is {}", limits.memory);
        return Err(ImageError::TooLarge { detail });
    }
    Ok(())
}

/// How often all pixels of the largest picture may be visited. Encoders of progressive JPEG make about ten scans; a
/// file of two kilobytes can have a hundred, and would take seconds.
const FULL_SCANS: u64 = 12;

/// How often a decoder visits the pixels: how many scans begin before the end marker of a JPEG. A preview in a segment
/// has its own, and a film may stand behind the end.
fn scans(format: ImageFormat, content: &[u8]) -> u64 {
    if format != ImageFormat::Jpeg {
        return 1;
    }
    let mut scans = 0;
    let mut rest = content.get(2..).unwrap_or_default();
    loop {
        match rest {
            [0xff, END, ..] | [] => return scans,
            // A byte of the pixels, and markers within them, have no length.
            [0xff, 0x00 | 0x01 | 0xd0..=0xd8, ..] => rest = &rest[2..],
            [0xff, 0xff, ..] => rest = &rest[1..],
            [0xff, marker, high, low, ..] => {
                scans += u64::from(*marker == START_OF_SCAN);
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                // One that is too long is cut off; the decoder judges that.
                rest = rest.get(2 + length..).unwrap_or_default();
            }
            [_, ..] => rest = &rest[1..],
        }
    }
}

/// The marker with which a JPEG ends.
const END: u8 = 0xd9;

/// The marker with which a scan of a JPEG begins.
const START_OF_SCAN: u8 = 0xda;

/// Eight bits a channel, three channels; what is transparent shows white, as on a page.
fn flatten(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let rgba = image.into_rgba8();
    let (width, height) = rgba.dimensions();
    let over_white = |channel: u8, alpha: u8| {
        let (channel, alpha) = (u32::from(channel), u32::from(alpha));
        ((channel * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    let mut flat = RgbImage::new(width, height);
    for (pixel, source) in flat.pixels_mut().zip(rgba.pixels()) {
        let [red, green, blue, alpha] = source.0;
        pixel.0 = [over_white(red, alpha), over_white(green, alpha), over_white(blue, alpha)];
    }
    flat
}

/// Whether an end marker follows the start of the scan.
fn jpeg_is_whole(content: &[u8]) -> bool {
    let mut rest = content.get(2..).unwrap_or_default();
    loop {
        match rest {
            // A marker may be preceded by any number of fill bytes.
            [0xff, 0xff, ..] => rest = &rest[1..],
            [0xff, marker, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                let Some(after) = rest.get(2 + length..) else { return false };
                rest = after;
                if *marker == START_OF_SCAN {
                    return rest.windows(2).any(|pair| pair == [0xff, END]);
                }
            }
            // Nonsense between segments is left for the decoder to judge.
            [_, _, ..] => rest = &rest[1..],
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests;
