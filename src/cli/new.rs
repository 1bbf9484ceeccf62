//! `thunderhead new NAME`: writes a crate with a small system in it, to begin from.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Answer, CliError};

/// The arguments of `new`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name of the crate, of its folder and of its system: small letters, digits and hyphens.
    name: String,
    /// Where Thunderhead is checked out [default: where this program was built].
    #[arg(long)]
    path: Option<PathBuf>,
}

/// The files of the crate; `{{name}}`, `{{crate}}` and `{{path}}` stand for what is different in each.
const FILES: [(&str, &str); 8] = [
    (".cargo/config.toml", include_str!("../../.cargo/config.toml")),
    ("Cargo.toml", include_str!("../../template/Cargo.toml.in")),
    (".gitignore", include_str!("../../template/gitignore")),
    ("src/main.rs", include_str!("../../template/src/main.rs")),
    ("src/lib.rs", include_str!("../../template/src/lib.rs")),
    ("scenarios/lost-answer.toml", include_str!("../../template/scenarios/lost-answer.toml")),
    ("tests/storms.rs", include_str!("../../template/tests/storms.rs")),
    (
        "tests/snapshots/storms__lost-answer.snap",
        include_str!("../../template/tests/snapshots/storms__lost-answer.snap"),
    ),
];

/// Names that cargo or the compiler would refuse, or that the crate's dependencies have.
const TAKEN: [&str; 12] = [
    "test",
    "core",
    "std",
    "alloc",
    "proc-macro",
    "build",
    "deps",
    "examples",
    "incremental",
    "insta",
    "proptest",
    "thunderhead",
];

pub fn new(args: &Args) -> Result<Answer, CliError> {
    let name = checked(&args.name)?;
    let project = project(args.path.as_deref())?;
    let folder = Path::new(name);
    std::fs::create_dir(folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CliError::Input(format!(
            "`{name}` exists already, and nothing is overwritten: choose another name, or another folder to be in"
        )),
        _ => CliError::Input(format!("cannot create `{name}`: {error}")),
    })?;
    for (file, template) in FILES {
        write(&folder.join(file), &filled(template, name, &project))?;
    }
    // The versions that the project is tested with, so that nothing has to be looked up.
    if let Ok(lock) = std::fs::read_to_string(project.join("Cargo.lock")) {
        write(&folder.join("Cargo.lock"), &lock)?;
    }
    let text = format!(
        "{name}/ has a system with a worker, a queue, a workflow and an object, and a bug to find:\n\
         \n  cd {name}\n  cargo test\n  cargo run -- explore {name}\n\n\
         `src/lib.rs` is the place to begin; docs/your-system.md in {} goes through it.\n",
        project.display(),
    );
    let files: Vec<String> = FILES.iter().map(|(file, _)| format!("{name}/{file}")).collect();
    Ok(Answer {
        text,
        json: json!({ "ok": true, "name": name, "files": files }),
        code: 0,
        notes: Vec::new(),
    })
}

/// A name that cargo takes for a package and the compiler for a crate.
fn checked(name: &str) -> Result<&str, CliError> {
    let wrong =
        |why: &str| Err(CliError::Input(format!("`{name}` cannot be the name of a crate: {why}")));
    let begins = name.chars().next().is_some_and(|first| first.is_ascii_lowercase());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !begins || !name.chars().all(plain) || name.ends_with('-') {
        return wrong(
            "use small letters, digits and hyphens, beginning with a letter, as in `order-desk`; \
             the crate is written to a folder of that name in the current folder",
        );
    }
    if name.len() > 40 {
        return wrong("it has more than 40 letters");
    }
    if TAKEN.contains(&name) || name.starts_with("thunderhead-") || is_keyword(name) {
        return wrong("the name is taken by the language, by cargo or by a dependency");
    }
    Ok(name)
}

/// Whether the language keeps this word for itself.
fn is_keyword(name: &str) -> bool {
    const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern \
        false final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static \
        struct super trait true try type typeof unsafe unsized use virtual where while yield";
    KEYWORDS.split_whitespace().any(|word| word == name)
}

/// The folder of the project, which the crate depends on.
fn project(asked: Option<&Path>) -> Result<PathBuf, CliError> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = asked.unwrap_or(built);
    let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
    if !manifest.contains("name = \"thunderhead\"") {
        let path = path.display();
        let advice = "name the folder where it is checked out with --path";
        return Err(CliError::Input(format!("Thunderhead is not in `{path}`: {advice}")));
    }
    let whole = path.canonicalize();
    whole.map_err(|error| CliError::Input(format!("`{}`: {error}", path.display())))
}

/// A file of the template for this crate.
fn filled(template: &str, name: &str, project: &Path) -> String {
    // In TOML, a backslash of a Windows path would begin an escape.
    let path = project.display().to_string().replace('\\', "/");
    let filled = template.replace("{{name}}", name).replace("{{crate}}", &name.replace('-', "_"));
    filled.replace("{{path}}", &path)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| std::fs::write(path, text));
    written.map_err(|error| CliError::Input(format!("cannot write {}: {error}", path.display())))
}
