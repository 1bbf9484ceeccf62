//! A PostgreSQL server of our own, in a temporary directory, gone with the process that started it.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use thunderhead_stream::postgres::{Settings, connect};
use tokio_postgres::Client;

/// How long a server may take to answer for the first time, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the server and stops it when its standard input ends: when the owner closes it, and also
/// when the owner is killed. It hears no Ctrl-C, which is for the owner. The signal is repeated
/// because `initdb` may still be at work, which does not listen to it.
///
/// The databases sort by a language where the server can do that everywhere (from version 15 on), so
/// that a comparison which should be by bytes is noticed.
const SUPERVISOR: &str = r#"
trap '' HUP INT TERM
init() {
    "$initdb" --pgdata="$data" --username=postgres --auth=trust --encoding=UTF8 --no-sync "$@"
}
initdb="$1/initdb" postgres="$1/postgres" directory="$2" data="$2/data"
shift 2
{
    { init --locale-provider=icu --icu-locale=en --locale=C >/dev/null 2>&1 || init --locale=C; } &&
    exec "$postgres" -D "$data" -k "$directory" -c max_connections=200 \
        -c fsync=off -c full_page_writes=off "$@"
} >"$directory/log" 2>&1 </dev/null &
read -r _
while kill -QUIT $! 2>/dev/null; do sleep 0.05; done
rm -rf -- "$directory"
"#;

/// Makes an authority, and a certificate for `localhost` that it has signed. Debian's `postgresql` brings openssl.
const CERTIFICATES: &str = r#"
set -e
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req -x509 $key -keyout ca.key -out ca.crt -subj /CN=authority -days 2
openssl req $key -keyout server.key -out server.csr -subj /CN=localhost
echo "subjectAltName=DNS:localhost" >server.ext
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
    -extfile server.ext -out server.crt
chmod 600 server.key
"#;

/// What helps when the directory is the reason.
const ELSEWHERE: &str = "set TMPDIR to a directory with a short name that every user may enter";

/// A server that is running.
#[derive(Debug)]
pub struct Cluster {
    supervisor: Child,
    directory: PathBuf,
    /// Where it listens beside its socket, which is named after it.
    port: u16,
}

/// What a server listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// A socket in its directory, and no port.
    Socket,
    /// A port of this machine as well.
    Plain,
    /// A port of this machine that takes connections over TLS and no others.
    Tls,
}

impl Cluster {
    /// Starts a server, and waits until it answers. Panics with what to do when that is impossible.
    pub async fn start() -> Cluster {
        Cluster::listening(Listens::Socket).await
    }

    /// Starts a server that listens to more than its socket.
    pub async fn listening(listens: Listens) -> Cluster {
        // Nothing is lost when a commit does not wait for a disk that is not waited for anyway.
        Cluster::start_with(listens, "synchronous_commit=off").await
    }

    /// Starts a server with one more setting.
    pub async fn start_with(listens: Listens, setting: &str) -> Cluster {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let started = match find_binaries(&candidates(&path)) {
            Ok(binaries) => Cluster::run(&binaries, listens, setting).await,
            Err(error) => Err(error),
        };
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn run(binaries: &Path, listens: Listens, setting: &str) -> Result<Cluster, String> {
        loop {
            let directory = empty_directory("pg")?;
            // A free port may be taken before the server has it; then it is another one's turn.
            let port = match listens {
                Listens::Socket => SOCKET,
                Listens::Plain | Listens::Tls => free_port()?,
            };
            let settings = [
                setting.to_owned(),
                format!("port={port}"),
                match listens {
                    Listens::Socket => "listen_addresses=".to_owned(),
                    Listens::Plain | Listens::Tls => "listen_addresses=127.0.0.1".to_owned(),
                },
            ];
            let mut settings = Vec::from(settings);
            if listens == Listens::Tls {
                make_certificates(&directory)?;
                settings.push("ssl=on".to_owned());
                for (name, file) in [("cert", "server.crt"), ("key", "server.key")] {
                    settings.push(format!("ssl_{name}_file={}", directory.join(file).display()));
                }
            }
            let supervisor = supervise(binaries, &directory, &settings).inspect_err(|_| {
                fs::remove_dir_all(&directory).expect("it is ours");
            })?;
            let cluster = Cluster { supervisor, directory, port };
            match cluster.answered().await {
                Err(error) if error.contains("could not bind") => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(cluster),
            }
        }
    }

    async fn answered(&self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Err(error) = connect(&self.config("postgres")).await else { return Ok(()) };
            let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            if Instant::now() > deadline || log.lines().any(is_final) {
                return Err(format!(
                    "the PostgreSQL server in {} did not start ({error}). If its log does not say \
                     why, {ELSEWHERE}. Its log:\n{log}",
                    self.directory.display()
                ));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How to connect to a database at the socket.
    pub fn config(&self, database: &str) -> Settings {
        self.string(database).parse().expect("a connection string")
    }

    /// The connection string, for another process.
    pub fn string(&self, database: &str) -> String {
        let directory = self.directory.display();
        format!("host={directory} port={} user=postgres dbname={database}", self.port)
    }

    /// How to connect to a database at the port, with a mode of TLS and what else it takes.
    pub fn string_of_port(&self, database: &str, tls: &str) -> String {
        let Cluster { port, .. } = self;
        format!(
            "host=localhost hostaddr=127.0.0.1 port={port} user=postgres dbname={database} {tls}"
        )
    }

    /// The certificate of the authority that has signed the server's.
    pub fn authority(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    /// Where the server keeps everything, its socket included.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a database of a name that is not taken yet.
    pub async fn create_database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let client: Client = connect(&self.config("postgres")).await.expect("it answers");
        let create = format!("CREATE DATABASE {name}");
        client.batch_execute(&create).await.expect("the name is new");
        name
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        self.supervisor.wait().expect("the supervisor is our child");
    }
}

fn supervise(binaries: &Path, directory: &Path, settings: &[String]) -> Result<Child, String> {
    let mut command = Command::new("sh");
    command.args(["-c", SUPERVISOR, "supervisor"]).args([binaries, directory]);
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    as_owner(&mut command, directory)?;
    let place = directory.display();
    command
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("no server can be started in {place} ({error}): {ELSEWHERE}"))
}

fn make_certificates(directory: &Path) -> Result<(), String> {
    let mut command = Command::new("sh");
    command.args(["-c", CERTIFICATES]);
    as_owner(&mut command, directory)?;
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "openssl, which Debian's package `postgresql` installs, made no certificate: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Lets a command run in a directory, as a user who is not root and who owns it.
pub fn as_owner(command: &mut Command, directory: &Path) -> Result<(), String> {
    // initdb looks at where it is, which the user it runs as might not be allowed to see.
    command.current_dir(directory);
    if let Some((user, group)) = unprivileged(directory)? {
        let place = directory.display();
        chown(directory, Some(user), Some(group))
            .map_err(|error| format!("{place} cannot be given to user {user}: {error}"))?;
        command.uid(user).gid(group);
    }
    Ok(())
}

/// The number in the name of a socket that nobody else has, for its directory is new.
pub const SOCKET: u16 = 5432;

fn free_port() -> Result<u16, String> {
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    free.map(|address| address.port()).map_err(|error| format!("there is no port: {error}"))
}

/// Whether a line of the log is the last word of a server that does not start, or of `initdb`.
/// That it is still starting up is no such word.
fn is_final(line: &str) -> bool {
    let words = ["FATAL:", "initdb: error:", "not found", "ermission denied"];
    !line.contains("the database system is") && words.iter().any(|word| line.contains(word))
}

/// Where the server's programs may be: in PATH, where Debian puts them (newest first), and where
/// `pg_config` says.
pub fn candidates(path: &std::ffi::OsStr) -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = std::env::split_paths(path).collect();
    let entries = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    candidates.extend(versions.into_iter().map(|version| version.join("bin")));
    let pg_config = Command::new("pg_config").arg("--bindir").env("PATH", path).output();
    if let Ok(output) = pg_config {
        candidates.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    candidates
}

/// The first directory with the programs of a server, or a sentence that says what to do.
pub fn find_binaries(candidates: &[PathBuf]) -> Result<PathBuf, String> {
    let complete = |directory: &&PathBuf| {
        ["initdb", "postgres"].iter().all(|program| directory.join(program).is_file())
    };
    candidates.iter().find(complete).cloned().ok_or_else(|| {
        "these tests need a PostgreSQL server, and there is none: no `initdb` and `postgres` in \
         PATH, in /usr/lib/postgresql/*/bin or where `pg_config --bindir` points. Run ./setup.sh, \
         which installs it, or install Debian's package `postgresql` (a running server is not needed)"
            .to_owned()
    })
}

/// A new directory for one test. A process that was killed may have left one of the same name, so a name that is
/// taken is passed over.
pub fn empty_directory(purpose: &str) -> Result<PathBuf, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("thunderhead-{purpose}-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{} cannot be made: {error}", directory.display())),
        }
    }
}

/// Whom to run the server as: it refuses to be root.
fn unprivileged(directory: &Path) -> Result<Option<(u32, u32)>, String> {
    // Only root can have given it away before.
    let owner = fs::metadata(directory).map_err(|error| error.to_string())?;
    let runs_as = fs::metadata("/proc/self").map_err(|error| error.to_string())?.uid();
    if runs_as != 0 {
        return Ok(None);
    }
    if owner.uid() != 0 {
        return Ok(Some((owner.uid(), owner.gid())));
    }
    let users = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    let find = |name: &str| {
        let fields: Vec<&str> = users
            .lines()
            .map(|line| line.split(':').collect())
            .find(|line: &Vec<&str>| line[0] == name)?;
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody")).map(Some).ok_or_else(|| {
        "PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`: \
         run the tests as another user"
            .to_owned()
    })
}
