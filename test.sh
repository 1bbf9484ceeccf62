#!/usr/bin/env bash
# Everything that must pass: format, lints, tests, documentation.
set -euo pipefail
cd "$(dirname "$0")"

echo "test.sh: ./setup.sh installs what the tests need, if it is missing."
./setup.sh

export INSTA_UPDATE=no
cargo fmt --all --check
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo test --workspace --locked
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked
