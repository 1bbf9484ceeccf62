//! `CompressionStream` and `DecompressionStream`, of whole bodies.

use std::io::{Read, Result};

use flate2::Compression;
use flate2::read::{
    DeflateDecoder, DeflateEncoder, GzDecoder, GzEncoder, ZlibDecoder, ZlibEncoder,
};

/// More than this is not unpacked: an isolate has no more memory.
const MAX: u64 = 128 << 20;

/// The bytes in a format of the standard, if there is one of that name.
pub fn compress(format: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let level = Compression::default();
    let packed = match format {
        "gzip" => whole(GzEncoder::new(bytes, level)),
        "deflate" => whole(ZlibEncoder::new(bytes, level)),
        "deflate-raw" => whole(DeflateEncoder::new(bytes, level)),
        _ => return None,
    };
    packed.ok()
}

/// The bytes that were packed, unless these are none of that format.
pub fn decompress(format: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let unpacked = match format {
        "gzip" => whole(GzDecoder::new(bytes)),
        "deflate" => whole(ZlibDecoder::new(bytes)),
        "deflate-raw" => whole(DeflateDecoder::new(bytes)),
        _ => return None,
    };
    unpacked.ok()
}

fn whole(reader: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX).read_to_end(&mut bytes).map(|_| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked_in_its_own_format_only() {
        let text = "the same words, the same words, the same words".as_bytes();
        for format in ["gzip", "deflate", "deflate-raw"] {
            let packed = compress(format, text).expect("a format");
            assert!(packed.len() < text.len(), "{format}");
            assert_eq!(decompress(format, &packed).as_deref(), Some(text), "{format}");
        }
        let packed = compress("gzip", text).expect("a format");
        assert_eq!(decompress("deflate", &packed), None);
        assert_eq!(decompress("gzip", &packed[..9]), None);
        assert_eq!(compress("brotli", text), None);
    }
}
