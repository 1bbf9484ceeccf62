//! What a machine has to keep, written to a disk that is no disk, and put back: what must be there after a restart, and
//! how little there is to do for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::{
    Body, Changes, Cloud, DurableObject, Env, Error, Machine, MachineConfig, ObjectState, Request,
    Response, Time, Turn, kv,
};

/// What a journal would have written.
#[derive(Default)]
struct Disk {
    rows: BTreeMap<(String, String), (String, Option<Body>)>,
    images: BTreeMap<String, (String, Vec<u8>)>,
    turns: Vec<Turn>,
}

impl Disk {
    fn write(&mut self, changes: Changes) {
        for row in changes.rows {
            let key = (row.kind.to_string(), row.key);
            match row.value {
                Some(value) => drop(self.rows.insert(key, (value, row.body))),
                None => drop(self.rows.remove(&key)),
            }
        }
        for image in changes.images {
            self.turns.retain(|turn| turn.log != image.log);
            self.images.insert(image.log, (image.beside, image.pages));
        }
        self.turns.extend(changes.turns);
    }

    /// A machine that begins with what is on the disk.
    fn start(&self, mount: &dyn Fn(&mut Cloud), now: Time) -> Machine {
        let mut machine = Machine::new(&MachineConfig::default(), mount);
        for ((kind, key), (value, body)) in &self.rows {
            machine.restore_row(kind, key, value, body.clone()).unwrap();
        }
        for (log, (beside, pages)) in &self.images {
            machine.restore_image(log, beside, pages).unwrap();
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
    disk.write(machine.take_changes());
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

const CAT: &str = "insert into cats values (?, 1) on conflict (name) do update set lives = lives + 1";

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

#[test]
fn an_image_has_the_schema_and_what_the_schema_says() {
    fn library(cloud: &mut Cloud) {
        cloud.d1("books");
        cloud.worker("web").fetch(|env, request: Request| async move {
            let done = env.d1("books").prepare(request.body.text().unwrap()).raw().await;
            let told = done.map_or_else(|error| error.to_string(), |rows| format!("{rows:?}"));
            Ok(Response::new(200, told))
        });
    }
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
                let options = kv::PutOptions { metadata, expiration_ttl, ..kv::PutOptions::default() };
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
    assert!(!disk.rows.contains_key(&("key".into(), "settings/b.short".into())), "it is still kept");
}
