#!/usr/bin/env bash
# Everything that must pass: format, lints, tests, documentation.
set -euo pipefail
cd "$(dirname "$0")"

echo "test.sh: ./setup.sh installs what the tests need, if it is missing."
./setup.sh

export INSTA_UPDATE=no
# Properties draw the same cases here each time, so that a failure comes from a change and can be repeated. A plain
# `cargo test` draws new ones, and so does the long fuzzing in `fuzz`.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}
cargo fmt --all --check
# Lints and documentation are made of what the tests are compiled with: `cargo clippy` and `cargo doc` would check every
# foreign crate a second time. Benches are built to be linted, and only that (`.ci/lint`).
# Cargo watches this variable: set in `.ci/lint`, it would have everything compiled again each time.
export CLIPPY_ARGS=-Dwarnings
with_lints=(--config "build.rustc-workspace-wrapper='$PWD/.ci/lint'" --config "build.rustdoc='$PWD/.ci/document'")
cargo test --workspace --locked "${with_lints[@]}" --benches --no-run
cargo test --workspace --locked "${with_lints[@]}"
