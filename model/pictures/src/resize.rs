//! A square of a picture in another size.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};

use crate::decode::Picture;

impl Picture {
    /// The square with its corner at `left` and `top` and with sides of `cut`, upright, as `side` by `side` pixels.
    ///
    /// It is turned when it is small, so the square is one of the pixels as they are stored.
    pub fn square(&self, left: f64, top: f64, cut: f64, side: u32) -> Result<RgbImage, String> {
        let (width, height) = self.pixels.dimensions();
        // Types instead of values say which pixels these are: otherwise the code for all kinds of pixels is compiled.
        let source = TypedImageRef::<U8x3>::from_buffer(width, height, self.pixels.as_raw())
            .map_err(|error| error.to_string())?;
        let mut small = RgbImage::new(side, side);
        let mut target = TypedImage::<U8x3>::from_buffer(side, side, &mut small)
            .map_err(|error| error.to_string())?;
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
            .crop(left, top, cut, cut);
        Resizer::new()
            .resize_typed(&source, &mut target, &options)
            .map_err(|error| error.to_string())?;
        if self.orientation == Orientation::NoTransforms {
            return Ok(small);
        }
        let mut small = DynamicImage::ImageRgb8(small);
        small.apply_orientation(self.orientation);
        Ok(small.into_rgb8())
    }
}
