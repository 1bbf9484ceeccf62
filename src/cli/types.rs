//! `thunderhead types DIR`: writes the types for `storm.ts` into the folder of a Worker.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Answer, CliError, input};

/// The arguments of `types`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the Worker.
    #[arg(default_value = ".")]
    folder: PathBuf,
}

const NAME: &str = "thunderhead.d.ts";
const TYPES: &str = include_str!("../../workers/types/thunderhead.d.ts");

pub fn types(args: &Args) -> Result<Answer, CliError> {
    if !args.folder.is_dir() {
        return Err(CliError::Input(format!("{}: it is no folder", input::shown(&args.folder))));
    }
    let path = args.folder.join(NAME);
    let shown = input::shown(Path::new(&path)).to_string();
    std::fs::write(&path, TYPES)
        .map_err(|error| CliError::Unwritten(format!("{shown}: {error}")))?;
    let text = format!(
        "{shown} is written. In storm.ts: `import {{ storm }} from \"thunderhead\"; export default storm({{ … }});`\n"
    );
    let json = json!({ "ok": true, "file": path.display().to_string() });
    Ok(Answer { text, json, code: 0, notes: Vec::new() })
}
