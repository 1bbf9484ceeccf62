//! Finds out which preprocessing an unknown model was trained with.

use image::RgbImage;
use thunderhead_pictures::Picture;

use crate::error::Error;
use crate::gallery;
use crate::labels;
use crate::network::Network;
use crate::preprocess::{Preprocessing, centre, normalise};

/// Shows the model drawn pictures both ways and takes the way in which it knows them better.
pub(crate) fn preprocessing(network: &Network) -> Result<Preprocessing, Error> {
    let caffe = familiarity(network, Preprocessing::Caffe)?;
    let torch = familiarity(network, Preprocessing::Torch)?;
    Ok(if caffe > torch { Preprocessing::Caffe } else { Preprocessing::Torch })
}

/// The probability that the model gives to what the pictures show, summed over them.
fn familiarity(network: &Network, preprocessing: Preprocessing) -> Result<f32, Error> {
    let labels = labels::all();
    let mut sum = 0.0;
    for drawing in &gallery::ALL[..gallery::ALL.len().min(4)] {
        let pixels: RgbImage = drawing.draw();
        let picture = Picture { pixels, orientation: image::metadata::Orientation::NoTransforms };
        let probabilities = network.run(&normalise(&centre(&picture)?, preprocessing))?;
        let class = labels.iter().position(|label| *label == drawing.label);
        sum += class.map_or(0.0, |class| probabilities[class]);
    }
    Ok(sum)
}
