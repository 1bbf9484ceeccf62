//! A pooler of our own in front of a server, gone with the process that started it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use thunderhead_stream::postgres::{Settings, connect};

use super::cluster::{Cluster, SOCKET, as_owner, empty_directory};

/// How long a pooler may take to answer for the first time.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the pooler and stops it when its standard input ends, as with the server.
const SUPERVISOR: &str = r#"
trap '' HUP INT TERM
"$1" "$2/pgbouncer.ini" >"$2/log" 2>&1 </dev/null &
read -r _
kill -KILL $!
rm -rf -- "$2"
"#;

/// A pooler that is running.
#[derive(Debug)]
pub struct Pooler {
    supervisor: Child,
    directory: PathBuf,
}

impl Pooler {
    /// Starts a pooler with two connections of the server for all of ours, each of them as new after every transaction.
    pub async fn start(cluster: &Cluster) -> Pooler {
        Pooler::start_with(cluster, 2, FORGETFUL).await
    }

    /// Starts a pooler with so many connections of the server for each database, and waits until it answers. Panics
    /// with what to do when that is impossible.
    pub async fn start_with(cluster: &Cluster, size: u32, more: &str) -> Pooler {
        let directory = empty_directory("pooler").unwrap_or_else(|error| panic!("{error}"));
        let settings = settings(&directory, cluster.directory(), size, more);
        fs::write(directory.join("pgbouncer.ini"), settings).expect("the directory is ours");
        let mut command = Command::new("sh");
        command.args(["-c", SUPERVISOR, "supervisor"]).arg(program()).arg(&directory);
        as_owner(&mut command, &directory).unwrap_or_else(|error| panic!("{error}"));
        let supervisor = command.stdin(Stdio::piped()).spawn().expect("there is a shell");
        let pooler = Pooler { supervisor, directory };
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = connect(&pooler.config("postgres")).await {
            let log = fs::read_to_string(pooler.directory.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline && !log.contains("FATAL"), "{error}, and:\n{log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        pooler
    }

    /// How to connect to a database through it.
    pub fn config(&self, database: &str) -> Settings {
        let directory = self.directory.display();
        let text = format!("host={directory} port={SOCKET} user=postgres dbname={database}");
        text.parse().expect("a connection string")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        self.supervisor.wait().expect("the supervisor is our child");
    }
}

/// Nothing of a session outlives its transaction, and a connection that is not used ends.
const FORGETFUL: &str = "server_idle_timeout = 1
server_reset_query = DISCARD ALL
server_reset_query_always = 1
";

fn settings(directory: &Path, server: &Path, size: u32, more: &str) -> String {
    format!(
        "[databases]
* = host={} user=postgres
[pgbouncer]
unix_socket_dir = {}
listen_port = {SOCKET}
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 1000
{more}",
        server.display(),
        directory.display()
    )
}

/// Debian has it where only root looks.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.find_map(|folder| Some(folder.join("pgbouncer")).filter(|it| it.is_file())).expect(
        "these tests need the pooler `pgbouncer`, and there is none in PATH or /usr/sbin. Run ./setup.sh, which \
         installs it, or install Debian's package `pgbouncer` (a running one is not needed)",
    )
}
