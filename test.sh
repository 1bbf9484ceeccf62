#!/usr/bin/env bash
# Everything that must pass: format, lints, tests, documentation. Installs what it needs first.
set -euo pipefail
cd "$(dirname "$0")"

# SQLite is compiled from source, so a C compiler is needed beside Rust.
if ! command -v cc >/dev/null; then
  apt-get update -q && apt-get install -qy gcc libc6-dev
fi
cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

export INSTA_UPDATE=no
cargo fmt --all --check
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo test --workspace --locked
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
