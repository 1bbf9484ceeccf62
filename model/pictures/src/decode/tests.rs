use image::{DynamicImage, ImageFormat, Rgb, Rgba};

use super::*;

const TEAL: [u8; 3] = [20, 140, 150];

fn encode(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).unwrap();
    file.into_inner()
}

fn teal(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_pixel(width, height, Rgb(TEAL)))
}

#[track_caller]
fn check(content: &[u8], expected: [u8; 3], tolerance: u8) {
    let picture = decode(content, Limits::default()).unwrap();
    let Rgb(found) = *picture.pixels.get_pixel(3, 3);
    let near = found.iter().zip(expected).all(|(&a, b)| a.abs_diff(b) <= tolerance);
    assert!(near, "{found:?} is not {expected:?}");
}

#[test]
fn every_format_is_recognised_by_its_content() {
    for (format, tolerance) in [
        (ImageFormat::Jpeg, 4),
        (ImageFormat::Png, 0),
        (ImageFormat::WebP, 0),
        (ImageFormat::Gif, 4),
        (ImageFormat::Bmp, 0),
    ] {
        check(&encode(&teal(16, 8), format), TEAL, tolerance);
    }
}

#[test]
fn grey_sixteen_bit_and_transparent_pixels_become_rgb() {
    let grey = DynamicImage::ImageLuma8(teal(8, 8).to_luma8());
    let Rgb([level, ..]) = *grey.to_rgb8().get_pixel(0, 0);
    check(&encode(&grey, ImageFormat::Png), [level; 3], 0);
    check(&encode(&grey, ImageFormat::Jpeg), [level; 3], 2);
    let deep = DynamicImage::ImageRgb16(teal(8, 8).to_rgb16());
    check(&encode(&deep, ImageFormat::Png), TEAL, 1);
    let half = image::RgbaImage::from_pixel(8, 8, Rgba([0, 0, 0, 128]));
    check(&encode(&DynamicImage::ImageRgba8(half), ImageFormat::Png), [127; 3], 1);
}

#[test]
fn a_cmyk_jpeg_becomes_rgb() {
    check(include_bytes!("../../../tests/data/cmyk.jpg"), [204, 51, 51], 12);
}

#[test]
fn the_orientation_in_a_jpeg_is_kept() {
    let picture =
        decode(include_bytes!("../../../tests/data/turned.jpg"), Limits::default()).unwrap();
    assert_eq!(picture.orientation, Orientation::Rotate90);
}

#[test]
fn what_is_no_image_is_said_to_be_none() {
    assert_eq!(decode(b"", Limits::default()).unwrap_err(), ImageError::Empty);
    let unknown = decode(b"%PDF-1.7 and so on", Limits::default()).unwrap_err();
    assert_eq!(unknown, ImageError::UnknownFormat);
}

#[test]
fn every_truncation_is_an_error() {
    let noise = RgbImage::from_fn(24, 24, |x, y| {
        Rgb([(x * 97 % 251) as u8, (y * 61 % 253) as u8, (x * y % 255) as u8])
    });
    let noise = DynamicImage::ImageRgb8(noise);
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Bmp] {
        let whole = encode(&noise, format);
        for length in (1..whole.len().saturating_sub(16)).step_by(7) {
            let error = decode(&whole[..length], Limits::default());
            assert!(error.is_err(), "{format:?} of {} cut to {length}", whole.len());
        }
    }
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let mut png = encode(&teal(8, 8), ImageFormat::Png);
    // The width and height of the header, with the checksum of that chunk.
    png[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let checksum = crc32(&png[12..29]);
    png[29..33].copy_from_slice(&checksum.to_be_bytes());
    let error = decode(&png, Limits::default()).unwrap_err();
    assert!(matches!(error, ImageError::TooLarge { .. }), "{error}");
}

#[test]
fn limits_are_the_callers_choice() {
    let png = encode(&teal(100, 100), ImageFormat::Png);
    let few_pixels = Limits { pixels: 9_999, ..Limits::default() };
    assert!(matches!(decode(&png, few_pixels).unwrap_err(), ImageError::TooLarge { .. }));
    let little_memory = Limits { memory: 30_000, ..Limits::default() };
    assert!(matches!(decode(&png, little_memory).unwrap_err(), ImageError::TooLarge { .. }));
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn a_gif_frame_larger_than_its_canvas_is_refused_before_room_is_made_for_it() {
    let mut gif = Vec::new();
    let picture = image::RgbaImage::new(8, 8);
    image::codecs::gif::GifEncoder::new(&mut gif)
        .encode(&picture, 8, 8, image::ExtendedColorType::Rgba8)
        .unwrap();
    let pixels = memory::gif_frame_pixels(&gif);
    assert_eq!(pixels, 64);
    let frame = gif.iter().position(|byte| *byte == 0x2c).unwrap();
    (gif[frame + 6], gif[frame + 8]) = (0xff, 0xff);
    assert!(matches!(decode(&gif, Limits::default()).unwrap_err(), ImageError::TooLarge { .. }));
}

/// Fifty megapixels, and the sides of such a picture.
const SIDES: (u16, u16) = (10_000, 5_000);

#[track_caller]
fn is_not_too_large(content: &[u8]) {
    let decoded = decode(content, Limits::default());
    assert!(!matches!(decoded, Err(ImageError::TooLarge { .. })), "{:?}", decoded.err());
}

/// A small JPEG whose header says that it is of fifty megapixels, and progressive.
fn large_jpeg(image: &DynamicImage) -> Vec<u8> {
    let mut jpeg = encode(image, ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame + 1] = 0xc2;
    jpeg[frame + 5..frame + 7].copy_from_slice(&SIDES.1.to_be_bytes());
    jpeg[frame + 7..frame + 9].copy_from_slice(&SIDES.0.to_be_bytes());
    jpeg
}

/// A lossy WebP without pixels whose header says that it is of fifty megapixels.
fn large_webp() -> Vec<u8> {
    let mut frame = vec![0x10, 0, 0, 0x9d, 0x01, 0x2a];
    frame.extend(SIDES.0.to_le_bytes());
    frame.extend(SIDES.1.to_le_bytes());
    frame.extend([0; 54]);
    let mut webp = b"RIFF".to_vec();
    webp.extend((frame.len() as u32 + 12).to_le_bytes());
    webp.extend(b"WEBPVP8 ");
    webp.extend((frame.len() as u32).to_le_bytes());
    webp.extend(frame);
    webp
}

#[test]
fn photographs_of_fifty_megapixels_are_within_the_limits() {
    is_not_too_large(&large_jpeg(&teal(8, 8)));
    is_not_too_large(&large_jpeg(&DynamicImage::ImageLuma8(teal(8, 8).to_luma8())));
    is_not_too_large(&large_webp());
    let mut beyond = large_webp();
    let width = beyond.windows(2).position(|pair| pair == SIDES.0.to_le_bytes()).unwrap();
    beyond[width] += 1;
    assert!(matches!(decode(&beyond, Limits::default()), Err(ImageError::TooLarge { .. })));
}

/// Phones put a film behind a photograph.
#[test]
fn only_the_scans_of_the_photograph_are_counted() {
    let photo = encode(&teal(8, 8), ImageFormat::Jpeg);
    assert_eq!(scans(ImageFormat::Jpeg, &photo), 1);
    let film = [0xff, START_OF_SCAN, 0, 0].repeat(900);
    assert_eq!(scans(ImageFormat::Jpeg, &[&photo[..], &film].concat()), 1);
    // A preview is a segment of its own.
    let preview = [&[0xff, 0xe1, 0, 202][..], &[0xff, START_OF_SCAN].repeat(100)].concat();
    let with_preview = [&photo[..2], &preview, &photo[2..]].concat();
    assert_eq!(scans(ImageFormat::Jpeg, &with_preview), 1);
    check(&with_preview, TEAL, 4);
    assert_eq!(scans(ImageFormat::Jpeg, &photo[..2]), 0);
}

#[test]
fn a_colour_profile_is_not_unpacked() {
    let plain = encode(&teal(8, 8), ImageFormat::Png);
    let header_end = 33;
    let mut with_profile = plain[..header_end].to_vec();
    let mut chunk = b"iCCPname\0\0".to_vec();
    chunk.extend([0x78, 0x9c, 1, 2, 3]);
    with_profile.extend((chunk.len() as u32 - 4).to_be_bytes());
    with_profile.extend(&chunk);
    with_profile.extend(crc32(&chunk).to_be_bytes());
    with_profile.extend(&plain[header_end..]);
    assert_eq!(profile::without(&with_profile), plain);
    check(&with_profile, TEAL, 0);
    assert_eq!(profile::without(&plain), plain);
    // A file that is cut inside the profile stays as it is, and the decoder says so.
    let cut = &with_profile[..header_end + 10];
    assert_eq!(profile::without(cut), cut);
}
