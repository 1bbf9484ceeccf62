//! Pictures drawn by code, of subjects that the network knows.
//!
//! The repository carries no photographs; tests, scenarios and the recorded answers of other
//! engines use these. They are drawn without trigonometry, so that they come out alike everywhere.

mod canvas;
mod drawings;
mod indoors;
mod outdoors;

use std::io::Cursor;

use image::{ImageFormat, RgbImage};

pub use drawings::ALL;

/// A picture and what the network is to see in it.
///
/// ```
/// let clock = thunderhead_model::gallery::find("clock").expect("a drawing of that name");
/// assert!(clock.png().starts_with(b"\x89PNG"));
/// ```
#[derive(Clone, Copy)]
pub struct Drawing {
    /// A short name, usable as a file name.
    pub name: &'static str,
    /// The label that the network gives it.
    pub label: &'static str,
    paint: fn(&mut canvas::Canvas),
}

impl Drawing {
    /// The picture, 256 by 256 pixels.
    pub(crate) fn draw(&self) -> RgbImage {
        let mut canvas = canvas::Canvas::new();
        (self.paint)(&mut canvas);
        canvas.finish()
    }

    /// The picture as a PNG file.
    pub fn png(&self) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        self.draw()
            .write_to(&mut file, ImageFormat::Png)
            .expect("an RGB image can always be written to memory as PNG");
        file.into_inner()
    }
}

/// The drawing of a name.
pub fn find(name: &str) -> Option<&'static Drawing> {
    ALL.iter().find(|drawing| drawing.name == name)
}
