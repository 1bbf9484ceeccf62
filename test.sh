#!/usr/bin/env bash
# Everything that must pass: format, lints, tests, documentation. Installs what it needs first.
set -euo pipefail
cd "$(dirname "$0")"

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
install() {
  as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy "$@"
}

# SQLite is compiled from source, so a C compiler is needed beside Rust.
command -v cc >/dev/null || install gcc libc6-dev

# The command stream is tested on a PostgreSQL server that the tests start and remove themselves: its
# programs are needed, where the tests look for them too, but no running server.
postgres_is_there() {
  local directory directories
  IFS=: read -ra directories <<<"$PATH"
  directories+=(/usr/lib/postgresql/*/bin "$(pg_config --bindir 2>/dev/null || true)")
  for directory in "${directories[@]}"; do
    if [ -x "$directory/initdb" ] && [ -x "$directory/postgres" ]; then return 0; fi
  done
  return 1
}
if ! postgres_is_there; then
  # Debian would start a server of its own after the installation.
  settings=/etc/postgresql-common/createcluster.d
  as_root mkdir -p "$settings"
  echo "create_main_cluster = false" | as_root tee "$settings/thunderhead.conf" >/dev/null
  install postgresql
  as_root rm "$settings/thunderhead.conf"
fi
cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

export INSTA_UPDATE=no
cargo fmt --all --check
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo test --workspace --locked
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
