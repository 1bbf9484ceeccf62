//! Hostile input: what is read from outside, made from valid examples by changing them, and what must hold of it.
//!
//! `tests/seconds.rs` plays the corpus and some thousand new inputs. The program of this package goes on for as long
//! as it is told, and keeps what fails:
//!
//! ```sh
//! cargo run --release -p thunderhead-fuzz -- scripts --minutes 60
//! ```
//!
//! To add an input, write a file like `notifications.rs` and add it to [`ALL`]. Its corpus is the folder of its name
//! in `fuzz/corpus`.

pub mod addresses;
pub mod failures;
pub mod images;
pub mod mutation;
pub mod notifications;
pub mod scripts;
pub mod tapes;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use thunderhead::bodies;
use thunderhead::catalogue::Catalogue;
use thunderhead::playable::Playable;
use thunderhead::props::System;
use thunderhead_sim::{ScriptError, ScriptFile};

/// Makes the input of a number from examples and words.
pub type Mutate = fn(u64, &[Vec<u8>], &[&str]) -> Vec<u8>;

/// Something that is read from outside.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Valid examples, from which others are made.
    pub examples: fn() -> Vec<Vec<u8>>,
    /// Words that mean something in it, beside those of the examples.
    pub words: fn() -> Vec<&'static str>,
    /// How inputs are made from those.
    pub mutated: Mutate,
    /// Reads it. Whatever it is, this ends soon; an error says what does not hold.
    pub check: fn(&[u8]) -> Result<(), String>,
}

/// Every input.
pub const ALL: [Input; 6] = [
    scripts::SCRIPTS,
    tapes::TAPES,
    failures::FAILURES,
    notifications::NOTIFICATIONS,
    addresses::ADDRESSES,
    images::IMAGES,
];

impl Input {
    /// The folder of what was once found, and of what shows a kind of attack.
    pub fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }
}

/// A script with its names looked up among the systems of this project.
/// A picture is its own name, and a file is looked for in the corpus.
pub fn playable(mut file: ScriptFile) -> Result<Playable<'static>, ScriptError> {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/scripts");
    bodies::fill(&mut file, Path::new(corpus), Some(&|name| Ok(name.into())))?;
    static SYSTEMS: LazyLock<[&'static System; 5]> = LazyLock::new(thunderhead::systems::all);
    let systems =
        Catalogue::new(&*SYSTEMS).expect("the systems of this project have names of their own");
    Playable::new(file, systems)
}

/// The files in a folder with their names, sorted by name; none when there is no such folder.
pub fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, std::fs::read(entry.path()).ok()?))
        })
        .collect();
    files.sort();
    files
}
