//! Pictures, which a model is asked to label: their headers say how much memory and time they take.

use thunderhead_pictures::{ImageError, Limits, Picture, decode, samples};

use crate::{Input, mutation, scripts};

/// Pictures.
pub const IMAGES: Input = Input {
    name: "images",
    about: "pictures: decoded within their limits or refused",
    examples: samples,
    words: || {
        vec![
            "IHDR",
            "PLTE",
            "IDAT",
            "IEND",
            "tRNS",
            "iCCP",
            "eXIf",
            "zTXt",
            "acTL",
            "fcTL",
            "RIFF",
            "WEBP",
            "VP8 ",
            "VP8L",
            "VP8X",
            "ALPH",
            "ANIM",
            "ANMF",
            "EXIF",
            "ICCP",
            "GIF87a",
            "GIF89a",
            "NETSCAPE2.0",
            "JFIF",
            "Exif",
            "Adobe",
            "BM",
        ]
    },
    mutated,
    check,
};

/// Smaller than those of the program, so that an input takes milliseconds and thousands are read in a minute.
const LIMITS: Limits = Limits { pixels: 2_000_000, memory: 32 << 20 };

/// Most of the changed pictures have checksums that are right again, or a PNG would be refused for those alone.
fn mutated(seed: u64, examples: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = mutation::bytes(seed, examples, words);
    if !seed.is_multiple_of(8) && bytes.starts_with(b"\x89PNG") {
        correct_checksums(&mut bytes);
    }
    bytes
}

/// Writes the checksum of every chunk of a PNG, up to the first that is cut off.
fn correct_checksums(png: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = png.get(at..).and_then(<[u8]>::first_chunk) {
        let end = (u32::from_be_bytes(*length) as usize).saturating_add(at + 8);
        let Some(chunk) = png.get(at + 4..end) else { return };
        let mut checksum = flate2::Crc::new();
        checksum.update(chunk);
        let Some(place) = png.get_mut(end..end + 4) else { return };
        place.copy_from_slice(&checksum.sum().to_be_bytes());
        at = end + 4;
    }
}

/// A picture as the model decodes it.
pub fn decoded(bytes: &[u8]) -> Result<Picture, ImageError> {
    decode(bytes, LIMITS)
}

fn check(bytes: &[u8]) -> Result<(), String> {
    match decoded(bytes) {
        Err(refused) => scripts::objection(&refused.to_string()),
        Ok(picture) => {
            let (width, height) = picture.dimensions();
            let pixels = u64::from(width) * u64::from(height);
            if pixels == 0 || pixels > LIMITS.pixels {
                return Err(format!("a picture of {pixels} pixels was decoded"));
            }
            Ok(())
        }
    }
}
