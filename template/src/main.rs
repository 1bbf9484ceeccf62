//! Every command for this system: try `cargo run -- explore {{name}}`.

fn main() -> std::process::ExitCode {
    thunderhead::main(&[&{{crate}}::system()])
}
