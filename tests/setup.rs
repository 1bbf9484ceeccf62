//! `setup.sh` says what it will do before it does it, and changes nothing when nothing is missing.
#![cfg(unix)]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use support::{root, scratch};

/// A machine of stand-ins: a folder that is all of the PATH. Everything is there, and what would change
/// the system only notes that it was called.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Machine {
        let machine = Machine(scratch(name));
        for tool in ["bash", "cat", "dirname", "env", "realpath"] {
            let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
            let found = found.iter().find(|path| path.exists()).expect("a tool of every system");
            symlink(found, machine.0.join(tool)).expect("linked");
        }
        for there in ["cc", "cargo", "initdb", "openssl", "pgbouncer", "postgres"] {
            machine.add(there, "exit 0");
        }
        machine.add("id", "echo 0");
        for changing in ["apt-get", "mkdir", "rm", "rustup", "tee"] {
            machine.add(changing, &format!("echo \"{changing} $*\" >> called"));
        }
        machine
    }

    fn add(&self, tool: &str, does: &str) {
        let path = self.0.join(tool);
        fs::write(&path, format!("#!/bin/sh\n{does}\n")).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("made executable");
    }

    fn remove(&self, tool: &str) {
        fs::remove_file(self.0.join(tool)).expect("it was there");
    }

    /// Runs `setup.sh`: its exit code, what it printed, and the commands that would have changed something.
    fn set_up(&self) -> (i32, String, String) {
        let output = Command::new(root().join("setup.sh"))
            .current_dir(&self.0)
            .env("PATH", &self.0)
            .output()
            .expect("started");
        let said = [output.stdout, output.stderr].concat();
        let called = fs::read_to_string(self.0.join("called")).unwrap_or_default();
        let code = output.status.code().expect("it ended by itself");
        (code, String::from_utf8(said).expect("it speaks UTF-8"), called)
    }
}

/// Keeps the tests of this file apart. A program that one of them has just written cannot be started while a
/// process that another has just forked still holds it open for writing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn nothing_changes_when_nothing_is_missing() {
    let _alone = alone();
    let (code, said, called) = Machine::new("setup-complete").set_up();
    assert_eq!((code, called.as_str()), (0, ""), "{said}");
    assert!(said.contains("nothing is changed"), "{said}");
}

#[test]
fn what_is_missing_is_named_and_installed() {
    let _alone = alone();
    let machine = Machine::new("setup-bare");
    machine.remove("cc");
    machine.remove("openssl");
    machine.add("cargo", "exit 1");
    let (code, said, called) = machine.set_up();
    assert_eq!(code, 0, "{said}");
    for named in ["gcc", "libc6-dev", "openssl", "rustfmt", "clippy"] {
        assert!(said.contains(named), "{said}");
    }
    let expected = "apt-get update -q
apt-get install -qy gcc libc6-dev openssl
rustup component add rustfmt clippy
";
    assert_eq!(called, expected);
}

#[test]
fn without_root_and_sudo_it_says_what_to_run() {
    let _alone = alone();
    let machine = Machine::new("setup-powerless");
    machine.remove("cc");
    machine.add("id", "echo 1000");
    let (code, said, called) = machine.set_up();
    assert_eq!((code, called.as_str()), (1, ""), "{said}");
    assert!(said.contains("Run this as root: /") && said.contains("setup.sh"), "{said}");

    machine.add("sudo", "echo sudo >> called; exec \"$@\"");
    let (code, said, called) = machine.set_up();
    assert_eq!(code, 0, "{said}");
    assert!(called.starts_with("sudo\napt-get update"), "{called}");
}
