//! Small pictures for tests, from which hostile ones are made.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};

/// A picture of every format, in every kind of pixel that the format has.
pub fn samples() -> Vec<Vec<u8>> {
    let noise = RgbImage::from_fn(33, 21, |x, y| {
        Rgb([(x * 97 % 251) as u8, (y * 61 % 253) as u8, (x * y % 255) as u8])
    });
    let noise = DynamicImage::ImageRgb8(noise);
    let kinds = [
        noise.clone(),
        DynamicImage::ImageLuma8(noise.to_luma8()),
        DynamicImage::ImageLumaA16(noise.to_luma_alpha16()),
        DynamicImage::ImageRgba8(noise.to_rgba8()),
    ];
    let formats = [
        ImageFormat::Jpeg,
        ImageFormat::Png,
        ImageFormat::WebP,
        ImageFormat::Gif,
        ImageFormat::Bmp,
    ];
    let pairs = kinds.iter().flat_map(|kind| formats.map(|format| (kind, format)));
    let encoded = pairs.filter_map(|(kind, format)| {
        let mut file = Cursor::new(Vec::new());
        // Not every format takes every kind of pixel; those pairs are left out.
        kind.write_to(&mut file, format).ok().map(|()| file.into_inner())
    });
    encoded.collect()
}
