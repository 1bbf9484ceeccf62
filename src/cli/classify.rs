//! `thunderhead classify IMAGE…`: what is in a picture, by ResNet-50.

use serde_json::{Value, json};
use thunderhead_model::cli::{self, Classified};
use thunderhead_model::{DEFAULT_TOP, Settings};

use super::model::{self, Loading};
use super::{Answer, Trouble};

/// What `classify` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Image files, folders of them, or patterns such as 'photos/*.jpg'.
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// How many labels each image gets.
    #[arg(long, default_value_t = DEFAULT_TOP as u16, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
    top: u16,
    #[command(flatten)]
    loading: Loading,
}

pub fn classify(args: &Args) -> Result<Answer, Trouble> {
    let settings = Settings { top: args.top.into(), ..args.loading.settings() };
    let answers = cli::classify(&args.images, settings, &mut model::bar())?;
    let text = answers.iter().map(|answer| format!("{answer}\n")).collect();
    let failed = answers.iter().any(|answer| answer.error.is_some());
    Ok(Answer { text, json: answers.iter().map(document).collect(), code: u8::from(failed) })
}

/// One image for tools, whatever bytes its name is made of.
fn document(answer: &Classified) -> Value {
    json!({
        "path": answer.path.display().to_string(),
        "labels": answer.labels,
        "error": answer.error,
    })
}
