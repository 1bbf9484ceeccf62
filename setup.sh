#!/usr/bin/env bash
# Installs what the tests need and this machine lacks. It says what it will do, and why, before it does it;
# when nothing is missing it changes nothing.
set -euo pipefail

# The programs of PostgreSQL are looked for where the tests look for them (stream/tests/stores/support/cluster.rs).
postgres_is_there() {
  local directory directories
  IFS=: read -ra directories <<<"$PATH"
  directories+=(/usr/lib/postgresql/*/bin "$(pg_config --bindir 2>/dev/null || true)")
  for directory in "${directories[@]}"; do
    if [ -x "$directory/initdb" ] && [ -x "$directory/postgres" ]; then return 0; fi
  done
  return 1
}

packages=()   # of Debian; installing them needs root
components=() # of the Rust toolchain; they belong to the user
reasons=()
# Debian starts a server of its own after it has installed PostgreSQL, unless a file in this folder says otherwise.
no_cluster=/etc/postgresql-common/createcluster.d/thunderhead.conf

if ! command -v cc >/dev/null; then
  packages+=(gcc libc6-dev)
  reasons+=("packages gcc and libc6-dev: SQLite is compiled from source, which takes a C compiler")
fi
if ! postgres_is_there; then
  packages+=(postgresql)
  reasons+=("package postgresql: the command stream is tested on a server that the tests start and remove themselves"
    "file $no_cluster: keeps Debian from starting a server of its own; it is removed after the installation")
fi
if ! command -v openssl >/dev/null; then
  packages+=(openssl)
  reasons+=("package openssl: the tests make the certificates of the servers that they start")
fi
if ! command -v pgbouncer >/dev/null && [ ! -x /usr/sbin/pgbouncer ]; then
  packages+=(pgbouncer)
  reasons+=("package pgbouncer: the command stream is tested behind a pooler, which the tests start and remove themselves;"
    "service pgbouncer: Debian starts one of its own after it has installed it; it is stopped and disabled")
fi
if ! cargo fmt --version >/dev/null 2>&1; then
  components+=(rustfmt)
  reasons+=("component rustfmt of the Rust toolchain: ./test.sh checks the format")
fi
if ! cargo clippy --version >/dev/null 2>&1; then
  components+=(clippy)
  reasons+=("component clippy of the Rust toolchain: ./test.sh runs the lints")
fi

if [ ${#reasons[@]} = 0 ]; then
  echo "setup.sh: everything is there, so nothing is changed."
  exit
fi
echo "setup.sh: this is missing and will be installed:"
printf '  %s\n' "${reasons[@]}"

if [ ${#packages[@]} != 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "setup.sh: this is no Debian (there is no apt-get). Install a C compiler, openssl, pgbouncer and PostgreSQL's initdb and postgres by hand." >&2
    exit 1
  fi
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup.sh: installing packages needs root, and there is no sudo. Run this as root: $(realpath "$0")" >&2
      exit 1
    fi
    echo "setup.sh: sudo may ask for your password."
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q
  if [[ " ${packages[*]} " == *" postgresql "* ]]; then
    trap '"${as_root[@]}" rm -f "$no_cluster"' EXIT
    "${as_root[@]}" mkdir -p "$(dirname "$no_cluster")"
    echo "create_main_cluster = false" | "${as_root[@]}" tee "$no_cluster" >/dev/null
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy "${packages[@]}"
  if [[ " ${packages[*]} " == *" pgbouncer "* ]] && [ -d /run/systemd/system ]; then
    "${as_root[@]}" systemctl disable --now pgbouncer
  fi
fi
if [ ${#components[@]} != 0 ]; then
  rustup component add "${components[@]}"
fi
echo "setup.sh: done."
