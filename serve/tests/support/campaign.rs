//! Loads a server, kills it over and over, and then asks whether everything is there that clients were told of.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};

use rusqlite::Connection;
use thunderhead::systems;
use thunderhead_serve::{Commits, Mistake, judge};
use thunderhead_sim::Rng;

use super::client::Client;
use super::forgetful::Forgetful;
use super::process::{HALTS, Server};

const CLIENTS: usize = 6;
/// How many names each client has.
const NAMES: u32 = 4;
/// Between two kills so many operations are begun at least.
const LEAST: u32 = 5;

pub struct Campaign<'a> {
    /// The name of the test, by which the servers are started.
    pub test: &'a str,
    /// How many kills are at a random moment; there are more at places that are chosen.
    pub kills: usize,
    /// Between two kills so many operations are begun at most.
    pub operations: u32,
    pub commits: Commits,
    pub mistake: Option<Mistake>,
    pub power: Power,
    /// What the moments of the kills and the operations are drawn from.
    pub seed: u64,
}

/// What a kill takes.
#[derive(Clone, Copy)]
pub enum Power {
    /// The process, as `SIGKILL` does: what it has written is there.
    Stays,
    /// The machine: what was not synced is gone. That is never synced whose path has one of these words, which have
    /// colons between them.
    Fails { unsynced: Option<&'static str> },
}

/// What came of it.
pub struct Found {
    pub acknowledged: usize,
    /// Whether the history shows a message that was delivered twice.
    pub delivered_twice: bool,
    pub wrong: Vec<String>,
}

/// An operation on a name: the bytes that were put there, or none when it was deleted.
struct Operation {
    name: String,
    bytes: Option<Vec<u8>>,
    acknowledged: bool,
}

/// Where the clients and the one who kills meet. Kills are counted in operations, not in time.
#[derive(Default)]
struct Meeting {
    state: Mutex<Moment>,
    changed: Condvar,
}

#[derive(Default)]
struct Moment {
    begun: usize,
    address: Option<SocketAddr>,
    over: bool,
}

impl Campaign<'_> {
    pub fn run(&self) -> Found {
        let folder = Folder::new(self.test);
        let disk = match self.power {
            Power::Stays => None,
            Power::Fails { unsynced } => Some(Forgetful::new(&folder.0, unsynced)),
        };
        let data = disk.as_ref().map_or(folder.0.join("data"), Forgetful::data);
        let meeting = Meeting::default();
        let start_to =
            |halt| Server::start(self.test, &data, self.commits, self.mistake, halt, disk.as_ref());
        let start = || start_to(None);
        let lose_power = || disk.iter().for_each(Forgetful::lose_power);
        let mut operations = Vec::new();
        for (halt, ..) in HALTS {
            operations.push(self.kill_at(halt, start_to(Some(halt))));
            lose_power();
        }
        operations.extend(std::thread::scope(|scope| {
            let client = |number| {
                let meeting = &meeting;
                let seed = self.seed << 8 | number as u64;
                scope.spawn(move || meeting.load(number, seed))
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            let mut rng = Rng::new(self.seed << 8 | 7);
            for _ in 0..self.kills {
                let server = start();
                meeting.open(server.address);
                meeting.wait((LEAST + rng.below(self.operations - LEAST)) as usize);
                server.kill();
                meeting.close();
                lose_power();
            }
            meeting.end();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
        }));
        start().finish();
        let mut wrong = audit(&data, &operations);
        // What is shown after another start is what is stored.
        let server = start();
        wrong.extend(compare(&data, server.address));
        wrong.extend(compare_files(&data));
        server.finish();
        let judged = judge(&data, systems::find).unwrap();
        assert!(judged.at_rest, "all work was done");
        let broken = judged.violations.iter();
        wrong
            .extend(broken.map(|broken| format!("{}: {}", broken.promise, broken.finding.message)));
        let acknowledged = operations.iter().filter(|operation| operation.acknowledged).count();
        let twice = |(name, seen): &(String, bool)| *seen && name == "a message is delivered twice";
        let delivered_twice = judged.seen.iter().any(twice);
        let (kills, begun, events) = (self.kills + HALTS.len(), operations.len(), judged.events);
        println!("{kills} kills, {acknowledged} of {begun} acknowledged, {events} events");
        judged
            .seen
            .iter()
            .filter(|(_, seen)| *seen)
            .for_each(|(name, _)| println!("  seen: {name}"));
        Found { acknowledged, delivered_twice, wrong }
    }
}

impl Campaign<'_> {
    /// Kills a server where it stands still, while a client waits for its answer.
    fn kill_at(&self, halt: &str, mut server: Server) -> Operation {
        let (name, bytes) = (format!("{halt}.jpg"), enlarged(halt.as_bytes().to_vec(), FILED));
        let mut client = Client::connect(server.address).unwrap();
        client.send("PUT", &format!("/acme/{name}"), &bytes).unwrap();
        // A delivery comes after the answer, also after one that is sent too early.
        let answers = halt == "delivery" || self.mistake == Some(Mistake::AnswersEarly);
        let acknowledged = answers && client.answer().unwrap().0 == 201;
        server.halted();
        server.kill();
        Operation { name, bytes: Some(bytes), acknowledged }
    }
}

impl Meeting {
    fn open(&self, address: SocketAddr) {
        self.state.lock().unwrap().address = Some(address);
        self.changed.notify_all();
    }

    fn close(&self) {
        self.state.lock().unwrap().address = None;
    }

    fn end(&self) {
        self.state.lock().unwrap().over = true;
        self.changed.notify_all();
    }

    /// Waits until so many more operations have begun.
    fn wait(&self, more: usize) {
        let mut state = self.state.lock().unwrap();
        let until = state.begun + more;
        while state.begun < until {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Waits for a server; none when all is over.
    fn server(&self) -> Option<SocketAddr> {
        let mut state = self.state.lock().unwrap();
        while state.address.is_none() && !state.over {
            state = self.changed.wait(state).unwrap();
        }
        state.address.filter(|_| !state.over)
    }

    fn begin(&self) {
        self.state.lock().unwrap().begun += 1;
        self.changed.notify_all();
    }

    /// What one client does: puts and deletes, one after another, on names of its own.
    fn load(&self, number: usize, seed: u64) -> Vec<Operation> {
        let (mut rng, mut all, mut client) = (Rng::new(seed), Vec::new(), None);
        loop {
            let Some(address) = self.server() else { return all };
            if client.as_ref().is_none_or(|(at, _)| *at != address) {
                client = Client::connect(address).ok().map(|client| (address, client));
            }
            let Some((_, connected)) = &mut client else { continue };
            // What is lost under a name of its own is not hidden by what comes later.
            let own = rng.below(2) == 0;
            let name = if own { all.len() } else { rng.below(NAMES) as usize };
            let name = format!("c{number}-{own}-{name}.jpg");
            let bytes = (rng.below(4) > 0)
                .then(|| format!("{number}/{} {}", all.len(), rng.bits()).into_bytes())
                .map(|bytes| match rng.below(4) {
                    0 => enlarged(bytes, FILED),
                    1 => enlarged(bytes, UNHELD),
                    _ => bytes,
                });
            let method = if bytes.is_some() { "PUT" } else { "DELETE" };
            self.begin();
            let answer = connected.ask(
                method,
                &format!("/acme/{name}"),
                bytes.as_deref().unwrap_or_default(),
            );
            let acknowledged = matches!(answer, Ok((201 | 204, _)));
            if answer.is_err() {
                client = None;
            }
            all.push(Operation { name, bytes, acknowledged });
        }
    }
}

/// What is stored, by name.
fn stored(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let db = Connection::open(data.join("cloud.db")).unwrap();
    let sql = "select key, coalesce(row.body, bytes), file from row left join body on number = file where kind = 'object'";
    let mut rows = db.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(|row| row.unwrap())
        .map(|(key, body, file): (String, Option<Vec<u8>>, Option<u32>)| {
            let read = |file| std::fs::read(path_of(data, file)).unwrap_or_default();
            let bytes = body.or(file.map(read)).unwrap_or_default();
            (key.rsplit_once('/').unwrap().1.into(), bytes)
        })
        .collect()
}

/// Bytes that are so many that they are not held in memory, and that they have a file of their own.
const UNHELD: usize = 20_000;
const FILED: usize = 70_000;

fn enlarged(mut bytes: Vec<u8>, length: usize) -> Vec<u8> {
    bytes.resize(length, b'.');
    bytes
}

/// Where the bytes of an object are.
fn path_of(data: &Path, file: u32) -> PathBuf {
    data.join(format!("bodies/{:x}/{file:x}", file >> 10))
}

/// The files with the bytes of objects.
pub fn files(data: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(data.join("bodies"));
    let mut files: Vec<PathBuf> = folders
        .into_iter()
        .flatten()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

/// The files that objects have and those that are there must be the same, and no bytes may be left of an object that is
/// gone.
fn compare_files(data: &Path) -> Vec<String> {
    let db = Connection::open(data.join("cloud.db")).unwrap();
    let left = "select count(*) from body where number not in (select file from row where file is not null)";
    let left: u32 = db.query_row(left, [], |row| row.get(0)).unwrap();
    let filed =
        "select file from row where file is not null and file not in (select number from body)";
    let mut rows = db.prepare(filed).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    let mut known: Vec<PathBuf> = rows.map(|file| path_of(data, file.unwrap())).collect();
    known.sort();
    let found = files(data);
    let mut wrong = Vec::new();
    if found != known {
        wrong.push(format!("the files {found:?} are there, and objects have {known:?}"));
    }
    if left > 0 {
        wrong.push(format!("the bytes of {left} objects are there, which are gone"));
    }
    wrong
}

/// Each name must hold what its last acknowledged operation left there, or one after that which was not answered.
fn audit(data: &Path, operations: &[Operation]) -> Vec<String> {
    let stored = stored(data);
    let mut names: BTreeMap<&String, Vec<&Operation>> = BTreeMap::new();
    for operation in operations {
        names.entry(&operation.name).or_default().push(operation);
    }
    let lost = names.into_iter().filter_map(|(name, theirs)| {
        let last = theirs.iter().rposition(|operation| operation.acknowledged);
        let mut possible: Vec<Option<&Vec<u8>>> =
            theirs[last.unwrap_or(0)..].iter().map(|operation| operation.bytes.as_ref()).collect();
        if last.is_none() {
            possible.push(None);
        }
        let found = stored.get(name);
        (!possible.contains(&found)).then(|| {
            let text = |bytes: Option<&Vec<u8>>| {
                bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            let possible: Vec<_> = possible.into_iter().map(text).collect();
            format!(
                "{name} holds {:?}, and was acknowledged to hold one of {possible:?}",
                text(found)
            )
        })
    });
    lost.collect()
}

/// The list that users see has every name that is stored, classified, and no other.
fn compare(data: &Path, address: SocketAddr) -> Vec<String> {
    let (status, body) = Client::connect(address).unwrap().ask("GET", "/acme", b"").unwrap();
    assert_eq!(status, 200);
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&body).unwrap();
    let listed: BTreeMap<String, String> = listed
        .iter()
        .map(|row| (row["name"].as_str().unwrap().into(), row["status"].as_str().unwrap().into()))
        .collect();
    let expected: BTreeMap<String, String> =
        stored(data).into_keys().map(|name| (name, "classified".into())).collect();
    if listed == expected {
        Vec::new()
    } else {
        vec![format!("{listed:?} is shown and {expected:?} is stored")]
    }
}

/// A folder that is removed at the end, unless the test fails.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let parent = std::env::var_os("KILLED_FOLDER").map(PathBuf::from);
        let path = parent.unwrap_or(env!("CARGO_TARGET_TMPDIR").into()).join(name);
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }
}
