//! What a machine has to keep, written to a disk that is no disk, and put back: what must be there after a restart, and
//! how little there is to do for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::{
    BackingStore, Body, Changes, Cloud, DurableObject, Env, Error, Image, Later, Machine,
    MachineConfig, MessageBatch, ObjectState, Request, Response, Time, Turn, kv, queue, r2,
    workflow,
};

/// The value of a row, its body, and the file that has the body instead.
type Value = (String, Option<Body>, Option<u64>);

/// What a journal would have written.
#[derive(Default)]
struct Disk {
    /// By kind and key.
    rows: BTreeMap<(String, String), Value>,
    images: BTreeMap<String, Image>,
    turns: Vec<Turn>,
    backing_store: Rc<Kept>,
    /// Whether it is slow: changes are not written before [`Disk::catch_up`].
    lags: bool,
    unwritten: Vec<Changes>,
}

/// A message by its queue, by when it is due and by its number.
type Due = (String, Time, u64);

/// What a machine reads back.
#[derive(Debug, Default)]
struct Kept {
    files: RefCell<BTreeMap<u64, Body>>,
    ended: RefCell<BTreeMap<String, String>>,
    /// Messages that are due later.
    later: RefCell<BTreeMap<Due, (Later, String)>>,
    reads: Cell<usize>,
    /// Whether messages cannot be read for now.
    unreadable: Cell<bool>,
    /// Where large databases are written.
    folder: Option<PathBuf>,
}

impl BackingStore for Kept {
    fn body(&self, file: u64) -> Option<Body> {
        self.reads.update(|reads| reads + 1);
        self.files.borrow().get(&file).cloned()
    }

    fn messages(
        &self,
        queue: &str,
        behind: (Time, u64),
        most: usize,
    ) -> Option<Vec<(u64, String)>> {
        if self.unreadable.get() {
            return None;
        }
        let later = self.later.borrow();
        let theirs =
            later.iter().filter(|((of, due, number), _)| of == queue && (*due, *number) > behind);
        Some(theirs.take(most).map(|((.., number), (_, value))| (*number, value.clone())).collect())
    }

    fn oldest_message(&self, queue: &str, behind: (Time, u64)) -> Option<String> {
        self.messages(queue, behind, usize::MAX)?.into_iter().min().map(|(_, value)| value)
    }

    fn place(&self, file: u64) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(file.to_string()))
    }

    fn instance(&self, workflow: &str, id: &str) -> Option<String> {
        self.reads.update(|reads| reads + 1);
        self.ended.borrow().get(&format!("{workflow}/{id}")).cloned()
    }
}

impl Disk {
    fn write(&mut self, changes: Changes) {
        for row in changes.rows {
            self.backing_store.ended.borrow_mut().remove(&row.key);
            if row.kind == "message" {
                let (queue, number) = row.key.rsplit_once('/').unwrap();
                let number = number.parse().unwrap();
                let mut later = self.backing_store.later.borrow_mut();
                later.retain(|(_, _, other), _| *other != number);
                let value = row.later.zip(row.value.clone());
                value.map(|value| later.insert((queue.into(), value.0.due, number), value));
            }
            let key = (row.kind.to_string(), row.key);
            let before = self.rows.remove(&key).and_then(|(_, _, file)| file);
            let files = &mut self.backing_store.files.borrow_mut();
            before.filter(|before| Some(*before) != row.file).map(|before| files.remove(&before));
            let Some(value) = row.value else { continue };
            match (row.file, row.body) {
                _ if row.later.is_some() => {}
                _ if row.kept_until.is_some() => {
                    self.backing_store.ended.borrow_mut().insert(key.1, value);
                }
                (Some(file), body) => {
                    body.map(|body| files.insert(file, body));
                    self.rows.insert(key, (value, None, Some(file)));
                }
                (None, body) => drop(self.rows.insert(key, (value, body, None))),
            }
        }
        for image in changes.images {
            self.turns.retain(|turn| turn.log != image.log);
            self.images.insert(image.log.clone(), image);
        }
        self.turns.extend(changes.turns);
    }

    /// Writes everything, and tells the machine so.
    fn catch_up(&mut self, machine: &Machine) {
        for changes in std::mem::take(&mut self.unwritten) {
            let number = changes.number;
            self.write(changes);
            machine.written(number);
        }
    }

    /// A machine that begins with what is on the disk.
    fn start(&self, mount: &dyn Fn(&mut Cloud), now: Time) -> Machine {
        let mut machine = Machine::new(&MachineConfig::default(), mount);
        let backing_store: Rc<dyn BackingStore> = self.backing_store.clone();
        machine.read_with(&backing_store);
        for ((kind, key), (value, body, file)) in &self.rows {
            match file {
                Some(file) => machine.restore_filed(key, value, *file).unwrap(),
                None => machine.restore_row(kind, key, value, body.clone()).unwrap(),
            }
        }
        let later = self.backing_store.later.borrow();
        let queues: BTreeSet<&String> = later.keys().map(|(queue, ..)| queue).collect();
        for queue in queues {
            let theirs = || later.iter().filter(|((of, ..), _)| of == queue);
            let bytes = theirs().map(|(_, (later, _))| later.bytes).sum();
            let next = theirs().map(|(_, (later, _))| later.due).min().unwrap();
            machine.restore_later(queue, theirs().count() as u64, bytes, next);
        }
        for (log, Image { beside, pages, file, .. }) in &self.images {
            match file {
                Some(file) => machine.restore_filed_image(log, beside, *file).unwrap(),
                None => machine.restore_image(log, beside, pages).unwrap(),
            }
        }
        for turn in &self.turns {
            machine.restore_turn(&turn.log, &turn.did).unwrap();
        }
        machine.recover(now);
        machine
    }
}

/// Asks a machine that answers within a minute, and writes down what has changed then.
fn ask(machine: &Machine, disk: &mut Disk, method: &str, path: &str, body: &str) -> String {
    let answer = Rc::new(RefCell::new(None));
    let place = answer.clone();
    machine.request(Request::new(method, path, body), move |given| {
        *place.borrow_mut() = Some(given.unwrap())
    });
    machine.advance(machine.now() + Duration::from_secs(60), usize::MAX);
    disk.unwritten.push(machine.take_changes());
    if !disk.lags {
        disk.catch_up(machine);
    }
    let response: Response = answer.take().expect("it answers");
    response.body.text().unwrap().into()
}

/// Counts in tables and in a key, and draws a random word each time.
struct Counter(ObjectState);

impl DurableObject for Counter {
    fn new(ctx: ObjectState, _env: Env) -> Counter {
        let table = "create table if not exists hits(n integer primary key, word integer not null)";
        ctx.storage().exec(table, &[]).unwrap();
        Counter(ctx)
    }

    async fn rpc(&self, _method: &str, _args: Body) -> Result<Body, Error> {
        let storage = self.0.storage();
        storage.exec("insert into hits(word) values (random())", &[])?;
        let last = storage.get("last")?.map_or(0, |last| last.parse::<u32>().unwrap()) + 1;
        storage.put("last", Body::json(&last))?;
        let counted = "select count(distinct word) || ' of ' || count(*) as words from hits";
        let words = storage.exec(counted, &[])?.one()?;
        Ok(Body::from(format!("{} {last}", words[0].1.as_str().unwrap())))
    }
}

const CAT: &str =
    "insert into cats values (?, 1) on conflict (name) do update set lives = lives + 1";

fn counts(cloud: &mut Cloud) {
    cloud.d1("pets");
    cloud.migrate("pets", &["create table cats(name text primary key, lives integer not null)"]);
    cloud.durable_object::<Counter>("COUNTER");
    cloud.worker("web").fetch(|env, _request| async move {
        let told = env.durable_object("COUNTER").get_by_name("all").rpc("hit", "").await?;
        let pets = env.d1("pets");
        pets.prepare(CAT).bind(vec!["Tom".into()]).run().await?;
        let lives = pets.prepare("select lives from cats").raw().await?;
        Ok(Response::new(200, format!("{}, {} lives", told.text().unwrap(), lives[0][0])))
    });
}

#[test]
fn an_image_takes_the_place_of_the_turns_that_outweigh_it() {
    let mut disk = Disk::default();
    let mut machine = disk.start(&counts, Time::ZERO);
    let mut longest = [0; 2];
    for hit in 1..=1_000 {
        let told = ask(&machine, &mut disk, "POST", "/", "");
        assert_eq!(told, format!("{hit} of {hit} {hit}, {hit} lives"));
        let longest = &mut longest[usize::from(hit > 500)];
        *longest = disk.turns.len().max(*longest);
        // The random words go on where they were, or some would come again.
        if hit % 97 == 0 {
            machine = disk.start(&counts, machine.now());
        }
    }
    let logs: Vec<&String> = disk.images.keys().collect();
    assert!(logs.len() == 2 && *logs[0] == "d1/pets", "{logs:?}");
    assert!(longest[0] < 200 && longest[1] < 200, "{longest:?} turns of 2,000");
}

/// Runs the SQL that it is sent.
fn library(cloud: &mut Cloud) {
    cloud.d1("books");
    cloud.worker("web").fetch(|env, request: Request| async move {
        let done = env.d1("books").prepare(request.body.text().unwrap()).raw().await;
        let told = done.map_or_else(|error| error.to_string(), |rows| format!("{rows:?}"));
        Ok(Response::new(200, told))
    });
}

#[test]
fn the_image_of_a_large_database_is_a_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("images-of-large-databases");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let kept = Kept { folder: Some(folder.clone()), ..Kept::default() };
    let mut disk = Disk { backing_store: Rc::new(kept), ..Disk::default() };
    let mut machine = disk.start(&library, Time::ZERO);
    ask(&machine, &mut disk, "POST", "/", "create table books(title text)");
    let mut files = BTreeSet::new();
    for book in 1..=100 {
        let sql = format!("insert into books values ('{book} {}')", "x".repeat(2_000));
        assert_eq!(ask(&machine, &mut disk, "POST", "/", &sql), "[]");
        for image in disk.images.values() {
            assert!(image.file.is_none() || image.pages.is_empty(), "the pages are in the file");
            assert!(image.file.is_some() || image.pages.len() < 65_536, "{}", image.pages.len());
            files.extend(image.file);
        }
        if book % 13 == 0 {
            machine = disk.start(&library, machine.now());
        }
        let count = ask(&machine, &mut disk, "POST", "/", "select count(*) from books");
        assert_eq!(count, format!("[[Integer({book})]]"));
    }
    assert!((2..20).contains(&files.len()), "{files:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_image_has_the_schema_and_what_the_schema_says() {
    let mut disk = Disk::default();
    let machine = disk.start(&library, Time::ZERO);
    let mut ask = |machine: &Machine, sql: &str| ask(machine, &mut disk, "POST", "/", sql);
    for sql in [
        "create table authors(name text primary key)",
        "create table books(title text unique on conflict replace, author text references authors \
         deferrable initially deferred)",
        "create virtual table words using fts5(word)",
        "insert into authors values ('Ann')",
        "insert into words values ('thunder and lightning')",
    ] {
        assert_eq!(ask(&machine, sql), "[]");
    }
    // As long as it takes to outweigh anything.
    let filler = format!("insert into books values ('{}', 'Ann')", "x".repeat(10_000));
    assert_eq!(ask(&machine, &filler), "[]");
    let machine = disk.start(&library, machine.now());
    assert!(disk.turns.is_empty() && disk.images.len() == 1, "{} turns", disk.turns.len());
    let mut ask = |sql: &str| self::ask(&machine, &mut disk, "POST", "/", sql);
    assert_eq!(ask("insert into books values ('A', 'Ann'), ('A', 'Ann')"), "[]");
    assert_eq!(ask("select count(*) from books where length(title) = 1"), "[[Integer(1)]]");
    let orphan = ask("insert into books values ('B', 'Bob')");
    assert!(orphan.contains("internal error"), "{orphan}");
    assert_eq!(ask("select count(*) from words where words match 'lightning'"), "[[Integer(1)]]");
}

/// Keys over HTTP: `PUT` and `DELETE` of one, `GET` of one or of all that begin so.
fn settings(cloud: &mut Cloud) {
    cloud.kv("settings");
    cloud.worker("web").fetch(|env, request: Request| async move {
        let (settings, key) = (env.kv("settings"), request.pathname().trim_start_matches('/'));
        let told = match &*request.method {
            "PUT" => {
                let (metadata, expiration_ttl) = (Some("1".into()), request.query("ttl"));
                let expiration_ttl = expiration_ttl.map(|ttl| ttl.parse().unwrap());
                let options =
                    kv::PutOptions { metadata, expiration_ttl, ..kv::PutOptions::default() };
                settings.put_with(key, request.body.clone(), options).await?;
                "put".into()
            }
            "DELETE" => {
                settings.delete(key).await?;
                "deleted".into()
            }
            "LIST" => {
                let prefix = Some(key.into());
                let page = settings.list(kv::ListOptions { prefix, ..kv::ListOptions::default() });
                page.await?.keys.iter().map(|key| &*key.name).collect::<Vec<_>>().join(" ")
            }
            _ => match settings.get_with_metadata(key).await? {
                Some(entry) => format!("{} {:?}", entry.value.text().unwrap(), entry.metadata),
                None => "nothing".into(),
            },
        };
        Ok(Response::new(200, told))
    });
}

#[test]
fn keys_of_kv_are_there_after_a_restart_until_they_expire() {
    let mut disk = Disk::default();
    let machine = disk.start(&settings, Time::ZERO);
    let mut put = |path: &str| assert_eq!(ask(&machine, &mut disk, "PUT", path, "on"), "put");
    for path in ["/a.lamp", "/b.lamp", "/b.radio", "/c.lamp", "/b.gone", "/b.short?ttl=600"] {
        put(path);
    }
    assert_eq!(ask(&machine, &mut disk, "DELETE", "/b.gone", ""), "deleted");
    assert_eq!(ask(&machine, &mut disk, "GET", "/never.there", ""), "nothing");
    assert_eq!(disk.rows.keys().filter(|(kind, _)| kind == "key").count(), 5);

    let machine = disk.start(&settings, machine.now());
    let mut told = |method, path| ask(&machine, &mut disk, method, path, "");
    assert_eq!(told("GET", "/b.lamp"), r#"on Some("1")"#);
    assert_eq!(told("GET", "/b.gone"), "nothing");
    assert_eq!(told("LIST", "/b."), "b.lamp b.radio b.short");
    // Each question takes a minute, so the ten are over.
    for _ in 0..10 {
        told("GET", "/a.lamp");
    }
    assert_eq!(told("GET", "/b.short"), "nothing");
    assert_eq!(told("LIST", "/b."), "b.lamp b.radio");
    assert!(
        !disk.rows.contains_key(&("key".into(), "settings/b.short".into())),
        "it is still kept"
    );
}

/// A bucket over HTTP.
fn pictures(cloud: &mut Cloud) {
    cloud.bucket("pictures", r2::BucketConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        let pictures = env.bucket("pictures");
        match &*request.method {
            "PUT" => {
                pictures.put(&request.path, request.body.clone()).execute().await?;
            }
            "DELETE" => pictures.delete(&request.path).await?,
            _ => {}
        }
        let found = pictures.get(&request.path).execute().await?.and_then(|object| object.body);
        Ok(Response::new(200, found.unwrap_or_else(Body::empty)))
    });
}

#[test]
fn a_large_body_leaves_the_memory_when_its_file_is_written() {
    let (first, second) = ("a".repeat(20_000), "b".repeat(30_000));
    let mut disk = Disk { lags: true, ..Disk::default() };
    let machine = disk.start(&pictures, Time::ZERO);
    assert_eq!(ask(&machine, &mut disk, "PUT", "/cat", &first), first);
    assert_eq!(ask(&machine, &mut disk, "GET", "/cat", ""), first);
    assert_eq!((disk.backing_store.files.borrow().len(), disk.backing_store.reads.get()), (0, 0));
    disk.catch_up(&machine);
    assert_eq!(ask(&machine, &mut disk, "GET", "/cat", ""), first);
    assert_eq!(disk.backing_store.reads.get(), 1, "it was read from its file");
    // The second body is not in its file when the machine hears once more of the first.
    assert_eq!(ask(&machine, &mut disk, "PUT", "/cat", &second), second);
    machine.written(1);
    assert_eq!(ask(&machine, &mut disk, "GET", "/cat", ""), second);
    assert_eq!((disk.backing_store.files.borrow().len(), disk.backing_store.reads.get()), (1, 1));

    disk.catch_up(&machine);
    disk.lags = false;
    let machine = disk.start(&pictures, machine.now());
    assert_eq!(ask(&machine, &mut disk, "GET", "/cat", ""), second);
    assert_eq!(disk.backing_store.reads.get(), 2, "after a restart it is in its file");
    assert_eq!(ask(&machine, &mut disk, "PUT", "/dog", &first), first);
    assert_eq!(disk.backing_store.files.borrow().len(), 2, "its file has another number");
    assert_eq!(ask(&machine, &mut disk, "PUT", "/cat", "small"), "small");
    assert_eq!(ask(&machine, &mut disk, "DELETE", "/dog", ""), "");
    assert_eq!((disk.backing_store.files.borrow().len(), disk.backing_store.reads.get()), (0, 2));
}

/// Jobs by name: `POST` begins one, `GET` asks for it, `DELETE` removes it.
fn jobs(cloud: &mut Cloud) {
    let hour = Duration::from_secs(3_600);
    let config = workflow::WorkflowConfig { retention: hour, ..Default::default() };
    cloud.workflow("job", config, |_env, event, _step| async move { Ok(event.payload) });
    cloud.worker("web").fetch(|env, request: Request| async move {
        let (jobs, id) = (env.workflow("job"), request.path.trim_start_matches('/'));
        let done = async {
            if &*request.method == "POST" {
                let options = workflow::CreateOptions {
                    id: Some(id.into()),
                    params: Some(request.body.clone()),
                    ..Default::default()
                };
                return jobs.create(options).await.map(|_| "made".to_string());
            }
            let job = jobs.get(id).await?;
            match &*request.method {
                "DELETE" => job.delete().await.map(|()| "deleted".to_string()),
                _ => job.status().await.map(|status| format!("{status:?}")),
            }
        };
        let told = done.await.unwrap_or_else(|error: Error| format!("refused: {error}"));
        Ok(Response::new(200, told))
    });
}

#[test]
fn an_instance_that_has_ended_leaves_the_memory_and_is_still_known() {
    let mut disk = Disk::default();
    let mut machine = disk.start(&jobs, Time::ZERO);
    for job in 0..20 {
        let id = format!("/{job}");
        assert_eq!(ask(&machine, &mut disk, "POST", &id, &format!("[{job}]")), "made");
        assert_eq!(machine.size().instances, 0, "after {job}");
    }
    for _ in 0..2 {
        let mut told = |method, path| ask(&machine, &mut disk, method, path, "");
        assert!(told("GET", "/3").contains("Complete"), "{}", told("GET", "/3"));
        assert!(told("POST", "/3").contains("refused"), "an id is used once");
        assert!(told("GET", "/20").contains("refused"), "there was none");
        assert_eq!(machine.size().instances, 0);
        machine = disk.start(&jobs, machine.now());
        assert_eq!(machine.size().instances, 0);
    }
    // What is on disk of one that was deleted does not count, though it is still there.
    disk.lags = true;
    let mut told = |method, path| ask(&machine, &mut disk, method, path, "");
    assert_eq!(told("DELETE", "/4"), "deleted");
    assert!(told("GET", "/4").contains("refused"));
    assert_eq!(told("POST", "/4"), "made");
    disk.catch_up(&machine);
    disk.lags = false;
    // Each question takes a minute, so the hour is over.
    for _ in 0..60 {
        ask(&machine, &mut disk, "GET", "/none", "");
    }
    assert!(ask(&machine, &mut disk, "GET", "/3", "").contains("refused"), "it is kept no longer");
    assert_eq!(ask(&machine, &mut disk, "POST", "/3", ""), "made");
}

/// Says what it is told ten minutes later; how often it has said something, and how much it has to say.
fn reminders(cloud: &mut Cloud) {
    cloud.d1("said");
    cloud.migrate("said", &["create table said(word text)"]);
    cloud.queue("reminders", queue::QueueConfig::default());
    cloud.worker("web").fetch(|env, request: Request| async move {
        let queue = env.queue("reminders");
        if request.method == "PUT" {
            let body = queue::MessageBody::text(request.body.text().unwrap());
            queue.send_with(queue::MessageSendRequest::from(body).delayed(600)).await?;
        }
        let waiting = queue.metrics().await?;
        let counted = "select count(distinct word) || ' of ' || count(*) from said";
        let said = env.d1("said").prepare(counted).raw().await?;
        let told = (said[0][0].as_str(), waiting.backlog_count, waiting.backlog_bytes);
        Ok(Response::new(200, format!("{told:?} {:?}", waiting.oldest_message_timestamp)))
    });
    let consumer = ("reminders", queue::ConsumerConfig::default());
    cloud.worker("consumer").queue(&[consumer], |env, batch: MessageBatch| async move {
        for message in batch.messages() {
            let word = message.body().data.text().unwrap_or_default();
            let say = "insert into said values (?)";
            env.d1("said").prepare(say).bind(vec![word.into()]).run().await?;
        }
        Ok(())
    });
}

#[test]
fn a_message_that_is_due_much_later_leaves_the_memory_and_is_delivered_once() {
    for restarts in [false, true] {
        let mut disk = Disk::default();
        let mut machine = disk.start(&reminders, Time::ZERO);
        for word in ["one", "two", "three"] {
            ask(&machine, &mut disk, "PUT", "/", word);
        }
        assert_eq!((machine.size().messages, disk.backing_store.later.borrow().len()), (0, 3));
        let mut told = Vec::new();
        for _ in 0..14 {
            if restarts {
                machine = disk.start(&reminders, machine.now());
            }
            told.push(ask(&machine, &mut disk, "GET", "/", ""));
        }
        assert_eq!(
            told[0], "(Some(\"0 of 0\"), 3, 11) Some(Time(60000))",
            "the first was sent then"
        );
        assert_eq!(told[13], "(Some(\"3 of 3\"), 0, 0) None", "{told:#?}");
        assert!(machine.is_at_rest() && disk.backing_store.later.borrow().is_empty());
    }
}

#[test]
fn a_message_that_is_due_before_it_is_written_stays() {
    let mut disk = Disk { lags: true, ..Disk::default() };
    let machine = disk.start(&reminders, Time::ZERO);
    ask(&machine, &mut disk, "PUT", "/", "one");
    assert_eq!(machine.size().messages, 1, "it is not on disk yet");
    for _ in 0..9 {
        ask(&machine, &mut disk, "GET", "/", "");
    }
    ask(&machine, &mut disk, "PUT", "/", "two");
    // The disk learns of the first message when it has nearly been delivered, and of that when it has been told of it.
    disk.catch_up(&machine);
    assert_eq!(machine.size().messages, 1, "the second is not needed for long");
    for _ in 0..14 {
        ask(&machine, &mut disk, "GET", "/", "");
    }
    let told = ask(&machine, &mut disk, "GET", "/", "");
    assert_eq!(told, "(Some(\"2 of 2\"), 0, 0) None");
    disk.catch_up(&machine);
    let again = disk.start(&reminders, machine.now());
    assert!(again.is_at_rest() && disk.backing_store.later.borrow().is_empty());
}

#[test]
fn a_message_that_was_read_back_is_not_read_again() {
    let mut disk = Disk::default();
    let machine = disk.start(&reminders, Time::ZERO);
    for word in ["one", "two", "three"] {
        ask(&machine, &mut disk, "PUT", "/", word);
    }
    assert_eq!(machine.size().messages, 0);
    // From here on the disk learns of nothing, and still has what has been delivered.
    disk.lags = true;
    for _ in 0..14 {
        ask(&machine, &mut disk, "GET", "/", "");
    }
    assert_eq!(ask(&machine, &mut disk, "GET", "/", ""), "(Some(\"3 of 3\"), 0, 0) None");
}

#[test]
fn messages_that_cannot_be_read_when_they_are_due_are_delivered_when_they_can() {
    let mut disk = Disk::default();
    let machine = disk.start(&reminders, Time::ZERO);
    for word in ["one", "two", "three"] {
        ask(&machine, &mut disk, "PUT", "/", word);
    }
    disk.backing_store.unreadable.set(true);
    for _ in 0..14 {
        ask(&machine, &mut disk, "GET", "/", "");
    }
    let told = ask(&machine, &mut disk, "GET", "/", "");
    assert!(told.starts_with("(Some(\"0 of 0\"), 3, 11)"), "they are due: {told}");
    disk.backing_store.unreadable.set(false);
    ask(&machine, &mut disk, "GET", "/", "");
    assert_eq!(ask(&machine, &mut disk, "GET", "/", ""), "(Some(\"3 of 3\"), 0, 0) None");
}
