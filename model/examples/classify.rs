//! The commands of `cli` by hand: `fetch [FILE]`, `info`, or images to classify.
//!
//! `KERNEL`, `PRECISION` and `THREADS` in the environment choose how.

use thunderhead_model::{Kernel, Precision, Progress, Settings, cli};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings {
        kernel: variable("KERNEL")
            .and_then(|name| Kernel::ALL.into_iter().find(|k| k.name() == name)),
        precision: match variable("PRECISION").as_deref() {
            Some("f32") => Precision::F32,
            Some("bf16") => Precision::Bf16,
            _ => Precision::Auto,
        },
        threads: variable("THREADS").map_or(Ok(1), |threads| threads.parse())?,
        ..Settings::default()
    };
    let mut shown = 101;
    let mut show = |progress: Progress| {
        let percent = progress.done * 100 / progress.total.max(1);
        if percent != shown {
            shown = percent;
            eprint!("\r{progress}   ");
        }
    };
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fetch"] => println!("\n{}", cli::fetch(None, &mut show)?),
        ["fetch", file] => println!("\n{}", cli::fetch(Some(file.as_ref()), &mut show)?),
        ["info"] => println!("\n{}", cli::info(settings, &mut show)?),
        _ => {
            let answers = cli::classify(&arguments, settings, &mut show)?;
            eprintln!();
            println!("{}", serde_json::to_string_pretty(&answers)?);
            answers.iter().for_each(|answer| println!("{answer}"));
        }
    }
    Ok(())
}
