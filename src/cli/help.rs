//! What only a program with its systems can say in `--help`: their names, and those of everything else.

use clap::Command;
use thunderhead_props::System;
use thunderhead_sim::fault;

/// Adds the names of systems, variants and faults to the help of the commands that take them.
pub fn with_names(command: Command, systems: &[&System]) -> Command {
    let names = joined(systems.iter().map(|system| &*system.name));
    let variants: Vec<String> = systems
        .iter()
        .map(|system| {
            let variants = system.variants().iter().map(|variant| &*variant.name);
            format!("{}: {}", system.name, joined(variants))
        })
        .collect();
    let variants = variants.join("\n");
    let faults = |explored| {
        joined(fault::ALL.iter().filter(|kind| kind.explored == explored).map(|kind| kind.name))
    };
    let faults = format!("{}; only when asked for: {}", faults(true), faults(false));
    let on = |command: Command| {
        let variants = variants.clone();
        command.mut_arg("variant", move |arg| extended(arg, &variants))
    };
    command
        .mut_subcommand("explore", |explore| {
            on(explore)
                .mut_arg("system", |arg| {
                    arg.help(format!("The system to search: {names}, or the folder of a Worker"))
                })
                .mut_arg("faults", |arg| extended(arg, &faults))
        })
        .mut_subcommand("run", on)
        .mut_subcommand("trace", on)
        .mut_subcommand("list", |list| {
            list.mut_arg("what", |arg| {
                let parts = "systems, promises, faults, scenarios";
                arg.help(format!("A system ({names}), or one of {parts} [default: everything]"))
            })
        })
}

/// Leaves `--model` out of the help of a program that has the stand-in alone.
pub fn without_models(command: Command) -> Command {
    let hidden = |command: Command| command.mut_arg("model", |arg| arg.hide(true));
    let commands = ["check", "explore", "run", "replay", "trace", "serve"];
    commands.into_iter().fold(command, |command, name| command.mut_subcommand(name, hidden))
}

/// The help of an argument, followed in the long form by the values that it can have.
fn extended(arg: clap::Arg, values: &str) -> clap::Arg {
    let short = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.long_help(format!("{short}\n\n{values}"))
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
