//! The bytes of the bodies that a script names: files beside it, and pictures that the program draws.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use thunderhead_sim::{BodySource, ScriptError, ScriptFile};

/// Draws a picture as a file of its kind, or says which names are known.
pub type Draw<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Reads what the script names, by paths that begin in `folder`, and draws its pictures, if there is anybody to draw.
pub fn fill(script: &mut ScriptFile, folder: &Path, draw: Option<Draw>) -> Result<(), ScriptError> {
    script.fill(|source, most| match source {
        BodySource::File(path) => read(&folder.join(&**path), most)
            .map_err(|wrong| (format!("the file `{path}`: {wrong}"), FILE.into())),
        BodySource::Picture(name) => match draw {
            Some(draw) => {
                draw(name).map_err(|known| (format!("no picture is called `{name}`"), known))
            }
            None => Err((format!("this program cannot draw `{name}`"), PICTURE.into())),
        },
    })
}

const FILE: &str = "name a regular file, by its path from the folder of the script";
const PICTURE: &str = "the program `thunderhead-model` draws pictures; elsewhere, name a file: { file = \"cat.jpg\" }";

/// The bytes of a regular file that is not too large. A pipe or a device might never end.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let kind = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if kind.is_dir() {
        return Err("it is a folder".into());
    }
    if !kind.is_file() {
        return Err("it is no regular file, but a pipe or a device".into());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > most {
        true => Err(format!("it has more than {most} bytes, which all requests may send together")),
        false => Ok(bytes),
    }
}
