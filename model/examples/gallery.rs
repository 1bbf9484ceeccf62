//! Draws the gallery into a folder and shows what the network sees in each picture.

use std::path::PathBuf;

use thunderhead_model::{Classifier, Settings, gallery};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("gallery".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let classifier =
        Classifier::load(Settings::default(), &mut |progress| eprint!("\r{progress}"))?;
    eprintln!();
    for drawing in gallery::ALL {
        let png = drawing.png();
        std::fs::write(folder.join(format!("{}.png", drawing.name)), &png)?;
        let labels = classifier.classify(&png)?;
        let seen: Vec<String> =
            labels.iter().take(3).map(|l| format!("{} {:.3}", l.label, l.score)).collect();
        let right = labels[0].label == drawing.label;
        println!("{} {:16} {}", if right { "ok" } else { "NO" }, drawing.name, seen.join(", "));
    }
    Ok(())
}
