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
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo test --workspace --locked
# With the examples, what foreign crates are compiled with is the same as above, so none is checked again.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --examples --all-features --no-deps --locked
