//! The command line: see `cli.rs` for the commands.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
