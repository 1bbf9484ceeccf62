//! `thunderhead serve SYSTEM` and `thunderhead judge DIR`: a system run for real, and its history held to the promises.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Answer, CliError, Given, model};

/// The arguments of `serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system to serve; `list` names all of them.
    #[arg(required_unless_present = "verify")]
    pub system: Option<String>,
    /// The variant to serve [default: the first, which is the reference].
    #[arg(long)]
    variant: Option<String>,
    /// The directory with everything that is kept, which is created if there is none.
    #[arg(long, default_value = "data")]
    data: PathBuf,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    #[command(flatten)]
    pub model: model::Arg,
    /// Writes the history into the directory, for `judge`.
    #[arg(long)]
    trace: bool,
    /// Gives every request this session, such as ann@acme, instead of signing in; on a loopback address only.
    #[arg(long)]
    user: Option<String>,
    /// Checks a directory that is not being served, and serves nothing.
    #[arg(long, value_name = "DIR")]
    verify: Option<PathBuf>,
}

/// The arguments of `judge`.
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// The data directory of a server that was started with `--trace`.
    dir: PathBuf,
}

/// What a program says that was built without its server. The tests of the workspace have one that was built with it.
#[cfg(any(test, not(feature = "serve")))]
fn missing(with_models: bool, rest: &str) -> CliError {
    let build = match with_models {
        true => "cargo run --release -p thunderhead-model --features serve",
        false => "cargo run --release --features serve",
    };
    CliError::Input(format!(
        "this program was built without its server. In the folder of the project, build it with: {build} -- {rest}. \
         In a crate of your own, give the dependency `thunderhead` the feature `serve`"
    ))
}

#[cfg(not(feature = "serve"))]
mod absent {
    use super::*;

    pub fn serve(given: Given, args: &Args) -> Result<Answer, CliError> {
        let rest = match (&args.verify, &args.system) {
            (Some(dir), _) => format!("serve --verify {}", dir.display()),
            (None, system) => format!("serve {}", system.as_deref().unwrap_or_default()),
        };
        Err(missing(given.models.is_some(), &rest))
    }

    pub fn judge(given: Given, args: &JudgeArgs) -> Result<Answer, CliError> {
        Err(missing(given.models.is_some(), &format!("judge {}", args.dir.display())))
    }
}

#[cfg(not(feature = "serve"))]
pub use absent::{judge, serve};
#[cfg(feature = "serve")]
pub use present::{judge, serve};

#[cfg(feature = "serve")]
mod present {
    use std::fmt::Write;

    use serde_json::json;
    use thunderhead_serve::{Commits, Config, Data, Identity, Outside, Ready, ServeError, User};
    use thunderhead_sim::{Machine, MachineConfig, closest};

    use super::*;
    use crate::cli::output;
    use crate::report;

    impl From<ServeError> for CliError {
        fn from(error: ServeError) -> CliError {
            match error {
                ServeError::Unwritten(_) => CliError::Unwritten(error.to_string()),
                _ => CliError::Input(error.to_string()),
            }
        }
    }

    pub fn serve(given: Given, args: &Args) -> Result<Answer, CliError> {
        if let Some(dir) = &args.verify {
            return verify(given, dir);
        }
        let name = args.system.as_deref().unwrap_or_default();
        let system = given.systems.find(name).map_err(CliError::Input)?;
        let variant = match &args.variant {
            None => system.reference(),
            Some(name) => system.variant(name).ok_or_else(|| {
                CliError::Input(closest(
                    name,
                    system.variants().iter().map(|variant| &*variant.name),
                ))
            })?,
        };
        let user: Option<User> =
            args.user.as_deref().map(str::parse).transpose().map_err(CliError::Input)?;
        let said = user.clone();
        let config = Config {
            system: system.clone(),
            variant: variant.clone(),
            data: args.data.clone(),
            listen: args.listen,
            user,
            tells: args.trace,
            outside: Outside::REAL,
            commits: Commits::Together,
            mistake: None,
            halt: None,
        };
        thunderhead_serve::serve(config, thunderhead_serve::signals(), |ready| {
            announce(ready, said.as_ref())
        })?;
        let json = json!({ "ok": true });
        Ok(Answer { text: String::new(), json, code: 0, notes: Vec::new() })
    }

    /// Says where the server listens, and how one is let in. Printed at once: the answer of the command comes at its
    /// end.
    fn announce(ready: &Ready, user: Option<&User>) {
        output::say(&match (user, &ready.sign_in) {
            (Some(user), _) => format!("every request is {user}'s: no one has to sign in (--user)"),
            (None, Some(key)) => format!("sign in as NAME@ORGANISATION with the key {key}"),
            (None, None) => String::new(),
        });
        output::print(&format!("listening on http://{}\n", ready.address), 0);
    }

    fn verify(given: Given, dir: &std::path::Path) -> Result<Answer, CliError> {
        let machine = |identity: &Identity| {
            let system = given.systems.find(&identity.system).ok()?;
            let variant = system.variant(&identity.variant)?;
            Some(Machine::new(&MachineConfig::default(), &|cloud| variant.mount(cloud)))
        };
        let report = Data::verify(dir, machine).map_err(ServeError::from)?;
        let Identity { system, variant } = &report.identity;
        let text = format!(
            "{}  {} holds {system} --variant {variant}: {} rows, {} ended instances, \
             {} messages for later, {} files, {} images, {} turns, {} pieces of history\n",
            report::good("ok"),
            dir.display(),
            report.rows,
            report.ended,
            report.later,
            report.files,
            report.images,
            report.turns,
            report.history
        );
        let json = json!({
            "ok": true, "system": system, "variant": variant,
            "rows": report.rows, "ended": report.ended, "later": report.later,
            "files": report.files, "images": report.images, "turns": report.turns, "history": report.history,
        });
        Ok(Answer { text, json, code: 0, notes: Vec::new() })
    }

    pub fn judge(given: Given, args: &JudgeArgs) -> Result<Answer, CliError> {
        let judged = thunderhead_serve::judge(&args.dir, |name| given.systems.find(name).ok());
        let judged = judged.map_err(ServeError::from)?;
        let ok = judged.violations.is_empty();
        let mut text = String::new();
        for violation in &judged.violations {
            let (bad, promise) = (report::bad("BROKEN"), &violation.promise);
            let _ = writeln!(
                text,
                "{bad}  {promise}: {}",
                thunderhead_sim::printable(&violation.finding.message)
            );
        }
        let (system, events) = (&judged.identity.system, judged.events);
        let verdict = if ok { report::good("ok") } else { report::bad("broken") };
        let _ = writeln!(
            text,
            "{verdict}  {system}: {events} events, {} promises broken",
            judged.violations.len()
        );
        let mut notes = Vec::new();
        if !judged.at_rest {
            notes.push("note: work was left when the server stopped, so promises about the end were not judged".into());
        }
        let json = json!({
            "ok": ok, "system": system, "events": events, "atRest": judged.at_rest,
            "violations": judged.violations.iter()
                .map(|broken| json!({ "promise": broken.promise, "message": broken.finding.message }))
                .collect::<Vec<_>>(),
            "seen": judged.seen.iter()
                .map(|(name, seen)| json!({ "promise": name, "seen": seen })).collect::<Vec<_>>(),
        });
        Ok(Answer { text, json, code: u8::from(!ok), notes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_its_server_says_how_to_build_one() {
        for (with_models, build) in [
            (false, "with: cargo run --release --features serve -- judge data. "),
            (
                true,
                "with: cargo run --release -p thunderhead-model --features serve -- judge data. ",
            ),
        ] {
            let said = missing(with_models, "judge data").to_string();
            assert!(said.contains(build), "{said}");
        }
    }
}
