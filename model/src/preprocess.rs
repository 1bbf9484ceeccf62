//! Turns pixels into the network's input.

use image::RgbImage;
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
/// Only the part that survives the cut is resized, and it is turned afterwards; as the cut is centred, the order makes
/// no difference.
pub(crate) fn centre(picture: &Picture) -> Result<RgbImage, Error> {
    let (width, height) = picture.dimensions();
    let side = f64::from(width.min(height)) * SIDE as f64 / SHORT_SIDE;
    let (left, top) = ((f64::from(width) - side) / 2.0, (f64::from(height) - side) / 2.0);
    let small = picture.square(left, top, side, SIDE as u32);
    small.map_err(|message| Error::Network(format!("resizing: {message}")))
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
