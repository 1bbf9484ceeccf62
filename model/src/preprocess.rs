//! Turns pixels into the network's input.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};
use serde::{Deserialize, Serialize};
use thunderhead_pictures::Picture;

use crate::error::Error;

/// The side of the network's square input.
pub(crate) const SIDE: usize = 224;
/// The length to which an image's shorter side is brought before the centre is cut out.
const SHORT_SIDE: f64 = 256.0;

/// How a network wants its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Preprocessing {
    /// 0 to 255, minus the mean of ImageNet: the habit of Caffe and Keras.
    Caffe,
    /// 0 to 1, minus the mean, divided by the standard deviation: the habit of PyTorch.
    Torch,
}

impl Preprocessing {
    /// Per channel (red, green, blue), what a byte is multiplied by and what is then added.
    fn scale_and_offset(self) -> [(f32, f32); 3] {
        match self {
            Preprocessing::Caffe => [(1.0, -123.68), (1.0, -116.779), (1.0, -103.939)],
            Preprocessing::Torch => [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]
                .map(|(mean, deviation)| (1.0 / (255.0 * deviation), -mean / deviation)),
        }
    }
}

/// The centre of a picture, upright, `SIDE` by `SIDE` pixels.
///
/// Only the part that survives the cut is resized, and it is turned afterwards, when it is small;
/// as the cut is centred, the order makes no difference.
pub(crate) fn centre(picture: &Picture) -> Result<RgbImage, Error> {
    let failed = |message: String| Error::Network(format!("resizing: {message}"));
    let (width, height) = picture.pixels.dimensions();
    let side = f64::from(width.min(height)) * SIDE as f64 / SHORT_SIDE;
    let (left, top) = ((f64::from(width) - side) / 2.0, (f64::from(height) - side) / 2.0);
    // Types instead of values say which pixels these are: otherwise the code for all kinds of pixels is compiled.
    let source = TypedImageRef::<U8x3>::from_buffer(width, height, picture.pixels.as_raw())
        .map_err(|error| failed(error.to_string()))?;
    let mut small = RgbImage::new(SIDE as u32, SIDE as u32);
    let mut target = TypedImage::<U8x3>::from_buffer(SIDE as u32, SIDE as u32, &mut small)
        .map_err(|error| failed(error.to_string()))?;
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
        .crop(left, top, side, side);
    Resizer::new()
        .resize_typed(&source, &mut target, &options)
        .map_err(|error| failed(error.to_string()))?;
    if picture.orientation == Orientation::NoTransforms {
        return Ok(small);
    }
    let mut small = DynamicImage::ImageRgb8(small);
    small.apply_orientation(picture.orientation);
    Ok(small.into_rgb8())
}

/// The network's input: one plane for each of red, green, blue.
pub(crate) fn normalise(pixels: &RgbImage, preprocessing: Preprocessing) -> Vec<f32> {
    let mut planes = vec![0.0; 3 * SIDE * SIDE];
    let (red, rest) = planes.split_at_mut(SIDE * SIDE);
    let (green, blue) = rest.split_at_mut(SIDE * SIDE);
    let [r, g, b] = preprocessing.scale_and_offset();
    let outputs = red.iter_mut().zip(green).zip(blue);
    for (pixel, ((red, green), blue)) in pixels.as_raw().chunks_exact(3).zip(outputs) {
        *red = f32::from(pixel[0]) * r.0 + r.1;
        *green = f32::from(pixel[1]) * g.0 + g.1;
        *blue = f32::from(pixel[2]) * b.0 + b.1;
    }
    planes
}
